"""stage=card: the card of a finished experiment, made through the graph from the artifacts of rl and eval."""

import shutil
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from kimina.data.prompts import prompt_row, write_rows
from kimina.evaluation import Outcome, append_outcomes
from kimina.experiment.artifact import artifacts_below
from kimina.experiment.compose import compose, compose_with_warnings, resolved
from kimina.experiment.plan import make_plan
from kimina.experiment.stages import run_stages
from kimina.experiment.stages.graph import build_graph

WORDS = ["evaluation.samples=4", "evaluation.ks=[1,4]", "name=tiny", "verifier.workers=1"]


def _finish(artifact, words, work, **fields):
    record = {"config": {}, "overrides": words, "command": "python run.py", "parents": {}, "seeds": {"seed": 1}}

    def make(made):
        work(made)
        made.update(**fields)

    artifact.produce(make, record)


@pytest.fixture
def finished(tmp_path):
    """The artifacts that an experiment of four theorems leaves, written by the code that writes them in a run."""
    (tmp_path / "warm").mkdir()
    words = [*WORDS, f"sft.prepared={tmp_path}/warm", f"output_dir={tmp_path}/outputs"]
    graph = build_graph(resolved(compose(words)))
    rows = [
        prompt_row(source="nano", split="test", index=i, problem_id=f"p{i}", name=f"p{i}", statement=f"theorem p{i} : True := by",
                   informal="It holds.", family="conj", level=1)
        for i in range(4)
    ]  # fmt: skip

    def samples(solved):
        return [
            Outcome(f"p{i}", "conj", 1, s, "proved" if s < solved else "lean_error", (), float(s < solved), 20, True, "x")
            for i in range(4) for s in range(4)
        ]  # fmt: skip

    _finish(graph.data, words, lambda made: write_rows(rows, made.file("test.parquet")))
    _finish(graph.sft, words, lambda made: made.file("model").mkdir(), sft={"parameters": 680_000})
    _finish(graph.rl, words, lambda made: made.file("hf").mkdir())
    for artifact, solved in ((graph.before, 1), (graph.after, 2)):
        _finish(artifact, words, lambda made, n=solved: append_outcomes(made.folder, samples(n)), lean={"version": "4.35.0"})
    return words


def _run(words, capfd):
    words = ["stage=card", *words]
    assert run_stages(compose(words), words) == 0
    return capfd.readouterr().out


def test_the_card_of_a_finished_experiment(finished, tmp_path, capfd):
    printed = _run(finished, capfd)
    path = next((tmp_path / "outputs" / "card").glob("tiny-*/README.md"))
    assert f"card    {path}" in printed
    assert "/hf" in printed
    card = ModelCard.load(path)
    values = {result.metric_type: result.metric_value for result in card.data.eval_results}
    assert values == {"pass@1": 50.0, "pass@4": 100.0, "proof_rate": 50.0}
    assert card.data.eval_results[0].dataset_type == "generated"
    assert card.data.base_model is None and card.data.datasets is None
    for part in ("Lean 4.35.0", "4 theorems, 4 samples each", "It holds.", "loss=drgpo", "in 1 family and 1 level", "680 k parameters",
                 "| actor_rollout_ref.actor.optim.lr |", "checks.repeated_lines.max: 6"):  # fmt: skip
        assert part in card.text, part
    assert "_target_" not in card.text


def test_a_card_says_nothing_of_the_machine(finished, tmp_path, capfd):
    _run(finished, capfd)
    text = next((tmp_path / "outputs" / "card").glob("*/README.md")).read_text(encoding="utf-8")
    for secret in (str(tmp_path), "verifier.workers", "output_dir", str(Path.cwd())):
        assert secret not in text, secret
    assert "\npython run.py evaluation.samples=4 'evaluation.ks=[1,4]' name=tiny\n" in text


def test_a_card_is_reused_and_made_again_after_other_results(finished, tmp_path, capfd):
    _run(finished, capfd)
    assert "card: reusing" in _run(finished, capfd)
    shutil.rmtree(tmp_path / "outputs" / "card")
    _run(finished, capfd)
    assert [artifact.is_done for artifact in artifacts_below(tmp_path / "outputs", "card")] == [True]


def test_the_plan_of_a_card_has_no_table():
    composition = compose_with_warnings(["stage=card"])
    assert list(make_plan(composition).stages) == ["data", "sft", "rl", "eval", "card"]
    graph = build_graph(resolved(composition.config))
    assert graph.upto("card") == ["data", "sft", "rl", "eval", "card"]
    assert "card" not in graph.upto("all")


def test_a_model_from_the_hub_names_its_base_and_data():
    from kimina.experiment.stages.card import _benchmark, _benchmark_id, _command, _hub_name, _hub_sources

    config = resolved(compose(["model=1p7b"]))
    assert _hub_name(config["model"]["path"]) == "AI-MO/Kimina-Prover-Distill-1.7B"
    assert _hub_name("tests/experiment") is None
    assert _hub_sources(config["recipe"]["source"], "train") == ("AI-MO/Kimina-Prover-Promptset",)
    assert (_benchmark(config, []), _benchmark_id(config, [])) == ("AI-MO/minif2f_test", "AI-MO/minif2f_test")
    assert _benchmark_id(config, [Path("mine.parquet")]) == "local"
    words = ["stage=card", "model=1p7b", "verifier.urls=[http://inside:8000]", "model.path=/home/me/models/mine", "logger=wandb"]
    assert _command(words) == "python run.py model=1p7b model.path=mine"
