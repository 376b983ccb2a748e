"""Runs of comments and literals: they agree with the tokens, and one run takes in what stands together."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimina.lean.comments import Comments, may_have_comments
from kimina.lean.runs import runs
from kimina.lean.tokenizer import COMMENTS, TokenKind, tokenize
from kimina.lean.words import WATCHED

PIECES = [
    "/-", "-/", "--", "-- c\n", "/- c -/", "/- a /- b -/ -/", '"', '"s"', "'a'", 'r"\\"', 'r#"x"#', "s!", "m! ", '{x}"',
    "{", "}", "\n", " ", "x", "axiom", "open", "«open»", "a.«b».c", "«", ".", "..", "1", "0x1", "(", ")", "<-", "//", "'",
    "é", "∑'", "endx", "have?",
]  # fmt: skip
lean_like = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


def found(text, watched=frozenset()):
    return [(str(kind), text[start:end]) for kind, start, end in runs(text, watched)]


@given(lean_like, st.booleans())
def test_runs_lie_in_order(text, watch):
    position = 0
    for _, start, end in runs(text, WATCHED if watch else frozenset()):
        assert position <= start < end <= len(text)
        position = end


@given(lean_like)
def test_comments_are_those_of_the_tokens(text):
    tokens = tokenize(text)
    expected = [token.text for token in tokens if token.kind in COMMENTS]
    comments = Comments.of(text)
    assert list(comments) == expected
    assert comments.removed == "".join(token.text for token in tokens if token.kind not in COMMENTS)
    assert may_have_comments(text) or not expected


@given(lean_like)
def test_quoted_names_are_those_of_the_tokens(text):
    quoted = [token.text for token in tokenize(text) if token.kind is TokenKind.NAME and "«" in token.text]
    assert [part for kind, part in found(text, WATCHED) if kind == "quoted_name"] == quoted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-- a\n-- b\n /- c /- d -/ -/ x", [("comment_run", "-- a\n-- b\n /- c /- d -/ -/")]),
        ("/- /- /- deep -/ -/ -/ -- b", [("block_comment", "/- /- /- deep -/ -/ -/"), ("comment_run", "-- b")]),
        ('x "a" \'b\' -- c\n r"d" y "e"', [("literal_run", '"a" \'b\' -- c\n r"d"'), ("literal_run", '"e"')]),
        ('-- c\n"a"', [("comment_run", "-- c"), ("literal_run", '"a"')]),
        ("-- c", [("comment_run", "-- c")]),
        ('s! /- c -/ "{x}" "a"', [("comment_run", "/- c -/"), ("string", '"{'), ("string", '}"'), ("literal_run", '"a"')]),
        ("axiom a.axiom axioms open.x .open (open)", [("name", "axiom"), ("name", "open")]),
        ("«open» a.«b» x.«c».d", [("quoted_name", "«open»"), ("quoted_name", "a.«b»"), ("quoted_name", "x.«c».d")]),
        ('"never closed', [("literal_run", '"never closed')]),
        ("x y z", []),
        ("", []),
    ],
)
def test_what_a_run_takes_in(text, expected):
    assert found(text, WATCHED) == expected


@pytest.mark.parametrize("unit", ["--\n", '"" ', "'a' ", '""--\n', "/- -/", "/-/-x-/-/"])
def test_a_text_of_nothing_else_is_one_run(unit):
    assert len(found("x\n" + unit * 1000)) == 1


def test_a_run_has_at_most_two_thousand_pieces():
    assert [len(part) for _, part in found("--\n" * 5000)] == [5999, 5999, 2999]


@pytest.mark.parametrize(
    "unit", ["/- /- x ", "/-/-/-", "/- -/ x ", '"a', 'r#"', 's!"{', "a.«", "«a» ", 's!"{x}" ', "-- /- \n"]
)
def test_time_is_linear_on_adversarial_text(unit):
    def seconds(length):
        text = unit * (length // len(unit))
        started = time.process_time()
        assert Comments.of(text).removed is not None
        return time.process_time() - started

    small = min(seconds(20_000) for _ in range(3))
    # Sixteen times the text: quadratic work would take 256 times as long.
    assert seconds(320_000) < 64 * small + 0.05
