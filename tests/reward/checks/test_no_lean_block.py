"""no_lean_block: a closed Lean block behind the think block."""

import pytest


@pytest.mark.parametrize(
    ("old", "new", "violated"),
    [("```lean4", "```lean4", False), ("```lean4", "```", True), ("```lean4", "```python", True), ("\n```", "", True)],
)
def test_a_lean_block_is_needed(measured, answer, old, new, violated):
    assert measured("no_lean_block", answer(tactics=()).replace(old, new))["violated"] is violated
