// One problem: its statement, and for each run its samples, one of which is shown whole.

const MOST_LINES = 2000; // of a Lean block, before a click shows the next ones
const LONGEST_OPEN = 1200; // characters of thinking that are not folded

function outcome(sample) {
  if (sample.success) return ["good", "✓"];
  if (!sample.judged) return ["unknown", "?"];
  return sample.violations.length ? ["format", "!"] : ["bad", "✗"];
}

function summary(sample) {
  const parts = [sample.violations.length ? `format: ${sample.violations.map(words).join(", ")}` : words(sample.verdict), plural(sample.tokens, "token")];
  if (!sample.finished) parts.push("cut off");
  if (sample.fix) parts.push(sample.fix.success ? "fixed" : "not fixed");
  return parts.join(", ");
}

function verdictTags(sample) {
  const [kind, glyph] = outcome(sample);
  const tags = sample.violations.map((code) => el("span", { class: "tag failed", text: `! ${words(code)}` }));
  if (sample.verdict !== "not_checked" || !tags.length) {
    const solved = sample.verdict === "proved";
    tags.unshift(el("span", { class: `tag ${solved ? "solved" : kind === "unknown" ? "" : "failed"}`, text: `${solved ? "✓" : sample.violations.length ? "✗" : glyph} ${words(sample.verdict)}` }));
  }
  return tags;
}

function facts(sample) {
  const parts = [plural(sample.tokens, "token")];
  if (!sample.finished) parts.push("cut off at the limit");
  parts.push(`reward ${sample.reward === null ? UNDEFINED : Number(sample.reward.toFixed(3))}`);
  if (sample.generation_s !== null) parts.push(`generated in ${seconds(sample.generation_s)}`);
  if (sample.lean_s !== null) parts.push(`Lean took ${seconds(sample.lean_s)}`);
  return el("p", { class: "muted facts-line", text: parts.join(" · ") });
}

function messageBlock([severity, line, column, text]) {
  return el("div", { class: `said ${severity}` }, el("span", { class: "where", text: `${severity}, ${line}:${column}` }), el("pre", { text: shown(text) }));
}

// The text of a line with what stands at the columns (in code points) of its messages marked.
function marked(text, messages) {
  const chars = Array.from(text);
  const starts = new Map(messages.map(([severity, , column]) => [column, severity]));
  const node = el("code");
  let from = 0;
  for (const start of [...starts.keys()].sort((a, b) => a - b)) {
    if (start < from || start >= chars.length) continue;
    let end = start + 1;
    while (end < chars.length && /[^\s()[\]{}⟨⟩,;]/u.test(chars[end]) && /[^\s()[\]{}⟨⟩,;]/u.test(chars[start])) end += 1;
    node.append(shown(chars.slice(from, start).join("")), el("mark", { class: starts.get(start), text: shown(chars.slice(start, end).join("")) }));
    from = end;
  }
  node.append(shown(chars.slice(from).join("")));
  return node;
}

function leanBlock(sample) {
  const lines = sample.lean.split("\n");
  const at = new Map();
  for (const message of sample.messages) {
    if (message[1] >= 1 && message[1] <= lines.length) at.set(message[1], [...(at.get(message[1]) ?? []), message]);
  }
  const host = el("div", { class: "code", role: "group", "aria-label": "Lean code with line numbers" });
  host.style.setProperty("--digits", String(lines.length).length);

  function add(from) {
    const until = Math.min(lines.length, from + MOST_LINES);
    for (let index = from; index < until; index += 1) {
      const messages = at.get(index + 1) ?? [];
      const worst = ["error", "warning", "info"].find((severity) => messages.some((message) => message[0] === severity));
      host.append(el("div", { class: `line ${worst ?? ""}`, "data-line": index + 1 }, marked(lines[index], messages)), ...messages.map(messageBlock));
    }
    if (until < lines.length) {
      const more = el("button", { type: "button", text: `show more of ${lines.length.toLocaleString("en-US")} lines`, on: { click: () => { more.remove(); add(until); } } });
      host.append(more);
    }
  }

  add(0);
  return host;
}

function prose(text, label) {
  const body = el("pre", { class: "think", text: shown(text) });
  if (text.length <= LONGEST_OPEN) return body;
  return el("details", {}, el("summary", { text: `${label}, ${text.length.toLocaleString("en-US")} characters` }), body);
}

function sampleView(sample) {
  const nodes = [el("p", { class: "tags" }, ...verdictTags(sample)), facts(sample)];
  const lines = sample.lean === null ? 0 : sample.lean.split("\n").length;
  if (sample.lean === null) {
    nodes.push(el("p", { class: "muted", text: "No closed Lean block." }));
    nodes.push(sample.before.trim() ? el("pre", { class: "think", text: shown(sample.before) }) : el("p", { class: "muted", text: "(no text)" }));
  } else {
    if (sample.before.trim()) nodes.push(prose(sample.before.replace(/\n?[^\n]*\n?$/, ""), "text before the Lean block"));
    nodes.push(leanBlock(sample));
    const after = sample.after.replace(/^\n?```[^\S\n]*/, "");
    if (after.trim()) nodes.push(prose(after, "text behind the Lean block"));
  }
  const elsewhere = sample.messages.filter((message) => message[1] < 1 || message[1] > lines);
  if (elsewhere.length) {
    nodes.push(el("p", { class: "muted", text: "Lean’s messages outside this block:" }), ...elsewhere.map(messageBlock));
  }
  if (sample.fix) {
    nodes.push(el("section", { class: "fix" }, el("h5", { text: "Fix turn, after Lean’s feedback" }), ...sampleView(sample.fix)));
  }
  return nodes;
}

function preferred(samples, matches) {
  const first = (test) => samples.findIndex(test);
  const orders = [
    (sample) => matches(sample) === true,
    (sample) => sample.success,
    (sample) => sample.fix !== null && sample.fix.success,
    (sample) => sample.messages.length > 0,
  ];
  return orders.map(first).find((index) => index >= 0) ?? 0;
}

function runCard(run, index, counts, samples, matches) {
  const solved = `${counts.c} of ${counts.n} solved${counts.fixed ? `, ${counts.fixed} more by a fix turn` : ""}${counts.unverified ? `, ${counts.unverified} unverified` : ""}`;
  const chips = el("div", { class: "chips", role: "toolbar", "aria-label": `Samples of ${run.title}` });
  const view = el("div", { class: "sample" });
  const card = el("section", { class: "card", "data-run": index }, el("h4", {}, letterTag(run, index), el("span", { text: run.title })), el("p", { class: "muted", text: solved }), chips, view);

  function choose(place) {
    [...chips.children].forEach((chip, position) => {
      chip.setAttribute("aria-pressed", String(position === place));
      chip.tabIndex = position === place ? 0 : -1;
    });
    view.replaceChildren(el("h5", { text: `Sample ${samples[place].sample}` }), ...sampleView(samples[place]));
  }

  chips.append(...samples.map((sample, place) => {
    const [kind, glyph] = outcome(sample);
    const fixed = sample.fix ? (sample.fix.success ? "→✓" : "→✗") : "";
    const dim = matches(sample) === false ? " dim" : "";
    const label = `sample ${sample.sample}: ${summary(sample)}`;
    return el("button", { type: "button", class: `chip ${kind}${dim}`, title: label, "aria-label": label, on: { click: () => choose(place) } },
      el("span", { class: "glyph", text: glyph + fixed }), el("span", { text: sample.sample }), el("small", { text: sample.tokens.toLocaleString("en-US") }));
  }));
  chips.addEventListener("keydown", (event) => {
    const at = [...chips.children].indexOf(document.activeElement);
    const steps = { ArrowLeft: at - 1, ArrowUp: at - 1, ArrowRight: at + 1, ArrowDown: at + 1, Home: 0, End: samples.length - 1 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const place = Math.max(0, Math.min(samples.length - 1, steps[event.key]));
    choose(place);
    chips.children[place].focus();
  });
  if (samples.length) choose(preferred(samples, matches));
  return card;
}
