"""What is asked of a Lean verifier and what it answers: requests, messages, verdicts.

Every verifier (embedded, local, Kimina server) speaks in these types, so a reward, an evaluation and a report page do
not know which one was used.
"""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The outcome of one check. Only ``PROVED`` earns reward; ``UNVERIFIED`` earns nothing and costs nothing."""

    PROVED = "proved"
    """No error, no sorry, the named theorem exists, and its axioms are among ``ALLOWED_AXIOMS``."""
    SORRY = "sorry"
    """Accepted by Lean, but something stands unproved (``sorry``, ``admit``, ``sorryAx``)."""
    LEAN_ERROR = "lean_error"
    """Lean refuses the text, or the text does not contain the theorem."""
    HEARTBEAT_LIMIT = "heartbeat_limit"
    """Lean's own deterministic limit was reached, and nothing else is wrong."""
    TIMEOUT = "timeout"
    """The check used up its processor time."""
    AXIOM_VIOLATION = "axiom_violation"
    """Accepted by Lean, but the theorem rests on an axiom outside ``ALLOWED_AXIOMS``."""
    UNVERIFIED = "unverified"
    """Nobody judged the proof: the server was unreachable, overloaded, crashed, or its answer incomplete."""


ALLOWED_AXIOMS = frozenset({"propext", "Classical.choice", "Quot.sound"})
"""The axioms that Lean's own library rests on; a proof may depend on these and on no other."""


@dataclass(frozen=True)
class Message:
    """One message of Lean about the model's text.

    Lines are counted from 1 in the model's own text (header lines are not counted), columns from 0 in code points.
    ``severity`` is ``error``, ``warning`` or ``info``. The end is ``None`` where Lean gives none. ``goals`` are those
    before the tactic at this place, where the verifier was asked for them and knows them.
    """

    severity: str
    line: int
    column: int
    end_line: int | None
    end_column: int | None
    text: str
    goals: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckRequest:
    """One proof to check: ``code`` is what the model wrote, ``theorem`` the full name that it must declare.

    ``id`` is the caller's own and returns in the result; it does not take part in caching.
    """

    id: str
    code: str
    theorem: str


@dataclass(frozen=True)
class CheckResult:
    """The verdict on one request.

    ``seconds`` is the time that the check took (0 when the answer was known already), ``detail`` one line for a person,
    ``axioms`` what the theorem rests on (``None`` when no such report was obtained).
    """

    id: str
    verdict: Verdict
    messages: tuple[Message, ...]
    seconds: float
    detail: str
    axioms: tuple[str, ...] | None
    lean_version: str
