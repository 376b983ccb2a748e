"""Our trainer before each of verl's: synchronous, and two asynchronous ones (``rollout.mode``)."""

from collections.abc import Callable

import ray
from verl.trainer.ppo.utils import Role
from verl.trainer.ppo.v1.replay_buffer import ReplayBufferAsync
from verl.trainer.ppo.v1.trainer_colocate_async import PPOTrainerColocateAsync
from verl.trainer.ppo.v1.trainer_separate_async import PPOTrainerSeparateAsync
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync

from kimina.verl.trainer import KiminaTrainer


class AsynchronousBuffer(ReplayBufferAsync):
    """verl's buffer of asynchronous trainers, which doesn't replace failed groups for ever.

    verl draws a new prompt for each group whose rollout failed. Where all fail, a step would never end.
    """

    def __init__(self, *args, most_failures: int, on_failure: Callable[[int], None], **kwargs):
        super().__init__(*args, **kwargs)
        self._most_failures, self._on_failure = most_failures, on_failure
        self._failures = 0

    def sample(self, *args, **kwargs):
        self._failures = 0
        return super().sample(*args, **kwargs)

    def _evict_terminal_groups(self, global_steps, partition_id, eviction_reasons):
        if partition_id != "val":
            self._failures += len(eviction_reasons[2])
            if self._failures > self._most_failures:
                self._on_failure(self._failures)
        return super()._evict_terminal_groups(global_steps, partition_id, eviction_reasons)


class SynchronousTrainer(KiminaTrainer, PPOTrainerSync):
    """A step waits for all its responses."""


class _Asynchronous(KiminaTrainer):
    def _build_replay_buffer(self):
        groups = self.config.data.train_batch_size // self.parameter_sync_step
        most = int(self.settings["max_unverified_share"] * groups)
        n = self.config.actor_rollout_ref.rollout.n
        return self._own_buffer(
            AsynchronousBuffer,
            most_failures=most,
            on_failure=lambda failures: self._stop_without_responses(failures * n, groups * n),
        )


class ColocatedTrainer(_Asynchronous, PPOTrainerColocateAsync):
    """Rollout and trainer take turns on the same devices; unfinished responses go on in the next step."""


class SeparateTrainer(_Asynchronous, PPOTrainerSeparateAsync):
    """The engine has devices of its own and never waits."""

    @property
    def _serving_manager(self):
        return self.standalone_server_manager

    def _replace_workers(self, worker_class: type) -> None:
        # verl's trainer put a worker there that can set weights aside
        from kimina.verl.detached_worker import KiminaDetachedWorker

        for role in (Role.Actor, Role.ActorRollout, Role.ActorRolloutRef):
            if role in self.role_worker_mapping:
                self.role_worker_mapping[role] = ray.remote(KiminaDetachedWorker)


TRAINERS: dict[str, type[KiminaTrainer]] = {
    "sync": SynchronousTrainer,
    "colocate_async": ColocatedTrainer,
    "separate_async": SeparateTrainer,
}
