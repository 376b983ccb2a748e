"""Training by reinforcement learning as one call: ``run_rl``.

verl runs in a process of its own, whose output goes to a log file; this process watches the run's files, reports
progress, and makes sure that nothing of Ray stays behind. It imports neither verl nor Ray nor torch.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

import kimina
from kimina.durable import read_json, write_json
from kimina.errors import InfrastructureError
from kimina.metrics_log import MetricsLog
from kimina.verl import checkpoints, ray_session
from kimina.verl.driver import error_from
from kimina.verl.emit import CHECKPOINTS, emit_trainer_config

MODEL = "hf"
_POLL_S = 0.25
_PATIENCE_S = 30.0


def run_rl(
    config: DictConfig,
    *,
    out_dir: Path,
    model_path: Path | str,
    train_file: Path | str,
    val_file: Path | str,
    log_file: Path,
    on_progress: Callable[[dict[str, Any]], None] = lambda event: None,
) -> Path:
    """Train until the configured number of steps and return the folder of the trained model.

    A run that was interrupted at any moment goes on from its last complete checkpoint when it is called again with the
    same ``out_dir``; ``metrics.jsonl`` there then looks as if it had never stopped.

    Args:
        config: a composed experiment.
        out_dir: gets ``checkpoints/``, ``metrics.jsonl``, ``samples/`` and the trained model in ``hf/``.
        model_path: the policy to start from.
        train_file, val_file: prompt sets in verl's parquet schema.
        log_file: gets the output of verl and Ray, appended.
        on_progress: called with ``{"event": "start", "step": last finished step, "total": steps}`` when training is
            about to begin, and with ``{"event": "step", "total": steps, **row of metrics.jsonl}`` after each step.

    Raises:
        UserError: verl refuses the configuration, or the last checkpoint is of an earlier version of this program.
        LimitError: too many responses could not be verified.
        InfrastructureError: the trainer failed or was killed; the message names the log and has its last lines.
    """
    out_dir = Path(out_dir)
    out_dir.mkdir(parents=True, exist_ok=True)
    root = out_dir / CHECKPOINTS
    # a killed run may have left processes that still write here
    ray_session.close_session(out_dir)
    last_step = checkpoints.repair(root)
    if not _is_finished(out_dir, last_step):
        if last_step > 0:
            checkpoints.check_resumable(root, last_step)
        emitted = emit_trainer_config(
            config, out_dir=out_dir, model_path=model_path, train_files=[train_file], val_files=[val_file]
        )
        _train(emitted, out_dir, Path(log_file), on_progress)
        last_step = checkpoints.complete_steps(root)[-1]
    return checkpoints.export_model(root, last_step, out_dir / MODEL)


def _is_finished(out_dir: Path, last_step: int) -> bool:
    progress = out_dir / "progress.json"
    return last_step > 0 and progress.exists() and read_json(progress)["total_steps"] <= last_step


def _train(config: DictConfig, out_dir: Path, log_file: Path, on_progress: Callable[[dict[str, Any]], None]) -> None:
    on_cpu = config.trainer.device == "cpu"
    error_file = out_dir / "error.json"
    for stale in (error_file, out_dir / "progress.json"):
        stale.unlink(missing_ok=True)
    ray_folder = ray_session.open_session(out_dir)
    plain = OmegaConf.to_container(config)
    if on_cpu:
        # never somebody else's cluster: the run needs logical GPU slots and our modules in every process
        plain["ray_kwargs"]["ray_init"].update({"address": "local", "_temp_dir": str(ray_folder)})
    spec_file = write_json(
        out_dir / "driver.json",
        {
            "config": plain,
            "out_dir": str(out_dir.resolve()),
            "error_file": str(error_file.resolve()),
            "local_trainer": on_cpu,
        },
    )
    log_file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with open(log_file, "ab") as log:
            started_at = log.tell()
            driver = subprocess.Popen(
                [sys.executable, "-m", "kimina.verl.driver", str(spec_file)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=driver_environment(os.environ, on_cpu, config.trainer.n_gpus_per_node, ray_session.mark_of(out_dir)),
                # Ctrl-C goes to this process alone, which then ends the run in order
                start_new_session=True,
            )
        try:
            _watch(driver, out_dir, on_progress)
        finally:
            _stop(driver)
    finally:
        ray_session.close_session(out_dir)
    if driver.returncode != 0:
        known = error_from(read_json(error_file)) if error_file.exists() else None
        raise known or InfrastructureError(_failure(driver.returncode, log_file, started_at))


def driver_environment(current: dict[str, str] | os._Environ, on_cpu: bool, workers: int, mark: str) -> dict[str, str]:
    """Return the environment of the driver, which all Ray processes inherit."""
    environment = dict(current)
    package_root = str(Path(kimina.__file__).parents[1])
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [package_root, environment.get("PYTHONPATH")]))
    environment[ray_session.MARK] = mark
    environment["TOKENIZERS_PARALLELISM"] = "false"
    environment["PYTHONUNBUFFERED"] = "1"
    if not on_cpu:
        return environment
    # one thread each lets two runs share two cores better than two threads each
    threads = environment.get("OMP_NUM_THREADS") or max(1, (os.cpu_count() or 1) // max(1, workers))
    environment |= {
        "VERL_PLATFORM": "cpu",
        "VERL_USE_EXTERNAL_MODULES": "kimina.verl.plugin",
        "VERL_USE_EXTERNAL_PLUGINS": "none",
        "OMP_NUM_THREADS": str(threads),
        # threads that wait for work must not keep the cores from the other processes
        "OMP_WAIT_POLICY": "PASSIVE",
        "HF_HUB_OFFLINE": environment.get("HF_HUB_OFFLINE", "1"),
        # logical GPU slots must not set device variables, nor warn about them
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "TRANSFER_QUEUE_ENABLE": "1",
        # one process a logical core, started in advance, would cost ten seconds of imports on two cores
        "RAY_prestart_worker_first_driver": "0",
    }
    return environment


def _watch(driver: subprocess.Popen, out_dir: Path, on_progress: Callable[[dict[str, Any]], None]) -> None:
    """Report what the trainer writes until it ends."""
    log = MetricsLog(out_dir / "metrics.jsonl")
    progress_file = out_dir / "progress.json"
    total: int | None = None
    reported = 0
    while True:
        ended = driver.poll() is not None
        if total is None and progress_file.exists():
            progress = read_json(progress_file)
            total, reported = progress["total_steps"], progress["resumed_from"]
            on_progress({"event": "start", "step": reported, "total": total})
        if total is not None:
            for row in log.read():
                if row["step"] > reported:
                    reported = row["step"]
                    on_progress({"event": "step", "total": total, **row})
        if ended:
            return
        time.sleep(_POLL_S)


def _stop(driver: subprocess.Popen) -> None:
    """End the driver; it ends in order when its standard input closes."""
    driver.stdin.close()
    try:
        driver.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        driver.kill()
    driver.wait()


def _failure(code: int, log_file: Path, started_at: int) -> str:
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    with open(log_file, "rb") as log:
        log.seek(started_at)
        lines = log.read().decode("utf-8", "replace").splitlines()
    return (
        f"the trainer {how}. Its log is {log_file}; the last relevant lines:\n"
        + "\n".join(f"  {line}" for line in relevant_lines(lines))
        + "\nRun the same command again to go on from the last checkpoint."
    )


def relevant_lines(lines: Sequence[str], count: int = 12) -> list[str]:
    """Return the lines of a log that tell most: the last error and what stands before it, or else the last lines."""
    lines = [line for line in lines if line.strip()]
    for index in range(len(lines) - 1, -1, -1):
        head = lines[index].split(":", 1)[0].split(") ")[-1]
        if head.replace(".", "").replace("_", "").isalnum() and head.endswith(("Error", "Exception", "Killed")):
            return lines[max(0, index - count + 1) : index + 1]
    return lines[-count:]
