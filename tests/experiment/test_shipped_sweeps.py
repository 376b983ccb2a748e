"""The shipped sweep files: what W&B makes of them reaches our command line as one experiment a run.

That every value composes is tested in tests/test_configs.py.
"""

import itertools
import shlex

import pytest
import yaml

from kimina.experiment.arguments import read_arguments
from kimina.experiment.missing_methods import missing_methods
from kimina.experiment.options import REPOSITORY, option_names

SWEEPS = sorted((REPOSITORY / "sweeps").glob("*.yaml"))


def sweep(path) -> dict:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_a_header_says_what_it_is_for_and_how_to_start_it(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    comment = list(itertools.takewhile(lambda line: line.startswith("#"), lines))
    assert len(comment) >= 2 and comment[-1].startswith(f"#   wandb sweep sweeps/{path.name} ")
    assert sweep(path)["name"] == path.stem


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_wandb_reads_the_file_and_builds_our_command(path):
    """W&B's own loader and its own way from parameters to words, without its server."""
    from wandb.sdk.launch.sweeps.utils import create_sweep_command_args, load_sweep_config

    config = load_sweep_config(str(path))
    assert config == sweep(path) and config["method"] == "grid"
    values = {key: settings.get("values", [settings.get("value")]) for key, settings in config["parameters"].items()}
    runs = [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())]
    assert len(runs) > 1
    seen = set()
    for run in runs:
        words = create_sweep_command_args({"args": {key: {"value": value} for key, value in run.items()}})["args_no_hyphens"]
        request = read_arguments(words)
        assert ("model=nano" in request.choices) == (run.get("scale") == "nano")
        seen.add(shlex.join(words))
    assert len(seen) == len(runs)


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_only_experiments_whose_methods_exist_are_swept(path):
    settings = sweep(path)["parameters"]["experiments"]
    for name in settings.get("values", [settings.get("value")]):
        assert missing_methods(name) == []


def test_the_reward_ablation_sweeps_every_row_of_its_kind():
    for name in ("reward_ablation", "reward_ablation_nano"):
        swept = sweep(REPOSITORY / "sweeps" / f"{name}.yaml")["parameters"]["experiments"]["values"]
        rows = [option for option in option_names("experiments") if option.startswith("kimina_rl/ablations/without_")]
        assert set(swept) == {*rows, "kimina_rl/ablations/strict_reward", "kimina_rl/rl_1p7b_single_turn"}
