"""How long the browser page of 244 problems with 32 samples of several runs takes to build, to open, to filter and to read.

Type: ``python benchmarks/report_page.py [--runs 4] [--characters 4000] [--json FILE]`` (``make bench`` does). Needs Chromium and
chromedriver. The peer is the page that one would write without thinking about size: the same table of problems and the same
samples as plain escaped HTML, folded away with ``<details>``, and a script that hides the problems that a filter leaves out.

Times are medians of three openings, in milliseconds from the start of the navigation until the page shows its list and
its first problem (``open``), from a change of a field until the next frame is drawn (``filter``: search, and "solved by A and
not by B"), and from a click on a problem until all samples of all runs are there (``problem``; the peer has no such step).
Exit code 1 when opening takes 3 seconds or more, or filtering or reading 300 ms or more.
"""

import argparse
import random
import statistics
import sys
import tempfile
import time
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "tests"))

from support import chromium as browser

from kimina.durable import write_json, write_text
from kimina.evaluation import EvalResult, LeanMessage, Outcome, pass_curve
from kimina.tables.browser_page import BrowserPage, PageRun, build_browser_page

PROBLEMS, SAMPLES, TURNS = 244, 32, 3
OPEN_MS, FILTER_MS = 3_000.0, 300.0
WORDS = (
    "the goal follows from this hypothesis since both sides are equal after we rewrite with that lemma so it remains to "
    "show the inequality for every natural number where positivity of each factor is clear and the sum is bounded by"
).split()

# Both pages answer the same three calls.
_AFTER_FRAME = "requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));"
_SET = """const [done, ...pairs] = [arguments[arguments.length - 1], ...arguments[0]], start = performance.now();
for (const [id, value] of pairs) { const field = document.getElementById(id); field.value = value;
  for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, {bubbles: true})); }
"""
_READ = """const done = arguments[arguments.length - 1], start = performance.now(), wanted = arguments[0];
document.querySelector(`#list .row[data-id="${wanted}"]`).click();
(function look() { if (document.getElementById('problem').dataset.id === wanted) """ + _AFTER_FRAME + """
  else requestAnimationFrame(look); })();"""
_PEER_SCRIPT = """
const rows = [...document.querySelectorAll('article')];
for (const id of ['filter-search', 'filter-solved', 'filter-unsolved']) document.getElementById(id).addEventListener('input', () => {
  const [word, by, not] = ['search', 'solved', 'unsolved'].map((name) => document.getElementById('filter-' + name).value);
  for (const row of rows) row.hidden = !(row.id.includes(word) && (by === '' || row.dataset['c' + by] > 0) && (not === '' || row.dataset['c' + not] === '0'));
});
performance.mark('kimina-ready'); document.body.dataset.ready = 'true';
"""


def response(rng: random.Random, name: str, characters: int) -> str:
    """A response of about this many characters: prose, and a Lean block of a sixth of it."""
    code = [f"theorem {name} (a b : ℕ) : a + b = b + a := by"]
    while sum(map(len, code)) < characters / 6:
        code.append(f"  have h{len(code)} : a + {rng.randrange(1000)} = {rng.randrange(1000)} + b := by nlinarith [sq_nonneg (a - b)]")
    prose: list[str] = []
    while sum(map(len, prose)) < characters * 5 / 6:
        prose.append(" ".join(rng.choices(WORDS, k=rng.randint(8, 30))) + f" in step {rng.randrange(10_000)}.")
    return "\n".join(["<think>", *prose, "</think>", "```lean4", *code, "```"])


def make_run(index: int, characters: int) -> PageRun:
    """An evaluation whose problems differ in difficulty."""
    rng = random.Random(index)
    outcomes = []
    for place in range(PROBLEMS):
        name = f"problem_{place:03d}"
        for sample in range(SAMPLES):
            solved = rng.random() < max(0.0, (place % 61) / 61 - 0.3 + 0.05 * index)
            message = (LeanMessage("error", 3, 2, "linarith failed to find a contradiction\na b : ℕ\n⊢ False"),)
            outcomes.append(
                Outcome(name, ("algebra", "numbertheory")[place % 2], 1 + place % 5, sample, "proved" if solved else "lean_error", (),
                        float(solved), characters // 4, True, response(rng, name, characters), messages=() if solved else message)
            )  # fmt: skip
    result = EvalResult.of(f"run {index}", outcomes)
    return PageRun(f"run{index}", f"Run {index}", result, {"lr": index}, None, pass_curve(result, [1, 2, 4, 8, 16, 32]))


def plain_page(runs: list[PageRun]) -> str:
    """The peer."""
    parts = ["<!doctype html><meta charset=utf-8><title>plain</title><body><input id=filter-search>"]
    for name in ("solved", "unsolved"):
        parts.append(f"<select id=filter-{name}><option value=''>" + "".join(f"<option value={i}>{i}" for i in range(len(runs))) + "</select>")
    for place, problem in enumerate(runs[0].result.problems):
        of_runs = [run.result.problems[place] for run in runs]
        counts = " ".join(f"data-c{i}={each.c}" for i, each in enumerate(of_runs))
        parts.append(f"<article id={problem.problem_id} {counts}><h3>{problem.problem_id}</h3>")
        for run, each in zip(runs, of_runs, strict=True):
            parts.append(f"<details><summary>{run.title}: {each.c} of {each.n}</summary>")
            parts += [
                f"<p>sample {o.sample}, {o.verdict}, {o.response_tokens} tokens<pre>{escape(o.response)}</pre>"
                + "".join(f"<pre>{m.line}: {escape(m.text)}</pre>" for m in o.messages)
                for o in each.outcomes
            ]
            parts.append("</details>")
        parts.append("</article>")
    return "\n".join(parts) + f"<script>{_PEER_SCRIPT}</script></body>"


def timed(driver, path: Path, *, reads: bool) -> dict[str, float]:
    """Open a page and use it once; milliseconds."""
    driver.get("about:blank")
    browser.open_page(driver, path, seconds=120)
    found = {"open": driver.execute_script("return performance.getEntriesByName('kimina-ready')[0].startTime")}
    found["elements"] = driver.execute_script("return document.querySelectorAll('body *').length")
    searches, pairs = [], []
    for word in ("_01", "_2", ""):
        searches.append(driver.execute_async_script(_SET + _AFTER_FRAME, [["filter-search", word]]))
    for solved, unsolved in (("1", "0"), ("0", "1"), ("", "")):
        pairs.append(driver.execute_async_script(_SET + _AFTER_FRAME, [["filter-solved", solved], ["filter-unsolved", unsolved]]))
    found |= {"search": max(searches), "solved by, not by": max(pairs)}
    if reads:
        names = [f"problem_{place:03d}" for place in (50, 121, 243)]
        found["problem"] = max(driver.execute_async_script(_READ, name) for name in names)
    return found


def main() -> int:
    """Build, open and use both pages; print figures and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--characters", type=int, default=4000, help="of a response")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    runs = [make_run(index, arguments.characters) for index in range(arguments.runs)]
    started = time.perf_counter()
    text = build_browser_page(BrowserPage("Benchmark", "", "", ("Model",), (), (), tuple(runs), {}, {}))
    built_s = time.perf_counter() - started
    samples_mb = sum(len(o.response) for run in runs for o in run.result.outcomes) / 1e6
    with tempfile.TemporaryDirectory() as folder:
        ours = write_text(Path(folder) / "page.html", text)
        peer = write_text(Path(folder) / "plain.html", plain_page(runs))
        sizes = {"page": ours.stat().st_size / 1e6, "plain": peer.stat().st_size / 1e6}
        rounds: dict[str, list[dict[str, float]]] = {"page": [], "plain": []}
        with browser.chromium() as driver:
            driver.set_script_timeout(120)
            for _ in range(TURNS):
                rounds["page"].append(timed(driver, ours, reads=True))
                rounds["plain"].append(timed(driver, peer, reads=False))
    medians = {kind: {key: statistics.median(one[key] for one in done) for key in done[0]} for kind, done in rounds.items()}
    print(f"{arguments.runs} runs x {PROBLEMS} problems x {SAMPLES} samples, {samples_mb:.0f} MB of responses; built in {built_s:.1f} s")
    print(f"{'':20} {'page':>10} {'plain HTML':>12} {'ratio':>7}")
    print(f"{'size, MB':20} {sizes['page']:10.1f} {sizes['plain']:12.1f} {sizes['plain'] / sizes['page']:7.1f}")
    for key, ours_ms in medians["page"].items():
        plain = medians["plain"].get(key)
        unit = key if key == "elements" else f"{key}, ms"
        peer_text, ratio = ("–", "") if plain is None else (f"{plain:,.0f}", f"{plain / max(ours_ms, 0.1):.1f}")
        print(f"{unit:20} {ours_ms:10,.0f} {peer_text:>12} {ratio:>7}")
    if arguments.json:
        write_json(arguments.json, {"built_s": built_s, "samples_mb": samples_mb, "sizes_mb": sizes, "medians": medians})
    page = medians["page"]
    slow = page["open"] >= OPEN_MS or max(page["search"], page["solved by, not by"], page["problem"]) >= FILTER_MS
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
