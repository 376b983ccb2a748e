"""Check against constructs that let a proof say less than it seems to."""

import re
from collections import Counter
from functools import cached_property, lru_cache
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from kimina.lean.constructs import find_constructs
from kimina.lean.source import LeanSource
from kimina.lean.words import THEOREMS
from kimina.reward.checks.base import Check, Measurement, measurement
from kimina.reward.sample import Sample

# Constructs that leave a hole; a statement's own hole is no licence for another.
_HOLES = frozenset({"sorry", "sorry_ax", "admit", "stop"})
_INVISIBLE = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
_ZERO_WIDTH = re.compile(f"[{_INVISIBLE}]++")
# Several times faster than a search, because most signs are ASCII.
_NO_ZERO_WIDTH = re.compile(rf"(?:[\x00-\x7f]++|[^\x00-\x7f{_INVISIBLE}]++)*+")


class Constructs(BaseModel):
    """Which constructs are refused.

    Each is refused as live code only; in comments, strings and longer names its word is free.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    axiom: bool = True  # the command
    local_instance: bool = True  # `local instance`, also as an attribute
    sorry: bool = False
    sorry_ax: bool = False  # the constant behind sorry
    admit: bool = False
    stop: bool = False  # Mathlib's tactic that skips the rest
    native_decide: bool = False  # also `decide +native` and the constants it rests on
    unsafe: bool = False
    implemented_by: bool = False  # also csimp
    extern: bool = False
    skip_kernel: bool = False  # debug.skipKernelTC and the debug options that make sorry of proofs
    run_cmd: bool = False  # also run_elab and run_meta
    run_tac: bool = False  # also by_elab
    elab: bool = False
    macro: bool = False
    syntax: bool = False
    notation: bool = False
    infix: bool = False  # and prefix, postfix
    initialize: bool = False
    instance: bool = False  # any instance, also as an attribute
    eval: bool = False  # #eval, which can print a forged report, and #exit, which hides the query behind it
    search_tactics: bool = False  # apply?, exact?, hint and the like
    zero_width: bool = False  # invisible characters anywhere in the block


class ForbiddenConstruct(Check):
    """The Lean block contains a refused construct more often than the statement does: ``count > statement's count``.

    Tokens are compared, never raw text. Kimina-Prover-RL, released format reward, check 9, refuses ``axiom`` and
    ``local_instance`` as bare strings; the longer list of the strict profile is ours.
    """

    name: ClassVar[str] = "forbidden_construct"
    constructs: Constructs = Constructs()

    def measure(self, sample: Sample) -> Measurement | None:
        if sample.answer is None:
            return None
        refused = self.refused
        found: dict[str, int] = {}
        for construct, _ in find_constructs(sample.source):
            if construct in refused:
                found[construct] = found.get(construct, 0) + 1
        if "zero_width" in refused and (count := _zero_width(sample.answer.text)):
            found["zero_width"] = count - _zero_width(sample.statement.text)
        if not found:
            return measurement(False, 0, 0)
        allowed = _allowed(sample.statement.text)
        # A Counter has 0 of what it lacks.
        found = {name: more for name, count in found.items() if (more := count - allowed[name]) > 0}
        return measurement(bool(found), sum(found.values()), 0, ", ".join(sorted(found)) or None)

    @cached_property
    def refused(self) -> frozenset[str]:
        """The names of the constructs that are refused."""
        return frozenset(construct for construct, on in self.constructs if on)


def _zero_width(text: str) -> int:
    """How many invisible characters the text has."""
    if text.isascii() or _NO_ZERO_WIDTH.fullmatch(text):
        return 0
    return len(text) - len(_ZERO_WIDTH.sub("", text))


@lru_cache(maxsize=4096)
def _allowed(statement_text: str) -> Counter[str]:
    """How often each construct occurs before the theorem of the statement; a proof has to repeat it there."""
    source = LeanSource(statement_text)
    theorem_start = max((command.start for command in source.commands if command.word in THEOREMS), default=0)
    return Counter(
        construct for construct, start in find_constructs(source) if start < theorem_start and construct not in _HOLES
    )
