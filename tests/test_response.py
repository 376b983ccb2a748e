"""The parser's answer to every trick with tags and fences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimina.response import parse_response

PIECES = [
    "<think>", "</think>", "```tactics", "```lean4", "```lean", "```", "````", "\n", "\r\n", " ", "x", "\ufeff", "\ud800"
]  # fmt: skip
any_output = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))


@given(any_output, st.booleans())
def test_blocks_lie_in_order_and_where_they_say(text, opens_think):
    response = parse_response(text, opens_think)
    blocks = sorted(response.tactic_blocks + response.lean_blocks, key=lambda block: block.outer_start)
    for block in blocks:
        assert response.text[block.start : block.start + len(block.text)] == block.text
        assert block.outer_start <= block.start <= block.outer_end
    for block, behind in zip(blocks, blocks[1:], strict=False):
        assert block.outer_end <= behind.outer_start
    if response.think:
        assert len(response.think_text()) <= response.think[1] - response.think[0]


GOOD = "<think>\na\n```tactics\n  simp\n```\nb\n</think>\n\n```lean4\nx\ny\n```"


def test_a_plain_answer():
    response = parse_response(GOOD)
    assert response.think_text() == "\na\n\nb\n"
    assert [(b.text, b.line_count, b.closed) for b in response.tactic_blocks] == [("  simp", 1, True)]
    assert [(b.text, b.line_count) for b in response.lean_blocks] == [("x\ny", 2)]
    assert response.text[response.lean_blocks[0].outer_end :] == ""


@given(any_output, st.booleans())
def test_counts_and_texts_are_those_of_the_blocks(text, opens_think):
    response = parse_response(text, opens_think)
    closed = [block for block in response.tactic_blocks if block.closed]
    assert response.tactic_count == len(response.tactic_blocks)
    assert response.lean_count == len(response.lean_blocks)
    assert response.closed_tactic_count == len(closed)
    texts = list(response.closed_tactics())
    assert [part.removesuffix("\n") for part in texts] == [block.text for block in closed]
    assert [part.count("\n") for part in texts] == [block.line_count for block in closed]
    assert response.last_lean_block() == (response.lean_blocks[-1] if response.lean_blocks else None)


def test_a_last_line_without_line_break():
    for last, closed in (("```", True), ("```x", False), ("``` ", True), ("x```", False)):
        assert [block.closed for block in parse_response(f"```tactics\nx\n{last}").tactic_blocks] == [closed]


@pytest.mark.parametrize(
    "text", ["\ufeff" + GOOD, GOOD.replace("\n", "\r\n"), GOOD.replace("```lean4", " \t```lean4 ")]
)
def test_marks_and_blanks_that_do_not_matter(text):
    assert [b.text for b in parse_response(text).lean_blocks] == ["x\ny"]


@pytest.mark.parametrize(
    ("text", "opens_think", "one_block", "opening_tags"),
    [
        ("a</think>b", True, True, 1),
        ("a</think>b", False, False, 0),
        ("<think>a</think>", True, False, 2),
        ("<think>a", False, False, 1),
        ("<think><think>a</think>", False, False, 2),
        ("<think>a</think></think>", False, False, 1),
        ("</think>a<think>", False, False, 1),
        ("<think>a</think><think>b</think>", False, False, 2),
        ("<THINK>a</THINK>", False, False, 0),
        ("", False, False, 0),
        ("", True, False, 1),
    ],
)
def test_think_tags(text, opens_think, one_block, opening_tags):
    response = parse_response(text, opens_think)
    assert (response.think is not None, response.opening_tags) == (one_block, opening_tags)


@pytest.mark.parametrize(
    ("fence", "count"),
    [
        ("```lean4\nx\n```", 1),
        ("```lean4\n```", 1),
        ("```lean4\nx\n  ```", 1),
        ("```lean4\nx\n```\n```lean4\ny\n```", 2),
        ("```lean4\nx\n```lean4\ny\n```", 1),  # the first is never closed
        ("```lean4\nx", 0),
        ("```lean4\nx\n````", 0),
        ("```lean4\nx ```", 0),
        ("```lean4 x\n```", 0),
        ("```\nx\n```", 0),
        ("```lean\nx\n```", 0),
        ("```python\nx\n```", 0),
        ("````lean4\nx\n```", 0),
        ("~~~lean4\nx\n~~~", 0),
        ("a ```lean4\nx\n```", 0),
    ],
)
def test_lean_fences(fence, count):
    assert len(parse_response(f"<think></think>\n{fence}").lean_blocks) == count


def test_a_lean_block_inside_the_think_block_is_no_answer():
    text = "<think>\n```lean4\nx\n```\n</think>\n"
    assert parse_response(text).lean_blocks == ()
    assert len(parse_response(text + "```lean4\ny\n```").lean_blocks) == 1


def test_without_a_closing_tag_a_lean_block_counts_anywhere():
    assert len(parse_response("```lean4\nx\n```").lean_blocks) == 1


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("<think>\n```tactics\na\n</think>\n```lean4\nx\n```", [False]),
        ("<think>\n```tactics\na\n</think>\n```\n```lean4\nx\n```", [False]),
        ("<think>\n```tactics\na\n```tactics\nb\n```\n</think>\n```lean4\nx\n```", [False, True]),
        ("<think>\n```tactics\na -- ``` here\n```\n</think>\n```lean4\nx\n```", [True]),
        ("<think>\n```tactics\n```\n</think>\n```lean4\nx\n```", [True]),
    ],
)
def test_unclosed_tactic_fences_do_not_swallow_the_answer(text, closed):
    response = parse_response(text)
    assert [block.closed for block in response.tactic_blocks] == closed
    assert [block.text for block in response.lean_blocks] == ["x"]


@pytest.mark.parametrize(("inner", "lines"), [("", 0), ("\n", 1), ("a\n", 1), ("a\n\n", 2)])
def test_line_counts(inner, lines):
    assert parse_response(f"```tactics\n{inner}```").tactic_blocks[0].line_count == lines
