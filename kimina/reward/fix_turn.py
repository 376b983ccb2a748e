"""The error-fixing protocol: what a model is asked after an attempt that Lean refused.

Every failed first attempt gets one fix turn: the first prompt, the model's answer, and as the user's next message the
feedback on Lean's reply (``kimina.reward.feedback``). The published tables call this "with error fixing" and don't spell
the protocol out; this is the reading in which k attempts use at most 2k generations (Kimina-Prover-RL: "for each failed
response we allow the model to do one more tentative to fix its proof").

No fix turn, for the reason that is recorded:

- ``solved``: the attempt succeeded; ``unverified``: nobody judged it;
- ``no_lean_code``: there is nothing that Lean could have said something about;
- ``format_only``: Lean accepts the proof and a format check refuses the answer. Feedback is about Lean's replies alone,
  so there is nothing to tell. An answer that both refuse gets its fix turn, on what Lean says;
- ``not_asked``: a format check refused the answer and Lean was not asked (``evaluation.verify_rejected=false``);
- ``context``: the fix prompt and the token budget don't fit into the model's context together.

A fix turn is scored by itself, like a first attempt. Evaluation and training follow the same protocol: training asks the
fix turns of a step's failures in later steps (``kimina.data.repair_buffer``).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kimina.errors import UserError
from kimina.lean.verdict import CheckResult, Verdict
from kimina.response import OPEN_TAG
from kimina.reward.feedback import FeedbackSettings, lean_feedback
from kimina.reward.scorer import FormatReport

#: What of the first answer the fix prompt holds: its Lean code alone, or all of it.
HISTORIES = ("code_only", "with_think")
SOLVED, UNVERIFIED, NO_LEAN_CODE = "solved", "unverified", "no_lean_code"
FORMAT_ONLY, NOT_ASKED, CONTEXT = "format_only", "not_asked", "context"

# They stand for the texts while the chat template is rendered. Templates trim texts and cut think blocks out of earlier
# turns (Qwen3's does); what is sent must be what the setting says.
_ANSWER, _FEEDBACK = "KiminaFirstAnswerStandsHere", "KiminaFeedbackStandsHere"


def feedback_or_reason(
    report: FormatReport, result: CheckResult | None, settings: FeedbackSettings
) -> tuple[str | None, str | None]:
    """Return (feedback, None) for an attempt that gets a fix turn, else (None, reason); the context apart."""
    if result is not None and result.verdict is Verdict.PROVED:
        return None, FORMAT_ONLY if report.violations else SOLVED
    if report.lean_code is None:
        return None, NO_LEAN_CODE
    if result is None:
        return None, NOT_ASKED
    text = lean_feedback(report.lean_code, result, settings)
    return (text, None) if text is not None else (None, UNVERIFIED)


def first_answer(history: str, response: str, lean_code: str, *, opens_think: bool = False) -> str:
    """Return what the fix prompt shows of the first answer, by ``evaluation.fix_history``.

    ``opens_think`` says that the first prompt ended with the opening think tag, which is part of what the model saw.
    """
    if history == "code_only":
        return f"```lean4\n{lean_code}\n```"
    return f"{OPEN_TAG}\n{response}" if opens_think else response


def fix_prompt(tokenizer: Any, prompt: Sequence[Mapping[str, str]], answer: str, feedback: str) -> str:
    """Return the text of the fix prompt in the chat format of the tokenizer's model, ``answer`` and ``feedback`` verbatim.

    Raises:
        UserError: the chat template has no place for an earlier answer.
    """
    before, between, behind = _rendered(tokenizer, prompt)
    return before + answer + between + feedback + behind


def between_turns(tokenizer: Any, feedback: str) -> str:
    """Return what stands between an answer and the next one when ``feedback`` is the user's turn between them.

    Raises:
        UserError: as for :func:`fix_prompt`.
    """
    _, between, behind = _rendered(tokenizer, [{"role": "user", "content": "?"}])
    return between + feedback + behind


def _rendered(tokenizer: Any, prompt: Sequence[Mapping[str, str]]) -> tuple[str, str, str]:
    """Return the text before the answer, between answer and feedback, and behind the feedback."""
    messages = [*prompt, {"role": "assistant", "content": _ANSWER}, {"role": "user", "content": _FEEDBACK}]
    text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    if text.count(_ANSWER) != 1 or text.count(_FEEDBACK) != 1:
        raise UserError(
            "the model's chat template leaves earlier turns of the assistant out, so it can't be told what to fix.\n"
            "  type: evaluation.fix_turns=0 correction=none"
        )
    before, _, rest = text.partition(_ANSWER)
    between, _, behind = rest.partition(_FEEDBACK)
    return before, between, behind
