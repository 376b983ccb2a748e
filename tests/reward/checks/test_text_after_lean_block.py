"""text_after_lean_block: nothing but white space behind the answer."""

import pytest


@pytest.mark.parametrize(("after", "violated"), [("", False), ("\n\n \t\n", False), ("\nDone.", True), ("\n```", True)])
def test_nothing_follows(measured, answer, after, violated):
    assert measured("text_after_lean_block", answer(after=after))["violated"] is violated


def test_needs_one_lean_block(measured, answer):
    assert measured("text_after_lean_block", answer(after="\n```lean4\nx\n```\nDone.")) is None
