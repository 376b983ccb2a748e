"""Which trainer a mode starts, and what asynchronous ones do about groups that fail."""

from types import SimpleNamespace

import pytest
from omegaconf import OmegaConf
from verl.trainer.ppo.v1 import replay_buffer
from verl.trainer.ppo.v1.trainer_base import PPOTrainer

from kimina.errors import InfrastructureError
from kimina.experiment.schema import OURS
from kimina.verl import segmented_generation, trainer_modes
from kimina.verl.trainer import KiminaTrainer
from kimina.verl.trainer_modes import TRAINERS, AsynchronousBuffer


def test_each_mode_has_a_trainer_of_ours_before_verls():
    assert set(TRAINERS) == set(OURS["rollout.mode"].names)
    for mode, trainer in TRAINERS.items():
        order = trainer.__mro__
        [verls] = [parent for parent in order if parent.__module__.endswith(f"trainer_{mode}")]
        assert order.index(KiminaTrainer) < order.index(verls) < order.index(PPOTrainer)


class Told:
    """Stands for the actor of iterations and notes what it is told."""

    def __init__(self, done):
        self.done = done

    def __getattr__(self, name):
        return SimpleNamespace(remote=lambda *arguments: self.done.append((name, *arguments)))


@pytest.mark.parametrize("mode", TRAINERS)
def test_around_a_step_verls_trainer_and_the_iterations_do_their_part(monkeypatch, mode):
    trainer, done = object.__new__(TRAINERS[mode]), []
    [verls] = [parent for parent in TRAINERS[mode].__mro__ if parent.__module__.endswith(f"trainer_{mode}")]
    for hook in ("on_sample_begin", "on_sample_end", "on_step_end", "on_validate_begin", "on_validate_end"):
        monkeypatch.setattr(verls, hook, lambda self, hook=hook: done.append(hook))
    monkeypatch.setattr(segmented_generation.ray, "get", lambda reference: reference)
    trainer._iterations, trainer.global_steps = Told(done), 3
    trainer.replay_buffer = SimpleNamespace(get_sampleable_count=lambda step, partition: 2)
    trainer.config = OmegaConf.create({"actor_rollout_ref": {"rollout": {"n": 8}}})
    trainer.on_sample_begin()
    trainer.on_sample_end()
    trainer.on_step_end()
    trainer.on_validate_begin()
    trainer.on_validate_end()
    # responses are let go behind the new weights; nobody asks for more while requests are being interrupted
    assert done == [
        "on_sample_begin", ("want_samples", True, 16), ("want_samples", False), "on_sample_end", "on_step_end", ("advance",),
        "on_validate_begin", ("validate", True), ("validate", False), "on_validate_end",
    ]  # fmt: skip


@pytest.fixture
def buffer(monkeypatch):
    cleared = []
    monkeypatch.setattr(replay_buffer.ReplayBuffer, "_clear_groups", lambda self, partition, uids: cleared.append(set(uids)))

    def stop(failures):
        raise InfrastructureError(f"{failures} failed")

    buffer = object.__new__(AsynchronousBuffer)
    buffer._most_failures, buffer._on_failure, buffer._failures = 2, stop, 0
    return buffer, cleared


def evict(buffer, failed, partition="train"):
    from collections import Counter

    return buffer._evict_terminal_groups(3, partition, (set(), set(), set(failed), Counter()))


def test_a_few_failed_groups_are_replaced_and_many_stop_the_run(buffer):
    buffer, cleared = buffer
    assert evict(buffer, {"a"})[0] == {"a"} and evict(buffer, set())[0] == set() and evict(buffer, {"b"})[0] == {"b"}
    assert cleared == [{"a"}, {"b"}]
    with pytest.raises(InfrastructureError, match="3 failed"):
        evict(buffer, {"c"})


def test_failures_are_counted_by_the_step(buffer, monkeypatch):
    buffer, _ = buffer
    monkeypatch.setattr(replay_buffer.ReplayBufferAsync, "sample", lambda self, *args, **kwargs: evict(self, {"x", "y"}))
    for _ in range(3):
        buffer.sample(1, "train", 4)


class Queue:
    """Stands in for the module ``transfer_queue``: keys with tags and ``extra_fields``."""

    def __init__(self, tags, unverified=()):
        self.tags, self.unverified = {key: dict(tag) for key, tag in tags.items()}, set(unverified)

    def kv_list(self, partition):
        return {partition: self.tags} if self.tags else None

    def kv_clear(self, keys, partition_id):
        for key in keys:
            del self.tags[key]

    def kv_batch_get(self, keys, partition_id, select_fields):
        return {"extra_fields": [{"reward_extra_info": {"unverified": key in self.unverified}} for key in keys]}

    def kv_batch_put(self, keys, partition_id, tags):
        for key, tag in zip(keys, tags, strict=True):
            self.tags[key] |= tag


def test_a_resumed_run_asks_again_for_what_failed_or_was_never_judged(monkeypatch):
    prompts = {"a": "finished", "b": "finished", "c": "failure", "d": "running"}
    tags = {key: {"is_prompt": True, "status": status} for key, status in prompts.items()}
    responses = ["a_0_0", "a_1_0", "b_0_0", "b_1_0", "c_0_0", "d_0_0", "learned_0_0"]
    queue = Queue(tags | {key: {"status": "success"} for key in responses}, unverified=["b_1_0", "d_0_0"])
    monkeypatch.setattr(trainer_modes, "tq", queue)
    trainer_modes.ask_again()
    left = {key: tag["status"] for key, tag in queue.tags.items() if tag.get("is_prompt")}
    assert left == {"a": "finished", "b": "pending", "c": "pending", "d": "running"}
    assert set(queue.tags) - set(prompts) == set(responses) - {"learned_0_0"}
    monkeypatch.setattr(trainer_modes, "tq", Queue({}))
    trainer_modes.ask_again()


@pytest.mark.parametrize(
    ("restored", "drawn"),
    [(0, [4, 4]), (4, [4, 4]), (8, [0, 4]), (7, [1, 4]), (13, [0, 0, 3, 4])],
)
def test_prompts_of_an_interrupted_step_take_the_place_of_new_ones(restored, drawn):
    trainer = object.__new__(TRAINERS["colocate_async"])
    trainer.config = OmegaConf.create({"data": {"train_batch_size": 4}, "skip": {"rollout_tq": {"enable": False}}})
    trainer.settings = {"rollout": {"extra_batches": 1}}
    trainer._restored_tq_prompt_count = restored
    asked = []
    trainer._next_train_batch = lambda number=4: number
    trainer._submit_batch_to_rollout = asked.append
    found = []
    for _ in drawn:
        asked.clear()
        trainer._add_batch_to_generate()
        found.append(sum(asked))
    assert found == drawn


def test_the_optimizer_is_reset_once_an_iteration_not_once_an_update(monkeypatch):
    resets = []
    trainer = object.__new__(TRAINERS["separate_async"])
    trainer.settings = {"loss": {"reset_optimizer": True}}
    trainer.actor_rollout_wg = SimpleNamespace(reset_optimizer=lambda: resets.append(trainer.local_trigger_step))
    monkeypatch.setattr(PPOTrainer, "_update_actor", lambda self, batch, metrics: batch)
    for trainer.local_trigger_step in (0, 1, 2, 0, 1, 2):
        trainer._update_actor("batch", {})
    assert resets == [0, 0]
