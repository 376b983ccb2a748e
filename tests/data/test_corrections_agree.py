"""An option of ``correction`` with a repair buffer says what its settings say, and what the recipe says."""

from typing import get_args

import pytest

from kimina.data.repair_buffer import CORRECTIONS, make_repair_buffer
from kimina.errors import UserError
from kimina.experiment.compose import compose, compose_with_warnings, resolved
from kimina.experiment.options import option_names
from kimina.experiment.rules import Choice
from kimina.experiment.schema import OURS
from kimina.reward.fix_turn import HISTORIES

VALUES = (-1, 0, 0.0, 1e-9, 0.5, 1, 1.0, 1.5, 5000, None, True, False, "code_only", "drop", [1])


def node(*words):
    return resolved(compose(words))["correction"]


def test_every_buffer_has_an_option():
    assert set(CORRECTIONS) <= set(option_names("correction"))


@pytest.mark.parametrize("name", CORRECTIONS)
def test_an_option_lists_every_setting_with_the_default_of_its_class(name):
    composition = compose_with_warnings([f"correction={name}"])
    composed = resolved(composition.config)["correction"]
    assert composed == {"name": name, **{key: field.default for key, field in CORRECTIONS[name].model_fields.items()}}
    assert not composition.warnings
    assert len(make_repair_buffer(composed, 1)) == 0


@pytest.mark.parametrize(("name", "key"), [(name, key) for name in CORRECTIONS for key in CORRECTIONS[name].model_fields])
def test_the_configuration_accepts_what_the_class_accepts(name, key):
    rule = OURS[f"correction.{key}"]
    if isinstance(rule, Choice):
        assert rule.names == get_args(CORRECTIONS[name].model_fields[key].annotation)
    for value in VALUES:
        try:
            CORRECTIONS[name].parse({key: value})
            accepted = True
        except UserError:
            accepted = False
        assert (rule.problem(value) is None) == accepted, value


def test_the_histories_are_those_of_the_fix_turn():
    assert OURS["correction.history"].names == OURS["evaluation.fix_history"].names == HISTORIES


def test_replay_has_the_numbers_of_the_recipe():
    """papers.md B3 and B6: multiturn_sampling_rate 0.5, 5000 samples in the cache, feedback of 3000 characters, dropped."""
    for experiment in ("rl_1p7b", "rl_0p6b", "ablations/error_correction"):
        composed = node(f"experiments=kimina_rl/{experiment}")
        published = {"capacity": 5000, "probability": 0.5, "max_feedback_chars": 3000, "too_long": "drop", "remove_drawn": False}
        assert composed["name"] == "replay" and published.items() <= composed.items()


def test_batched_replay_mixes_the_failures_of_one_step_with_as_many_fresh_problems():
    composed = node("experiments=kimina_rl/ablations/batched_failure_replay")
    assert (composed["share"], composed["max_age"]) == (0.5, 1)


def test_no_correction_gains_no_keys():
    """They would change the name of every run there is."""
    assert node() == {"name": "none"}
