"""tactic_block_too_short: three lines of code in each block."""

import pytest


@pytest.mark.parametrize(
    ("block", "lines"),
    [("a\nb\nc", 3), ("a -- x\nb -- y\nc", 3), ("a\n\nb\n", 2), ("a\n-- b\nc", 2), ("a\n/-\n b -/\nc", 2), ("", 0)],
)
def test_lines_that_are_neither_blank_nor_comment(measured, answer, block, lines):
    found = measured("tactic_block_too_short", answer(tactics=("a\nb\nc\nd", block)))
    assert (found["value"], found["violated"]) == (lines, lines < 3)


def test_threshold_and_missing_blocks(measured, answer):
    assert not measured("tactic_block_too_short", answer(tactics=("a",)), min_lines=1)["violated"]
    assert measured("tactic_block_too_short", answer(tactics=())) is None
