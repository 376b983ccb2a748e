"""The model card, read back with the hub's own library."""

from dataclasses import replace

import pytest
import yaml
from huggingface_hub import ModelCard

from kimina.evaluation import EvalResult
from kimina.tables import RunFacts, compare
from kimina.tables.card import CardFacts, metadata, model_card

FACTS = CardFacts(
    run=RunFacts("nano-drgpo", "python run.py loss=drgpo 'x=`y`'", model="nano", parameters=680_000, lean_version="4.35.0"),
    base_model="AI-MO/Kimina-Prover-Distill-1.7B",
    start="It was trained by reinforcement learning.",
    datasets=("AI-MO/Kimina-Prover-Promptset",),
    training_data="The training theorems are a set.",
    benchmark="AI-MO/minif2f_test",
    benchmark_id="AI-MO/minif2f_test",
    split="test",
    training=(("Steps", "80"), ("Batch", "24 theorems × 8 answers")),
    evaluation={"samples": 16, "temperature": 1.0, "ks": [1, 8, 64]},
    settings={"actor_rollout_ref.actor.optim.lr": 2e-6, "data.return_raw_chat": True, "x": "a | b", "none": None},
    methods={"reward": {"checks.too_long.max": 20}, "loss": {"name": "drgpo"}},
    prompt=({"role": "system", "content": "You are an expert."}, {"role": "user", "content": "Prove:\n```lean4\ntheorem t : True\n```"}),
    limits=("It is small.",),
    tags=("drgpo",),
)


@pytest.fixture(scope="module")
def card(table):
    return ModelCard(model_card(FACTS, table))


def test_the_hub_reads_the_metadata(card):
    data = card.data
    assert data.base_model == "AI-MO/Kimina-Prover-Distill-1.7B"
    assert data.datasets == ["AI-MO/Kimina-Prover-Promptset"]
    assert data.language == ["en"]
    assert data.library_name == "transformers"
    assert {"lean4", "theorem-proving", "drgpo"} <= set(data.tags)
    assert data.model_name == "nano-drgpo"
    assert data.license is None


def test_the_results_are_in_the_hubs_format(card, table):
    results = {result.metric_type: result for result in card.data.eval_results}
    # 64 attempts are more than there are samples: undefined is left out, not zero.
    assert set(results) == {"pass@1", "pass@8", "proof_rate"}
    first, rate = results["pass@1"], table.after.pass_at_k(1, seed=table.seed)
    assert first.task_type == "text-generation"
    assert (first.dataset_type, first.dataset_split) == ("AI-MO/minif2f_test", "test")
    assert first.metric_value == round(100 * rate.value, 2)
    assert first.metric_args["low"] == round(100 * rate.interval.low, 2)
    assert first.metric_args | {"low": 0, "high": 0} == {"low": 0, "high": 0, "problems": 40, "samples": 16, "lean": "4.35.0"}


def test_the_text_holds_table_settings_command_and_licence_note(card, table):
    text = card.text
    for part in (
        "# nano-drgpo",
        "| all theorems | 40 | pass@1 |",
        "40 theorems, 16 samples each, Lean 4.35.0",
        "95 % intervals",
        "python run.py loss=drgpo 'x=`y`'",
        "| actor_rollout_ref.actor.optim.lr | 2.0e-06 |",
        "| x | a \\| b |",
        "| none | null |",
        "checks.too_long.max: 20",
        "| ks | [1, 8, 64] |",
        "- It is small.",
        "No licence is stated here",
        "| pass@64 | – | – |",
    ):
        assert part in text, part
    # A prompt that holds a fence stands within a longer one.
    assert "````\nProve:\n```lean4" in text
    assert text.count("````") == 2


def test_names_of_families_do_not_become_markup(card):
    assert "&lt;b>iff&lt;/b>" in card.text
    assert "<b>" not in card.text


def test_what_is_not_known_is_left_out(table):
    bare = replace(FACTS, base_model=None, datasets=(), run=replace(FACTS.run, lean_version=None))
    data = ModelCard(model_card(bare, table)).data
    assert data.base_model is None and data.datasets is None
    assert "base_model" not in metadata(bare, table)
    assert "made by this run alone" in model_card(bare, table)


def test_a_model_without_a_verified_sample_has_no_result(runs):
    def outage(result):
        return EvalResult.of("x", [replace(o, verdict="unverified", violations=()) for o in result.outcomes])

    table = compare(*map(outage, runs), ks=(1,))
    card = ModelCard(model_card(FACTS, table))
    assert card.data.eval_results is None
    assert "model-index" not in metadata(FACTS, table)
    assert "could not be verified" in card.text


def test_the_metadata_is_plain_yaml(card, table):
    head = card.content.split("---\n")[1]
    assert yaml.safe_load(head) == metadata(FACTS, table)
