"""verl's real training worker in processes of its own: ``python -m support.training_worker spec.json``.

Each process builds the policy as a run would, and writes the full gradient of one fixed batch for each way of cutting it.
"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path


def gradients(folder: Path, spec: dict, workers: int) -> dict:
    """Run ``workers`` processes and return, for each variant's name, its loss, gradient norm and gradient vector."""
    import torch

    spec_file = folder / f"spec-{workers}.json"
    out_file = folder / f"gradients-{workers}.pt"
    spec_file.write_text(json.dumps({**spec, "out": str(out_file)}))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]),
        "VERL_PLATFORM": "cpu",
        "VERL_USE_EXTERNAL_MODULES": "kimina.verl.plugin",
        "VERL_USE_EXTERNAL_PLUGINS": "none",
        "WG_BACKEND": "ray",
        "WORLD_SIZE": str(workers),
        "LOCAL_WORLD_SIZE": str(workers),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(_free_port()),
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "support.training_worker", str(spec_file)],
            env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(workers)
    ]
    try:
        outputs = [process.communicate(timeout=300)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    assert all(process.returncode == 0 for process in started), "\n".join(output[-3000:] for output in outputs)
    return torch.load(out_file, weights_only=True)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def main(spec_file: str) -> None:
    """Build the worker and measure; rank 0 writes the result."""
    import torch
    from omegaconf import OmegaConf

    spec = json.loads(Path(spec_file).read_text())
    rank, workers = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    config = OmegaConf.create(spec["config"])
    from verl.workers.engine_workers import ActorRolloutRefWorker

    worker = ActorRolloutRefWorker(config=config.actor_rollout_ref, role="actor")
    worker.init_model()
    engine, taken = worker.actor.engine, []
    step = engine.optimizer_step

    def take_and_step():
        # verl clears the gradients when the update is over
        taken[:] = [parameter.grad.full_tensor().flatten().clone() for parameter in engine.module.parameters()]
        return step()

    engine.optimizer_step = take_and_step
    found = {}
    for loss in spec["losses"]:
        _set_loss(worker, loss)
        for variant in loss["variants"]:
            settings = worker.actor.engine_config
            settings.use_dynamic_bsz = variant["dynamic_tokens"] is not None
            settings.max_token_len_per_gpu = variant["dynamic_tokens"]
            settings.micro_batch_size_per_gpu = variant["micro_batch"]
            output = worker.update_actor(_share(_batch(spec["rows"]), rank, workers))
            if rank == 0:
                metrics = output["metrics"]
                found[f"{loss['name']}/{variant['name']}"] = {
                    "gradient": torch.cat(taken),
                    "loss": torch.tensor(float(metrics["actor/pg_loss"][0])),
                    "kl": torch.tensor(float(metrics["actor/ppo_kl"][0]) if "actor/ppo_kl" in metrics else float("nan")),
                    "norm": torch.tensor(float(metrics["grad_norm"][0])),
                }
    if rank == 0:
        torch.save(found, spec["out"])


def _set_loss(worker, loss: dict) -> None:
    """Switch the built worker's actor to another loss, as its own configuration would have."""
    from functools import partial

    from omegaconf import open_dict
    from verl.utils.config import omega_conf_to_dataclass
    from verl.workers.utils.losses import ppo_loss

    with open_dict(worker.config.actor):
        for key, value in loss["actor"].items():
            node = worker.config.actor
            *parents, last = key.split(".")
            for parent in parents:
                node = node[parent]
            node[last] = value
    worker.set_loss_fn(partial(ppo_loss, config=omega_conf_to_dataclass(worker.config.actor)))


def _batch(rows: list[dict]):
    import torch
    from verl.utils import tensordict_utils as tu

    def nested(name, kind=torch.int64):
        return torch.nested.as_nested_tensor([torch.tensor(row[name], dtype=kind) for row in rows], layout=torch.jagged)

    lengths = [len(row["prompt"]) + len(row["response"]) for row in rows]
    mask = nested("mask")
    fields = {
        "prompts": nested("prompt"),
        "responses": nested("response"),
        "input_ids": torch.nested.as_nested_tensor(
            [torch.tensor(row["prompt"] + row["response"]) for row in rows], layout=torch.jagged
        ),
        "position_ids": torch.nested.as_nested_tensor([torch.arange(n) for n in lengths], layout=torch.jagged),
        "response_mask": mask,
        "loss_mask": mask.clone(),
        "old_log_probs": nested("old_log_probs", torch.float32),
        "ref_log_prob": nested("old_log_probs", torch.float32),
        "advantages": nested("advantages", torch.float32),
    }
    plain = {
        "calculate_entropy": True,
        "global_batch_size": len(rows),
        "mini_batch_size": len(rows),
        "epochs": 1,
        "seed": 1,
        "dataloader_kwargs": {"shuffle": False},
        "temperature": 1.0,
    }
    return tu.get_tensordict(fields, non_tensor_dict=plain)


def _share(batch, rank: int, workers: int):
    from verl.utils import tensordict_utils as tu

    return tu.chunk_tensordict(batch, workers)[rank]


if __name__ == "__main__":
    main(sys.argv[1])
