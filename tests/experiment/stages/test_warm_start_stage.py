"""The sft stage: when the prepared warm start is taken, when one is trained, and when the stage refuses."""

import io
import shutil
from copy import deepcopy

import pytest
from omegaconf import OmegaConf

from kimina.durable import read_json, write_json
from kimina.errors import InfrastructureError, UserError
from kimina.experiment.compose import compose, resolved
from kimina.experiment.progress import Progress
from kimina.experiment.stages import warm_start
from kimina.experiment.stages.graph import build_graph
from kimina.experiment.stages.run_context import RunContext

SUMMARY = {"parameters": 12, "steps": 3}
RECORD = {"config": {}, "overrides": [], "parents": {}, "seeds": {}}


@pytest.fixture(scope="module")
def shipped():
    """The nano configuration with a small data set."""
    return resolved(compose(["recipe.train_count=50", "recipe.dev_count=2", "recipe.test_count=2"]))


@pytest.fixture
def stage(tmp_path, shipped):
    """A context whose data stage is done; keyword arguments replace settings of ``sft``. Returns it and what was said."""

    def make(fingerprint="print", **sft):
        tree = deepcopy(shipped)
        tree["output_dir"] = str(tmp_path / "outputs")
        tree["sft"].update({"prepared": str(tmp_path / "prepared"), **sft})
        graph = build_graph(tree)
        graph.data.produce(lambda made: None, RECORD)
        graph.data.update(data_fingerprint=fingerprint)
        stream = io.StringIO()
        return RunContext(OmegaConf.create(tree), tree, [], graph, Progress(stream), tmp_path / "log"), stream

    return make


@pytest.fixture
def prepared(tmp_path, stage):
    """A prepared warm start for the shipped settings."""
    folder = tmp_path / "prepared"
    (folder / "model").mkdir(parents=True)
    (folder / "model" / "model.safetensors").write_bytes(b"weights")
    (folder / "model" / "config.json").write_text("{}")
    context, _ = stage(prepared=None)
    write_json(
        folder / "manifest.json",
        {
            "hash": context.graph.sft.hash,
            "data_fingerprint": "print",
            "files": warm_start.checksums(folder / "model"),
            "sft": SUMMARY,
        },
    )
    return folder


@pytest.fixture
def trained(monkeypatch):
    """Replaces training; the list tells how often it was called."""
    calls = []

    def train(problems, architecture, settings, seed, folder, on_step):
        calls.append((len(problems), seed))
        on_step(20, 40, {"loss": 1.5, "learning_rate": 0.1, "epoch": 0.5})
        on_step(40, 40, {"train_runtime": 3.0})
        (folder / "model").mkdir(exist_ok=True)
        (folder / "model" / "model.safetensors").write_bytes(b"trained")
        (folder / "checkpoints").mkdir(exist_ok=True)
        return {"steps": 40}

    monkeypatch.setattr("kimina.sft.warm_start.train_warm_start", train)
    return calls


def produce(context):
    context.produce(context.graph.sft, warm_start.make, {}, {})
    return context.graph.sft


def test_the_warm_start_that_was_asked_for_is_taken(stage, prepared, trained):
    context, stream = stage()
    artifact = produce(context)
    assert trained == []
    assert artifact.file("model/model.safetensors").read_bytes() == b"weights"
    manifest = artifact.manifest()
    assert (manifest["status"], manifest["sft"], manifest["prepared"]) == ("done", SUMMARY, str(prepared))
    assert "using the prepared warm start" in stream.getvalue()


@pytest.mark.parametrize("change", [{"fingerprint": "another"}, {"epochs": 0.5}, {"wrong_choice_rate": 0.9}])
def test_one_made_with_other_settings_or_data_is_not_taken(stage, prepared, trained, change):
    context, stream = stage(**change)
    artifact = produce(context)
    assert len(trained) == 1
    assert artifact.file("model/model.safetensors").read_bytes() == b"trained"
    assert "training one" in stream.getvalue()
    assert "prepared" not in artifact.manifest()


def test_threads_and_the_folder_do_not_make_it_another(stage, prepared, trained):
    shutil.move(prepared, prepared.with_name("moved"))
    context, _ = stage(threads=1, prepared=str(prepared.with_name("moved")))
    produce(context)
    assert trained == []


def test_damaged_files_are_refused(stage, prepared, trained):
    (prepared / "model" / "model.safetensors").write_bytes(b"weight5")
    context, _ = stage()
    with pytest.raises(UserError, match=r"not those of its manifest.*sft.prepared=null"):
        produce(context)
    assert trained == [] and not context.graph.sft.file("model").exists()


def test_a_missing_file_is_refused(stage, prepared, trained):
    (prepared / "model" / "config.json").unlink()
    with pytest.raises(UserError, match="not those of its manifest"):
        produce(stage()[0])


def test_a_folder_without_a_manifest_is_refused(stage, prepared):
    (prepared / "manifest.json").unlink()
    with pytest.raises(UserError, match=r"manifest.json is missing.*\n.*sft.prepared=null"):
        produce(stage()[0])


def test_a_manifest_that_is_not_one_is_refused(stage, prepared):
    manifest = read_json(prepared / "manifest.json")
    write_json(prepared / "manifest.json", {key: value for key, value in manifest.items() if key != "files"})
    with pytest.raises(UserError, match="is not that of a warm start"):
        produce(stage()[0])
    (prepared / "manifest.json").write_text("{")
    with pytest.raises(InfrastructureError, match="not valid JSON"):
        produce(stage()[0])


def test_without_a_prepared_folder_one_is_trained(stage, trained):
    context, _ = stage(prepared=None)
    artifact = produce(context)
    recipe = context.resolved["recipe"]
    assert trained == [(recipe["train_count"], context.resolved["seed"])]
    assert [(row["step"], row["loss"]) for row in artifact.metrics.read()] == [(20, 1.5)]
    assert artifact.manifest()["files"] == warm_start.checksums(artifact.file("model"))
    assert not artifact.file("checkpoints").exists()


def test_only_the_nano_task_has_worked_answers(stage, trained):
    context, _ = stage(prepared=None)
    context.resolved["recipe"]["name"] = "promptset"
    with pytest.raises(UserError, match=r"only data=nano has"):
        produce(context)


def test_own_files_take_the_place_of_the_splits(stage, tmp_path):
    context, _ = stage()
    assert context.prompt_file("dev") == context.graph.data.file("dev.parquet")
    context.resolved["data"].update(train_files="~/mine.parquet", val_files=["a.parquet", "b.parquet"])
    assert context.prompt_file("train").name == "mine.parquet" and "~" not in str(context.prompt_file("train"))
    with pytest.raises(UserError, match=r"names 2 files; one is read.*\n  type: data.val_files=a.parquet"):
        context.prompt_file("test")
