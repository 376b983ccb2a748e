"""Unverified responses leave the update: checked with verl's own advantage computation and an in-memory queue."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from transfer_queue import KVBatchMeta
from verl.utils import tensordict_utils as tu

from kimina.errors import InfrastructureError, LimitError, UserError
from kimina.reward.length import make_length_control
from kimina.verl import trainer as trainer_module
from kimina.verl.step_record import StepRecord
from kimina.verl.trainer import KiminaTrainer

ROLLOUT = {"repetition": {"penalty": 0.5}}


class MemoryQueue:
    """``kv_batch_get`` and ``kv_batch_put`` of the transfer queue on a dictionary of rows."""

    def __init__(self):
        self.rows = {}

    def kv_batch_put(self, keys, partition_id, fields):
        for name in fields.keys():
            column = fields[name]
            values = column.unbind() if isinstance(column, torch.Tensor) else list(column)
            for key, value in zip(keys, values, strict=True):
                self.rows.setdefault(key, {})[name] = value
        return KVBatchMeta(partition_id=partition_id, keys=keys, tags=[{}] * len(keys))

    def kv_batch_get(self, keys, partition_id, select_fields):
        columns = {}
        for name in select_fields:
            values = [self.rows[key][name] for key in keys if name in self.rows[key]]
            if not values:
                continue
            if isinstance(values[0], torch.Tensor):
                columns[name] = torch.nested.as_nested_tensor(values, layout=torch.jagged)
            else:
                columns[name] = np.array(values, dtype=object)
        return tu.get_tensordict(columns)


@pytest.fixture
def queue(monkeypatch):
    queue = MemoryQueue()
    monkeypatch.setattr(trainer_module.tq, "kv_batch_get", queue.kv_batch_get)
    monkeypatch.setattr(trainer_module.tq, "kv_batch_put", queue.kv_batch_put)
    return queue


def make_trainer(prompts, n, limit=0.5, zero_variance="keep", length=None):
    trainer = object.__new__(KiminaTrainer)
    trainer.config = OmegaConf.create(
        {
            "algorithm": {
                "adv_estimator": "kimina_drgpo",
                "norm_adv_by_std_in_grpo": False,
                "use_kl_in_reward": False,
                "gamma": 1.0,
                "lam": 1.0,
                "rollout_correction": {"bypass_mode": True},
            },
            "data": {"train_batch_size": prompts},
            "actor_rollout_ref": {"rollout": {"n": n}},
        }
    )
    trainer.settings = {"max_unverified_share": limit, "loss": {"zero_variance": zero_variance}, "rollout": ROLLOUT}
    trainer.feed = SimpleNamespace(length=make_length_control(length or {"name": "none"}))
    trainer.parameter_sync_step, trainer.global_steps, trainer.trainer_mode = 1, 3, "sync"
    trainer._step = StepRecord()
    return trainer


def fill(queue, outcomes):
    """``outcomes`` maps a group to its samples: True proved, False not, None unverified."""
    keys, tags = [], []
    for group, samples in outcomes.items():
        for number, proved in enumerate(samples):
            length = 2 + number
            key = f"{group}_{number}_0"
            info = {
                "score": float(bool(proved)),
                "proved": float(bool(proved)),
                "unverified": float(proved is None),
                "verdict": "unverified" if proved is None else "proved" if proved else "lean_error",
                "violations": json.dumps([]),
                "turn": 1,
                "verifier_detail": "server unreachable" if proved is None else "",
            }
            scores = torch.zeros(length)
            scores[-1] = info["score"]
            queue.rows[key] = {
                "uid": group,
                "response_mask": torch.ones(length, dtype=torch.int64),
                "loss_mask": torch.ones(length, dtype=torch.int64),
                "rm_scores": scores,
                "old_log_probs": torch.full((length,), -1.0),
                "extra_fields": {"reward_extra_info": info, "truncated": number == 1},
                "extra_info": {"budget": None},
            }
            keys.append(key)
            tags.append({"response_len": length})
    return KVBatchMeta(partition_id="train", keys=keys, tags=tags)


def test_which_samples_were_cut_off_is_what_their_rollout_said(queue):
    trainer = make_trainer(prompts=1, n=3)
    trainer._compute_advantage(fill(queue, {"a": [True, False, False]}), {})
    assert trainer._step.truncated == {"a_0_0": False, "a_1_0": True, "a_2_0": False}


def test_unverified_sample_has_no_advantage_no_mask_and_no_say_in_its_group(queue):
    batch = fill(queue, {"a": [True, False, None], "b": [True, True, False]})
    make_trainer(prompts=2, n=3)._compute_advantage(batch, {})
    first = {key: float(row["advantages"][0]) for key, row in queue.rows.items()}
    assert first["a_0_0"] == pytest.approx(0.5) and first["a_1_0"] == pytest.approx(-0.5)
    assert first["a_2_0"] == 0.0
    assert first["b_0_0"] == pytest.approx(1 / 3) and first["b_2_0"] == pytest.approx(-2 / 3)
    assert queue.rows["a_2_0"]["response_mask"].sum() == queue.rows["a_2_0"]["loss_mask"].sum() == 0
    assert queue.rows["a_0_0"]["response_mask"].sum() == 2


def test_a_group_with_one_judged_sample_is_dropped(queue):
    batch = fill(queue, {"a": [True, None, None], "b": [True, False, False]})
    make_trainer(prompts=2, n=3)._compute_advantage(batch, {})
    for key in ("a_0_0", "a_1_0", "a_2_0"):
        row = queue.rows[key]
        assert row["response_mask"].sum() == row["loss_mask"].sum() == 0
        assert torch.all(row["advantages"] == 0.0)
    assert float(queue.rows["b_0_0"]["advantages"][0]) == pytest.approx(2 / 3)


def test_without_unverified_samples_nothing_changes(queue):
    batch = fill(queue, {"a": [True, False]})
    make_trainer(prompts=1, n=2)._compute_advantage(batch, {})
    assert queue.rows["a_0_0"]["uid"] == "a"
    assert float(queue.rows["a_0_0"]["advantages"][0]) == pytest.approx(0.5)


def test_run_stops_when_too_many_are_unverified(queue):
    batch = fill(queue, {"a": [True, None, None, None]})
    saved = []
    trainer = make_trainer(prompts=1, n=4)
    trainer._save_state_before_step = lambda: saved.append(trainer.global_steps)
    with pytest.raises(LimitError, match=r"step 3: 75%.*server unreachable.*repeats this step"):
        trainer._compute_advantage(batch, {})
    assert saved == [3]


def test_run_stops_when_responses_never_come_back(queue):
    batch = KVBatchMeta(partition_id="train", keys=["a_0_0"], tags=[{}])
    trainer = make_trainer(prompts=1, n=4)
    trainer._save_state_before_step = lambda: None
    with pytest.raises(InfrastructureError, match="3 of 4 responses never came back"):
        trainer._balance_batch(batch, metrics={})


def test_samples_are_ordered_by_what_they_are_and_not_by_who_was_first(queue, monkeypatch):
    base = KiminaTrainer.__mro__[1]
    monkeypatch.setattr(base, "_balance_batch", lambda self, batch, **_: batch)
    keys = ["p1_1_0", "p0_2_0", "p1_0_0", "p0_0_0", "p0_1_0"]
    for key, digest in zip(keys, ["b", "z", "c", "y", "x"], strict=True):
        queue.rows[key] = {"extra_fields": {"digest": digest}}
    batch = KVBatchMeta(partition_id="train", keys=keys, tags=[{"key": key} for key in keys])
    trainer = make_trainer(prompts=1, n=5)
    found = trainer._balance_batch(batch, metrics={})
    assert found.keys == trainer._step.order == ["p0_1_0", "p0_0_0", "p0_2_0", "p1_1_0", "p1_0_0"]
    assert [tag["key"] for tag in found.tags] == found.keys


def test_a_few_missing_responses_are_left_to_verl(queue, monkeypatch):
    base = KiminaTrainer.__mro__[1]
    monkeypatch.setattr(base, "_balance_batch", lambda self, batch, **_: SimpleNamespace(balanced=batch))
    keys = ["a_0_0", "a_1_0", "a_2_0"]
    queue.rows = {key: {"extra_fields": {"digest": key}} for key in keys}
    batch = KVBatchMeta(partition_id="train", keys=keys, tags=[{}] * 3)
    assert make_trainer(prompts=1, n=4)._balance_batch(batch, metrics={}).balanced is batch


def test_groups_without_a_difference_are_masked_where_the_loss_says_so(queue):
    outcomes = {"a": [True, True, True], "b": [False, False, False], "c": [True, False, None]}
    make_trainer(prompts=3, n=3, zero_variance="mask")._compute_advantage(fill(queue, outcomes), {})
    live = {key for key, row in queue.rows.items() if row["response_mask"].any()}
    assert live == {"c_0_0", "c_1_0"}


@pytest.mark.parametrize(("zero_variance", "live"), [("keep", {"a", "b"}), ("mask", {"a", "b"}), ("resample", {"b"})])
def test_resampling_masks_what_it_would_have_replaced_whatever_the_lengths(queue, zero_variance, live):
    """Equal groups that filled up the batch counted after all where length rewards told their samples apart."""
    length = {"name": "k15", "weight": 1.0, "warmup": "step", "start_step": 1, "ramp_steps": 1}
    trainer = make_trainer(prompts=2, n=2, zero_variance=zero_variance, length=length)
    trainer._compute_advantage(fill(queue, {"a": [True, True], "b": [True, False]}), {})
    assert {key[0] for key, row in queue.rows.items() if row["response_mask"].any()} == live


def test_length_rewards_come_on_top_and_leave_the_recorded_score(queue):
    batch = fill(queue, {"a": [True, True, False, True]})  # 2, 3, 4 and 5 tokens
    length = {"name": "k15", "weight": 1.0, "warmup": "step", "start_step": 1, "ramp_steps": 1}
    trainer = make_trainer(prompts=1, n=4, length=length)
    trainer._compute_advantage(batch, {})
    totals = [float(queue.rows[f"a_{number}_0"]["rm_scores"].sum()) for number in range(4)]
    assert totals == pytest.approx([1.5, 1 + 1 / 6, -1 / 6, 0.5])
    advantages = [float(queue.rows[f"a_{number}_0"]["advantages"][0]) for number in range(4)]
    assert advantages == pytest.approx([total - 0.75 for total in totals])
    assert [trainer._step.judged[f"a_{number}_0"].score for number in range(4)] == [1.0, 1.0, 0.0, 1.0]
    assert trainer._step.figures()["length_reward"] == pytest.approx(0.0)


def test_a_step_in_which_nothing_counts_gets_through_with_recomputed_log_probabilities(queue):
    """verl's rollout_correction failed on a batch without a live token; runs on GPUs recompute log-probabilities."""
    batch = fill(queue, {"a": [True, True], "b": [False, False]})
    for row in queue.rows.values():
        row["rollout_log_probs"] = row["old_log_probs"].clone()
    trainer = make_trainer(prompts=2, n=2, zero_variance="mask")
    trainer.config.algorithm.rollout_correction.bypass_mode = False
    found = trainer._compute_advantage(batch, {})
    assert found.keys == batch.keys
    for row in queue.rows.values():
        assert not row["response_mask"].any() and not row["advantages"].any() and not row["returns"].any()
        assert len(row["advantages"]) == len(row["response_mask"])


@pytest.mark.parametrize(("every", "step", "measured"), [(0, 1, False), (0, 3, False), (5, 1, True), (5, 3, False)])
def test_the_divergence_from_the_start_is_measured_as_often_as_asked(queue, monkeypatch, every, step, measured):
    """Never, with a reference model that something else asked for, was a division by zero."""
    monkeypatch.setattr(KiminaTrainer.__mro__[1], "_compute_ref_log_prob", lambda self, batch, metrics: "by verl")
    batch = fill(queue, {"a": [True, False]})
    trainer = make_trainer(prompts=1, n=2)
    trainer.settings["loss"]["start_kl_every"], trainer.global_steps = every, step
    trainer.config.actor_rollout_ref.actor = {"kl_loss_coef": 0.0}
    assert (trainer._compute_ref_log_prob(batch, {}) == "by verl") is measured is trainer._step.start_kl_measured


def test_mask_accepts_an_empty_list(queue):
    make_trainer(prompts=1, n=1)._mask([], "train")
    assert queue.rows == {}


@pytest.mark.parametrize(
    ("rows", "steps", "epochs", "found"),
    [(24, 7, 1, 3), (24, 6, 1, 2), (24, 6, 9, 9), (24, None, 2, 2)],
)
def test_the_number_of_steps_ends_a_run_and_not_the_epochs(rows, steps, epochs, found):
    """With a small training set the run ended at total_epochs, without a word and without its last checkpoint."""
    trainer = make_trainer(prompts=8, n=2)
    trainer.train_dataset, trainer.steps_per_epoch = range(rows), rows // 8
    trainer.total_training_steps = epochs * trainer.steps_per_epoch if steps is None else steps
    trainer.config.trainer = {"total_training_steps": steps, "total_epochs": epochs}
    trainer._check_epochs()
    assert trainer.config.trainer.total_epochs == found


def test_a_training_set_smaller_than_a_batch_is_a_users_error():
    trainer = make_trainer(prompts=8, n=2)
    trainer.train_dataset, trainer.steps_per_epoch = range(7), 0
    with pytest.raises(UserError, match=r"data.train_batch_size=8: the training set has 7 prompts"):
        trainer._check_epochs()


def test_the_penalty_for_repetition_is_in_what_is_trained_on_and_not_in_the_proof_rate(queue):
    trainer = make_trainer(1, 3)
    batch = fill(queue, {"a": [True, False, False]})
    repeated = batch.keys[2]
    for key in batch.keys:
        row = queue.rows[key]["extra_fields"]
        row |= {"segments": [[2, 4]], "repetition": 5 if key == repeated else 0, "own_tokens": 7}
    trainer._compute_advantage(batch, {})
    assert [float(queue.rows[key]["rm_scores"][-1]) for key in batch.keys] == [1.0, 0.0, -0.5]
    # Dr. GRPO: score less the group's mean, which is 1/6
    assert [float(queue.rows[key]["advantages"][0]) for key in batch.keys] == pytest.approx([5 / 6, -1 / 6, -2 / 3])
    assert [trainer._step.judged[key].score for key in batch.keys] == [1.0, 0.0, 0.0]
    assert {trainer._step.judged[key].response_tokens for key in batch.keys} == {7}, "tokens that a mask leaves out count as tokens"
    assert trainer._step.rollout.figures()["repetition"] == pytest.approx(1 / 3)
