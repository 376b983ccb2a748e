"""From Lean's messages to a verdict: one set of rules for every verifier.

``proved`` needs positive evidence: the axioms of the named theorem, from the environment itself or from the report at
our own query's position. Whatever the model's text prints elsewhere, a forged report included, counts as nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kimina.lean.verdict import ALLOWED_AXIOMS, Message, Verdict

_SORRY = re.compile(r"declaration uses\s+['`‘’]?sorry['`‘’]?", re.IGNORECASE)
_HEARTBEATS = re.compile(r"\((?:deterministic|kernel)\) (?:deterministic )?timeout|maximum number of heartbeats")
_NO_AXIOMS = re.compile(r"'(.+)' does not depend on any axioms", re.DOTALL)
_AXIOMS = re.compile(r"'(.+)' depends on axioms:\s*\[(.*)\]", re.DOTALL)
_EXIT = re.compile(r"using 'exit' to interrupt Lean")


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reason in one line, and the axioms of the theorem when a report on them was found."""

    verdict: Verdict
    detail: str
    axioms: tuple[str, ...] | None = None


def read_report(text: str, theorem: str) -> tuple[str, ...] | None:
    """Read ``#print axioms`` output on ``theorem``; ``None`` when ``text`` is no such report."""
    if (found := _NO_AXIOMS.fullmatch(text.strip())) and _same_name(found[1], theorem):
        return ()
    if (found := _AXIOMS.fullmatch(text.strip())) and _same_name(found[1], theorem):
        return tuple(axiom.strip() for axiom in found[2].split(",") if axiom.strip())
    return None


def judge(
    messages: Sequence[Message], theorem: str, axioms: tuple[str, ...] | None, *, queried: bool = True
) -> Judgement:
    """Judge a complete answer of Lean.

    ``messages`` are all messages about the model's text; ``axioms`` is what ``theorem`` rests on (``None``: no report
    was obtained). With ``queried=False`` no report was asked for, and its absence is no objection.
    """
    errors = [message for message in messages if message.severity == "error"]
    if errors:
        if all(_HEARTBEATS.search(message.text) for message in errors):
            return Judgement(Verdict.HEARTBEAT_LIMIT, _first_line(errors[0]), axioms)
        other = next(message for message in errors if not _HEARTBEATS.search(message.text))
        return Judgement(Verdict.LEAN_ERROR, _first_line(other), axioms)
    if axioms is not None and "sorryAx" in axioms:
        return Judgement(Verdict.SORRY, f"{theorem} rests on sorry", axioms)
    if holes := [message for message in messages if _SORRY.search(message.text)]:
        return Judgement(Verdict.SORRY, _first_line(holes[0]), axioms)
    if axioms is None and queried:
        if any(_EXIT.search(message.text) for message in messages):
            return Judgement(Verdict.LEAN_ERROR, "the text ends Lean with #exit before the theorem could be examined")
        return Judgement(Verdict.UNVERIFIED, f"Lean's answer holds no axiom report on {theorem}")
    foreign = sorted(set(axioms or ()) - ALLOWED_AXIOMS)
    if foreign:
        return Judgement(Verdict.AXIOM_VIOLATION, f"{theorem} rests on {', '.join(foreign)}", axioms)
    return Judgement(Verdict.PROVED, "proved", axioms)


def _same_name(printed: str, asked: str) -> bool:
    return _plain(printed) == _plain(asked)


def _plain(name: str) -> str:
    return name.replace("«", "").replace("»", "").removeprefix("_root_.")


def _first_line(message: Message) -> str:
    text = message.text.strip()
    return f"line {message.line}: {text.splitlines()[0] if text else message.severity}"
