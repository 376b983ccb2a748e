"""What the workers of the agent loops put into the queue of samples."""

import asyncio
from types import SimpleNamespace

import pytest
import torch
from omegaconf import OmegaConf
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput

from kimina.verl import agent_loop_worker
from kimina.verl.agent_loop_worker import KiminaAgentLoopWorker
from kimina.verl.emit import AGENT_LOOP

PROMPT = {"uid": "u7", "raw_prompt": [{"role": "user", "content": "?"}], "global_steps": 4, "agent_name": AGENT_LOOP}


class Queue:
    """Notes what is put, in order."""

    def __init__(self):
        self.events = []

    async def async_kv_put(self, key, partition_id, tag):
        self.events.append((partition_id, key, tag["status"]))

    async def async_kv_batch_put(self, keys, fields, tags, partition_id):
        self.events.append((partition_id, keys, fields, tags))


class Loop:
    """Answers with as many tokens as the session's number plus one; ``failing`` sessions raise."""

    failing = ()

    def __init__(self, **_given):
        pass

    async def run(self, params, session_id, **_kwargs):
        await asyncio.sleep(0.01 * (3 - session_id))
        if session_id in self.failing:
            raise RuntimeError("the engine is gone")
        length = session_id + 1
        return AgentLoopOutput(
            prompt_ids=[1, 2, 3],
            response_ids=list(range(10, 10 + length)),
            response_mask=[1] * length,
            response_logprobs=[-0.25] * length,
            reward_score=0.5 * session_id,
            num_turns=2,
            metrics=AgentLoopMetrics(),
            extra_fields={"min_global_steps": 3, "max_global_steps": 4, "reward_extra_info": {"score": 0.5 * session_id}},
        )


@pytest.fixture
def run(monkeypatch):
    """Run a prompt; returns what was put."""

    def run(failing=(), **prompt):
        queue = Queue()
        monkeypatch.setattr(agent_loop_worker, "tq", queue)
        monkeypatch.setattr("verl.trainer.ppo.v1.agent_loop_tq.tq", queue)
        monkeypatch.setattr(agent_loop_worker, "ProofAgentLoop", type("L", (Loop,), {"failing": failing}))
        worker = object.__new__(KiminaAgentLoopWorker)
        worker.rollout_config = SimpleNamespace(n=3, val_kwargs=SimpleNamespace(n=1))
        worker.config = OmegaConf.create({"data": {}, "actor_rollout_ref": {"rollout": {"n": 3, "val_kwargs": {"n": 1}}}})
        worker.processor = worker.tokenizer = worker.dataset_cls = worker.hf_model_type = worker.llm_client = None
        worker.tools, worker.distillation_enabled, worker._groups = [], False, {}
        info = {"step": 4, "sample_index": 0, "rollout_n": 0, "validate": prompt.pop("validate", False)}
        asyncio.run(worker._run_prompt({**PROMPT, **prompt}, {}, info))
        assert worker._groups == {}
        return queue.events

    return run


def test_a_prompts_samples_are_put_together_before_it_counts_as_finished(run):
    start, put, end = run()
    assert (start, end) == (("train", "u7", "running"), ("train", "u7", "finished"))
    partition, keys, fields, tags = put
    assert partition == "train" and sorted(keys) == ["u7_0_0", "u7_1_0", "u7_2_0"]
    rows = {key: fields[index] for index, key in enumerate(keys)}
    last = rows["u7_2_0"]
    assert last["input_ids"].tolist() == [1, 2, 3, 10, 11, 12] and last["position_ids"].tolist() == list(range(6))
    assert last["loss_mask"].tolist() == last["response_mask"].tolist() == [1, 1, 1]
    assert last["rm_scores"].tolist() == [0.0, 0.0, 1.0], "the reward stands at the last token"
    torch.testing.assert_close(last["rollout_log_probs"], torch.full((3,), -0.25))
    assert last["extra_fields"]["reward_extra_info"] == {"score": 1.0} and last["uid"] == "u7"
    tag = dict(zip(keys, tags, strict=True))["u7_1_0"]
    assert tag == {
        "status": "success",
        "prompt_len": 3,
        "response_len": 2,
        "seq_len": 5,
        "global_steps": 4,
        "min_global_steps": 3,
        "max_global_steps": 4,
    }


def test_a_prompt_with_a_lost_sample_has_failed_and_sends_nothing(run):
    assert run(failing=(1,)) == [("train", "u7", "running"), ("train", "u7", "failure")]


def test_a_prompt_may_ask_for_its_own_number_and_validations_have_theirs(run):
    assert len(run(__rollout_n__=2)[1][1]) == 2
    partition, keys, *_ = run(validate=True)[1]
    assert (partition, keys) == ("val", ["u7_0_0"])
