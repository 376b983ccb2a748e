"""What becomes of a failed rollout in training: a fix turn that a later step can ask, or a reason why there is none."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field

from kimina.data.option_settings import OptionSettings
from kimina.lean.verdict import CheckResult
from kimina.reward.feedback import FeedbackSettings
from kimina.reward.fix_turn import feedback_or_reason, first_answer
from kimina.reward.scorer import FormatReport

#: Reasons beside those of :mod:`kimina.reward.fix_turn`.
SECOND_TURN, FEEDBACK_TOO_LONG, PROMPT_TOO_LONG = "second_turn", "feedback_too_long", "prompt_too_long"


class FixTurnSettings(OptionSettings):
    """What a fix turn in training may hold (Kimina-Prover-RL, error correction).

    Feedback of more than ``max_feedback_chars`` characters drops the sample, as the released recipe does; the publication
    speaks of a cap: ``too_long=cut`` takes the middle out of the feedback. ``history`` says what the prompt shows of the
    first answer. The recipe sends all of it through the chat template, and Qwen3's cuts the think block out, so that
    ``code_only`` is what its model saw; it is also what evaluation does.
    """

    group: ClassVar[str] = "correction"
    history: Literal["code_only", "with_think"] = "code_only"
    max_feedback_chars: int = Field(default=3000, ge=1)
    too_long: Literal["drop", "cut"] = "drop"

    def feedback_settings(self) -> FeedbackSettings:
        """Return how Lean's reply is worded; without a tokenizer a token is a character."""
        return FeedbackSettings(max_tokens=self.max_feedback_chars if self.too_long == "cut" else sys.maxsize)


@dataclass(frozen=True)
class FixMaterial:
    """What a fix prompt says behind the first prompt: ``answer`` as the model's message, ``feedback`` as the user's."""

    answer: str
    feedback: str


@dataclass(frozen=True)
class Rollout:
    """A judged response: the training set's ``row``, its ``statement``, the training ``step`` and ``turn`` (1 or 2).

    ``key`` is unique over the run.
    """

    row: int
    statement: str
    step: int
    key: str
    turn: int = 1


@dataclass(frozen=True)
class RepairEntry:
    """A fix turn to ask: the prompt of ``row``, then ``first_answer`` as the model's and ``feedback`` as the user's message.

    Both texts stand in the prompt verbatim. The second answer is scored by itself against ``statement``: a format error
    of the first one doesn't count against it. ``first_step`` is the step of the first turn.
    """

    row: int
    statement: str
    first_answer: str
    feedback: str
    first_step: int
    key: str


def material_or_reason(
    report: FormatReport,
    result: CheckResult | None,
    response: str,
    settings: FixTurnSettings,
    *,
    opens_think: bool = False,
) -> FixMaterial | str:
    """Return what a fix turn would say about a response, or the reason (of :mod:`kimina.reward.fix_turn`) why it has none.

    Args:
        report: what the format checks found.
        result: Lean's reply; None when Lean was not asked.
        opens_think: the prompt ended with the opening think tag.
    """
    feedback, reason = feedback_or_reason(report, result, settings.feedback_settings())
    if feedback is None:
        assert reason is not None
        return reason
    assert report.lean_code is not None  # there is feedback on it
    return FixMaterial(first_answer(settings.history, response, report.lean_code, opens_think=opens_think), feedback)


def entry_or_reason(
    rollout: Rollout,
    material: FixMaterial | str,
    settings: FixTurnSettings,
    prompt_tokens: Callable[[FixMaterial], int],
    max_prompt_tokens: int,
) -> RepairEntry | str:
    """Return the fix turn of a rollout, or the reason why it gets none.

    Args:
        material: what :func:`material_or_reason` returned.
        prompt_tokens: the length in tokens of the fix turn's whole prompt.
        max_prompt_tokens: ``data.max_prompt_length``.

    The reasons are the material's, then in this order ``second_turn`` (one fix turn, no more), ``feedback_too_long`` and
    ``prompt_too_long``. A response that broke the format and that Lean refused gets its fix turn, as in the recipe, whose
    own fault is amended: there the second turn could never earn a reward, because the format of the first was checked
    again with it.
    """
    if isinstance(material, str):
        return material
    if rollout.turn > 1:
        return SECOND_TURN
    if len(material.feedback) > settings.max_feedback_chars:
        return FEEDBACK_TOO_LONG
    if prompt_tokens(material) > max_prompt_tokens:
        return PROMPT_TOO_LONG
    return RepairEntry(rollout.row, rollout.statement, material.answer, material.feedback, rollout.step, rollout.key)
