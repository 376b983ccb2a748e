"""What every method of length control is: settings, a reward that is added, and a token budget."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

Budgets = Sequence[int | None] | None
"""The budget that stood in each sample's prompt; None where no method writes one."""

Message = dict[str, Any]
"""A chat message with ``role`` and ``content``."""


class LengthControl(BaseModel):
    """A method of length control; its fields are what ``length.<key>`` may set.

    The reward of a sample is its base reward plus what ``rewards`` returns. ``correct`` means that the base reward is
    1: the proof was accepted and no enabled check is violated. Lengths are those of the responses in tokens; steps are
    the trainer's, which count from 1.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    name: ClassVar[str]

    def rewards(self, lengths: Sequence[int], correct: Sequence[bool], step: int, budgets: Budgets = None) -> list[float]:
        """Return what is added to the reward of each sample of one group, in the group's order.

        A group are all judged samples of one prompt; ``budgets`` are what ``budget`` gave for its prompt.

        Raises:
            ValueError: an empty group, lists of different lengths, a length that is no whole number of at least 0, a
                ``correct`` that is neither true nor false, or a missing budget.
        """
        tokens, outcomes = checked_group(lengths, correct)
        if budgets is not None and len(budgets) != len(tokens):
            raise ValueError(f"{len(budgets)} budgets for {len(tokens)} samples")
        if not self.active(step):
            return [0.0] * len(tokens)
        return self._added(tokens, outcomes, step, budgets)

    def _added(self, lengths: list[int], correct: list[bool], step: int, budgets: Budgets) -> list[float]:
        """What ``rewards`` returns at an active step; the group has been checked."""
        raise TypeError(f"{type(self).__name__} has no _added")

    def active(self, step: int) -> bool:
        """Tell whether rewards of this step may differ from 0."""
        check_step(step)
        return True

    def budget(self, seed: int, step: int, number: int) -> int | None:
        """Return the token budget that is written into prompt ``number`` of the step; None: none is written.

        The same arguments give the same budget, in every process and after every restart.
        """
        return None

    def largest_budget(self) -> int | None:
        """Return the largest budget that a prompt may ask for; None: none is written."""
        return None

    def instruct(self, messages: Sequence[Mapping[str, Any]], budget: int | None) -> list[Message]:
        """Return a chat that asks for the budget; the one given stays as it is, and without a budget so does its text.

        Raises:
            ValueError: the chat has no message that the instruction could be written into.
        """
        return [dict(message) for message in messages]

    def limit(self, step: int) -> int | None:
        """Return the limit in tokens under which this step generates; None: the configured one, unchanged."""
        return None


def checked_group(lengths: Sequence[int], correct: Sequence[bool]) -> tuple[list[int], list[bool]]:
    """Return lengths and outcomes of a group as Python's own numbers: NumPy's unsigned ones wrap around below 0.

    Raises:
        ValueError: says what is wrong.
    """
    if len(lengths) != len(correct):
        raise ValueError(f"{len(lengths)} lengths and {len(correct)} outcomes: each sample has one of both")
    if len(lengths) == 0:
        raise ValueError("a group without samples has no length reward")
    tokens = [checked_tokens("a length", length) for length in lengths]
    for outcome in correct:
        if outcome not in (True, False):
            raise ValueError(f"correct={outcome!r}: a judged sample is correct or not; leave others out of the group")
    return tokens, [bool(outcome) for outcome in correct]


def checked_tokens(what: str, count: int | None, least: int = 0) -> int:
    """Return a number of tokens as Python's own; whole numbers of NumPy are fine.

    Raises:
        ValueError: says what is wrong.
    """
    if isinstance(count, bool) or not isinstance(count, Integral) or count < least:
        raise ValueError(f"{what} of {count!r} tokens: it must be a whole number of at least {least}")
    return int(count)


def check_step(step: int) -> None:
    """Refuse what is no step.

    Raises:
        ValueError: says what is wrong.
    """
    if isinstance(step, bool) or not isinstance(step, Integral) or step < 0:
        raise ValueError(f"step={step!r}: it must be a whole number of at least 0")
