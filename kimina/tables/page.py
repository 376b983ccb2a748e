"""The report page: one HTML file that needs nothing else, neither network nor scripts.

Whatever a model, a data set or Lean wrote is escaped before it enters the page, and a content security policy in the page
forbids scripts and foreign sources besides.
"""

import base64
from collections.abc import Mapping, Sequence
from html import escape

from kimina.evaluation.result import EvalResult
from kimina.tables.examples import Example
from kimina.tables.export import row_label
from kimina.tables.figures import DARK, LIGHT, Drawing, render
from kimina.tables.page_sides import example_html
from kimina.tables.page_style import STYLE, document_head
from kimina.tables.result_table import FAMILY, LEVEL, Cell, ResultTable
from kimina.tables.run_facts import RunFacts
from kimina.tables.wording import (
    ability_sentence,
    cell_sentence,
    gain_interval_text,
    gain_text,
    interval_text,
    p_text,
    plural,
    rate_text,
    unlearned_sentence,
    unverified_sentence,
)

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def build_page(
    table: ResultTable,
    facts: RunFacts,
    drawings: Sequence[Drawing],
    examples: Sequence[Example],
    statements: Mapping[str, str],
    informal: Mapping[str, str],
) -> str:
    """Return the page as text.

    Args:
        statements: Lean statement by problem id; a problem without one is shown without.
        informal: the same in words.
    """
    title = f"{facts.name}: a Lean prover before and after reinforcement learning"
    parts = [
        *document_head(escape(title), _POLICY, STYLE),
        "<body>",
        "<main>",
        _head(table, facts),
        _results(table),
        _figures(drawings),
        _groups(table),
        _examples(examples, statements, informal),
        _reading(table),
        _method(table),
        "</main>",
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(part for part in parts if part is not None)


def _head(table: ResultTable, facts: RunFacts) -> str:
    first = table.overall.cells[0]
    lines = "".join(f"<div><dt>{escape(title)}</dt><dd>{escape(text)}</dd></div>" for title, text in facts.lines())
    findings = [
        cell_sentence(first),
        ability_sentence(table),
        unlearned_sentence(table.grouped(FAMILY)),
    ]
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in findings if sentence)
    return f"""<header>
<p class="run">{escape(facts.name)}</p>
<h1>A Lean&nbsp;4 prover before and after reinforcement learning</h1>
<div class="headline" role="group" aria-label="pass@{first.k} before and after">
<span class="figure before">{rate_text(first.before)}<span class="unit">%</span></span>
<span class="arrow" aria-hidden="true">→</span>
<span class="figure after">{rate_text(first.after)}<span class="unit">%</span></span>
</div>
<p class="muted">of {plural(table.overall.problems, "test theorem")} proved {_attempts(first.k)}, before and after training</p>
<ul class="findings">{items}</ul>
<code class="command">{escape(facts.command)}</code>
<dl class="facts">{lines}</dl>
</header>"""


def _attempts(k: int) -> str:
    return "at the first attempt" if k == 1 else f"within {k} attempts"


def _results(table: ResultTable) -> str:
    rows = []
    for cell in table.overall.cells:
        rows.append(
            f'<tr><th scope="row">pass@{cell.k}</th><td class="roomy">{cell.before.n}</td>'
            f"{_rate_cell(cell, 'before')}{_rate_cell(cell, 'after')}{_gain_cell(cell)}<td>{p_text(cell.p)}</td>"
            f'<td class="roomy {_class(cell)}">{cell.verdict}</td></tr>'
        )
    before, after = table.before, table.after
    habits = [
        ("samples", f"{len(before.outcomes):,}", f"{len(after.outcomes):,}"),
        ("unverified samples", f"{before.unverified:,}", f"{after.unverified:,}"),
        ("theorems solved by any sample", _solved(before), _solved(after)),
        ("in the required format, %", rate_text(before.format_rate()), rate_text(after.format_rate())),
        ("proved by Lean, %", rate_text(before.proof_rate()), rate_text(after.proof_rate())),
        ("mean response, tokens", _tokens(before), _tokens(after)),
        ("mean response when solved, tokens", _tokens(before, solved=True), _tokens(after, solved=True)),
        ("not finished within the limit", _unfinished(before), _unfinished(after)),
    ]
    codes = list(before.violations() | after.violations())
    habits += [
        (f"violates {code}", f"{before.violations().get(code, 0):,}", f"{after.violations().get(code, 0):,}")
        for code in codes
    ]
    habit_rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{left}</td><td>{right}</td></tr>' for name, left, right in habits
    )
    return f"""<section>
<h2>Result</h2>
<div class="scroll"><table>
<thead><tr><th></th><th class="roomy">theorems</th><th>before, %</th><th>after, %</th><th>gain, points</th><th>p</th><th class="roomy"></th></tr></thead>
<tbody>{"".join(rows)}</tbody></table></div>
<p class="note">Small figures are 95&nbsp;% intervals. {escape(unverified_sentence(table))}</p>
<details><summary>Samples, format and length</summary>
<div class="scroll"><table class="habits"><thead><tr><th></th><th>before</th><th>after</th></tr></thead>
<tbody>{habit_rows}</tbody></table></div></details>
</section>"""


def _figures(drawings: Sequence[Drawing]) -> str:
    blocks = []
    for drawing in drawings:
        light, dark = (_data_uri(render(drawing.draw(theme), "svg")) for theme in (LIGHT, DARK))
        blocks.append(
            f"<figure><h3>{escape(drawing.title)}</h3><picture>"
            f'<source media="(prefers-color-scheme: dark)" srcset="{dark}">'
            f'<img src="{light}" alt="{escape(drawing.title)}. {escape(drawing.caption)}"></picture>'
            f"<figcaption>{escape(drawing.caption)}</figcaption></figure>"
        )
    return f'<section><h2>Curves</h2><div class="figures">{"".join(blocks)}</div></section>'


def _data_uri(svg: bytes) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode("ascii")


def _groups(table: ResultTable) -> str:
    others = table.ks[1:]
    lines = []
    for group in (LEVEL, FAMILY):
        for position, row in enumerate(table.grouped(group)):
            cell = row.cells[0]
            more = "".join(
                f"<td>{rate_text(row.cell(k).before)} → {rate_text(row.cell(k).after)}"
                f"<small>{_small_gain(row.cell(k))}</small></td>"
                for k in others
            )
            first = ' class="first"' if position == 0 else ""
            lines.append(
                f'<tr{first}><th scope="row">{escape(row_label(row))}</th><td class="roomy">{row.problems}</td>'
                f"{_rate_cell(cell, 'before')}{_rate_cell(cell, 'after')}{_gain_cell(cell)}<td>{p_text(cell.p)}</td>{more}</tr>"
            )
    heads = "".join(f"<th>pass@{k}, %</th>" for k in others)
    return f"""<section>
<h2>By level and family</h2>
<div class="scroll"><table>
<thead><tr><th></th><th class="roomy">theorems</th><th>pass@{table.ks[0]}<br>before</th><th>after</th><th>gain</th><th>p*</th>{heads}</tr></thead>
<tbody>{"".join(lines)}</tbody></table></div>
<p class="note">p* is adjusted for the number of levels, or of families (Holm). {escape(unlearned_sentence(table.grouped(LEVEL)))}
{escape(unlearned_sentence(table.grouped(FAMILY)))}</p>
</section>"""


def _examples(examples: Sequence[Example], statements: Mapping[str, str], informal: Mapping[str, str]) -> str | None:
    if not examples:
        return None
    blocks = [
        example_html(
            example,
            statement=statements.get(example.before.problem_id),
            informal=informal.get(example.before.problem_id),
        )
        for example in examples
    ]
    return f"""<section>
<h2>Proofs side by side</h2>
<p>Chosen by rule: theorems that became solvable, rose or fell the most, or stayed unsolved. A solved side shows its shortest
proof, a failed one a sample with an error of Lean where there is one.</p>
{"".join(blocks)}
</section>"""


def _reading(table: ResultTable) -> str:
    last = table.ks[-1]
    return f"""<section>
<h2>How to read this</h2>
<p><b>pass@1</b> is the chance that one attempt is a proof: the attempt has the required format and Lean's kernel accepts it
for the given statement, without <code>sorry</code> or extra axioms. <b>pass@{last}</b> is the chance that at least one of {last}
attempts is. If pass@1 rises and pass@{last} does not, training made the model surer of what it could already do (sharpening); if
pass@{last} rises as well, it proves theorems that were out of its reach (new ability).</p>
<p>Look at the interval before the number. “Not distinguishable” means that these theorems and samples cannot tell the two
models apart; it doesn't mean that they are equal.</p>
</section>"""


def _method(table: ResultTable) -> str:
    first = table.overall.cells[0]
    tests = "; ".join(
        f"pass@{cell.k}: {cell.gain.test} on {plural(cell.gain.problems, 'theorem')}"
        for cell in table.overall.cells
        if cell.gain
    )
    return f"""<section>
<h2>How the numbers were computed</h2>
<dl class="method">
<dt>Sample</dt><dd>{plural(table.overall.problems, "theorem")}, {plural(table.before.samples_per_problem, "sample")} each before and
{table.after.samples_per_problem} after. {escape(unverified_sentence(table))}</dd>
<dt>pass@k</dt><dd>The unbiased estimator 1 − C(n−c, k) / C(n, k) for a theorem with c successes among n verified samples
(Chen et al. 2021), averaged over theorems. Undefined, and shown as a dash, where n &lt; k.</dd>
<dt>Intervals</dt><dd>95&nbsp;%, percentile bootstrap over theorems, 10,000 resamples with seed {table.seed}; Wilson’s interval where
every theorem has the same rate 0 or 1. Intervals of gains resample theorems with both runs' values together.</dd>
<dt>Tests</dt><dd>Two-sided and paired by theorem: the signs of the differences are flipped. {escape(tests)}. Where every pass@k is
0 or 1 this is McNemar’s exact test. Levels and families are adjusted for their number (Holm). Below 0.05 counts as
distinguishable; pass@{first.k} by Student’s paired t: p = {p_text(table.paired_t_p)}.</dd>
<dt>New ability</dt><dd>Theorems with no success in any verified sample of one run and at least one in the other, compared by
McNemar’s exact test: {len(table.ability.gained)} gained, {len(table.ability.lost)} lost, {table.ability.both} solved by both,
{table.ability.neither} by neither.</dd>
</dl>
<footer>Written by kimina-lab. The same numbers, unrounded: <code>result.json</code> and <code>table.csv</code> beside this page.</footer>
</section>"""


def _rate_cell(cell: Cell, run: str) -> str:
    rate = cell.before if run == "before" else cell.after
    span = interval_text(rate.interval)
    return f"<td>{rate_text(rate)}{f'<small>{span}</small>' if span else ''}</td>"


def _gain_cell(cell: Cell) -> str:
    span = gain_interval_text(cell.gain)
    return f'<td class="{_class(cell)}">{gain_text(cell.gain)}{f"<small>{span}</small>" if span else ""}</td>'


def _small_gain(cell: Cell) -> str:
    return "" if cell.gain is None else f"{gain_text(cell.gain)}, p* {p_text(cell.p)}".replace("<", "&lt;")


def _class(cell: Cell) -> str:
    return cell.verdict if cell.verdict in ("higher", "lower") else "muted"


def _solved(result: EvalResult) -> str:
    return str(sum(problem.solved for problem in result.problems))


def _tokens(result: EvalResult, *, solved: bool = False) -> str:
    mean = result.mean_tokens((lambda outcome: outcome.success) if solved else None)
    return "–" if mean is None else f"{mean:,.0f}"


def _unfinished(result: EvalResult) -> str:
    return f"{sum(not outcome.finished for outcome in result.outcomes):,}"
