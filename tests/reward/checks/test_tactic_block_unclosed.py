"""tactic_block_unclosed: every tactic fence is closed inside its part of the output."""


def test_closed_blocks(measured, answer):
    assert not measured("tactic_block_unclosed", answer())["violated"]
    assert not measured("tactic_block_unclosed", answer(tactics=("a -- ``` here",)))["violated"]


def test_an_open_fence_at_the_closing_tag_or_before_another(measured, answer):
    assert measured("tactic_block_unclosed", answer().replace("</think>", "```tactics\nx\n</think>"))["violated"]
    assert measured("tactic_block_unclosed", answer(thought="```tactics\nx"))["violated"]
