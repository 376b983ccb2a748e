"""A sample with two turns: what the trainer sees of it."""

import asyncio
import json
from types import SimpleNamespace

import pytest
from omegaconf import OmegaConf
from transformers import AutoTokenizer
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput
from verl.experimental.agent_loop.single_turn_agent_loop import SingleTurnAgentLoop

from kimina.data.repair_entry import FixMaterial
from kimina.reward.fix_turn import fix_prompt
from kimina.verl import agent_loop
from kimina.verl.agent_loop import ProofAgentLoop
from kimina.verl.reward import Judge, Turn

SETTINGS = {"correction": {"name": "rollout", "first_turn_share": 0.5, "max_feedback_chars": 100, "second_turn_reward": 0.5}}


@pytest.fixture(scope="module")
def tokenizer(tiny_prover):
    return AutoTokenizer.from_pretrained(tiny_prover / "model")


class Server:
    """Answers each request with the next prepared text and notes what was asked."""

    def __init__(self, tokenizer, *answers):
        self.tokenizer, self.answers, self.asked = tokenizer, list(answers), []

    async def generate(self, request_id, prompt_ids, sampling_params):
        self.asked.append((prompt_ids, sampling_params))
        tokens = self.tokenizer.encode(self.answers.pop(0)) + [self.tokenizer.eos_token_id]
        return SimpleNamespace(token_ids=tokens, log_probs=[-0.5] * len(tokens), extra_fields={})


class FixedJudge(Judge):
    """Knows which texts are proofs."""

    def __init__(self, material, proofs=()):
        super().__init__(None, None, second_turn_reward=0.5)
        self.material, self.proofs, self.seen = material, proofs, []

    async def turn(self, statement, response, turn):
        self.seen.append((response, turn))
        proved = float(response in self.proofs)
        info = {"score": proved, "unverified": 0.0, "proved": proved, "verdict": "x", "violations": "[]", "turn": turn}
        return Turn(info, "solved" if proved else self.material)


def first_answer(tokenizer, text="first try", ended=True):
    prompt = tokenizer.encode("prove it")
    tokens = tokenizer.encode(text) + ([tokenizer.eos_token_id] if ended else [])
    return AgentLoopOutput(
        prompt_ids=prompt,
        response_ids=tokens,
        response_mask=[1] * len(tokens),
        response_logprobs=[-1.0] * len(tokens),
        num_turns=2,
        metrics=AgentLoopMetrics(),
        extra_fields={"truncated": False},
    )


def with_fix_turn(tokenizer, judge, monkeypatch, *answers, first=None, limit=400):
    monkeypatch.setattr(agent_loop, "judge_of", lambda settings: judge)
    loop = object.__new__(ProofAgentLoop)
    loop.tokenizer, loop.server_manager, loop.response_length = tokenizer, Server(tokenizer, *answers), limit
    loop.config = OmegaConf.create({"reward": {"custom_reward_function": {"reward_kwargs": {"settings": SETTINGS}}}})
    first = first or first_answer(tokenizer)
    asked = {"reward_model": {"ground_truth": "theorem nano"}}
    output = asyncio.run(loop._with_fix_turn(first, {"temperature": 1.0}, asked))
    return output, loop.server_manager


def test_both_answers_are_trained_on_and_the_feedback_is_not(tokenizer, monkeypatch):
    judge = FixedJudge(FixMaterial("unused", "line 3: no"), proofs=["second try"])
    output, server = with_fix_turn(tokenizer, judge, monkeypatch, "second try")
    live = [token for token, mask in zip(output.response_ids, output.response_mask, strict=True) if mask]
    dead = [token for token, mask in zip(output.response_ids, output.response_mask, strict=True) if not mask]
    eos = [tokenizer.eos_token_id]
    assert live == tokenizer.encode("first try") + eos + tokenizer.encode("second try") + eos
    assert "line 3: no" in tokenizer.decode(dead) and "try" not in tokenizer.decode(dead)
    assert len(output.response_logprobs) == len(output.response_ids)
    assert {p for p, mask in zip(output.response_logprobs, output.response_mask, strict=True) if not mask} == {0.0}
    # what the model saw is the chat as the template writes it, the end of its first turn not twice
    chat = [{"role": "user", "content": "?"}]
    text = fix_prompt(tokenizer, chat, "first try", "line 3: no")
    shown = tokenizer.decode(output.response_ids[: len(output.response_ids) - len(tokenizer.encode("second try")) - 1])
    assert text.endswith(shown)
    assert server.asked[0][0] == output.prompt_ids + output.response_ids[: -len(tokenizer.encode("second try")) - 1]
    info = output.extra_fields["reward_extra_info"]
    assert output.reward_score == info["score"] == 0.5, "a second success counts what the setting says"
    assert json.loads(info["first_turn"])["proved"] == 0.0 and info["turn"] == 2
    assert judge.seen == [("first try", 1), ("second try", 2)]
    assert not output.extra_fields["truncated"]


def test_an_answer_that_was_cut_off_is_ended_before_the_feedback(tokenizer, monkeypatch):
    judge = FixedJudge(FixMaterial("unused", "no"))
    first = first_answer(tokenizer, ended=False)
    output, _ = with_fix_turn(tokenizer, judge, monkeypatch, "again", first=first)
    place = output.response_mask.index(0)
    assert output.response_ids[place] == tokenizer.eos_token_id and output.reward_score == 0.0


def test_a_solved_first_turn_stays_alone(tokenizer, monkeypatch):
    output, server = with_fix_turn(tokenizer, FixedJudge(FixMaterial("a", "b"), proofs=["first try"]), monkeypatch)
    assert server.asked == [] and output.reward_score == 1.0
    info = output.extra_fields["reward_extra_info"]
    assert info["no_fix_turn"] == "solved" and info["first_turn"] == "null"


@pytest.mark.parametrize(
    ("material", "limit", "reason"),
    [
        ("no_lean_code", 400, "no_lean_code"),
        (FixMaterial("a", "x" * 101), 400, "feedback_too_long"),
        (FixMaterial("a", "no"), 30, "context"),
    ],
)
def test_why_there_is_no_second_turn(tokenizer, monkeypatch, material, limit, reason):
    output, server = with_fix_turn(tokenizer, FixedJudge(material), monkeypatch, limit=limit)
    assert server.asked == [] and all(output.response_mask)
    assert output.extra_fields["reward_extra_info"]["no_fix_turn"] == reason


def test_the_second_answer_has_the_room_that_is_left(tokenizer, monkeypatch):
    judge = FixedJudge(FixMaterial("a", "no"))
    output, server = with_fix_turn(tokenizer, judge, monkeypatch, "word " * 200, limit=150)
    assert len(output.response_ids) == 150
    used = len(server.asked[0][0]) - len(output.prompt_ids)
    assert server.asked[0][1]["max_tokens"] == 150 - used
    assert output.extra_fields["truncated"], "both turns have fewer tokens than the limit, and yet the second was cut"


@pytest.mark.parametrize(
    ("extra", "tokens", "cut"),
    [({}, 399, False), ({}, 400, True), ({"limit": 90}, 90, True), ({"fix_in_rollout": True}, 200, True)],
)
def test_an_answer_as_long_as_its_own_limit_was_cut_off(tokenizer, monkeypatch, extra, tokens, cut):
    async def generated(self, params, priority, **kwargs):
        assert params.get("max_tokens", 400) >= tokens
        return first_answer(tokenizer).model_copy(
            update={"response_ids": [5] * tokens, "response_mask": [1] * tokens}
        )

    async def unchanged(self, output, params, kwargs):
        return output

    monkeypatch.setattr(SingleTurnAgentLoop, "run", generated)
    monkeypatch.setattr(ProofAgentLoop, "_with_fix_turn", unchanged)
    judge = FixedJudge("no_lean_code")
    monkeypatch.setattr(agent_loop, "judge_of", lambda settings: judge)
    loop = object.__new__(ProofAgentLoop)
    loop.tokenizer, loop.response_length = tokenizer, 400
    loop.config = OmegaConf.create({"reward": {"custom_reward_function": {"reward_kwargs": {"settings": SETTINGS}}}})
    statement = {"ground_truth": "theorem nano"}
    output = asyncio.run(loop.run({"temperature": 1.0}, extra_info=extra, reward_model=statement))
    assert output.extra_fields["truncated"] is cut


@pytest.mark.parametrize(("extra", "turn"), [({}, 1), ({"turn": 2}, 2)])
def test_the_loop_judges_its_answer_itself(tokenizer, monkeypatch, extra, turn):
    async def generated(self, params, priority, **kwargs):
        return first_answer(tokenizer, "a proof")

    judge = FixedJudge("no_lean_code", proofs=["a proof"])
    monkeypatch.setattr(SingleTurnAgentLoop, "run", generated)
    monkeypatch.setattr(agent_loop, "judge_of", lambda settings: judge)
    loop = object.__new__(ProofAgentLoop)
    loop.tokenizer, loop.response_length = tokenizer, 400
    loop.config = OmegaConf.create({"reward": {"custom_reward_function": {"reward_kwargs": {"settings": SETTINGS}}}})
    output = asyncio.run(loop.run({}, extra_info=extra, reward_model={"ground_truth": "theorem nano"}))
    assert judge.seen == [("a proof", turn)], "special tokens are no part of the text"
    assert output.reward_score == 1.0 and output.extra_fields["reward_extra_info"]["turn"] == turn
    assert output.metrics.compute_score > 0


def test_an_unjudged_turn_leaves_the_whole_sample_unjudged():
    judge = FixedJudge("no_lean_code")
    judged = Turn({"score": 1.0, "unverified": 0.0, "proved": 1.0, "turn": 2}, "solved")
    lost = Turn({"score": 0.0, "unverified": 1.0, "proved": 0.0, "turn": 1}, "unverified")
    info = judge.whole([lost, judged])
    assert (info["score"], info["unverified"]) == (0.0, 1.0)


# ---- segments -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("choice", "mask"), [("included", [1, 1, 1, 0, 0, 1, 1]), ("excluded", [0, 0, 0, 0, 0, 0, 1])]
)
def test_what_an_older_policy_drew_is_left_out_if_asked(tokenizer, choice, mask):
    settings = {**SETTINGS, "rollout": {"earlier_segments": choice}}
    loop = object.__new__(ProofAgentLoop)
    loop.config = OmegaConf.create({"reward": {"custom_reward_function": {"reward_kwargs": {"settings": settings}}}})
    output = first_answer(tokenizer)
    # three tokens, feedback of two, two tokens; versions 1, 1, 2 | 2, 4
    output.response_ids, output.response_mask = list(range(7)), [1, 1, 1, 0, 0, 1, 1]
    output.extra_fields["segments"] = [[1, 2], [2, 2], [4, 1]]
    loop._leave_out_earlier_segments(output)
    assert output.response_mask == mask and output.extra_fields["own_tokens"] == 5


def test_the_record_of_two_answers_is_one():
    first = {"min_global_steps": 1, "max_global_steps": 1, "segments": [[1, 5]], "repetition": 0}
    agent_loop._add_segments(first, {"max_global_steps": 3, "segments": [[2, 1], [3, 4]], "repetition": 2})
    assert first == {"min_global_steps": 1, "max_global_steps": 3, "segments": [[1, 5], [2, 1], [3, 4]], "repetition": 2}
