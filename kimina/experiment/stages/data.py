"""The data stage: prompt sets as parquet."""

from kimina.data.nano.recipe import prepare_nano
from kimina.experiment.artifact import Artifact
from kimina.experiment.environment import usable_cores
from kimina.experiment.stages.run_context import RunContext
from kimina.lean.verifier import make_verifier


def make(context: RunContext, artifact: Artifact) -> None:
    """Write the splits of the configured recipe and their fingerprint."""
    recipe = context.resolved["recipe"]
    if recipe["name"] != "nano":
        from kimina.data.promptset import prepare_promptset

        summary = prepare_promptset(recipe, artifact.folder, context.progress.say)
        artifact.update(data=summary, data_fingerprint=summary["fingerprint"])
        return
    total = recipe["train_count"] + recipe["dev_count"] + recipe["test_count"]
    # The reference proofs of the nano task are proofs for the embedded Lean, whatever judges the model's.
    with (
        make_verifier({"name": "embedded", "workers": usable_cores()}) as verifier,
        context.progress.stage("data: checking reference proofs", total, "proofs") as shown,
    ):
        summary = prepare_nano(recipe, verifier, artifact.folder, lambda done, _: shown.update(done))
        artifact.update(lean={"version": verifier.lean_version, "header": verifier.header})
    artifact.update(data=summary, data_fingerprint=summary["fingerprint"])
