"""An option of ``sampling``, its class, its module and its test file share one name; its file says what its class says."""

import re
from pathlib import Path
from typing import get_args

import pytest

from kimina.data.sampling import SAMPLERS, make_sampler
from kimina.errors import UserError
from kimina.experiment.compose import compose, compose_with_warnings, resolved
from kimina.experiment.options import option_names
from kimina.experiment.rules import Choice
from kimina.experiment.schema import OURS

VALUES = (-1, 0, 0.0, 1e-9, 0.25, 0.5, 1, 1.0, 1.5, 2, 24, 100, 101, 1000, 1001, None, True, "linear", "row", [1])


def fields(name):
    return SAMPLERS[name].settings_class.model_fields


def test_options_and_tests():
    files = {path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py")}
    assert set(option_names("sampling")) == set(SAMPLERS) == files - {"names_agree", "every_sampler"}


@pytest.mark.parametrize("name", SAMPLERS)
def test_class_and_module(name):
    sampler = SAMPLERS[name]
    assert sampler.name == name and sampler.__module__ == f"kimina.data.sampling.{name}"
    assert sampler.__name__ == "".join(word.title() for word in name.split("_"))
    assert sampler.__doc__


@pytest.mark.parametrize("name", SAMPLERS)
def test_an_option_lists_every_setting_with_the_default_of_its_class(name, problems):
    composition = compose_with_warnings([f"sampling={name}"])
    node = resolved(composition.config)["sampling"]
    assert node == {"name": name, **{key: field.default for key, field in fields(name).items()}}
    assert not composition.warnings
    assert make_sampler(node, problems(3), 1).name == name


def test_the_configuration_knows_the_keys_of_all_options_and_no_others():
    known = {key.removeprefix("sampling.") for key in OURS if key.startswith("sampling.")}
    assert known == {"name"} | {key for name in SAMPLERS for key in fields(name)}


@pytest.mark.parametrize(("name", "key"), [(name, key) for name in SAMPLERS for key in fields(name)])
def test_the_configuration_accepts_what_the_class_accepts(name, key, problems):
    rule = OURS[f"sampling.{key}"]
    if isinstance(rule, Choice):
        assert rule.names == get_args(fields(name)[key].annotation)
    for value in VALUES:
        # The relation of the two is tested below.
        partner = {"prior_successes": {"prior_attempts": 1e6}, "prior_attempts": {"prior_successes": 0}}.get(key, {})
        try:
            make_sampler({"name": name, **partner, key: value}, problems(3), 1)
            accepted = True
        except UserError:
            accepted = False
        assert (rule.problem(value) is None) == accepted, value


def test_more_successes_than_attempts_beforehand_are_refused():
    for name in ("curriculum", "prioritized"):
        with pytest.raises(UserError, match=r"prior_successes=3 of .*prior_attempts=1(.|\n)*sampling\.prior_attempts=3"):
            compose([f"sampling={name}", "sampling.prior_successes=3"])


@pytest.mark.parametrize(
    ("words", "warned"),
    [
        (["sampling.warmup_steps=79"], None),
        (
            ["sampling.warmup_steps=80"],
            "sampling.warmup_steps=80 with trainer.total_training_steps=80: the hard phase never begins",
        ),
        (["sampling.schedule=linear", "sampling.end_step=80"], None),
        (
            ["sampling.schedule=linear", "sampling.end_step=81"],
            "sampling.end_step=81 .*the hardest problems are never in the pool",
        ),
        (["sampling.warmup_steps=80", "trainer.total_training_steps=null"], None),
    ],
)
def test_a_curriculum_that_does_not_get_to_its_end_is_warned_of(words, warned):
    warnings = compose_with_warnings(["sampling=curriculum", *words]).warnings
    assert bool(warnings) == (warned is not None)
    assert warned is None or re.search(warned, "\n".join(warnings))


def test_uniform_sampling_gains_no_keys():
    """They would change the name of every run there is."""
    assert resolved(compose([]))["sampling"] == {"name": "uniform"}


def test_the_warm_up_of_the_papers_experiment():
    node = resolved(compose(["experiments=kimi_k15/curriculum", "loss=drgpo"]))["sampling"]
    assert (node["schedule"], node["warmup_steps"], node["difficulty"]) == ("warmup_then_hard", 24, "measured")
