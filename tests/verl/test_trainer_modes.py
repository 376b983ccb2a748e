"""Which trainer a mode starts, and what asynchronous ones do about groups that fail."""

import pytest
from verl.trainer.ppo.v1 import replay_buffer
from verl.trainer.ppo.v1.trainer_base import PPOTrainer

from kimina.errors import InfrastructureError
from kimina.experiment.schema import OURS
from kimina.verl.trainer import KiminaTrainer
from kimina.verl.trainer_modes import TRAINERS, AsynchronousBuffer


def test_each_mode_has_a_trainer_of_ours_before_verls():
    assert set(TRAINERS) == set(OURS["rollout.mode"].names)
    for mode, trainer in TRAINERS.items():
        order = trainer.__mro__
        [verls] = [parent for parent in order if parent.__module__.endswith(f"trainer_{mode}")]
        assert order.index(KiminaTrainer) < order.index(verls) < order.index(PPOTrainer)
        # what verl's trainer does around a step is still done
        assert verls.on_step_end is not PPOTrainer.on_step_end


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
