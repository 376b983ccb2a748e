"""think_block_count: exactly one block, properly closed."""

import pytest


@pytest.mark.parametrize(
    ("old", "new", "violated"),
    [
        ("<think>", "<think>", False),
        ("</think>", "", True),
        ("</think>", "</think></think>", True),
        ("<think>", "<think><think>", True),
        ("</think>", "</think>\n<think>\n</think>", True),
    ],
)
def test_one_closed_block(measured, answer, old, new, violated):
    assert measured("think_block_count", answer().replace(old, new))["violated"] is violated


def test_left_to_no_think_block_when_there_is_none(measured, answer):
    assert measured("think_block_count", answer().replace("<think>", "")) is None


def test_the_prompts_tag_counts(measured, answer):
    assert measured("think_block_count", answer(), opens_think=True)["violated"]
    assert not measured("think_block_count", answer().replace("<think>", ""), opens_think=True)["violated"]
