"""The experiments of the papers: headers, scales and nano twins, and what is said of methods that aren't built."""

import re
import shlex

import pytest
import yaml
from omegaconf import OmegaConf

from kimina.errors import UserError
from kimina.experiment.arguments import read_arguments
from kimina.experiment.compose import compose
from kimina.experiment.keys import leaves
from kimina.experiment.missing_methods import chosen_options, missing_methods
from kimina.experiment.options import CONF, EXPERIMENTS, option_names
from kimina.reward.settings import RewardSettings
from kimina.tables.declaration import load_table

PAPERS = [name for name in option_names("experiments") if name != "nano"]
BUILT = [name for name in PAPERS if not missing_methods(name)]
PARTS = ("Paper", "Table", "Row", "Run", "Published")
#: Groups whose option the scale chooses, and the scale itself.
OF_A_SCALE = {"scale", "data", "verifier", "cluster", "engine", "evaluation"}
#: Experiments that are about one of these groups: what they choose is their subject.
ABOUT = {
    "kimina_rl/dry_run_1p7b": {"scale"},
    "kimina_rl/ablations/data_all_win_rates": {"data"},
    "kimina_rl/ablations/data_no_variants": {"data"},
    "kimina_rl/ablations/data_no_duplicates": {"data"},
}
SINGLE_TURN = "kimina_rl/rl_1p7b_single_turn"
MERGED = "kimi_k15/long2short/merge"


def text_of(name: str) -> str:
    return (EXPERIMENTS / f"{name}.yaml").read_text(encoding="utf-8")


def header(name: str) -> dict[str, str]:
    """Return the labelled lines of a file's header comment."""
    lines = text_of(name).splitlines()
    assert lines[0] == "# @package _global_"
    comment = [line.removeprefix("# ") for line in lines[1:] if line.startswith("# ")]
    return {label: rest for label, colon, rest in (line.partition(": ") for line in comment) if colon and label in PARTS}


def flat(config) -> dict:
    return dict(leaves(OmegaConf.to_container(config, resolve=True)))


def differing(*commands: list[str]) -> dict[str, tuple]:
    one, two = (flat(compose(words)) for words in commands)
    return {key: (one.get(key), two.get(key)) for key in {*one, *two} if one.get(key) != two.get(key)}


def message(*words: str) -> str:
    with pytest.raises(UserError) as caught:
        compose(words)
    return str(caught.value)


@pytest.mark.parametrize("name", PAPERS)
def test_a_header_names_paper_table_row_command_and_published_value(name):
    parts = header(name)
    assert tuple(parts) == PARTS
    assert parts["Run"] == f"python run.py experiments={name}"
    assert read_arguments(shlex.split(parts["Run"])[2:]).choices == (f"experiments={name}",)
    assert re.search(r"https://|arXiv \d{4}\.\d{5}", parts["Paper"])


@pytest.mark.parametrize("name", PAPERS)
def test_a_header_quotes_what_the_tables_that_it_names_hold(name):
    parts = header(name)
    tables = re.findall(r"tables/(\w+)\.yaml", parts["Table"])
    rows = [row for table in tables for row in load_table(table).rows if row.experiment == name]
    if name == "kimina_rl/dry_run_1p7b":
        assert not tables and parts["Published"] == "no number"
        return
    assert tables and rows, "no declared table has this experiment as a row"
    values = [value for row in rows for one in row.published.values() for value in (one, *one.also)]
    held = {value.percent or value.value for value in values}
    quoted = re.findall(r"(~?[\d,.]*\d) (?:%|tokens)", parts["Published"])
    quoted += re.findall(r"(?:accuracy|reward) (~?[.\d]+)", parts["Published"])
    assert set(quoted) <= held
    assert bool(quoted) == bool(held)
    assert held or "no number" in parts["Published"]


@pytest.mark.parametrize("name", PAPERS)
def test_an_experiment_sets_nothing_that_belongs_to_a_scale(name):
    tree = yaml.safe_load(text_of(name))
    chosen = chosen_options(name)
    assert {group for group, _ in chosen} & OF_A_SCALE == ABOUT.get(name, set())
    bound = set()
    for group in (*OF_A_SCALE, "model"):
        for path in (CONF / group).rglob("*.yaml"):
            settings = {key: node for key, node in yaml.safe_load(path.read_text(encoding="utf-8")).items() if key != "defaults"}
            bound |= {key for key, _ in leaves(settings)}
    own = {key for key, _ in leaves({key: node for key, node in tree.items() if key != "defaults"})}
    assert not own & bound
    assert all(key.startswith("reward.checks.") for key in own)
    assert ("model", "1p7b") in chosen or name.startswith("kimina_rl/")


@pytest.mark.parametrize("name", [name for name in PAPERS if name not in BUILT])
def test_an_experiment_without_its_method_says_which(name):
    for scale in ([], ["scale=nano"]):
        text = message(f"experiments={name}", *scale)
        missing = missing_methods(name)
        assert f"experiments={name} needs {' and '.join(missing)}, which " in text and "built yet" in text
        suggested = shlex.split(text.rpartition("type: python run.py ")[2])
        assert set(suggested) > {f"experiments={name}", *scale}
        assert compose(suggested).model.name == ("nano" if scale else "0p6b" if "0p6b" in name else "1p7b")


@pytest.mark.parametrize("name", BUILT)
def test_an_experiment_composes_for_the_hub_and_as_its_nano_twin(name):
    chosen = dict(chosen_options(name))
    large, twin = compose([f"experiments={name}"]), compose([f"experiments={name}", "scale=nano"])
    assert (large.model.name, large.scale.name) == (chosen["model"], chosen.get("scale", "hub"))
    assert (twin.model.name, twin.scale.name, twin.recipe.name, twin.evaluation.name) == ("nano", "nano", "nano", "nano")
    assert (twin.verifier.name, twin.cluster.name, twin.engine.name) == ("embedded", "cpu", "hf_cpu")
    for group in ("loss", "correction", "length", "sampling", "long2short"):
        assert large[group].name == twin[group].name == chosen.get(group, "drgpo" if group == "loss" else twin[group].name)
    for one in (large, twin):
        assert RewardSettings.parse(OmegaConf.to_container(one.reward, resolve=True)).profile == chosen["reward"]
    assert large.reward.checks == twin.reward.checks


def test_the_nano_twin_of_the_recipe_is_what_runs_without_arguments():
    """So that a table takes the artifacts of ``make run``."""
    assert compose([f"experiments={SINGLE_TURN}", "scale=nano"]) == compose([])


@pytest.mark.parametrize("scale", [[], ["scale=nano"]], ids=["hub", "nano"])
def test_an_ablation_of_one_check_differs_in_that_check_alone(scale):
    base = compose([f"experiments={SINGLE_TURN}", *scale])
    enabled = [check for check, settings in base.reward.checks.items() if settings.enabled]
    files = {name.rpartition("without_")[2] for name in PAPERS if "/without_" in name} - {"format_checks"}
    assert files == set(enabled)
    for check in enabled if scale else enabled[:2]:
        changed = differing([f"experiments={SINGLE_TURN}", *scale], [f"experiments=kimina_rl/ablations/without_{check}", *scale])
        assert changed == {f"reward.checks.{check}.enabled": (True, False)}


def test_the_ablation_of_the_loss_differs_in_the_loss_alone():
    twins = differing([f"experiments={SINGLE_TURN}", "scale=nano"], ["experiments=kimina_rl/ablations/grpo", "scale=nano"])
    assert twins == differing(["loss=drgpo"], ["loss=grpo"])
    assert twins["loss.name"] == ("drgpo", "grpo")


def test_the_dry_run_has_the_numbers_of_its_script():
    """papers.md B3: first 8 examples, prompt 1684, max_len 8192, batch 8, mini-batch 8, no multi-turn keys."""
    config = compose(["experiments=kimina_rl/dry_run_1p7b"])
    assert (config.recipe.limit, config.data.max_prompt_length, config.actor_rollout_ref.rollout.max_model_len) == (8, 1684, 8192)
    assert (config.data.train_batch_size, config.actor_rollout_ref.actor.ppo_mini_batch_size) == (8, 8)
    assert config.correction.name == "none" and config.model.name == "1p7b"
    assert config.actor_rollout_ref.actor.loss_scale_factor == config.data.max_response_length == 8192 - 1684
    assert config.actor_rollout_ref.actor.optim.lr == 2e-6


def test_a_typed_model_stays_at_nano_scale():
    assert compose([f"experiments={SINGLE_TURN}", "scale=nano", "model=0p6b"]).model.name == "0p6b"
    assert compose(["model=1p7b", "scale=nano"]).model.name == "1p7b"
    assert compose(["experiments=null", "model=1p7b", "scale=nano"]).model.name == "1p7b"


def test_the_twin_rule_needs_an_experiment_and_the_nano_scale():
    assert read_arguments(["experiments=nano", "scale=nano"]).choices[-1] == "model=nano"
    for words in (["scale=nano"], ["experiments=nano"], ["experiments=nano", "scale=hub"]):
        assert read_arguments(words).choices == tuple(words)
    assert read_arguments(["experiments=null", "scale=nano"]).choices == ("scale=nano",)
    assert read_arguments(["scale=nano", "experiments=nano"]).words == ("scale=nano", "experiments=nano")


def test_another_option_that_is_typed_stands_in_for_a_missing_method():
    config = compose(["experiments=kimi_k15/long2short/dpo", "scale=nano", "long2short=none"])
    assert (config.loss.name, config.reward.profile) == ("mirror_descent", "proof_only")
    text = message("experiments=kimi_k15/long2short/dpo", "loss=drgpo")
    assert "needs long2short=dpo, which isn't built yet" in text


def test_a_missing_method_is_answered_with_the_experiment_that_comes_closest():
    lines = message(f"experiments={MERGED}", "seed=2").splitlines()
    assert lines[0] == f"experiments={MERGED} needs long2short=merge, which isn't built yet."
    assert lines[1].split(": ")[1].split(", ")[0] == "kimi_k15/long2short/long"
    assert lines[2] == f"  type: python run.py experiments={MERGED} seed=2 long2short=none"
    assert message("experiments=kimina_rl/ablations/data_no_variants").endswith("data_no_variants data=promptset")


def test_a_method_exists_when_its_option_has_a_file():
    file = CONF / "long2short" / "test_of_a_new_method.yaml"
    experiment = EXPERIMENTS / "test_of_a_new_method.yaml"
    experiment.write_text("# @package _global_\ndefaults:\n  - override /long2short: test_of_a_new_method\n", encoding="utf-8")
    try:
        assert missing_methods(experiment.stem) == ["long2short=test_of_a_new_method"]
        file.write_text("name: test_of_a_new_method\n", encoding="utf-8")
        assert missing_methods(experiment.stem) == []
    finally:
        experiment.unlink()
        file.unlink(missing_ok=True)


def test_methods_are_found_through_an_experiment_that_another_one_takes_over():
    experiment = EXPERIMENTS / "test_of_an_extension.yaml"
    experiment.write_text(
        f"# @package _global_\ndefaults:\n  - /experiments/{MERGED}\n  - override /seed: x\n  - _self_\n",
        encoding="utf-8",
    )
    try:
        assert missing_methods(experiment.stem) == ["long2short=merge"]
    finally:
        experiment.unlink()


def test_methods_of_an_unknown_experiment_are_a_users_mistake():
    with pytest.raises(UserError, match=r"experiments=kimina_rl/rl_1p7: there is no such experiment"):
        missing_methods("kimina_rl/rl_1p7")
