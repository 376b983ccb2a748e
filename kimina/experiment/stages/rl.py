"""The rl stage: verl's trainer on the prompt set, from the start model."""

from typing import Any

from kimina.experiment.artifact import Artifact
from kimina.experiment.machine import check_verifier
from kimina.experiment.stages.run_context import RunContext


def note_of(reward: float | None) -> str:
    """Return what the progress says of a step's mean reward; a step that nobody judged has none."""
    return "nobody judged" if reward is None else f"reward {reward:.3f}"


def make(context: RunContext, artifact: Artifact) -> None:
    """Train into the artifact's folder; the trained model is its folder ``hf``."""
    from kimina.verl.launch import run_rl

    check_verifier(context.resolved["verifier"])
    log = artifact.file("verl.log")
    context.progress.say(f"rl: log of verl and Ray: {log}")
    with context.progress.stage("rl: training", context.resolved["trainer"]["total_training_steps"], "steps") as shown:

        def on_progress(event: dict[str, Any]) -> None:
            if event["event"] == "start":
                shown.set_total(event["total"])
                shown.resume_at(event["step"])
            else:
                shown.update(event["step"], note=note_of(event["reward"]))

        run_rl(
            context.config,
            out_dir=artifact.folder,
            model_path=context.start_model,
            train_file=context.prompt_file("train"),
            val_file=context.prompt_file("dev"),
            log_file=log,
            on_progress=on_progress,
        )
