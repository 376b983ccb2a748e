// Which problems are listed: a form, and the tests that its fields stand for.

const ANY = "";
const EACH = "each"; // by every run
const SOME = "some"; // by at least one

function options(entries) {
  return entries.map(([value, text]) => el("option", { value, text }));
}

function counted(problems, of) {
  const found = new Map();
  for (const problem of problems) {
    for (const run of problem.runs) {
      for (const [code, count] of Object.entries(run === null ? {} : of(run))) found.set(code, (found.get(code) ?? 0) + count);
    }
  }
  return [...found].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

function buildFilters(form, runs, problems, onChange) {
  const fields = {};
  const field = (name, label, control) => {
    control.id = `filter-${name}`;
    fields[name] = control;
    form.append(el("label", {}, el("span", { text: label }), control));
  };
  const choice = (name, label, entries) => field(name, label, el("select", {}, ...options(entries)));
  const names = runs.map((run, index) => [String(index), `${run.letter}  ${run.title}`]);
  const several = runs.length > 1;
  const of = (codes) => codes.map(([code, count]) => [code, `${words(code)} (${plural(count, "sample")})`]);

  field("search", "Search", el("input", { type: "search", placeholder: "name or statement", spellcheck: "false" }));
  choice("solved", "Solved by", [[ANY, UNDEFINED], ...names, ...(several ? [[SOME, "at least one run"], [EACH, "every run"]] : [])]);
  choice("unsolved", "and not by", [[ANY, UNDEFINED], ...names, ...(several ? [[SOME, "at least one run"], [EACH, "any run"]] : [])]);
  choice("violation", "With a violation", [[ANY, UNDEFINED], ...of(counted(problems, (run) => run.violations))]);
  choice("verdict", "With a verdict", [[ANY, UNDEFINED], ...of(counted(problems, (run) => run.verdicts))]);
  if (several) choice("within", "in samples of", [[ANY, "any run"], ...names]);
  const families = [...new Set(problems.map((problem) => problem.family))].sort();
  const levels = [...new Set(problems.map((problem) => problem.level))].sort((a, b) => a - b);
  if (families.length > 1) choice("family", "Family", [[ANY, "all"], ...families.map((name) => [`=${name}`, name])]);
  if (levels.length > 1) choice("level", "Level", [[ANY, "all"], ...levels.map((level) => [`=${level}`, level])]);
  choice("order", "Order", [
    [ANY, "of the prompt set"], ["hard", "hardest first"], ["easy", "easiest first"],
    ...(several ? [["apart", "runs most apart first"]] : []),
  ]);
  const fixes = problems.some((problem) => problem.runs.some((run) => run !== null && run.fixes > 0));
  if (fixes) {
    field("fixes", "Fix turns", el("select", {}, ...options([[ANY, "don’t count as solved"], ["count", "count as solved"]])));
  }
  form.append(el("button", { type: "reset", text: "Clear filters" }));

  const texts = problems.map((problem) => [problem.id, problem.statement, problem.informal].filter(Boolean).join("\n").toLowerCase());
  const value = (name) => fields[name]?.value ?? ANY;

  function successes(run) {
    return run.c + (value("fixes") ? run.fixed : 0);
  }

  // A problem without a verified sample is neither solved nor unsolved.
  const solves = (run) => run !== null && successes(run) > 0;
  const fails = (run) => run !== null && run.n > 0 && successes(run) === 0;

  function holds(which, test, problem) {
    if (which === ANY) return true;
    if (which === SOME) return problem.runs.some(test);
    if (which === EACH) return problem.runs.every(test);
    return test(problem.runs[Number(which)]);
  }

  function hasCode(problem, kind, code) {
    if (code === ANY) return true;
    const within = value("within");
    const looked = within === ANY ? problem.runs : [problem.runs[Number(within)]];
    return looked.some((run) => run !== null && run[kind][code] > 0);
  }

  function share(run) {
    return run === null || run.n === 0 ? null : successes(run) / run.n;
  }

  function chosen() {
    const asked = value("search").toLowerCase().split(/\s+/).filter(Boolean);
    const found = problems.filter((problem, index) =>
      holds(value("solved"), solves, problem) &&
      holds(value("unsolved"), fails, problem) &&
      hasCode(problem, "violations", value("violation")) &&
      hasCode(problem, "verdicts", value("verdict")) &&
      (value("family") === ANY || value("family") === `=${problem.family}`) &&
      (value("level") === ANY || value("level") === `=${problem.level}`) &&
      asked.every((word) => texts[index].includes(word)));
    const keys = {
      hard: (shares) => shares.reduce((a, b) => a + b, 0) / shares.length,
      easy: (shares) => -shares.reduce((a, b) => a + b, 0) / shares.length,
      apart: (shares) => Math.min(...shares) - Math.max(...shares),
    };
    const key = keys[value("order")];
    if (!key) return found;
    const ranked = found.map((problem) => {
      const shares = problem.runs.map(share).filter((each) => each !== null);
      return [shares.length ? key(shares) : Infinity, problem];
    });
    return ranked.sort((a, b) => a[0] - b[0]).map(([, problem]) => problem);
  }

  // Whether a sample is one that the filters ask for; null where they don't speak of samples.
  function sampleMatches(runIndex, sample) {
    const [violation, verdict, within] = [value("violation"), value("verdict"), value("within")];
    if (violation === ANY && verdict === ANY) return null;
    return (within === ANY || Number(within) === runIndex) &&
      (violation === ANY || sample.violations.includes(violation)) && (verdict === ANY || sample.verdict === verdict);
  }

  fields.search.addEventListener("input", onChange);
  // Not for the search: leaving it by a click on a problem would draw the list anew under the pointer.
  form.addEventListener("change", (event) => { if (event.target !== fields.search) onChange(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(onChange));
  return { chosen, successes, sampleMatches, search: fields.search };
}
