"""A check's configuration key, its class, its module and its test file share one name."""

from pathlib import Path

import pytest

from kimina.reward.checks import CHECKS
from kimina.reward.checks.forbidden_construct import Constructs

ORDER = (
    "no_think_block, think_block_count, no_lean_block, lean_block_count, text_after_lean_block, repeated_lines, "
    "too_few_tactic_blocks, tactic_block_unclosed, tactic_block_too_short, tactic_block_too_long, comment_density, "
    "tactics_mismatch, statement_changed, forbidden_construct, too_long"
).split(", ")


def test_the_order_of_checking():
    assert list(CHECKS) == ORDER


def test_tests():
    files = {path.stem.removeprefix("test_") for path in (Path(__file__).parent / "checks").glob("test_*.py")}
    assert files == set(CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_class_and_module(name):
    check = CHECKS[name]
    assert check.name == name
    assert check.__name__ == "".join(word.title() for word in name.split("_"))
    assert check.__module__ == f"kimina.reward.checks.{name}"
    assert "Kimina-Prover" in check.__doc__


@pytest.mark.parametrize("name", CHECKS)
def test_the_kimina_option_lists_every_setting_so_that_it_can_be_overridden(name, profile_node):
    settings = profile_node("kimina")["checks"][name]
    assert set(settings) == set(CHECKS[name].model_fields)
    if "constructs" in settings:
        assert set(settings["constructs"]) == set(Constructs.model_fields)
    # Beside the switches, the option says what the class says.
    defaults = CHECKS[name]().model_dump()
    assert {**settings, "enabled": True} == defaults
