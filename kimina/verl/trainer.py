"""verl's synchronous PPO trainer with what an experiment needs around it.

Beyond ``PPOTrainerSync`` it takes unverified responses out of the update, writes one line a step to ``metrics.jsonl`` and
a few responses to ``samples/``, keeps whole checkpoints only, and stops the run when nobody judges.
"""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import ray
import torch
import transfer_queue as tq
from omegaconf import OmegaConf
from tensordict import TensorDict
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.utils import Role
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils import tensordict_utils as tu

from kimina.durable import write_json, write_text
from kimina.errors import InfrastructureError, LimitError
from kimina.metrics_log import MetricsLog
from kimina.reward.settings import RewardSettings
from kimina.verl import checkpoints
from kimina.verl.sample_log import SampleLog
from kimina.verl.step_metrics import JudgedSample, left_out, optimiser_metrics, summarise, tracked_metrics, unverified_share
from kimina.verl.violation_table import COLUMNS, violation_examples

POLL_INTERVAL_S = 0.05


class KiminaTrainer(PPOTrainerSync):
    """See the module."""

    def __init__(self, config):
        self.settings: dict[str, Any] = OmegaConf.to_container(config.reward.custom_reward_function.reward_kwargs.settings)
        seed = self.settings["seed"]
        random.seed(seed)
        np.random.seed(seed % 2**32)
        torch.manual_seed(seed)
        super().__init__(config)
        if config.trainer.device == "cpu":
            # verl looks every 2 s whether a step's samples are complete, which is longer than they take here
            self.replay_buffer.poll_interval = POLL_INTERVAL_S
        self.checkpoint_root = Path(config.trainer.default_local_dir)
        self.run_folder = self.checkpoint_root.parent
        self.metrics_log = MetricsLog(self.run_folder / "metrics.jsonl")
        self.validation_log = MetricsLog(self.run_folder / "validation.jsonl")
        self.sample_log = SampleLog(self.run_folder / "samples")
        self.violation_log = SampleLog(self.run_folder / "violations")
        self._checks = [check.name for check in RewardSettings.parse(self.settings["reward"]).enabled()]
        self._validated: tuple[list[str], list[str]] = ([], [])
        self._judged: dict[str, JudgedSample] = {}
        self._infos: dict[str, dict[str, Any]] = {}
        self._last_row_at = time.monotonic()

    # ---- start ------------------------------------------------------------------------------------------------------
    def _init_resource_pool_mgr(self):
        super()._init_resource_pool_mgr()
        if self.config.trainer.device != "cpu":
            return
        from kimina.verl import rollout_registry  # noqa: F401
        from kimina.verl.early_worker import EarlyWorker

        for role in (Role.ActorRollout, Role.ActorRolloutRef):
            if role in self.role_worker_mapping:
                self.role_worker_mapping[role] = ray.remote(EarlyWorker)

    def init(self, on_started: Callable[[], None] = lambda: None) -> None:
        """verl's ``init``, with a call in between when all servers are there but the first weights are not yet sent.

        The agent loops, which take long to import, are started there.
        """
        self._setup()
        on_started()
        self.on_init_end()

    def on_init_end(self):
        super().on_init_end()
        self.metrics_log.rewind(self.global_steps)
        self.validation_log.rewind(self.global_steps)
        self.sample_log.rewind(self.global_steps)
        self.violation_log.rewind(self.global_steps)
        write_json(
            self.run_folder / "progress.json",
            {"resumed_from": self.global_steps, "total_steps": self.total_training_steps},
        )

    def on_train_begin(self):
        super().on_train_begin()
        self._last_row_at = time.monotonic()

    # ---- one step ---------------------------------------------------------------------------------------------------
    def step(self, metrics: dict, timing_raw: dict) -> KVBatchMeta:
        self._judged, self._infos = {}, {}
        # what a run that stops within this step needs in order to repeat it with the same prompts
        self._data_before_step = self.train_dataloader.state_dict()
        batch = super().step(metrics, timing_raw)
        # before verl saves this step's checkpoint: a run resumed from it must find the row
        self._write_row(batch, metrics, timing_raw)
        return batch

    def _balance_batch(self, batch: KVBatchMeta, *args, **kwargs) -> KVBatchMeta:
        # verl's first look at a step's batch; it would fill up what is missing with empty samples, and fail on none
        expected = self._expected_samples() // self.parameter_sync_step
        missing = expected - len({key.rsplit("_", 1)[0] for key in batch.keys})
        if missing > self.settings["max_unverified_share"] * expected:
            self._save_state_before_step()
            raise InfrastructureError(
                f"step {self.global_steps}: {missing} of {expected} responses never came back from rollout and reward. "
                "The log has the reason: look for the first 'Error in _run_prompt'."
            )
        return super()._balance_batch(batch, *args, **kwargs)

    def _compute_advantage(self, batch: KVBatchMeta, metrics: dict) -> KVBatchMeta:
        real = [(key, tag) for key, tag in zip(batch.keys, batch.tags, strict=True) if not tag.get("is_padding", False)]
        keys = [key for key, _ in real]
        fields = tq.kv_batch_get(keys=keys, partition_id=batch.partition_id, select_fields=["extra_fields"])
        for (key, tag), extra in zip(real, list(fields["extra_fields"]), strict=True):
            info = extra["reward_extra_info"]
            self._infos[key] = info
            self._judged[key] = JudgedSample.from_reward(key.split("_")[0], tag["response_len"], info)
        self._stop_when_nobody_judges(keys)
        self._mask(left_out([self._judged[key] for key in keys], keys), batch.partition_id)
        return super()._compute_advantage(batch, metrics)

    def _expected_samples(self) -> int:
        return self.config.data.train_batch_size * self.config.actor_rollout_ref.rollout.n

    def _stop_when_nobody_judges(self, keys: list[str]) -> None:
        expected = self._expected_samples() // self.parameter_sync_step
        share = unverified_share([self._judged[key] for key in keys], expected)
        limit = self.settings["max_unverified_share"]
        if share > limit:
            details = {info["verifier_detail"] for info in self._infos.values() if info["unverified"]}
            shown = "; ".join(sorted(filter(None, details))[:3]) or "no detail was given"
            self._save_state_before_step()
            raise LimitError(
                f"step {self.global_steps}: {share:.0%} of the responses could not be verified, more than "
                f"verifier.max_unverified_share={limit}. The verifier says: {shown}. "
                "Repair the verifier and run the same command again: it repeats this step."
            )

    def _mask(self, keys: list[str], partition: str) -> None:
        """Take samples out of the update: no token of them counts, and they leave their group's statistics."""
        if not keys:
            return
        data = tq.kv_batch_get(keys=keys, partition_id=partition, select_fields=["response_mask"])
        zeros = torch.nested.as_nested_tensor(
            [torch.zeros_like(row) for row in data["response_mask"].unbind()], layout=torch.jagged
        )
        # a group of one has advantage 0 for a score of 0
        alone = tu.get_tensordict({"uid": np.array([f"{key}_unverified" for key in keys], dtype=object)})
        changed = TensorDict({"response_mask": zeros, "loss_mask": zeros.clone()}, batch_size=len(keys))
        tq.kv_batch_put(keys=keys, partition_id=partition, fields=changed)
        tq.kv_batch_put(keys=keys, partition_id=partition, fields=alone)

    # ---- records ----------------------------------------------------------------------------------------------------
    def _write_row(self, batch: KVBatchMeta, metrics: dict, timing_raw: dict) -> None:
        summary = summarise(list(self._judged.values()), self._expected_samples(), self._checks)
        now = time.monotonic()
        seconds = {name: round(value, 3) for name, value in timing_raw.items()}
        seconds["since_last_row"] = round(now - self._last_row_at, 3)
        self._last_row_at = now
        row = {
            "step": self.global_steps,
            **summary,
            "entropy": self._sampled_entropy(batch),
            **optimiser_metrics(metrics),
            "seconds": seconds,
        }
        self.sample_log.write(self.global_steps, self._texts(batch))
        self.metrics_log.append(row)
        metrics.update({**tracked_metrics(summary), "kimina/entropy": row["entropy"]})

    def _maybe_log_val_generations(self, inputs, outputs, scores):
        # verl calls this with all texts of a validation, just before it sums up what their rewards said
        self._validated = (inputs, outputs)
        super()._maybe_log_val_generations(inputs, outputs, scores)

    def _val_metrics_update(self, data_sources, sample_uids, reward_extra_infos_dict, *args, **kwargs) -> dict[str, float]:
        prompts, responses = self._validated
        infos = reward_extra_infos_dict
        rows = violation_examples(self.global_steps, prompts, responses, infos)
        self.violation_log.write(self.global_steps, rows)
        if rows and "wandb" in self.config.trainer.logger:
            import wandb

            table = wandb.Table(columns=list(COLUMNS), data=[[row[column] for column in COLUMNS] for row in rows])
            wandb.log({"val/violations": table}, step=self.global_steps)
        metrics = super()._val_metrics_update(data_sources, sample_uids, infos, *args, **kwargs)
        # a response that never came back from its reward has no verdict
        samples = [
            JudgedSample.from_reward(str(uid), 0, {key: values[index] for key, values in infos.items()})
            for index, uid in enumerate(sample_uids)
            if infos["verdict"][index] is not None
        ]
        turns = summarise(samples, len(samples), self._checks)["turns"]
        metrics |= {
            f"kimina/val/turn_{turn}/violations/{code}": rate
            for turn, figures in turns.items()
            for code, rate in figures["violation_rates"].items()
        }
        self.validation_log.append({"step": self.global_steps, **metrics})
        return metrics

    def _sampled_entropy(self, batch: KVBatchMeta) -> float | None:
        """Estimate the policy's entropy in nats a token: the mean of -log p over the sampled tokens.

        Unlike verl's exact figure it needs no second pass over the vocabulary.
        """
        keys = [key for key in batch.keys if key in self._judged]
        data = tq.kv_batch_get(
            keys=keys, partition_id=batch.partition_id, select_fields=["old_log_probs", "response_mask"]
        )
        log_probs = torch.cat(data["old_log_probs"].unbind())
        mask = torch.cat(data["response_mask"].unbind()).bool()
        return float(-log_probs[mask].mean()) if mask.any() else None

    def _texts(self, batch: KVBatchMeta) -> list[dict[str, Any]]:
        """Return a few responses of the step as text: proved ones and failed ones, with what judged them."""
        chosen = SampleLog.choose({key: sample.score for key, sample in self._judged.items()})
        data = tq.kv_batch_get(
            keys=chosen, partition_id=batch.partition_id, select_fields=["prompts", "responses", "reward_model"]
        )
        rows = zip(chosen, data["prompts"].unbind(), data["responses"].unbind(), list(data["reward_model"]), strict=True)
        return [
            {
                "statement": model["ground_truth"],
                "prompt": self.tokenizer.decode(prompt),
                "response": self.tokenizer.decode(response, skip_special_tokens=True),
                **self._infos[key],
            }
            for key, prompt, response, model in rows
        ]

    # ---- checkpoints ------------------------------------------------------------------------------------------------
    def _save_checkpoint(self):
        super()._save_checkpoint()
        self._mark_complete()

    def _save_state_before_step(self) -> None:
        """Save the weights and the place in the data as they were before the current step, unless they are saved."""
        stopped_in, self.global_steps = self.global_steps, self.global_steps - 1
        try:
            if self.global_steps > 0 and self.global_steps not in checkpoints.complete_steps(self.checkpoint_root):
                super()._save_checkpoint()
                folder = checkpoints.folder_of(self.checkpoint_root, self.global_steps)
                torch.save(self._data_before_step, folder / "data.pt")
                self._mark_complete()
        finally:
            self.global_steps = stopped_in

    def _mark_complete(self) -> None:
        checkpoints.mark_complete(self.checkpoint_root, self.global_steps, keep=self.settings["keep_checkpoints"])
        write_text(self.checkpoint_root / checkpoints.TRACKER, str(self.global_steps))
