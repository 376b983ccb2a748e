"""A stage is named by what it reads: what it doesn't read leaves its hash alone, what it reads changes it and all behind it."""

import json
from functools import cache

import pytest

from kimina.errors import InfrastructureError
from kimina.experiment.compose import compose, resolved
from kimina.experiment.stages import graph as graph_module
from kimina.experiment.stages.graph import STAGES, build_graph

LR = "actor_rollout_ref.actor.optim.lr"
STAGE_FIELDS = ("data", "sft", "rl", "before", "after", "table")
EVERYTHING = {*STAGE_FIELDS}


@cache
def hashes(*words):
    graph = build_graph(resolved(compose(list(words))))
    return {stage: artifact.hash for stage in STAGE_FIELDS if (artifact := graph.__dict__[stage]) is not None}


def changed(*words, base=()):
    """The stages whose hash differs when ``words`` are added."""
    before, after = hashes(*base), hashes(*base, *words)
    return {stage for stage in before if before[stage] != after[stage]}


@pytest.mark.parametrize(
    ("word", "stages"),
    [
        # Nothing reads these, or only to work elsewhere or faster.
        ("cluster.nodes=2", set()),
        ("logger=wandb", set()),
        ("output_dir=elsewhere", set()),
        ("name=another", set()),
        ("verifier.workers=1", set()),
        ("verifier.cache_size=10", set()),
        ("verifier.cache=elsewhere.sqlite", set()),
        ("sft.threads=1", set()),
        ("sft.prepared=tests", set()),
        ("plan.response_tokens=50", set()),
        ("stage=eval", set()),
        ("ray_kwargs.ray_init.num_cpus=4", set()),
        # From the last stage to the first.
        ("evaluation.samples=128", {"before", "after", "table"}),
        ("evaluation.temperature=0.5", {"before", "after", "table"}),
        ("evaluation.top_p=0.5", {"before", "after", "table"}),
        ("evaluation.max_new_tokens=77", {"before", "after", "table"}),
        ("evaluation.fix_turns=1", {"before", "after", "table"}),
        ("evaluation.canaries=1", {"before", "after", "table"}),
        ("evaluation.verify_rejected=false", {"before", "after", "table"}),
        ("model.think_in_prompt=true", {"rl", "before", "after", "table"}),
        # How records are reported does not change them.
        ("evaluation.ks=[1,2]", {"table"}),
        ("evaluation.max_unverified_share=0.5", set()),
        ("evaluation.fix_history=with_think", set()),
        ("evaluation.fix_feedback_tokens=9", set()),
        (f"{LR}=1e-5", {"rl", "after", "table"}),
        ("actor_rollout_ref.rollout.n=4", {"rl", "after", "table"}),
        ("trainer.total_training_steps=7", {"rl", "after", "table"}),
        ("loss=grpo", {"rl", "after", "table"}),
        ("reward=strict", {"rl", "before", "after", "table"}),
        ("reward.checks.repeated_lines.max=3", {"rl", "before", "after", "table"}),
        ("verifier.timeout_s=3", {"rl", "before", "after", "table"}),
        ("sft.epochs=1", EVERYTHING - {"data"}),
        ("sft.wrong_choice_rate=0.1", EVERYTHING - {"data"}),
        ("sft.remark_rate=0.9", EVERYTHING - {"data"}),
        ("model.architecture.layers=2", EVERYTHING - {"data"}),
        ("seed=2", EVERYTHING - {"data"}),
        ("recipe.train_count=100", EVERYTHING),
        ("recipe.seed=2", EVERYTHING),
    ],
)
def test_a_word_changes_what_reads_it(word, stages):
    # A base in which no value is the one that is set.
    base = ("sft.epochs=3", "sft.prepared=null", "verifier.workers=2", "sft.threads=null")
    assert changed(word, base=base) == stages


def test_a_value_that_is_set_to_its_default_changes_nothing():
    config = resolved(compose())
    assert changed(f"{LR}={config['actor_rollout_ref']['actor']['optim']['lr']}", f"seed={config['seed']}") == set()


def test_hub_models_have_no_warm_start():
    graph = build_graph(resolved(compose(["model=1p7b"])))
    assert graph.sft is None
    assert graph.upto("all") == ["data", "rl", "eval", "table"]
    assert changed("verifier.urls=[http://elsewhere:1]", "verifier.concurrency=7", base=["model=1p7b"]) == set()
    assert changed("model.path=some/other", base=["model=1p7b"]) == {"rl", "before", "after", "table"}
    assert changed("recipe.limit=8", base=["model=1p7b"]) == {"data", "rl", "before", "after", "table"}


def test_the_stages_up_to_one():
    graph = build_graph(resolved(compose()))
    assert graph.upto("data") == ["data"]
    assert graph.upto("rl") == ["data", "sft", "rl"]
    assert graph.upto("all") == graph.upto("table") == list(STAGES)


def test_folders_say_what_they_hold():
    graph = build_graph(resolved(compose(["output_dir=place", "name=mine"])))
    assert str(graph.rl.folder) == f"place/rl/mine-{graph.rl.hash}"
    assert graph.sft.folder.parent.name == "sft" and graph.sft.folder.name.startswith("nano-")
    assert graph.before.folder != graph.after.folder and graph.before.folder.parent == graph.after.folder.parent


def test_own_prompt_files_count_by_content(tmp_path):
    one, same, other = (tmp_path / f"{name}.parquet" for name in ("one", "same", "other"))
    for path, content in ((one, b"a"), (same, b"a"), (other, b"b")):
        path.write_bytes(content)
    with_one, with_same, with_other = (hashes(f"data.train_files={path}") for path in (one, same, other))
    assert with_one == with_same
    assert {stage for stage in with_one if with_one[stage] != with_other[stage]} == {"rl", "before", "after", "table"}
    assert with_one["rl"] != hashes()["rl"]


def test_a_local_prompt_set_counts_by_content(tmp_path):
    source = tmp_path / "set.jsonl"
    config = resolved(compose(["model=1p7b", f"recipe.source={source}"]))
    found = []
    for content in ("a", "a", "b"):
        source.write_text(json.dumps({"name": content}))
        found.append(build_graph(config).data.hash)
    assert found[0] == found[1] != found[2]


def test_an_own_file_that_vanished_is_an_error(tmp_path):
    config = resolved(compose())
    config["data"]["val_files"] = str(tmp_path / "gone.parquet")
    with pytest.raises(InfrastructureError, match=r"cannot read .*gone.parquet"):
        build_graph(config)


def test_how_errors_are_fixed_counts_only_where_they_are():
    base = ("evaluation.fix_turns=1",)
    assert changed("evaluation.fix_history=with_think", base=base) == {"before", "after", "table"}
    assert changed("evaluation.fix_feedback_tokens=9", base=base) == {"before", "after", "table"}


def test_the_lean_version_is_part_of_an_evaluation(monkeypatch):
    config = resolved(compose())
    now = build_graph(config)
    monkeypatch.setattr(graph_module, "installed_lean_version", lambda: "4.36.0")
    then = build_graph(config)
    assert now.before.hash != then.before.hash and now.rl.hash == then.rl.hash


def asked(*words):
    return build_graph(resolved(compose(["stage=eval", *words])))


def test_a_named_model_is_evaluated_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text("{}")
    graph = asked(f"evaluation.model={tmp_path}/mine")
    assert graph.upto("eval") == ["data", "eval"]
    assert graph.asked.folder.name == f"mine-{graph.asked.hash}"
    # Its content counts, not its place.
    (tmp_path / "mine").rename(tmp_path / "other")
    assert asked(f"evaluation.model={tmp_path}/other").asked.hash == graph.asked.hash
    (tmp_path / "other" / "chat_template.jinja").write_text("{{ 1 }}")
    assert asked(f"evaluation.model={tmp_path}/other").asked.hash != graph.asked.hash


def test_the_start_model_alone_is_the_one_before_rl():
    graph = asked("evaluation.model=start")
    assert graph.asked is graph.before and graph.before.hash == hashes()["before"]
    assert graph.upto("eval") == ["data", "sft", "eval"]
    assert asked("model=1p7b", "evaluation.model=start").upto("eval") == ["data", "eval"]
    # A hub model is what it is, whoever names it.
    named = asked("model=1p7b", "evaluation.model=AI-MO/Kimina-Prover-Distill-1.7B")
    assert named.asked.hash == asked("model=1p7b").before.hash


def test_own_problems_count_by_content(tmp_path):
    one, same, other = (tmp_path / f"{name}.jsonl" for name in ("one", "same", "other"))
    for path, content in ((one, "a"), (same, "a"), (other, "b")):
        path.write_text(content)
    with_one, with_same, with_other = (asked(f"evaluation.prompts={path}") for path in (one, same, other))
    assert with_one.before.hash == with_same.before.hash != with_other.before.hash
    assert with_one.before.hash != hashes()["before"] and with_one.rl.hash == hashes()["rl"]
    # Nothing of the recipe is asked then.
    assert asked(f"evaluation.prompts={one}", "evaluation.model=start", "model=1p7b").upto("eval") == ["eval"]
