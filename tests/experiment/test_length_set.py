"""Length control as options: what composes, what is refused, and what is warned of."""

import shlex

import pytest
from omegaconf import OmegaConf

from kimina.errors import UserError
from kimina.experiment.compose import compose, compose_with_warnings, resolved
from kimina.experiment.options import option_names
from kimina.experiment.stages.graph import build_graph
from kimina.reward.length import LENGTHS, make_length_control

#: Settings that fit the nano scale, whose responses have at most 192 tokens.
AT_NANO = {"l1_max": ["length.low=20", "length.high=192"], "thinkprune": ["length.limits=[192,144,96]"]}


def warnings(*words: str) -> tuple[str, ...]:
    return compose_with_warnings(words).warnings


def typed(text: str) -> list[str]:
    return shlex.split(text.rpartition("type: python run.py ")[2])


@pytest.mark.parametrize(
    ("model", "name"), [*(("nano", name) for name in LENGTHS), *(("1p7b", name) for name in ("overlong", *AT_NANO))]
)
def test_a_composed_option_makes_its_method(model, name):
    fitting = AT_NANO.get(name, []) if model == "nano" else []
    composition = compose_with_warnings([f"model={model}", f"length={name}", *fitting])
    node = OmegaConf.to_container(composition.config.length, resolve=True)
    assert type(make_length_control(node)) is LENGTHS[name]
    assert not composition.warnings


def test_the_limit_of_the_penalty_follows_the_limit_of_responses():
    for words, most in ([], 192), (["model=1p7b"], 24576), (["data.max_response_length=100"], 100):
        assert compose([*words, "length=overlong"]).length.max_length == most


def test_without_length_control_there_is_only_its_name():
    """More keys would give every run that was ever made another hash."""
    assert OmegaConf.to_container(compose([]).length) == {"name": "none"}


def test_each_method_and_each_setting_names_another_run():
    words = [[], *([f"length={name}", *AT_NANO.get(name, [])] for name in option_names("length") if name != "none")]
    words += [["length=k15", "length.weight=0.1"], ["length=k15", "length.start_step=5"]]
    hashes = [build_graph(resolved(compose(one))).rl.hash for one in words]
    assert len(set(hashes)) == len(hashes)


def test_the_length_reward_joins_another_experiment():
    assert compose(["experiments=kimi_k15/length_k15", "loss=drgpo"]).length.name == "k15"
    assert compose(["experiments=kimina_rl/rl_1p7b_single_turn", "scale=nano", "length=k15"]).length.weight == 0.5


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["length=overlong", "length.buffer=193"], ["length.buffer=193", "length.max_length=192"]),
        (["length=overlong", "length.max_length=30", "length.buffer=31"], ["length.buffer=31", "length.max_length=30"]),
        (["length=l1_max", "length.low=300", "length.high=200"], ["length.low=300", "length.high=200"]),
        (["length=efficient", "length.alpha=1"], ["length.alpha=1", "less than 1"]),
        (["length=thinkprune", "length.limits=[100]"], ["length.change_steps=[30, 60]", "length.limits=[100]", "0 in all"]),
        (["length=thinkprune", "length.limits=[100,200,50]"], ["length.limits=[100, 200, 50]", "below the one before"]),
    ],
)
def test_settings_that_contradict_each_other_are_refused_with_a_line_that_works(words, parts):
    with pytest.raises(UserError) as refused:
        compose([*words, "seed=3"])
    for part in parts:
        assert part in str(refused.value)
    assert typed(str(refused.value)) == [words[0], "seed=3"]
    compose(typed(str(refused.value)))


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["length=k15", "length.weight=-1"], ["length.weight=-1", "at least 0"]),
        (["length=k15", "length.start_step=1.5"], ["length.start_step=1.5", "whole number"]),
        (["length=k15", "length.warmup=slow"], ["length.warmup=slow", "step", "linear"]),
        (["length=overlong", "length.max_length=null"], ["length.max_length=null"]),
        (["length=overlong", "length.factor=0"], ["length.factor=0", "above 0"]),
        (["length=l1_max", "length.delta=2"], ["length.delta=2", "at most 1"]),
        (["length=thinkprune", "length.limits=[]"], ["length.limits=[]"]),
        (["length=thinkprune", "length.limits=4000"], ["length.limits=4000", "[4000,3000,2000]"]),
        (["length=k15", "length.wieght=1"], ["length.wieght", "length.weight"]),
        (["length=k15", "length.alpha=1"], ["length.alpha=1", "the chosen option of 'length' has no 'alpha'"]),
        (["length=k15", "+length.alpha=1"], ["length.alpha", "length=k15 has no such setting"]),
        (["length.weight=1"], ["the chosen option of 'length' has no 'weight'"]),
        (["length.name=k15"], ["length.name=k15", "length=k15"]),
        (["length=k16"], ["length=k16", "k15"]),
    ],
)
def test_wrong_values_and_keys_are_refused(words, parts):
    with pytest.raises(UserError) as refused:
        compose(words)
    for part in parts:
        assert part in str(refused.value)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["length=k15", "length.start_step=81"], "after the last step, trainer.total_training_steps=80"),
        (["length=k15", "trainer.total_training_steps=3"], "length.start_step=20 is after the last step"),
        (["length=overlong", "length.max_length=400"], "no response of at most data.max_response_length=192"),
        (["length=l1_max"], "length.high=4000 is above data.max_response_length=192"),
        (["length=l1_max", "length.low=20"], "length.high=4000 is above"),
        (["length=thinkprune"], "4000, 3000, 2000 are above data.max_response_length=192"),
        (["length=thinkprune", "length.limits=[200,100,50]"], "200 is above data.max_response_length=192"),
        (["length=overlong", "reward.checks.too_long.enabled=true", "reward.checks.too_long.max=192", "reward.checks.too_long.buffer=8"], "lose twice"),
    ],
)  # fmt: skip
def test_what_changes_nothing_or_counts_twice_is_warned_of_with_a_line_that_mends_it(words, part):
    found = [warning for warning in warnings(*words) if warning.startswith("length")]
    assert len(found) == 1 and part in found[0]
    assert not warnings(*typed(found[0]))


def test_other_settings_without_effect_are_warned_of():
    assert "length=none says so" in warnings("length=k15", "length.weight=0")[0]
    late = warnings("length=thinkprune", "length.limits=[192,144,96]", "length.change_steps=[30,90]")
    assert len(late) == 1 and "1 of 3 limits is never reached" in late[0]
