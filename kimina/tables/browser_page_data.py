"""What the browser page's script reads: a small index of all problems, and a block of samples for each run and problem.

The index is unpacked when the page opens; a block when its problem is chosen. So a page of 244 problems with 32 samples
of several runs holds tens of megabytes and unpacks a few hundred kilobytes of them.
"""

import base64
import gzip
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kimina.evaluation.records import Outcome, ProblemResult
from kimina.evaluation.result import EvalResult, Rate
from kimina.response import parse_response
from kimina.tables.curves import Curve, TrainingCurves

if TYPE_CHECKING:
    from kimina.tables.browser_page import BrowserPage

MOST_TEXT = 512 * 2**20
NOT_CHECKED = "not_checked"


def letter(index: int) -> str:
    """Return the short name of a run: A to Z, then A1 to Z1, and so on."""
    turn, place = divmod(index, 26)
    return chr(ord("A") + place) + (str(turn) if turn else "")


def packed(value: Any) -> str:
    """Return a JSON value, compressed and in base64: text without a character that means anything to HTML."""
    try:
        content = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair has no UTF-8
        content = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")
    # Level 3 takes a fraction of the default level's time and about a sixth more space.
    return base64.b64encode(gzip.compress(content, compresslevel=3, mtime=0)).decode("ascii")


def index_of(page: "BrowserPage") -> dict[str, Any]:
    """Return curves and, of each problem, what the list and its filters need."""
    by_run = [
        {problem.problem_id: (place, problem) for place, problem in enumerate(run.result.problems)} for run in page.runs
    ]
    ids = list(dict.fromkeys(problem_id for problems in by_run for problem_id in problems))
    return {
        "runs": [
            {
                "id": run.id,
                "title": run.title,
                "letter": letter(index),
                "pass": [_point(k, rate) for k, rate in run.pass_curve if rate.value is not None],
                "curves": _curves(run.curves),
            }
            for index, run in enumerate(page.runs)
        ],
        "problems": [_entry(page, problem_id, [problems.get(problem_id) for problems in by_run]) for problem_id in ids],
    }


def blocks(results: Sequence[EvalResult]) -> tuple[bool, list[tuple[str, str]]]:
    """Return whether responses are whole, and the packed samples of each run and problem by `block_name`.
    """
    length = sum(len(outcome.response) for result in results for outcome in _all_outcomes(result))
    whole = length <= MOST_TEXT
    return whole, [
        (block_name(run, place), packed([_sample(outcome, problem, whole) for outcome in problem.outcomes]))
        for run, result in enumerate(results)
        for place, problem in enumerate(result.problems)
    ]


def block_name(run: int, place: int) -> str:
    """Return the name of the block of a run's ``place``-th problem."""
    return f"s{run}-{place}"


def _all_outcomes(result: EvalResult) -> Iterable[Outcome]:
    for problem in result.problems:
        yield from problem.outcomes
        yield from problem.fixes.values()


def _point(k: int, rate: Rate) -> list[float | None]:
    low, high = (rate.interval.low, rate.interval.high) if rate.interval else (None, None)
    return [k, rate.value, low, high, rate.n]


def _curves(curves: TrainingCurves | None) -> dict[str, Any] | None:
    if curves is None:
        return None
    plain: dict[str, Curve] = {
        "reward": curves.reward,
        "proof_rate": curves.proof_rate,
        "response_tokens": curves.response_length,
    }
    return {**plain, "violations": curves.violations}


def _entry(page: "BrowserPage", problem_id: str, found: list[tuple[int, ProblemResult] | None]) -> dict[str, Any]:
    _, first = next(each for each in found if each is not None)
    return {
        "id": problem_id,
        "family": first.family,
        "level": first.level,
        "statement": page.statements.get(problem_id),
        "informal": page.informal.get(problem_id),
        "runs": [
            None if each is None else {"block": block_name(run, each[0]), **_counts(each[1])}
            for run, each in enumerate(found)
        ],
    }


def _counts(problem: ProblemResult) -> dict[str, Any]:
    return {
        "n": problem.n,
        "c": problem.c,
        "unverified": problem.unverified,
        "fixes": len(problem.fixes),
        "fixed": sum(
            problem.fixes[outcome.sample].success
            for outcome in problem.outcomes
            if not outcome.success and outcome.sample in problem.fixes
        ),
        "verdicts": Counter(outcome.verdict or NOT_CHECKED for outcome in problem.outcomes),
        "violations": Counter(code for outcome in problem.outcomes for code in set(outcome.violations)),
    }


def _sample(outcome: Outcome, problem: ProblemResult | None, whole: bool) -> dict[str, Any]:
    before, lean, after = _split(outcome.response)
    fix = problem.fixes.get(outcome.sample) if problem is not None else None
    return {
        "sample": outcome.sample,
        "verdict": outcome.verdict or NOT_CHECKED,
        "violations": list(outcome.violations),
        "success": outcome.success,
        "judged": outcome.judged,
        "reward": outcome.reward,
        "tokens": outcome.response_tokens,
        "finished": outcome.finished,
        "before": before if whole else "",
        "lean": lean,
        "after": after if whole else "",
        "messages": [[message.severity, message.line, message.column, message.text] for message in outcome.messages],
        "generation_s": outcome.generation_s,
        "lean_s": outcome.lean_s,
        "fix": _sample(fix, None, whole) if fix is not None else None,
    }


def _split(response: str) -> tuple[str, str | None, str]:
    """Cut a response around the text of the block that Lean judged, its last one; without one all of it is "before"."""
    parsed = parse_response(response)
    block = parsed.last_lean_block()
    if block is None:
        return parsed.text, None, ""
    return parsed.text[: block.start], block.text, parsed.text[block.start + len(block.text) :]
