"""What verl's training workers import before they build an engine (``actor_rollout_ref.model.external_lib``).

In a Ray training worker it keeps TRL out (``kimina.verl.without_trl``), and it does two things that verl 0.9.1 leaves open
for the device "cpu":

1. It opens the default process group with gloo. verl would ask torch for the backend "cpu:gloo,cpu:gloo", which torch
   refuses, unless a default group exists already.
2. It registers the FSDP engines for the device "cpu"; verl registers them for cuda and npu.

Everywhere else (driver, agent loops, reward workers) importing it does nothing.
"""

import os

import torch
import torch.distributed as dist
from tensordict import TensorDict

from kimina.verl import without_trl  # noqa: F401


def _in_training_worker() -> bool:
    return os.environ.get("WG_BACKEND") == "ray" and "RANK" in os.environ


def _open_process_group() -> None:
    if not dist.is_initialized():
        dist.init_process_group("gloo", rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))


def by_length(data: TensorDict) -> TensorDict:
    """Return a mini-batch with its shortest sequences first, where verl pads each micro-batch to its longest.

    A gradient doesn't depend on which sequences share a micro-batch (tested). At nano scale a quarter of all computed
    positions was padding, and a tenth is now; fix turns, whose prompts are longer, gain more.
    """
    from verl.utils import tensordict_utils

    if tensordict_utils.get(data, "use_dynamic_bsz") or tensordict_utils.get(data, "return_model_output"):
        return data
    lengths_B = data["input_ids"].offsets().diff()
    return tensordict_utils.index_select_tensor_dict(data, torch.argsort(lengths_B, stable=True))


def _register_engines() -> None:
    from verl.workers.engine.base import EngineRegistry
    from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead, FSDPEngineWithValueHead

    class WithoutOffload:
        """Builds a forward-only (reference) model like a trained one.

        verl would offload its parameters to pinned host memory, and pinning needs an accelerator; here they are in
        host memory already.
        """

        def _build_fsdp_module(self, module):
            forward_only = self.engine_config.forward_only
            # the dataclass refuses assignment to this field once it is made
            object.__setattr__(self.engine_config, "forward_only", False)
            try:
                return super()._build_fsdp_module(module)
            finally:
                object.__setattr__(self.engine_config, "forward_only", forward_only)

    class CpuLanguageModel(WithoutOffload, FSDPEngineWithLMHead):
        """verl's FSDP engine for policies and reference models, on the CPU."""

        def train_batch(self, data, loss_function):
            return super().train_batch(by_length(data), loss_function)

    class CpuValueModel(WithoutOffload, FSDPEngineWithValueHead):
        """verl's FSDP engine for critics, on the CPU."""

    for model_type, engine in (("language_model", CpuLanguageModel), ("value_model", CpuValueModel)):
        EngineRegistry.register(model_type=model_type, backend=["fsdp", "fsdp2"], device=["cpu"])(engine)


if _in_training_worker():
    _open_process_group()
    _register_engines()
    from kimina.verl import rollout_registry  # noqa: F401
