"""The trainer's side of responses that are drawn in segments: which client agent loops get, and when iterations begin."""

from typing import Any

import ray
from verl.trainer.ppo.v1.trainer_base import PPOTrainer

from kimina.generation.checkpoint import read_config, stop_tokens
from kimina.verl.segments import Iterations, SegmentedClient, SegmentRules, cuts_responses

#: Seconds between an interruption of a response and the next try; verl waits a second for an engine on GPUs.
RESUME_PAUSE_S, RESUME_PAUSE_CPU_S = 1.0, 0.02


class SegmentedGeneration(PPOTrainer):
    """verl's trainer whose responses may be cut (``rollout.*``); where none is, everything is verl's."""

    settings: dict[str, Any]
    _iterations: ray.actor.ActorHandle | None = None

    def get_llm_client(self):
        """Return what agent loops ask for responses: verl's client, or ours where responses are cut into segments."""
        if not cuts_responses(self.settings["rollout"]):
            return super().get_llm_client()
        path = self.config.actor_rollout_ref.model.path
        stop_ids = {self.tokenizer.eos_token_id} | stop_tokens(path, read_config(path))
        pause_s = RESUME_PAUSE_CPU_S if self.config.trainer.device == "cpu" else RESUME_PAUSE_S
        rules = SegmentRules.from_settings(self.settings["rollout"], stop_ids, pause_s)
        if rules.budget is not None:
            actor = ray.remote(Iterations).options(num_cpus=0, max_concurrency=2**16)
            prompts = self.config.data.train_batch_size // self.parameter_sync_step
            self._iterations = actor.remote(prompts * self._group_size, self._group_size)
        return self._serving_manager.get_client(client_cls=SegmentedClient, rules=rules, iterations=self._iterations)

    @property
    def _serving_manager(self):
        """The servers that training prompts go to."""
        return self.llm_server_manager

    @property
    def _group_size(self) -> int:
        return self.config.actor_rollout_ref.rollout.n

    def on_sample_begin(self):
        super().on_sample_begin()
        if self._iterations is not None:
            ready = self.replay_buffer.get_sampleable_count(self.global_steps, "train")
            self._tell_iterations("want_samples", True, ready * self._group_size)

    def on_sample_end(self):
        self._tell_iterations("want_samples", False)
        super().on_sample_end()

    def on_step_end(self):
        super().on_step_end()
        self._tell_iterations("advance")

    def on_validate_begin(self):
        super().on_validate_begin()
        self._tell_iterations("validate", True)

    def on_validate_end(self):
        self._tell_iterations("validate", False)
        super().on_validate_end()

    def _tell_iterations(self, method: str, *arguments) -> None:
        if self._iterations is not None:
            ray.get(getattr(self._iterations, method).remote(*arguments))

    def _extensions(self) -> dict[str, int]:
        """How often budgets were extended, where there are budgets."""
        return {} if self._iterations is None else {"extensions": ray.get(self._iterations.extensions.remote())}
