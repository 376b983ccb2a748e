"""verl's two sides of the engine ``hf_cpu``: starting the server, and sending it the trainer's weights."""

import os

import ray
import torch
from verl.utils.config import omega_conf_to_dataclass
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica
from verl.workers.rollout.utils import ensure_async_iterator

from kimina.generation.qwen3_cpu import torch_dtype
from kimina.verl.cpu_server import CpuServer, ServerSettings, stop_ids_of


def _server_name(replica_rank: int, suffix: str = "") -> str:
    return f"hf_cpu_server_{replica_rank}{suffix}"


class CpuReplica(RolloutReplica):
    """One server actor a replica; a replica belongs to one training worker."""

    async def launch_servers(self):
        if len(self.workers) != 1 or self.world_size != 1:
            raise ValueError("engine=hf_cpu needs tensor, data and pipeline parallel sizes of 1")
        model = omega_conf_to_dataclass(self.model_config)
        options = dict(self.config.engine_kwargs.get("hf_cpu", {}) or {})
        settings = ServerSettings(
            model_path=model.local_path,
            dtype=self.config.dtype,
            prompt_length=self.config.prompt_length,
            response_length=self.config.response_length,
            max_rows=self.config.max_num_seqs,
            seed=self.config.seed,
            extra_stop_ids=tuple(stop_ids_of(model.tokenizer)),
            **options,
        )
        name = _server_name(self.replica_rank, self.name_suffix)
        server = (
            ray.remote(CpuServer)
            .options(name=name, num_cpus=0, max_concurrency=self.max_concurrency)
            .remote(settings)
        )
        self.servers = [server]
        await server.statistics.remote()
        self._server_handle = server
        self._server_address = name


class CpuServerAdapter(BaseRollout):
    """Lives in the training worker and sends weights to the server of the same rank."""

    def __init__(self, config, model_config, device_mesh, replica_rank=-1, **_other):
        super().__init__(config, model_config, device_mesh)
        self.replica_rank = int(os.environ["RANK"]) if replica_rank == -1 else replica_rank
        self._server = None

    async def resume(self, tags):
        """Nothing was released."""

    async def release(self):
        """There is no device memory to release."""

    async def update_weights(self, weights, global_steps=None, wire_format="named_tensors", **_other):
        if wire_format != "named_tensors":
            raise ValueError(f"engine=hf_cpu takes whole tensors, not {wire_format!r}")
        if self._server is None:
            self._server = ray.get_actor(_server_name(self.replica_rank))
        dtype = torch_dtype(self.config.dtype)
        state: dict[str, torch.Tensor] = {}
        async for name, tensor in ensure_async_iterator(weights):
            state[name] = tensor.detach().to("cpu", dtype)
        await self._server.load_weights.remote(state, global_steps)
