"""verl's single-turn agent loop with what a prompt's ``extra_info`` asks for: fix turns and generation limits.

Named by ``kimina/verl/agent_loops.yaml``. A fix prompt is built from verbatim texts, because chat templates of Qwen3's
kind silently cut the think block out of earlier turns.
"""

import hashlib
import time
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopOutput
from verl.experimental.agent_loop.single_turn_agent_loop import SingleTurnAgentLoop

from kimina.data.repair_entry import FEEDBACK_TOO_LONG, FixMaterial
from kimina.reward.fix_turn import CONTEXT, between_turns
from kimina.verl.prompt_feed import fix_prompt_ids
from kimina.verl.reward import judge_of
from kimina.verl.rollout_record import REPETITION, SEGMENTS, earlier_tokens

#: A fix turn with less room than this can't hold a proof.
LEAST_TOKENS = 16


class ProofAgentLoop(SingleTurnAgentLoop):
    """One prompt, one answer; with ``correction=rollout`` a second answer behind feedback on the first.

    The loop's object lives for one sample.
    """

    _fix: FixMaterial | None = None

    async def run(self, sampling_params: dict[str, Any], priority: int = 0, **kwargs) -> AgentLoopOutput:
        """Generate a sample. Prompts of a validation have none of our keys and are asked as they are."""
        info = kwargs["extra_info"]
        if info.get("fix"):
            self._fix = FixMaterial(**info["fix"])
        limit = info.get("limit")
        if info.get("fix_in_rollout"):
            own = int(self._settings.correction.first_turn_share * self.response_length)
            limit = min(own, limit or own)
        most = min(limit, self.response_length) if limit else self.response_length
        params = {**sampling_params, "max_tokens": most} if limit else sampling_params
        output = await super().run(params, priority, **kwargs)
        # told here, because tokens of a sample with two turns don't show it, and vLLM's stop reason doesn't either
        output.extra_fields["truncated"] = len(output.response_ids) >= most
        if info.get("fix_in_rollout"):
            output = await self._with_fix_turn(output, sampling_params, kwargs)
        else:
            output = await self._with_reward(output, kwargs)
        self._leave_out_earlier_segments(output)
        output.extra_fields["digest"] = digest(output.response_ids)
        return output

    @property
    def _settings(self) -> Any:
        return self.config.reward.custom_reward_function.reward_kwargs.settings

    async def ct_build_initial_tokens(self, messages, **kwargs) -> list[int]:
        """Return the prompt's tokens; verl calls this from ``run``."""
        if self._fix is None:
            return await super().ct_build_initial_tokens(messages, **kwargs)
        return self._cap_text_prompt_length(fix_prompt_ids(self.tokenizer, messages, self._fix))

    def _leave_out_earlier_segments(self, output: AgentLoopOutput) -> None:
        """Take tokens that an older policy drew out of the loss, where ``rollout.earlier_segments=excluded`` asks for it."""
        # feedback between two answers isn't the model's
        output.extra_fields["own_tokens"] = sum(output.response_mask)
        segments = output.extra_fields.get(SEGMENTS)
        if segments is None or self._settings.rollout.earlier_segments != "excluded":
            return
        earlier = earlier_tokens(segments)
        output.response_mask = [int(bool(own) and not next(earlier, False)) for own in output.response_mask]

    async def _with_reward(self, output: AgentLoopOutput, kwargs: dict[str, Any]) -> AgentLoopOutput:
        """Judge the answer here: sending it to one of verl's reward workers costs more than judging it."""
        text = self.tokenizer.decode(output.response_ids, skip_special_tokens=True)
        turn = int(kwargs["extra_info"].get("turn", 1))
        started = time.monotonic()
        info = await judge_of(self._settings).judge(kwargs["reward_model"]["ground_truth"], text, turn)
        output.metrics.compute_score = time.monotonic() - started
        return _judged(output, info)

    async def _with_fix_turn(
        self, output: AgentLoopOutput, sampling_params: dict[str, Any], kwargs: dict[str, Any]
    ) -> AgentLoopOutput:
        """Judge the first answer; where there is something to correct, append feedback (masked) and a second answer."""
        judge = judge_of(self._settings)
        statement = kwargs["reward_model"]["ground_truth"]
        first = await judge.turn(statement, self.tokenizer.decode(output.response_ids, skip_special_tokens=True), 1)
        if isinstance(first.material, str):
            return _judged(output, judge.whole([first]))
        if len(first.material.feedback) > self._settings.correction.max_feedback_chars:
            return _judged(output, judge.whole([first], FEEDBACK_TOO_LONG))
        context = self._feedback_ids(output, first.material)
        room = self.response_length - len(output.response_ids) - len(context)
        if room < LEAST_TOKENS:
            return _judged(output, judge.whole([first], CONTEXT))
        so_far = output.prompt_ids + output.response_ids + context
        answer = await self.server_manager.generate(
            request_id=uuid4().hex, prompt_ids=so_far, sampling_params={**sampling_params, "max_tokens": room}
        )
        tokens = answer.token_ids[:room]
        text = self.tokenizer.decode(tokens, skip_special_tokens=True)
        second = await judge.turn(statement, text, 2)
        output.response_ids = output.response_ids + context + tokens
        output.response_mask = output.response_mask + [0] * len(context) + [1] * len(tokens)
        if output.response_logprobs is not None:
            output.response_logprobs = output.response_logprobs + [0.0] * len(context) + (answer.log_probs or [])[:room]
        output.extra_fields["truncated"] = output.extra_fields["truncated"] or len(tokens) >= room
        output.num_turns += 2
        _add_segments(output.extra_fields, answer.extra_fields)
        return _judged(output, judge.whole([first, second], None))

    def _feedback_ids(self, output: AgentLoopOutput, material: FixMaterial) -> list[int]:
        """Return the tokens between the first answer and the second: its end, the user's turn, the next one's start."""
        ids = list(self.tokenizer.encode(between_turns(self.tokenizer, material.feedback), add_special_tokens=False))
        ended = output.response_ids and ids and output.response_ids[-1] == ids[0]
        return ids[1:] if ended else ids


def digest(token_ids: Sequence[int]) -> str:
    """Return a short name of a response's tokens: the samples of a prompt are ordered by it.

    Which of them comes first, and so has which session, depends on which process was faster.
    """
    return hashlib.sha256(" ".join(map(str, token_ids)).encode()).hexdigest()[:16]


def _add_segments(first: dict[str, Any], second: dict[str, Any]) -> None:
    """Let the record of the first answer's versions speak of both answers."""
    first["max_global_steps"] = second.get("max_global_steps", first.get("max_global_steps"))
    if SEGMENTS in first:
        first[SEGMENTS] = [*first[SEGMENTS], *second[SEGMENTS]]
        first[REPETITION] = first[REPETITION] or second[REPETITION]


def _judged(output: AgentLoopOutput, info: dict[str, Any]) -> AgentLoopOutput:
    output.reward_score = info["score"]
    output.extra_fields["reward_extra_info"] = info
    return output
