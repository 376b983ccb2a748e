"""too_few_tactic_blocks: two, anywhere, empty ones too."""

import pytest


@pytest.mark.parametrize(("tactics", "violated"), [((), True), (("a",), True), (("a", "b"), False), (("", ""), False)])
def test_two_are_needed(measured, answer, tactics, violated):
    assert measured("too_few_tactic_blocks", answer(tactics=tactics))["violated"] is violated


def test_blocks_behind_the_think_block_count(measured, answer):
    output = answer(tactics=()).replace("</think>", "</think>\n```tactics\na\n```\n```tactics\nb\n```")
    assert not measured("too_few_tactic_blocks", output)["violated"]


def test_threshold(measured, answer):
    assert measured("too_few_tactic_blocks", answer(), min=3)["violated"]
    assert not measured("too_few_tactic_blocks", answer(tactics=()), min=0)["violated"]
