"""Words of the command line that mean something else than they say."""

import pytest

from kimina.errors import UserError
from kimina.experiment.arguments import read_arguments
from kimina.experiment.compose import compose
from kimina.experiment.options import option_names


def message(*words: str) -> str:
    with pytest.raises(UserError) as caught:
        read_arguments(words)
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_choices_and_assignments_are_told_apart():
    request = read_arguments(["model=1p7b", "data.train_batch_size=8", "+trainer.logger=[console]", "++seed=3"])
    assert request.choices == ("model=1p7b",)
    assert [(a.key, a.value) for a in request.assignments] == [
        ("data.train_batch_size", 8),
        ("trainer.logger", ["console"]),
        ("seed", 3),
    ]


def test_an_unknown_option_lists_what_exists_nearest_first():
    text = message("model=1p7", "loss=grpo")
    assert "1p7b, " in text and all(option in text for option in option_names("model"))
    assert "type: python run.py model=1p7b loss=grpo" in text


@pytest.mark.parametrize(
    "value", ["1e3", "False", "null", "[nano]", "{a: b}", "7", "", "'nano", "=nano", "nano,", "nanö", "../nano"]
)
def test_what_is_no_option_name_fails_with_the_options(value):
    assert "nano" in message(f"model={value}")


def test_several_values_are_no_sweep():
    assert "loss=grpo" in message("loss=grpo,drgpo")


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        (["--model=nano"], "model=nano"),
        (["--model.x=1"], "model=nano"),
        (["--modle=1p7b"], "model=1p7b"),
        (["model", "1p7b"], "model=1p7b"),
        (["model:nano"], "model=nano"),
        (["model = nano"], "model=nano"),
        (["-model=nano"], "model=nano"),
        (["+model=nano"], "model=nano"),
        (["~loss"], "loss=drgpo"),
        (["modle"], "model=nano"),
        (["--data.train_batch_size=8"], "data.train_batch_size=8"),
    ],
)
def test_other_shapes_are_answered_with_the_line_to_type(words, typed):
    assert f"type: python run.py {typed}" in message(*words).splitlines()[-1].strip()


@pytest.mark.parametrize("word", ["", "=nano", "nonsense", "é=1", "--what", "~trainer.logger"])
def test_nonsense_fails_with_one_message(word):
    assert message(word)


def test_hydras_own_settings_are_refused_with_the_reason():
    assert "output_dir" in message("hydra.run.dir=elsewhere")
    assert "output_dir" in message("hydra/launcher=basic")


def test_other_engines_of_verl_are_refused_by_name():
    assert "model_engine=megatron" in message("model_engine=megatron")


def test_unreadable_values_are_shown_quoted():
    assert "needs quotes" in message("name=a=b(")


def test_of_a_key_that_was_typed_twice_the_one_that_counts_is_told():
    with pytest.raises(UserError) as caught:
        compose(["evaluation.samples=2", "evaluation.ks=[1]", "evaluation.samples=0"])
    assert str(caught.value).startswith("evaluation.samples=0: 0 is out of range")
    assert "evaluation.samples=2" in str(caught.value) and "evaluation.samples=0" not in str(caught.value).splitlines()[-1]
