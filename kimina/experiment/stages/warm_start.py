"""The sft stage: take the prepared warm start if it is the one that was asked for, else train it."""

import hashlib
import shutil
from pathlib import Path
from typing import Any

from kimina.data.nano.recipe import problem_splits
from kimina.durable import read_json
from kimina.errors import UserError
from kimina.experiment.artifact import Artifact
from kimina.experiment.options import from_repository
from kimina.experiment.stages.run_context import RunContext

MODEL = "model"
_REMEDY = "Restore {folder}, or type sft.prepared=null to train one."


def make(context: RunContext, artifact: Artifact) -> None:
    """Leave a model in Hugging Face format in the folder ``model`` of the artifact."""
    if _take_prepared(context, artifact):
        return
    recipe, settings = context.resolved["recipe"], context.resolved["sft"]
    if recipe["name"] != "nano":
        raise UserError("sft.enabled=true needs worked answers, which only data=nano has; set sft.enabled=false or data=nano")
    from kimina.sft.warm_start import train_warm_start

    with context.progress.stage("sft: warm start", unit="steps") as shown:

        def on_step(step: int, total: int, logs: dict[str, Any]) -> None:
            shown.set_total(total)
            if "loss" in logs:
                row = {key: float(value) for key, value in logs.items() if key in ("loss", "grad_norm", "learning_rate")}
                artifact.metrics.append({"step": step, **row})
            shown.update(step, note=f"loss {float(logs['loss']):.3f}" if "loss" in logs else None)

        summary = train_warm_start(
            problem_splits(recipe).train,
            context.resolved["model"]["architecture"],
            settings,
            settings["seed"],
            artifact.folder,
            on_step,
        )
    artifact.update(sft=summary, files=checksums(artifact.file(MODEL)))
    shutil.rmtree(artifact.file("checkpoints"), ignore_errors=True)


def _take_prepared(context: RunContext, artifact: Artifact) -> bool:
    """Copy the prepared warm start if settings, seed and data are those that were asked for.

    Raises:
        UserError: the folder holds no warm start, or a damaged one.
    """
    prepared = context.resolved["sft"]["prepared"]
    if prepared is None:
        return False
    folder = from_repository(prepared)
    if not (folder / "manifest.json").exists():
        raise UserError(
            f"sft.prepared={prepared}: {folder} holds no warm start (manifest.json is missing).\n"
            "Type sft.prepared=null to train one."
        )
    manifest = read_json(folder / "manifest.json")
    wanted = {"hash": artifact.hash, "data_fingerprint": context.graph.data.manifest()["data_fingerprint"]}
    if {"files", "sft", *wanted} - manifest.keys():
        raise UserError(f"sft.prepared={prepared}: {folder}/manifest.json is not that of a warm start. {_REMEDY.format(folder=folder)}")
    if {key: manifest[key] for key in wanted} != wanted:
        context.progress.say("sft: the prepared warm start was made with other settings, seed or data; training one")
        return False
    if checksums(folder / MODEL) != manifest["files"]:
        raise UserError(f"sft.prepared={prepared}: its files are not those of its manifest. {_REMEDY.format(folder=folder)}")
    shutil.copytree(folder / MODEL, artifact.file(MODEL), dirs_exist_ok=True)
    artifact.update(sft=manifest["sft"], files=manifest["files"], prepared=str(prepared))
    context.progress.say(f"sft: using the prepared warm start {prepared}")
    return True


def checksums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file below ``folder``, by relative path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
