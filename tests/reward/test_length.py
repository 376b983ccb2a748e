"""Length control: names agree, wrong groups and settings are refused, and the shared conformance cases."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from kimina.errors import UserError
from kimina.experiment.options import CONF, option_names
from kimina.experiment.schema import OURS
from kimina.reward.length import LENGTHS, k15_length_reward, k15_total, make_length_control, overlong_penalty

CASES = Path(__file__).resolve().parents[2].parent / "shared" / "cases" / "math_cases.jsonl"


def written(name: str) -> dict:
    """The option's file, with the limit of a response in place of its interpolation."""
    node = yaml.safe_load((CONF / "length" / f"{name}.yaml").read_text(encoding="utf-8"))
    return {key: 192 if value == "${data.max_response_length}" else value for key, value in node.items()}


def test_options_classes_and_test_files_have_the_same_names():
    files = {path.stem.removeprefix("test_") for path in (Path(__file__).parent / "length").glob("test_*.py")}
    assert files == set(option_names("length")) == {"none", *LENGTHS}


@pytest.mark.parametrize("name", LENGTHS)
def test_class_module_and_source(name):
    kind = LENGTHS[name]
    assert kind.name == name
    assert kind.__name__ == "".join(word.title() for word in name.split("_"))
    assert kind.__module__ == f"kimina.reward.length.{name}"
    assert "arXiv 25" in kind.__doc__


@pytest.mark.parametrize("name", LENGTHS)
def test_an_option_lists_every_setting_and_says_what_the_class_says(name):
    node = written(name)
    assert set(node) == {"name", *LENGTHS[name].model_fields}
    assert {f"length.{key}" for key in node} <= set(OURS)
    control = make_length_control(node)
    assert type(control) is LENGTHS[name]
    for key, field in LENGTHS[name].model_fields.items():
        if not field.is_required():
            assert getattr(control, key) == node[key] == field.default


def test_no_rule_is_without_a_setting():
    settings = {key for kind in LENGTHS.values() for key in kind.model_fields}
    assert {key.removeprefix("length.") for key in OURS if key.startswith("length.")} == {"name", *settings}


@pytest.mark.parametrize("name", ["none", *LENGTHS])
def test_what_every_method_refuses(name):
    control = make_length_control(written(name))
    for lengths, correct, step, budgets in (
        ([], [], 1, []),
        ([1, 2], [True], 1, [9, 9]),
        ([1, -2], [True, True], 1, [9, 9]),
        ([1, 2.5], [True, True], 1, [9, 9]),
        ([1, True], [True, True], 1, [9, 9]),
        ([1, None], [True, True], 1, [9, 9]),
        ([1, 2], [True, None], 1, [9, 9]),
        ([1, 2], [True, 0.5], 1, [9, 9]),
        ([1, 2], [True, float("nan")], 1, [9, 9]),
        ([1, 2], [True, True], -1, [9, 9]),
        ([1, 2], [True, True], 1.5, [9, 9]),
        ([1, 2], [True, True], 1, [9]),
    ):
        with pytest.raises(ValueError):
            control.rewards(lengths, correct, step, budgets)


@pytest.mark.parametrize("name", ["none", *LENGTHS])
def test_numpys_numbers_are_fine_and_give_pythons(name):
    control = make_length_control(written(name))
    plain = control.rewards([100, 190, 0], [True, False, True], 100, [50, 50, 50])
    lengths, correct = np.array([100, 190, 0], dtype=np.uint32), np.array([True, False, True])
    assert control.rewards(lengths, correct, np.int64(100), np.array([50, 50, 50], dtype=np.uint16)) == plain
    assert all(type(value) is float for value in control.rewards(lengths, correct, 100, [50, 50, 50]))


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ({"name": "k16"}, ["length=k16", "k15"]),
        ({}, ["length=None", "none"]),
        ({"name": "k15", "wieght": 1.0}, ["length.wieght", "weight"]),
        ({"name": "k15", "alpha": 1.0}, ["length.alpha", "length=k15 has no such setting", "start_step"]),
        ({"name": "none", "weight": 1.0}, ["length.weight", "length=none"]),
        ({"name": "k15", "weight": -1.0}, ["length.weight=-1.0", "equal to 0"]),
        ({"name": "k15", "weight": float("nan")}, ["length.weight=nan"]),
        ({"name": "k15", "weight": "much"}, ["length.weight=much"]),
        ({"name": "k15", "warmup": "slow"}, ["length.warmup=slow", "step", "linear"]),
        ({"name": "k15", "ramp_steps": 0}, ["length.ramp_steps=0"]),
        ({"name": "overlong"}, ["length.max_length", "needs it"]),
        ({"name": "efficient", "alpha": 1.0}, ["length.alpha=1.0", "less than 1"]),
        ({"name": "l1_max", "delta": 1.5}, ["length.delta=1.5"]),
        ({"name": "shorter_better", "beta": 0.0}, ["length.beta=0.0"]),
    ],
)
def test_wrong_settings_are_refused(node, words):
    with pytest.raises(UserError) as refused:
        make_length_control(node)
    for word in words:
        assert word in str(refused.value)


def test_neither_torch_nor_verl_nor_ray_is_imported():
    code = "import sys, kimina.reward.length; print(sorted({'torch', 'verl', 'ray', 'numpy'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=CONF.parent)
    assert result.stdout.strip() == "[]"


def _length_reward(lengths, correct, **of_the_total):
    answer = {"length_reward": k15_length_reward(lengths, correct)}
    if of_the_total:
        answer["total"] = k15_total(lengths, correct, **of_the_total)
    return answer


ANSWERS = {
    "length_reward": _length_reward,
    "overlong": lambda length, max_length, buffer: {"penalty": overlong_penalty(length, max_length, buffer)},
}


def test_length_rewards_agree_with_the_shared_cases():
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()] if CASES.exists() else []
    cases = [case for case in cases if case["family"] in ANSWERS]
    if not cases:
        pytest.skip(f"the shared conformance cases are not beside this checkout ({CASES})")
    assert {case["family"] for case in cases} == set(ANSWERS)
    for case in cases:
        if case["expected"] == {"error": True}:
            with pytest.raises(ValueError):
                ANSWERS[case["family"]](**case["input"])
            continue
        answer = ANSWERS[case["family"]](**case["input"])
        for key, value in case["expected"].items():
            assert answer[key] == pytest.approx(value, rel=case["tolerance"], abs=case["tolerance"]), case["id"]
