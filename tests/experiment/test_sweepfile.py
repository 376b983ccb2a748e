"""W&B sweep files: what YAML and W&B read differently from what was meant."""

import pytest

from kimina.errors import UserError
from kimina.experiment.sweepfile import check_sweep_text

HEAD = 'program: run.py\nmethod: grid\ncommand: ["${env}", "${interpreter}", "${program}", "${args_no_hyphens}"]\n'


def message(text: str) -> str:
    with pytest.raises(UserError) as caught:
        check_sweep_text(text, "ablation.yaml")
    assert str(caught.value).startswith("ablation.yaml: ")
    return str(caught.value)


def parameters(lines: str) -> str:
    return f"{HEAD}parameters:\n{lines}\n"


def test_each_value_is_composed_with_the_fixed_ones():
    runs = check_sweep_text(parameters("  reward: {values: [kimina, strict]}\n  seed: {value: 3}"))
    assert runs == [["seed=3", "reward=kimina"], ["seed=3", "reward=strict"]]


def test_a_number_that_yaml_reads_as_text_is_a_number_again_on_the_command_line():
    key = "actor_rollout_ref.actor.optim.lr"
    assert check_sweep_text(parameters(f"  {key}: {{values: [1e-6, 2e-6]}}")) == [[f"{key}=1e-6"], [f"{key}=2e-6"]]


def test_a_range_is_composed_at_both_ends():
    key = "actor_rollout_ref.actor.optim.lr"
    text = parameters(f"  {key}: {{min: 1.0e-6, max: 1.0e-5}}").replace("grid", "random")
    assert check_sweep_text(text) == [[f"{key}=1e-06"], [f"{key}=1e-05"]]


@pytest.mark.parametrize(
    ("lines", "mentioned"),
    [
        ("  reward: {values: [off, strict]}", "False"),
        ("  loss: {values: [grpo, null]}", "null"),
        ("  loss: {values: [grpo, drgppo]}", "drgpo"),
        ("  loss: {values: grpo}", "values"),
        ("  loss: {values: []}", "values"),
        ("  loss: {values: [grpo, grpo]}", "twice"),
        ("  loss: grpo", "loss"),
        ("  loss: {vales: [grpo]}", "vales"),
        ("  loss: {value: grpo, values: [grpo]}", "exclude"),
        ("  loss: {parameters: {name: {value: grpo}}}", "dotted"),
        ("  lsos: {value: grpo}", "loss"),
        ("  actor_rollout_ref.actor.optim.lr: {min: 1e-6, max: 1.0e-5}", "text"),
        ("  actor_rollout_ref.actor.optim.lr: {min: 1.0e-5, max: 1.0e-6}", "min"),
        ("  actor_rollout_ref.actor.optim.lr: {distribution: unifrm, min: 0.1, max: 0.2}", "uniform"),
        ("  seed: {values: [010, 1]}", "010 as 8"),
        ("  seed: {values: [1:30, 1]}", "1:30 as 90"),
        ("  name: {values: [2025-01-01, b]}", "date"),
        ("  actor_rollout_ref.actor.optim.lr: {values: [-1.0]}", "out of range"),
        ("  loss: {value: grpo}\n  loss: {value: drgpo}", "twice"),
        ("\tloss: {value: grpo}", "tab"),
    ],
)
def test_a_parameter_that_would_fail_later_fails_now(lines, mentioned):
    assert mentioned in message(parameters(lines))


@pytest.mark.parametrize(
    ("text", "mentioned"),
    [
        ("", "empty"),
        ("[1]", "mapping"),
        (HEAD, "parameters"),
        (parameters("  seed: {value: 1}").replace("grid", "grd"), "method"),
        (parameters("  seed: {value: 1}").replace("run.py", "train.py"), "run.py"),
        (parameters("  seed: {value: 1}").replace("_no_hyphens", ""), "args_no_hyphens"),
        (parameters("  seed: {value: 1}").replace("grid", "bayes"), "metric"),
        (parameters("  seed: {value: 1}") + "methd: grid\n", "method"),
    ],
)
def test_a_file_that_is_no_sweep_of_ours_fails(text, mentioned):
    assert mentioned in message(text)
