"""Our trainer before each of verl's: synchronous, and two asynchronous ones (``rollout.mode``)."""

from collections.abc import Callable

import ray
import transfer_queue as tq
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

    def _load_checkpoint(self):
        super()._load_checkpoint()
        if self.global_steps > 0:
            ask_again()

    def _add_batch_to_generate(self):
        # a run that stopped within a step has the prompts of that step in its queue
        size = self.config.data.train_batch_size
        there = self._restored_tq_prompt_count - self.settings["rollout"]["extra_batches"] * size
        if there <= 0:
            super()._add_batch_to_generate()
            return
        self._restored_tq_prompt_count -= min(there, size)
        if there < size:
            self._add_prompts_to_generate(size - there)


def ask_again(partition: str = "train") -> None:
    """Prepare a restored queue for a run that goes on: what failed or was never judged is generated anew.

    Otherwise a run that stopped because nobody judged would find the same responses again and stop again, for ever. Responses
    without a prompt belong to the step of the checkpoint, which has learned from them; they are removed.
    """
    items = (tq.kv_list(partition) or {}).get(partition, {})
    prompts = {key: tag["status"] for key, tag in items.items() if tag.get("is_prompt", False)}
    responses = [key for key in items if key not in prompts]
    learned = [key for key in responses if key.split("_")[0] not in prompts]
    if learned:
        tq.kv_clear(keys=learned, partition_id=partition)
    finished = [key for key in responses if prompts.get(key.split("_")[0]) == "finished"]
    again = {prompt for prompt, status in prompts.items() if status == "failure"}
    if finished:
        data = tq.kv_batch_get(keys=finished, partition_id=partition, select_fields=["extra_fields"])
        again |= {
            key.split("_")[0]
            for key, extra in zip(finished, list(data["extra_fields"]), strict=True)
            if extra["reward_extra_info"]["unverified"]
        }
    if again:
        # verl issues pending prompts again, and clears what responses they have
        tq.kv_batch_put(keys=sorted(again), partition_id=partition, tags=[{"status": "pending"} for _ in again])


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
