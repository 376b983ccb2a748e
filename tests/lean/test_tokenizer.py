"""The tokenizer is lossless, total and linear, and agrees with Lean 4 where its rules are easy to get wrong."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kimina.lean.tokenizer import COMMENTS, TokenKind, comments, iter_tokens, segments, tokenize, without_comments
from kimina.lean.words import WATCHED

# Pieces that interact: halves of delimiters, words, and signs that start two things.
PIECES = [
    "/-", "-/", "--", "/--", "/-!", '"', "'", "\\", "\n", "\r\n", " ", "\t", "«", "»", 'r"', 'r#"', '"#', "s!", "m!",
    "{", "}", "(", ")", "⟨", "⟩", ":=", "<-", "//", "∑'", "''", "theorem", "axiom", "sorry", "local", "h'", "x!", "ℝ≥0",
    "1", "0x", "1e5", ".", "..", "a.b", "λ", "Σ", "🙂", "\ud800", "\x00", "\u200b", "\ufeff", "\u0338", "=", "@", "[", "]",
]  # fmt: skip
lean_like = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
any_text = st.one_of(lean_like, st.text(alphabet=st.characters(), max_size=200), st.text(max_size=200))


@given(any_text)
def test_tokens_join_back_to_the_text(text):
    tokens = tokenize(text)
    assert "".join(token.text for token in tokens) == text
    assert [token.start for token in tokens] == [sum(len(t.text) for t in tokens[:i]) for i in range(len(tokens))]
    assert all(token.text for token in tokens)


@given(any_text, st.booleans())
def test_segments_join_back_to_the_text(text, watch):
    pieces = list(segments(text, WATCHED if watch else frozenset()))
    assert "".join(text[start:end] for _, start, end in pieces) == text


@given(any_text)
def test_segments_and_tokens_agree_on_what_is_not_code(text):
    def special(pieces):
        kinds = COMMENTS | {TokenKind.STRING, TokenKind.CHARACTER}
        return [(kind, start, end) for kind, start, end in pieces if kind in kinds]

    of_tokens = special((token.kind, token.start, token.start + len(token.text)) for token in tokenize(text))
    assert special(segments(text)) == of_tokens
    assert special(segments(text, WATCHED)) == of_tokens


@given(any_text)
@example("sorry.«").via("a dot before guillemets that never close")
def test_watched_words_are_the_name_tokens_that_are_no_fields(text):
    tokens = tokenize(text)
    fields = {t.start for before, t in zip(tokens, tokens[1:], strict=False) if before.text == "."}
    names = [t for t in tokens if t.kind is TokenKind.NAME and t.start not in fields]
    expected = [(t.text, t.start) for t in names if t.text in WATCHED]
    assert [(text[s:e], s) for kind, s, e in segments(text, WATCHED) if kind is TokenKind.NAME] == expected


@given(any_text)
def test_tokens_are_the_same_from_any_token_boundary_outside_strings(text):
    tokens = tokenize(text)
    if any(token.text in ("s!", "m!") for token in tokens):
        return
    for index in range(0, len(tokens), 7):
        assert list(iter_tokens(text, tokens[index].start)) == tokens[index:]


def live(text):
    return [token.text for token in tokenize(text) if token.kind is TokenKind.NAME]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("/- a /- b -/ axiom -/ x", ["x"]),
        ("/-- axiom -/ x", ["x"]),
        ("/--/ axiom", []),  # Lean: the docstring is open
        ("/--/ axiom -/ x", ["x"]),
        ("/-!-/ x", ["x"]),
        ("/-/ axiom", []),
        ("a -- axiom\nx", ["a", "x"]),
        ('"/-" axiom "-/"', ["axiom"]),
        ('"--" axiom', ["axiom"]),
        ('"a\\" axiom" x', ["x"]),
        ('"a\\\\" axiom', ["axiom"]),
        ("'\"' axiom '\"'", ["axiom"]),
        ("'\\'' axiom", ["axiom"]),
        ("'\\u0022' axiom", ["axiom"]),
        ("h' axiom h''", ["h'", "axiom", "h''"]),
        ("f 1'\"' axiom", ["f", "axiom"]),
        ("h'\"axiom\"", ["h'"]),
        ("λ'\"' axiom", ["axiom"]),
        ('r"a\\" axiom', ["axiom"]),
        ('r#"say "x" -- axiom"# y', ["y"]),
        ('r "axiom" y', ["r", "y"]),
        ('var"axiom"', ["var"]),
        ('f .r"axiom\\" axiom', ["f", "r"]),  # behind a dot stands a name, and the string goes on
        ('f ..r"axiom\\" axiom', ["f", "axiom"]),
        ("1axiom", ["axiom"]),
        ("0b1axiom", ["axiom"]),
        ("«axiom» x", ["«axiom»", "x"]),
        ("«a -- b» x", ["«a -- b»", "x"]),
        ("a.«b c».d x", ["a.«b c».d", "x"]),
        ("x<--axiom", ["x", "axiom"]),  # <- and a minus sign, no comment
        ("a//-axiom", ["a", "axiom"]),
        ("∑' x, f ''s", ["x", "f", "s"]),
        ("axiomatic local_instance sorry_free", ["axiomatic", "local_instance", "sorry_free"]),
        ("l.head?.getD 0", ["l.head?.getD"]),
        ('s!"a {x} axiom" y', ["s!", "x", "y"]),
        ('s!"{f "axiom"} axiom" y', ["s!", "f", "y"]),
        ("s!\"{'\"'}\" axiom", ["s!", "axiom"]),
        ('s!"{ {x} }" axiom', ["s!", "x", "axiom"]),
        ('s!"\\{" axiom', ["s!", "axiom"]),
        ('s! /- c -/ "{x}"', ["s!", "x"]),
        ('"{x}" axiom', ["axiom"]),
        ('xs!"{" axiom', ["xs!", "axiom"]),
        ("/- never closed axiom", []),
        ('"never closed axiom', []),
        ("«never closed axiom", []),
    ],
)
def test_live_names(text, names):
    assert live(text) == names


def test_removing_comments_keeps_the_line_break_of_a_line_comment():
    assert without_comments("a -- b\nc /- d\n-/ e") == "a \nc  e"


def test_no_comment_means_no_work():
    assert comments('x - y / z "a" \'b\'') == []


ADVERSARIAL = {
    "comment openers": "/-",
    "spaced comment openers": "/- ",
    "comments": "/- -/ ",
    "line comments": "--\n",
    "quotes": '"',
    "escapes": '"\\',
    "primes": "'",
    "guillemets": "«",
    "raw strings": 'r#"',
    "hashes": "r#",
    "interpolations": 's!"{',
    "brackets": "(",
    "digits": "1",
    "exponents": "1e",
    "dots": "a.",
    "blanks": " ",
    "name": "a",
}


@pytest.mark.parametrize("unit", ADVERSARIAL.values(), ids=list(ADVERSARIAL))
def test_time_is_linear_on_adversarial_text(unit):
    def seconds(length):
        text = unit * (length // len(unit))
        started = time.process_time()
        for _ in segments(text, WATCHED):
            pass
        return time.process_time() - started

    small = min(seconds(20_000) for _ in range(3))
    large = seconds(320_000)
    # Sixteen times the text: quadratic work would take 256 times as long.
    assert large < 64 * small + 0.05
