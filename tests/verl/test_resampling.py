"""Groups without a difference are replaced, in rounds that a repeated run repeats."""

import random
from types import SimpleNamespace

import numpy as np
import pytest
from verl.utils import tensordict_utils as tu

from kimina.data.sampling import Outcome
from kimina.verl import resampling
from kimina.verl.resampling import Discarded, ResamplingBuffer
from kimina.verl.step_metrics import JudgedSample
from kimina.verl.step_record import StepRecord
from kimina.verl.trainer import KiminaTrainer


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
                self.infos[key] = {
                    "extra_fields": {
                        "reward_extra_info": {"score": float(score or 0), "unverified": float(score is None)},
                        "digest": f"{self.n - session}",
                    },
                    "extra_info": {"row": number},
                }

    def kv_list(self, partition_id=None):
        return {"train": self.tags}

    def kv_clear(self, partition_id, keys):
        for key in keys:
            self.tags.pop(key, None)

    def kv_batch_get(self, keys, partition_id, select_fields):
        columns = {}
        for field in select_fields:
            columns[field] = np.empty(len(keys), dtype=object)
            columns[field][:] = [self.infos[key][field] for key in keys]
        return tu.get_tensordict(columns)


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


def test_discarded_groups_are_remembered_in_an_order_that_repeats(make):
    found = []
    for seed in range(3):
        buffer, queue = make(every_third, seed=seed)
        queue.refill(2)
        buffer.sample(1, "train", 2)
        found.append([(sample.key, sample.prompt["row"], sample.info["score"]) for sample in buffer.discarded])
    assert found == [found[0]] * 3
    assert [row for _, row, _ in found[0]] == [1, 1, 1, 1, 2, 2, 2, 2]
    assert [key for key, _, _ in found[0]][:4] == ["p001_3_0", "p001_2_0", "p001_1_0", "p001_0_0"], "not by their digests"
    queue.tags.clear()
    queue.refill(3)
    buffer.sample(2, "train", 1)
    assert not {sample.key for sample in buffer.discarded} & {key for key, _, _ in found[0]}, "samples of an earlier step"


def test_sampler_and_repair_buffer_learn_from_discarded_groups():
    """They were forgotten: solved_pruning never saw a row that is always solved, and replay no group that failed as a whole."""
    info = {
        "score": 1.0, "proved": 1.0, "unverified": 0.0, "verdict": "proved", "violations": "[]", "turn": 1,
        "no_fix_turn": "solved",
    }  # fmt: skip
    prompt = {"row": 7, "statement": "theorem t"}
    learnt, offered = [], []
    trainer = object.__new__(KiminaTrainer)
    trainer.global_steps = 4
    trainer.replay_buffer = object.__new__(ResamplingBuffer)
    trainer.replay_buffer.discarded = [Discarded(f"s4p1_{session}_0", info, prompt) for session in range(2)]
    trainer._step = StepRecord()
    trainer._step.judged = {"s4p0_0_0": JudgedSample.from_reward("s4p0", 5, {**info, "score": 0.0})}
    trainer._step.infos, trainer._step.prompts = {"s4p0_0_0": info}, {"s4p0_0_0": {**prompt, "row": 3}}
    trainer._step.order = ["s4p0_0_0"]
    trainer.feed = SimpleNamespace(
        record=lambda step, outcomes: learnt.extend(outcomes),
        repair=True,
        offer_fix_turn=lambda rollout, material: offered.append((rollout.row, rollout.key)),
    )
    trainer._learn_from_step(None)
    assert learnt == [Outcome(3, 1, 0), Outcome(7, 2, 2)]
    assert offered == [(3, "s4p0n0"), (7, "s4p1n1"), (7, "s4p1n2")]
    assert list(trainer._step.judged) == ["s4p0_0_0"], "the step's own figures are of what it trained on"
