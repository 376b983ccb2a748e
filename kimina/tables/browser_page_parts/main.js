// The page as a whole: which runs are shown, the list of problems, and the problem that is open.

const FIRST_ROWS = 300;

async function start() {
  const index = await unpack("index");
  const { runs, problems } = index;
  const hidden = new Set();
  const isShown = (run) => !hidden.has(run);
  const list = document.getElementById("list");
  const article = document.getElementById("problem");
  const count = document.getElementById("count");
  let limit = FIRST_ROWS;
  let listed = problems;
  let open = null;
  let drawn = 0; // of the openings of a problem, so that a slow one doesn't overwrite a later one

  document.querySelectorAll("div.runs").forEach((host) => {
    host.append(...runs.map((run, place) => el("button", {
      type: "button", class: "toggle", "data-run": place, "aria-pressed": "true", on: { click: () => toggle(place) },
    }, letterTag(run, place), el("span", { text: run.title }))));
  });
  const redraw = buildCharts(document.querySelector(".charts"), runs, isShown);
  if (!document.querySelector(".charts figure")) document.getElementById("curves").hidden = true;
  const filters = buildFilters(document.getElementById("filters"), runs, problems, () => { limit = FIRST_ROWS; showList(); });

  function toggle(place) {
    if (!hidden.delete(place)) hidden.add(place);
    document.querySelectorAll(`.toggle[data-run="${place}"]`).forEach((button) => button.setAttribute("aria-pressed", String(isShown(place))));
    redraw();
    showList();
    if (open) showProblem(open);
  }

  function cell(run, place) {
    if (run === null || run.n === 0) return el("span", { class: "score none", text: UNDEFINED });
    const successes = filters.successes(run);
    const node = el("span", { class: successes ? "score some" : "score", text: `${successes}/${run.n}` });
    node.style.setProperty("--share", `${(100 * successes) / run.n}%`);
    return node;
  }

  function row(problem) {
    const scores = problem.runs.flatMap((run, place) => (isShown(place) ? [cell(run, place)] : []));
    return el("li", {}, el("button", {
      type: "button", class: "row", "data-id": problem.id, "aria-current": problem === open ? "true" : null,
      on: { click: () => { location.hash = `problem=${encodeURIComponent(problem.id)}`; } },
    }, el("span", { class: "id", text: shown(problem.id) }), el("span", { class: "scores" }, ...scores)));
  }

  function showList() {
    listed = filters.chosen();
    const rows = listed.slice(0, limit).map(row);
    if (listed.length > limit) {
      rows.push(el("li", {}, el("button", { type: "button", class: "more", text: `show ${Math.min(FIRST_ROWS, listed.length - limit)} more`, on: { click: () => { limit += FIRST_ROWS; showList(); } } })));
    }
    list.replaceChildren(...rows);
    document.querySelector(".list-head").replaceChildren(el("span", { text: "solved samples" }), el("span", { class: "scores" }, ...runs.flatMap((run, place) => (isShown(place) ? [letterTag(run, place)] : []))));
    count.textContent = `${listed.length.toLocaleString("en-US")} of ${plural(problems.length, "problem")}`;
  }

  function step(by) {
    const at = listed.indexOf(open);
    const next = listed[at < 0 ? 0 : at + by];
    if (next) location.hash = `problem=${encodeURIComponent(next.id)}`;
  }

  function mark() {
    list.querySelectorAll("[aria-current]").forEach((button) => button.removeAttribute("aria-current"));
    const button = [...list.querySelectorAll(".row")].find((each) => each.dataset.id === open.id);
    button?.setAttribute("aria-current", "true");
    if (button) list.scrollTop = Math.max(Math.min(list.scrollTop, button.offsetTop - list.offsetTop), button.offsetTop - list.offsetTop + button.offsetHeight - list.clientHeight);
  }

  async function showProblem(problem) {
    open = problem;
    const turn = (drawn += 1);
    mark();
    const there = problem.runs.map((run, place) => [run, place]).filter(([, place]) => isShown(place));
    const samples = await Promise.all(there.map(([run]) => (run === null ? [] : samplesOf(run.block))));
    if (turn !== drawn) return;
    const cards = there.map(([run, place], at) => run === null
      ? el("section", { class: "card", "data-run": place }, el("h4", {}, letterTag(runs[place], place), el("span", { text: runs[place].title })), el("p", { class: "muted", text: "This run has no samples of this problem." }))
      : runCard(runs[place], place, run, samples[at], (sample) => filters.sampleMatches(place, sample)));
    article.replaceChildren(
      el("nav", { "aria-label": "Problems" },
        el("button", { type: "button", text: "← previous", on: { click: () => step(-1) } }),
        el("button", { type: "button", text: "next →", on: { click: () => step(1) } }),
        el("a", { href: "#problems", class: "to-list", text: "to the list" })),
      el("h3", { text: shown(problem.id) }),
      el("p", { class: "muted", text: `family ${shown(problem.family)}, level ${problem.level}` }),
      ...(problem.informal ? [el("p", { class: "informal", text: shown(problem.informal) })] : []),
      ...(problem.statement ? [el("pre", { class: "lean", text: shown(problem.statement) })] : []),
      el("div", { class: "cards" }, ...cards),
    );
    article.dataset.id = problem.id;
  }

  function followHash(scroll) {
    const asked = /^#problem=(.*)$/.exec(location.hash);
    if (!asked) return false;
    const problem = problems.find((each) => each.id === decodeURIComponent(asked[1]));
    if (!problem) return false;
    const shownOnce = showProblem(problem);
    // Where the list stands above the problem, and not beside it, the problem comes into view.
    if (scroll && article.offsetLeft <= list.offsetLeft) shownOnce.then(() => article.scrollIntoView({ block: "start" }));
    return true;
  }

  list.addEventListener("keydown", (event) => {
    const rows = [...list.querySelectorAll("button")];
    const at = rows.indexOf(document.activeElement);
    const steps = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: rows.length - 1 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    rows[Math.max(0, Math.min(rows.length - 1, steps[event.key]))].focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(input|select|textarea)$/i.test(event.target.tagName)) return;
    if (event.key === "/") { event.preventDefault(); filters.search.focus(); }
    if (event.key === "j") step(1);
    if (event.key === "k") step(-1);
  });
  window.addEventListener("hashchange", () => followHash(true));

  showList();
  if (!followHash(false) && problems.length) await showProblem(problems[0]);
  performance.mark("kimina-ready");
  document.body.dataset.ready = "true";
}

start().catch((error) => {
  const trouble = document.getElementById("trouble");
  trouble.hidden = false;
  trouble.textContent = typeof DecompressionStream === "undefined"
    ? "This browser can’t unpack the data of the page. It needs Chrome 80, Firefox 113, Safari 16.4, or newer."
    : `The data of the page can’t be read: ${error}`;
  throw error;
});
