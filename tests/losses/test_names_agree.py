"""A loss's option, its class, its module and its test file share one name."""

from pathlib import Path

import pytest

from kimina.experiment.options import option_names
from kimina.losses import LOSSES

ALIASES = {"drgrpo"}  # the paper's own spelling of drgpo


def test_options_and_tests():
    assert set(option_names("loss")) - ALIASES == set(LOSSES)
    files = {path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py")}
    assert files - {"advantages", "aggregation", "names_agree", "math_cases"} == set(LOSSES)


@pytest.mark.parametrize("name", LOSSES)
def test_class_and_module(name):
    loss = LOSSES[name]
    assert loss.name == name
    assert loss.__name__ == "".join(word.title() for word in name.split("_"))
    assert loss.__module__ == f"kimina.losses.{name}"
    assert "minimise" in loss.__doc__
