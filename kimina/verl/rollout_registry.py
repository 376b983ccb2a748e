"""Makes verl know the rollout engine ``hf_cpu``; imported by the trainer (``plugin`` would slow every process down)."""

from verl.workers.rollout.base import _ROLLOUT_REGISTRY
from verl.workers.rollout.replica import RolloutReplicaRegistry


def _load_replica():
    from kimina.verl.cpu_rollout import CpuReplica

    return CpuReplica


RolloutReplicaRegistry.register("hf_cpu", _load_replica)
# verl 0.9.1 has a registration function for the replica only; the worker side looks its class up in this table
_ROLLOUT_REGISTRY[("hf_cpu", "async")] = "kimina.verl.cpu_rollout.CpuServerAdapter"
