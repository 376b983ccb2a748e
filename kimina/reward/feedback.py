"""What a model is told about a proof that Lean did not accept, so that it can correct it.

For each of the first errors: the goals before the failing tactic where they are known, Lean's message, and five
numbered lines of the model's own text around the place (Kimina-Prover-RL, error correction: at most three errors,
goals, message, code with two lines on either side). The same reply always gives the same text.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kimina.lean.verdict import CheckResult, Message, Verdict

CONTEXT_LINES = 2
"""Lines shown before and behind the line of an error."""
MOST_GOALS = 3
_METAVARIABLE = re.compile(r"\?(m|u)\.\d+")
_CUT = "\n[... {count} characters left out ...]\n"


@dataclass(frozen=True)
class FeedbackSettings:
    """``max_errors``: errors that are shown. ``max_tokens``: length of the whole text; what is too long loses its
    middle. ``count_tokens`` is the tokenizer's count of a text; without it a token is a character."""

    max_errors: int = 3
    max_tokens: int = 1000
    count_tokens: Callable[[str], int] = len

    def __post_init__(self) -> None:
        if self.max_errors < 1 or self.max_tokens < 1:
            raise ValueError(f"max_errors and max_tokens must be at least 1: {self.max_errors}, {self.max_tokens}")


def lean_feedback(code: str, result: CheckResult, settings: FeedbackSettings) -> str | None:
    """Return the text on ``result``, the check of ``code``, of at most ``settings.max_tokens`` tokens.

    None where there is nothing to correct, and where nobody judged: trouble of the machines is not the model's.
    """
    if result.verdict in (Verdict.PROVED, Verdict.UNVERIFIED):
        return None
    lines = code.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    errors = _errors(result)
    sections = [_section(index, error, lines) for index, error in enumerate(errors[: settings.max_errors], start=1)]
    if not sections:
        sections = [_about_the_whole(result)]
    elif len(errors) > settings.max_errors:
        sections[-1] += f"\n({len(errors) - settings.max_errors} more errors are not shown.)"
    return _fitted([_renumbered(section) for section in sections], settings)


def _errors(result: CheckResult) -> list[Message]:
    """The errors by position, each once; for a proof with holes the places of the holes."""
    wanted = "warning" if result.verdict is Verdict.SORRY else "error"
    found = [m for m in result.messages if m.severity == wanted and (wanted == "error" or "sorry" in m.text)]
    return list(dict.fromkeys(sorted(found, key=lambda message: (message.line, message.column))))


def _section(index: int, error: Message, lines: Sequence[str]) -> str:
    line = min(max(error.line, 1), len(lines))
    parts = [f"# Error {index} (line {line})"]
    # Some messages show the goals themselves.
    if error.goals and "⊢" not in error.text:
        shown = [goal.strip() for goal in error.goals[:MOST_GOALS]]
        more = len(error.goals) - len(shown)
        parts += ["Goals before it:", "\n\n".join(shown) + (f"\n\n({more} more goals)" if more else "")]
    parts += ["Lean's message:", error.text.strip() or "(no text)", "Your code:", _numbered(lines, line)]
    return "\n".join(parts)


def _numbered(lines: Sequence[str], line: int) -> str:
    """Five lines around ``line`` (counted from 1), or as many as there are; the line itself is marked."""
    shown = min(len(lines), 2 * CONTEXT_LINES + 1)
    first = min(max(line - CONTEXT_LINES, 1), len(lines) - shown + 1)
    width = len(str(first + shown - 1))
    return "\n".join(
        f"{number:>{width}} {'>' if number == line else ' '}| {lines[number - 1]}".rstrip()
        for number in range(first, first + shown)
    )


def _about_the_whole(result: CheckResult) -> str:
    if result.verdict is Verdict.TIMEOUT:
        return "# Lean stopped\nChecking your proof took too long, so it was stopped."
    if result.verdict is Verdict.AXIOM_VIOLATION:
        return f"# Not accepted\nYour proof rests on an axiom that is not allowed: {result.detail}"
    if result.verdict is Verdict.SORRY:
        return "# Not complete\nYour proof leaves something unproved (sorry)."
    return f"# Not accepted\n{result.detail}"


def _renumbered(text: str) -> str:
    """Number metavariables by first appearance: Lean's own numbers depend on what was checked before."""
    numbers: dict[str, int] = {}
    return _METAVARIABLE.sub(lambda m: f"?{m[1]}.{numbers.setdefault(m[0], len(numbers) + 1)}", text)


def _fitted(sections: Sequence[str], settings: FeedbackSettings) -> str:
    """Join the sections; where they are too long together, long ones lose their middle until all of it fits.

    Every section has an equal share of the tokens, and what the short ones don't need goes to the long ones.
    """
    count, limit = settings.count_tokens, settings.max_tokens
    whole = "\n\n".join(sections)
    if count(whole) <= limit:
        return whole
    left, kept = limit - len(sections) + 1, dict[int, str]()
    for place, index in enumerate(sorted(range(len(sections)), key=lambda index: count(sections[index]))):
        kept[index] = cut_middle(sections[index], left // (len(sections) - place), count)
        left = max(0, left - count(kept[index]))
    # Tokens of a joined text may differ a little from those of its parts.
    return cut_middle("\n\n".join(kept[index] for index in range(len(sections)) if kept[index]), limit, count)


def cut_middle(text: str, max_tokens: int, count_tokens: Callable[[str], int] = len) -> str:
    """Return ``text``, or as much of its head and tail (one half each) as ``max_tokens`` tokens hold.

    Says how many characters are missing, unless there is no room for that: then it is the head alone.
    """
    if count_tokens(text) <= max_tokens:
        return text

    def with_gap(kept: int) -> str:
        head, tail = (kept + 1) // 2, kept // 2
        return text[:head] + _CUT.format(count=len(text) - kept) + text[len(text) - tail :]

    def head_only(kept: int) -> str:
        return text[:kept]

    for shortened in (with_gap, head_only):
        kept = _most(lambda kept, shorten=shortened: count_tokens(shorten(kept)) <= max_tokens, len(text) - 1)
        if kept is not None:
            return shortened(kept)
    return ""


def _most(fits: Callable[[int], bool], upper: int) -> int | None:
    """The largest number up to ``upper`` that fits, as found by bisection; None where not even 0 fits.

    A tokenizer's count may fall by a token where a text grows by a character, so the number found may be a little
    smaller than the largest; it always fits.
    """
    if not fits(0):
        return None
    low, high = 0, upper
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
