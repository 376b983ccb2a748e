"""verl's PPO trainers with what an experiment needs around them.

``KiminaTrainer`` stands before one of verl's (``kimina.verl.trainer_modes``). Beyond what that does it draws prompts by
``sampling=`` and ``correction=``, adds length rewards, treats groups without a difference as ``loss.zero_variance`` says,
takes unverified responses out of the update, writes one line a step to ``metrics.jsonl`` and a few responses to
``samples/``, keeps whole checkpoints only, and stops the run when nobody judges.
"""

import random
import time
from collections import Counter
from collections.abc import Callable
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import ray
import torch
import transfer_queue as tq
from omegaconf import OmegaConf, open_dict
from tensordict import TensorDict
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.utils import Role
from verl.utils import tensordict_utils as tu
from verl.utils.dataset.rl_dataset import collate_fn

from kimina.data.repair_entry import Rollout
from kimina.data.sampling import Outcome
from kimina.durable import read_json, write_json, write_text
from kimina.errors import InfrastructureError, LimitError, UserError
from kimina.metrics_log import VALIDATION_NAME, MetricsLog
from kimina.reward.settings import RewardSettings
from kimina.verl import checkpoints, policy_losses  # noqa: F401  (registers our advantage estimators)
from kimina.verl.group_rewards import group_rewards, outcomes_of_rows
from kimina.verl.prompt_feed import PromptFeed
from kimina.verl.resampling import RESAMPLING, ResamplingBuffer
from kimina.verl.reward import material_of
from kimina.verl.sample_log import SampleLog
from kimina.verl.segmented_generation import SegmentedGeneration
from kimina.verl.step_metrics import JudgedSample, left_out, optimiser_metrics, summarise, tracked_metrics, unverified_share
from kimina.verl.step_record import StepRecord
from kimina.verl.violation_table import COLUMNS, violation_examples

POLL_INTERVAL_S = 0.05


class KiminaTrainer(SegmentedGeneration):
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
        self.validation_log = MetricsLog(self.run_folder / VALIDATION_NAME)
        self.sample_log = SampleLog(self.run_folder / "samples")
        self.violation_log = SampleLog(self.run_folder / "violations")
        self._checks = [check.name for check in RewardSettings.parse(self.settings["reward"]).enabled()]
        self._validated: tuple[list[str], list[str]] = ([], [])
        self._step = StepRecord()
        self._last_row_at = time.monotonic()

    def _build_replay_buffer(self):
        if self.settings["loss"]["zero_variance"] == "resample":
            return self._own_buffer(ResamplingBuffer, rounds=self.settings["loss"]["resample_rounds"])
        return super()._build_replay_buffer()

    def _own_buffer(self, buffer_class: type, **more):
        """Build a buffer of finished groups as verl builds its own."""
        sampler = self.config.trainer.v1.sampler
        return buffer_class(
            trainer_mode=self.trainer_mode,
            trainer_config=self.config.trainer.v1.get(self.trainer_mode, {}),
            max_off_policy_threshold=sampler.max_off_policy_threshold,
            max_off_policy_strategy=sampler.max_off_policy_strategy,
            sampler_kwargs=sampler.sampler_kwargs,
            refill_fn=self._add_prompts_to_generate,
            **more,
        )

    def _init_dataloader(self):
        super()._init_dataloader()
        self._check_epochs()
        self.feed = PromptFeed(
            self.train_dataset,
            self.tokenizer,
            sampling=self.settings["sampling"],
            correction=self.settings["correction"],
            length=self.settings["length"],
            seed=self.settings["seed"],
            max_prompt_tokens=self.config.data.max_prompt_length,
        )

    def _check_epochs(self) -> None:
        """Let ``trainer.total_training_steps``, where it is set, end the run and nothing else.

        Raises:
            UserError: a step asks more prompts than the training set has; verl counts epochs in whole batches.
        """
        rows, asked = len(self.train_dataset), self.config.data.train_batch_size
        if rows < asked:
            raise UserError(
                f"data.train_batch_size={asked}: the training set has {rows} prompts (too long ones are left out where "
                f"data.filter_overlong_prompts=true). Type: data.train_batch_size={max(1, rows)}, with a mini-batch that divides it"
            )
        epochs = ceil(self.total_training_steps / self.steps_per_epoch)
        if self.config.trainer.total_training_steps is not None and epochs > self.config.trainer.total_epochs:
            # verl would stop there without its last step, and so without a checkpoint of it
            with open_dict(self.config):
                self.config.trainer.total_epochs = epochs

    # ---- start ------------------------------------------------------------------------------------------------------
    def _init_resource_pool_mgr(self):
        super()._init_resource_pool_mgr()
        if self.config.trainer.device != "cpu":
            from kimina.verl.worker import KiminaWorker

            self._replace_workers(KiminaWorker)
            return
        from kimina.verl import rollout_registry  # noqa: F401
        from kimina.verl.early_worker import EarlyWorker

        self._replace_workers(EarlyWorker)

    def _replace_workers(self, worker_class: type) -> None:
        for role in (Role.Actor, Role.ActorRollout, Role.ActorRolloutRef):
            if role in self.role_worker_mapping:
                self.role_worker_mapping[role] = ray.remote(worker_class)

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
        self._step = StepRecord()
        # what a run that stops within this step needs in order to repeat it with the same prompts
        self._feed_before_step = self.feed.state()
        batch = super().step(metrics, timing_raw)
        self._learn_from_step(batch)
        # before verl saves this step's checkpoint: a run resumed from it must find the row
        self._write_row(batch, metrics, timing_raw)
        return batch

    def _next_train_batch(self, num_prompts: int | None = None) -> TensorDict:
        items = self.feed.draw(self.global_steps, num_prompts or self.config.data.train_batch_size)
        batch = tu.get_tensordict(collate_fn(items))
        tu.assign_non_tensor_data(batch, "global_steps", self.global_steps)
        return batch

    def _balance_batch(self, batch: KVBatchMeta, *args, **kwargs) -> KVBatchMeta:
        # verl's first look at a step's batch; it would fill up what is missing with empty samples, and fail on none
        expected = self._expected_samples() // self.parameter_sync_step
        missing = expected - len({key.rsplit("_", 1)[0] for key in batch.keys})
        if missing > self.settings["max_unverified_share"] * expected:
            self._stop_without_responses(missing, expected)
        # by what was drawn, not by what came back first: with several updates a step it decides what is in each
        data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=["extra_fields"])
        names = [
            (key.split("_")[0], extra.get("digest", ""), key)
            for key, extra in zip(batch.keys, list(data["extra_fields"]), strict=True)
        ]
        order = sorted(range(len(names)), key=names.__getitem__)
        batch.reorder(order)
        self._step.order += [names[place][2] for place in order]
        return super()._balance_batch(batch, *args, **kwargs)

    def _stop_without_responses(self, missing: int, expected: int) -> None:
        self._save_state_before_step()
        raise InfrastructureError(
            f"step {self.global_steps}: {missing} of {expected} responses never came back from rollout and reward. "
            "The log has the reason: look for the first 'Error in _run_prompt'."
        )

    def _compute_ref_log_prob(self, batch: KVBatchMeta, metrics: dict) -> KVBatchMeta:
        every = self.settings["loss"]["start_kl_every"]
        self._step.start_kl_measured = self._reference_is_used or (every > 0 and (self.global_steps - 1) % every == 0)
        return super()._compute_ref_log_prob(batch, metrics) if self._step.start_kl_measured else batch

    @property
    def _reference_is_used(self) -> bool:
        """Whether the update or the reward depends on the reference model."""
        return self.config.algorithm.use_kl_in_reward or self.config.actor_rollout_ref.actor.kl_loss_coef > 0

    def _compute_advantage(self, batch: KVBatchMeta, metrics: dict) -> KVBatchMeta:
        real = [(key, tag) for key, tag in zip(batch.keys, batch.tags, strict=True) if not tag.get("is_padding", False)]
        keys = [key for key, _ in real]
        fields = ["extra_fields", "extra_info", "response_mask"]
        data = tq.kv_batch_get(keys=keys, partition_id=batch.partition_id, select_fields=fields)
        masks = data["response_mask"].unbind()
        columns = zip(keys, list(data["extra_fields"]), list(data["extra_info"]), masks, strict=True)
        for key, extra, prompt, mask in columns:
            self._step.add(key, extra, prompt, int(mask.sum()), self.global_steps)
        self._stop_when_nobody_judges(keys)
        if self._add_length_rewards_and_mask(keys, batch.partition_id) == len(keys):
            # verl's figures on the rollout engine's log-probabilities (rollout_correction) fail where no token is left
            return self._without_advantages(batch)
        return super()._compute_advantage(batch, metrics)

    def _without_advantages(self, batch: KVBatchMeta) -> KVBatchMeta:
        """Write advantages of 0 for a batch in which nothing counts."""
        data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=["response_mask"])
        zeros = torch.nested.as_nested_tensor(
            [torch.zeros(len(row)) for row in data["response_mask"].unbind()], layout=torch.jagged
        )
        fields = TensorDict({"advantages": zeros, "returns": zeros.clone()}, batch_size=len(batch))
        return tq.kv_batch_put(keys=batch.keys, partition_id=batch.partition_id, fields=fields)

    def _add_length_rewards_and_mask(self, keys: list[str], partition: str) -> int:
        """Add length rewards to the samples' scores, and take out of the update what must not count.

        Returns how many samples were taken out.
        """
        budgets = {key: self._step.prompts[key].get("budget") for key in keys}
        penalties = self._step.rollout.penalties(keys, self.settings["rollout"]["repetition"]["penalty"])
        judged = {key: self._step.judged[key] for key in keys}
        found = group_rewards(judged, self.feed.length, self.global_steps, budgets, penalties)
        if any(found.added.values()):
            self._add_scores(found.added, partition)
        out = set(left_out([self._step.judged[key] for key in keys], keys))
        # what resampling could not replace is judged as resampling judges
        out |= {"keep": frozenset(), "mask": found.equal, "resample": found.equal_scores}[self.settings["loss"]["zero_variance"]]
        self._mask([key for key in keys if key in out], partition)
        self._step.add_group_rewards(found)
        return len(out)

    def _add_scores(self, added: dict[str, float], partition: str) -> None:
        keys = list(added)
        data = tq.kv_batch_get(keys=keys, partition_id=partition, select_fields=["rm_scores"])
        rows = [row.clone() for row in data["rm_scores"].unbind()]
        for key, row in zip(keys, rows, strict=True):
            row[-1] += added[key]
        scores = torch.nested.as_nested_tensor(rows, layout=torch.jagged)
        tq.kv_batch_put(keys=keys, partition_id=partition, fields=TensorDict({"rm_scores": scores}, batch_size=len(keys)))

    def _update_actor(self, batch: KVBatchMeta, metrics: dict) -> KVBatchMeta:
        # a step of separate_async has several updates; the iteration begins with its first
        if self.settings["loss"]["reset_optimizer"] and self.local_trigger_step == 0:
            self.actor_rollout_wg.reset_optimizer()
        return super()._update_actor(batch, metrics)

    def _learn_from_step(self, batch: KVBatchMeta) -> None:
        """Tell the sampler and the repair buffer what became of the step's prompts, of discarded groups' too."""
        judged, infos, prompts, order = dict(self._step.judged), dict(self._step.infos), dict(self._step.prompts), list(self._step.order)
        for sample in self.replay_buffer.discarded if isinstance(self.replay_buffer, ResamplingBuffer) else []:
            judged[sample.key] = JudgedSample.from_reward(sample.key.split("_")[0], 0, sample.info)
            infos[sample.key], prompts[sample.key] = sample.info, sample.prompt
            order.append(sample.key)
        rows = {key: int(prompt["row"]) for key, prompt in prompts.items()}
        self.feed.record(self.global_steps, [Outcome(*outcome) for outcome in outcomes_of_rows(judged, rows)])
        if self.feed.repair is None:
            return
        # in an order that a resumed run repeats
        for number, key in enumerate(order):
            name = f"{key.split('_')[0]}n{number}"
            rollout = Rollout(rows[key], prompts[key]["statement"], self.global_steps, name, judged[key].turn)
            self.feed.offer_fix_turn(rollout, material_of(infos[key]))

    def _expected_samples(self) -> int:
        return self.config.data.train_batch_size * self.config.actor_rollout_ref.rollout.n

    def _stop_when_nobody_judges(self, keys: list[str]) -> None:
        expected = self._expected_samples() // self.parameter_sync_step
        share = unverified_share([self._step.judged[key] for key in keys], expected)
        limit = self.settings["max_unverified_share"]
        if share > limit:
            details = {info["verifier_detail"] for info in self._step.infos.values() if info["unverified"]}
            shown = "; ".join(sorted(filter(None, details))[:3]) or "no detail was given"
            self._save_state_before_step()
            raise LimitError(
                f"step {self.global_steps}: {share:.0%} of the responses could not be verified, more than "
                f"verifier.max_unverified_share={limit}. The verifier says: {shown}. "
                "Repair the verifier and run the same command again: it "
                + ("repeats this step." if self.trainer_mode == "sync" else "goes on, with other prompts in this step's place.")
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
        summary = summarise(list(self._step.judged.values()), self._expected_samples(), self._checks)
        now = time.monotonic()
        seconds = {name: round(value, 3) for name, value in timing_raw.items()}
        seconds["since_last_row"] = round(now - self._last_row_at, 3)
        self._last_row_at = now
        row = {
            "step": self.global_steps,
            **summary,
            **self._step.figures(),
            "prompts": self.feed.metrics(),
            **self._fix_turn_figures(),
            **_resampling_figures(metrics),
            **self._rollout_figures(),
            **self._policy_figures(batch),
            **optimiser_metrics(metrics),
            "seconds": seconds,
        }
        self.sample_log.write(self.global_steps, self._texts(batch))
        self.metrics_log.append(row)
        own = ("entropy", "start_kl", "truncated", "length_reward", "equal_groups")
        metrics.update({**tracked_metrics(summary), **{f"kimina/{name}": row[name] for name in own}})
        metrics.update(
            {f"kimina/{part}/{name}": value for part, figures in row["prompts"].items() for name, value in figures.items()}
        )

    def _rollout_figures(self) -> dict[str, dict[str, Any]]:
        figures = self._step.rollout.figures()
        return {"rollout": {**figures, **self._extensions()}} if figures else {}

    def _fix_turn_figures(self) -> dict[str, dict[str, int]]:
        """Where fix turns happen within a sample: how many did, and why the others did not."""
        if not self.feed.in_rollout:
            return {}
        reasons = Counter(info["no_fix_turn"] for key, info in self._step.infos.items() if self._step.judged[key].earlier is None)
        asked = sum(sample.earlier is not None for sample in self._step.judged.values())
        return {"fix_turns": {"asked": asked, **dict(sorted(reasons.items()))}}

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
        metrics |= {f"kimina/val/turn_{turn}/proof_rate": figures["proof_rate"] for turn, figures in turns.items()}
        metrics |= {
            f"kimina/val/turn_{turn}/violations/{code}": rate
            for turn, figures in turns.items()
            for code, rate in figures["violation_rates"].items()
        }
        self.validation_log.append({"step": self.global_steps, **metrics})
        return metrics

    def _policy_figures(self, batch: KVBatchMeta) -> dict[str, float | None]:
        """Estimate from the sampled tokens, in nats a token, the policy's entropy and its divergence from the start.

        ``entropy`` is the mean of -log p; unlike verl's exact figure it needs no second pass over the vocabulary.
        ``start_kl`` is the mean of q/p - log(q/p) - 1 with p the policy's probability of a token and q that of the model
        that RL started from, an unbiased estimate of KL(policy || start); null at steps that don't measure it.
        """
        keys = [key for key in batch.keys if key in self._step.judged]
        fields = ["old_log_probs", "response_mask", *(["ref_log_prob"] if self._step.start_kl_measured else [])]
        data = tq.kv_batch_get(keys=keys, partition_id=batch.partition_id, select_fields=fields)
        mask = torch.cat(data["response_mask"].unbind()).bool()
        if not mask.any():
            return {"entropy": None, "start_kl": None}
        log_probs = torch.cat(data["old_log_probs"].unbind())[mask]
        if not self._step.start_kl_measured:
            return {"entropy": float(-log_probs.mean()), "start_kl": None}
        ratio = torch.cat(data["ref_log_prob"].unbind())[mask] - log_probs
        return {"entropy": float(-log_probs.mean()), "start_kl": float((ratio.clamp(max=20).exp() - ratio - 1).mean())}

    def _texts(self, batch: KVBatchMeta) -> list[dict[str, Any]]:
        """Return a few responses of the step as text: proved ones and failed ones, with what judged them."""
        chosen = SampleLog.choose({key: sample.score for key, sample in self._step.judged.items()})
        data = tq.kv_batch_get(
            keys=chosen, partition_id=batch.partition_id, select_fields=["prompts", "responses", "reward_model"]
        )
        rows = zip(chosen, data["prompts"].unbind(), data["responses"].unbind(), list(data["reward_model"]), strict=True)
        return [
            {
                "statement": model["ground_truth"],
                "prompt": self.tokenizer.decode(prompt),
                "response": self.tokenizer.decode(response, skip_special_tokens=True),
                **self._step.infos[key],
            }
            for key, prompt, response, model in rows
        ]

    # ---- checkpoints ------------------------------------------------------------------------------------------------
    def _load_checkpoint(self):
        super()._load_checkpoint()
        if self.global_steps > 0:
            folder = checkpoints.folder_of(self.checkpoint_root, self.global_steps)
            self.feed.load_state(read_json(folder / checkpoints.FEED_STATE))

    def _save_checkpoint(self):
        self._save_with(self.feed.state())

    def _save_with(self, feed_state: dict[str, Any]) -> None:
        super()._save_checkpoint()
        write_json(checkpoints.folder_of(self.checkpoint_root, self.global_steps) / checkpoints.FEED_STATE, feed_state)
        self._mark_complete()

    def _save_state_before_step(self) -> None:
        """Save the weights and the place in the data as they were before the current step, unless they are saved."""
        stopped_in, self.global_steps = self.global_steps, self.global_steps - 1
        try:
            if self.global_steps > 0 and self.global_steps not in checkpoints.complete_steps(self.checkpoint_root):
                # prompts in flight are saved with the queue, where there are any behind the step
                self._save_with(self._feed_before_step if self.trainer_mode == "sync" else self.feed.state())
        finally:
            self.global_steps = stopped_in

    def _mark_complete(self) -> None:
        checkpoints.mark_complete(self.checkpoint_root, self.global_steps, keep=self.settings["keep_checkpoints"])
        write_text(self.checkpoint_root / checkpoints.TRACKER, str(self.global_steps))


def _resampling_figures(metrics: dict[str, Any]) -> dict[str, dict[str, float]]:
    """The figures of ``ResamplingBuffer``, where there is one."""
    found = {name.removeprefix(RESAMPLING): value for name, value in metrics.items() if name.startswith(RESAMPLING)}
    return {"resampling": found} if found else {}
