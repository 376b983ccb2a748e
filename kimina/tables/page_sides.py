"""One theorem on the report page: its statement, and a sample before beside a sample after."""

from html import escape

from kimina.evaluation.records import Outcome, ProblemResult
from kimina.tables.examples import Example
from kimina.tables.wording import plural

# Longer responses are folded: the end with the Lean block is shown, the whole on a click.
LONGEST_SHOWN = 3000


def example_html(example: Example, *, statement: str | None, informal: str | None) -> str:
    """Return the block of one example; everything that a model, a data set or Lean wrote is escaped."""
    problem = example.before
    words = f"<p>{escape(informal)}</p>" if informal else ""
    lean = f'<pre class="lean">{escape(statement)}</pre>' if statement else ""
    return f"""<article class="example">
<h3>{escape(problem.problem_id)}</h3>
<p class="muted"><span class="tag">{escape(example.why)}</span> family {escape(problem.family)}, level {problem.level}</p>
{words}{lean}
<div class="sides">
{_side("before", example.before, example.before_sample)}
{_side("after", example.after, example.after_sample)}
</div>
</article>"""


def _side(title: str, problem: ProblemResult, sample: Outcome) -> str:
    solved = sample.success
    badge = f'<span class="tag {"solved" if solved else "failed"}">{"✓" if solved else "✗"} {escape(_verdict(sample))}</span>'
    message = f'<pre class="message">{escape(sample.message)}</pre>' if sample.message else ""
    length = (
        f"sample {sample.sample}, {plural(sample.response_tokens, 'token')}{'' if sample.finished else ', cut off'}"
    )
    return f"""<section class="side">
<h4>{title} <span class="muted">{problem.c} of {problem.n} solved</span> {badge}</h4>
{_response(sample.response)}
{message}
<p class="muted"><small>{length}</small></p>
</section>"""


def _verdict(sample: Outcome) -> str:
    if sample.violations:
        return "format: " + ", ".join(sample.violations)
    return (sample.verdict or "not judged").replace("_", " ")


def _with_dim_thoughts(text: str) -> str:
    # Only for the eye: what was thought is paler than what was answered.
    thoughts, tag, answer = text.rpartition("</think>")
    return f'<span class="think">{escape(thoughts + tag)}</span>{escape(answer)}' if tag else escape(text)


def _response(text: str) -> str:
    if not text.strip():
        return '<p class="muted">(empty response)</p>'
    if len(text) <= LONGEST_SHOWN:
        return f'<pre class="response">{_with_dim_thoughts(text)}</pre>'
    block = text.rfind("\n```lean")
    end = text[block + 1 :] if block >= 0 else text[-LONGEST_SHOWN:]
    return (
        f'<pre class="response">… {escape(end[:LONGEST_SHOWN])}</pre>'
        f'<details><summary>whole response, {len(text):,} characters</summary><pre class="response">{_with_dim_thoughts(text)}</pre></details>'
    )
