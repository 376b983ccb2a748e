"""Groups without a difference are replaced, in rounds that a repeated run repeats."""

import random

import numpy as np
import pytest
from verl.utils import tensordict_utils as tu

from kimina.verl import resampling
from kimina.verl.resampling import ResamplingBuffer


class Queue:
    """The transfer queue's tags and reward infos in memory; prompts come back in no particular order."""

    def __init__(self, outcome, n=4, seed=0):
        self.tags, self.infos, self.outcome, self.n, self.count = {}, {}, outcome, n, 0
        self.rng = random.Random(seed)
        self.asked = []

    def refill(self, count):
        self.asked.append(count)
        numbers = list(range(self.count, self.count + count))
        self.count += count
        for number in self.rng.sample(numbers, count):
            uid = f"p{number:03d}"
            self.tags[uid] = {"is_prompt": True, "status": "finished", "global_steps": 1}
            for session, score in enumerate(self.outcome(number)):
                key = f"{uid}_{session}_0"
                self.tags[key] = {"status": "success"}
                self.infos[key] = {"reward_extra_info": {"score": float(score or 0), "unverified": float(score is None)}}

    def kv_list(self, partition_id=None):
        return {"train": self.tags}

    def kv_clear(self, partition_id, keys):
        for key in keys:
            self.tags.pop(key, None)

    def kv_batch_get(self, keys, partition_id, select_fields):
        values = np.empty(len(keys), dtype=object)
        values[:] = [self.infos[key] for key in keys]
        return tu.get_tensordict({"extra_fields": values})


@pytest.fixture
def make(monkeypatch):
    def build(outcome, rounds=10, seed=0):
        queue = Queue(outcome, seed=seed)
        for module in (resampling.tq, __import__("verl.trainer.ppo.v1.replay_buffer", fromlist=["tq"]).tq):
            for name in ("kv_list", "kv_clear", "kv_batch_get"):
                monkeypatch.setattr(module, name, getattr(queue, name))
        buffer = ResamplingBuffer(
            trainer_mode="sync",
            trainer_config=None,
            max_off_policy_threshold=None,
            max_off_policy_strategy="drop",
            sampler_kwargs={},
            refill_fn=queue.refill,
            rounds=rounds,
        )
        return buffer, queue

    return build


def prompts(batch):
    return sorted({key.split("_")[0] for key in batch.keys})


def every_third(number):
    return [1, 0, 0, 1] if number % 3 == 0 else [1, 1, 1, 1] if number % 3 == 1 else [0, 0, 0, 0]


def test_equal_groups_are_replaced_by_mixed_ones(make):
    buffer, queue = make(every_third)
    queue.refill(6)
    batch, metrics = buffer.sample(1, "train", 6)
    assert prompts(batch) == ["p000", "p003", "p006", "p009", "p012", "p015"]
    assert len(batch.keys) == 24
    assert queue.asked == [6, 8, 2]
    assert metrics == {
        "kimina/resampling/prompts": 16,
        "kimina/resampling/rounds": 2,
        "kimina/resampling/equal_groups": 10,
        "kimina/resampling/discarded": 0,
    }
    assert not any(tag.get("is_prompt") for tag in queue.tags.values()), "prompts are left in the queue"


def test_who_comes_back_first_decides_nothing(make):
    found = []
    for seed in range(4):
        buffer, queue = make(lambda number: [1, 0] if number % 2 else [1, 1], seed=seed)
        queue.refill(5)
        batch, _ = buffer.sample(1, "train", 5)
        found.append((prompts(batch), queue.asked))
    assert found == [found[0]] * 4


def test_when_the_rounds_are_over_equal_groups_fill_the_batch(make):
    buffer, queue = make(lambda number: [1, 0] if number == 2 else [0, 0], rounds=2)
    queue.refill(3)
    batch, metrics = buffer.sample(1, "train", 3)
    assert prompts(batch) == ["p000", "p001", "p002"]
    assert queue.asked == [3, 4, 4] and metrics["kimina/resampling/rounds"] == 2


def test_a_group_that_somebody_could_not_judge_is_kept(make):
    buffer, queue = make(lambda number: [1, None, 1, 1])
    queue.refill(2)
    batch, _ = buffer.sample(1, "train", 2)
    assert prompts(batch) == ["p000", "p001"] and queue.asked == [2]
