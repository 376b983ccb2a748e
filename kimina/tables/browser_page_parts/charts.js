// Line charts: bands, a crosshair that names the values under the pointer, arrow keys for the same.

const WINDOW = 5; // points of the moving average, as in the figures beside the table

function niceTicks(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) ticks.push(Number(tick.toPrecision(12)));
  return ticks;
}

function smoothed(points) {
  const half = Math.floor(WINDOW / 2);
  return points.map((point, index) => {
    const near = points.slice(Math.max(0, index - half), index + half + 1);
    return { ...point, y: near.reduce((sum, each) => sum + each.y, 0) / near.length };
  });
}

// `series()` gives [{run, index, points: [{x, y, low, high, n}]}] of the runs that are shown; `all` those of every run, so that
// the axes stay where they are when one is hidden.
function chart(host, { title, caption, axis, at, log = false, format, tick, top = null, smooth = false, series, all }) {
  const plot = el("div", { class: "plot" });
  const tip = el("div", { class: "tip", role: "status", hidden: true });
  host.replaceChildren(el("h3", { text: title }), plot, el("figcaption", { text: caption }));
  let place = null;

  function draw() {
    const width = Math.max(260, plot.clientWidth);
    const height = Math.round(Math.min(280, Math.max(200, width * 0.55)));
    const box = { left: 48, right: width - 14, top: 10, bottom: height - 36 };
    const every = all().flatMap((line) => line.points);
    const xs = [...new Set(every.map((point) => point.x))].sort((a, b) => a - b);
    const values = every.flatMap((point) => [point.y, point.high ?? point.y, point.low ?? point.y]);
    const lowest = Math.min(0, ...values);
    const yTicks = niceTicks(lowest, top ?? (Math.max(...values) || 1), 5);
    // The axis ends with a tick above every value.
    if (top === null && yTicks.length > 1 && yTicks.at(-1) < Math.max(...values)) yTicks.push(Number((2 * yTicks.at(-1) - yTicks.at(-2)).toPrecision(12)));
    const highest = top ?? yTicks.at(-1);
    const scaled = (x) => (log ? Math.log2(x) : x);
    const [first, last] = [scaled(xs[0]), scaled(xs.at(-1))];
    const x = (value) => box.left + 6 + ((scaled(value) - first) / (last - first || 1)) * (box.right - box.left - 12);
    const y = (value) => box.bottom - ((value - lowest) / (highest - lowest || 1)) * (box.bottom - box.top);
    const path = (points, of) => points.map((point, index) => `${index ? "L" : "M"}${x(point.x).toFixed(1)} ${y(of(point)).toFixed(1)}`).join("");

    const picture = svg("svg", {
      viewBox: `0 0 ${width} ${height}`, width, height, tabindex: 0, role: "group",
      "aria-label": `${title}. Left and right arrow keys read the values.`,
    });
    for (const value of yTicks) {
      picture.append(
        svg("line", { class: "grid", x1: box.left, x2: box.right, y1: y(value), y2: y(value) }),
        svg("text", { class: "tick", x: box.left - 6, y: y(value) + 4, "text-anchor": "end", text: tick(value) }),
      );
    }
    const apart = Math.max(2, Math.floor((box.right - box.left) / 48));
    const xTicks = log ? xs.filter((_, index) => index % Math.ceil(xs.length / apart) === 0) : niceTicks(xs[0], xs.at(-1), Math.min(6, apart)).filter(Number.isInteger);
    for (const value of xTicks) {
      picture.append(svg("text", { class: "tick", x: x(value), y: box.bottom + 17, "text-anchor": "middle", text: value.toLocaleString("en-US") }));
    }
    picture.append(
      svg("line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }),
      svg("text", { class: "tick", x: (box.left + box.right) / 2, y: height - 4, "text-anchor": "middle", text: axis }),
    );
    const lines = series();
    for (const { index, points } of lines) {
      const banded = points.filter((point) => point.low !== null && point.low !== undefined);
      if (banded.length > 1) {
        const back = [...banded].reverse();
        const edge = path(banded, (point) => point.high) + path(back, (point) => point.low).replace("M", "L") + "Z";
        picture.append(svg("path", { class: `band s${index % 6}`, d: edge }));
      }
    }
    for (const { index, points } of lines) {
      const dash = `dash${Math.floor(index / 6) % 3}`;
      if (smooth) picture.append(svg("path", { class: `thin s${index % 6}`, d: path(points, (point) => point.y) }));
      picture.append(svg("path", { class: `curve s${index % 6} ${dash}`, d: path(smooth ? smoothed(points) : points, (point) => point.y) }));
      if (!smooth) {
        for (const point of points) picture.append(svg("circle", { class: `dot s${index % 6}`, cx: x(point.x), cy: y(point.y), r: 3 }));
      }
    }
    const cross = svg("g", { class: "cross" });
    picture.append(cross);

    function read(index) {
      place = index;
      cross.replaceChildren();
      tip.hidden = index === null;
      if (index === null) return;
      const value = xs[index];
      cross.append(svg("line", { class: "hair", x1: x(value), x2: x(value), y1: box.top, y2: box.bottom }));
      const entries = lines.flatMap(({ run, index: of, points }) => {
        const point = points.find((each) => each.x === value);
        if (!point) return [];
        cross.append(svg("circle", { class: `dot s${of % 6}`, cx: x(value), cy: y(point.y), r: 5 }));
        return [el("li", {}, letterTag(run, of), el("b", { text: format(point.y) }), el("span", { class: "muted", text: bounds(point) }), el("span", { class: "name", text: run.title }))];
      });
      tip.replaceChildren(el("b", { text: `${at} ${value.toLocaleString("en-US")}` }), el("ul", {}, ...entries));
      // Below the axis, over the caption: there it hides no curve and moves nothing.
      tip.style.left = `${Math.max(0, Math.min(width - tip.offsetWidth, x(value) - tip.offsetWidth / 2))}px`;
    }

    function bounds(point) {
      const span = point.low === null || point.low === undefined ? "" : ` ${format(point.low)} to ${format(point.high)}`;
      return point.n === undefined ? span : `${span}, ${plural(point.n, "problem")}`;
    }

    picture.addEventListener("pointermove", (event) => {
      const pointer = ((event.clientX - picture.getBoundingClientRect().left) * width) / picture.getBoundingClientRect().width;
      read(xs.reduce((best, value, index) => (Math.abs(x(value) - pointer) < Math.abs(x(xs[best]) - pointer) ? index : best), 0));
    });
    picture.addEventListener("pointerleave", () => read(null));
    picture.addEventListener("blur", () => read(null));
    picture.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: (place ?? xs.length) - 1, ArrowRight: (place ?? -1) + 1, Home: 0, End: xs.length - 1 };
      if (event.key === "Escape") read(null);
      else if (event.key in steps) read(Math.max(0, Math.min(xs.length - 1, steps[event.key])));
      else return;
      event.preventDefault();
    });
    plot.replaceChildren(picture, tip);
    read(null);
  }

  draw();
  let lastWidth = plot.clientWidth;
  new ResizeObserver(() => {
    if (plot.clientWidth === lastWidth) return;
    lastWidth = plot.clientWidth;
    draw();
  }).observe(plot);
  return draw;
}

function buildCharts(host, runs, isShown) {
  const redraws = [];
  const ofPairs = (pairs) => pairs.map(([x, y]) => ({ x, y }));

  function add(pointsOf, settings) {
    const all = () => runs.map((run, index) => ({ run, index, points: pointsOf(run) })).filter((line) => line.points.length);
    if (!all().length) return null;
    const figure = el("figure");
    host.append(figure);
    const draw = chart(figure, { ...settings, all, series: () => all().filter((line) => isShown(line.index)) });
    redraws.push(draw);
    return figure;
  }

  add((run) => run.pass.map(([x, y, low, high, n]) => ({ x, y, low, high, n })), {
    title: "Solved within k attempts", axis: "k attempts", at: "k =", log: true, top: 1, format: percent, tick: (value) => percent(value, 0),
    caption: "Unbiased pass@k; bands are 95 % intervals over problems.",
  });
  const training = (name) => (run) => ofPairs(run.curves?.[name] ?? []);
  const share = { axis: "training step", at: "step", smooth: true, format: percent, tick: (value) => percent(value, 0) };
  const steps = "Thin: each step; thick: mean of five steps. Values are of the step.";
  add(training("reward"), { ...share, title: "Reward in training", format: (value) => value.toFixed(3), tick: (value) => value.toLocaleString("en-US"), caption: steps });
  add(training("proof_rate"), { ...share, title: "Proved by Lean in training", caption: steps });
  add(training("response_tokens"), {
    ...share, title: "Response length in training", format: (value) => `${Math.round(value).toLocaleString("en-US")} tokens`,
    tick: (value) => value.toLocaleString("en-US"), caption: `Mean tokens of a response. ${steps}`,
  });

  const sums = new Map();
  for (const run of runs) {
    for (const [code, pairs] of Object.entries(run.curves?.violations ?? {})) {
      sums.set(code, pairs.reduce((sum, [, value]) => sum + value, sums.get(code) ?? 0));
    }
  }
  const codes = [...sums.keys()].sort((a, b) => sums.get(b) - sums.get(a));
  if (codes.length) {
    const select = el("select", { id: "violation-curve" }, ...codes.map((code) => el("option", { value: code, text: words(code) })));
    const figure = add((run) => ofPairs(run.curves?.violations[select.value] ?? []), {
      ...share, title: "Format violations in training", caption: `Share of samples that violate the check. ${steps}`,
    });
    figure.querySelector("h3").after(el("label", { class: "choice" }, "check ", select));
    select.addEventListener("change", redraws.at(-1));
  }
  return () => redraws.forEach((draw) => draw());
}
