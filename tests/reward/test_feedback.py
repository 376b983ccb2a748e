"""Lean's answer as a text for the model."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimina.lean.verdict import CheckRequest, CheckResult, Message, Verdict
from kimina.reward.feedback import FeedbackSettings, cut_middle, lean_feedback

CODE = "\n".join(f"line {number}" for number in range(1, 13))


def error(line, text="failed", column=0, goals=(), severity="error"):
    return Message(severity, line, column, None, None, text, tuple(goals))


def result(*messages, verdict=Verdict.LEAN_ERROR, detail="detail"):
    return CheckResult("r", verdict, messages, 0.1, detail, None, "4.35.0")


def feedback(*messages, code=CODE, verdict=Verdict.LEAN_ERROR, detail="detail", **settings):
    return lean_feedback(code, result(*messages, verdict=verdict, detail=detail), FeedbackSettings(**settings))


def test_one_error_in_full():
    told = feedback(error(5, "unknown identifier 'x'", goals=["h : p\n⊢ q"]))
    assert told == (
        "# Error 1 (line 5)\n"
        "Goals before it:\n"
        "h : p\n⊢ q\n"
        "Lean's message:\n"
        "unknown identifier 'x'\n"
        "Your code:\n"
        "3  | line 3\n"
        "4  | line 4\n"
        "5 >| line 5\n"
        "6  | line 6\n"
        "7  | line 7"
    )


@pytest.mark.parametrize(
    ("line", "first", "last", "marked"),
    [(1, 1, 5, 1), (2, 1, 5, 2), (10, 8, 12, 10), (11, 8, 12, 11), (12, 8, 12, 12), (13, 8, 12, 12), (0, 1, 5, 1), (-4, 1, 5, 1)],
)
def test_five_lines_are_shown_wherever_the_error_is(line, first, last, marked):
    shown = feedback(error(line)).split("Your code:\n")[1].split("\n")
    assert [int(row[:2]) for row in shown] == list(range(first, last + 1))
    assert [int(row[:2]) for row in shown if ">|" in row] == [marked]


def test_a_short_text_is_shown_whole():
    assert feedback(error(1), code="theorem t : p := by x").endswith("1 >| theorem t : p := by x")
    assert feedback(error(1), code="").endswith("1 >|")
    assert feedback(error(2), code="a\r\nb\r\nc").endswith("1  | a\n2 >| b\n3  | c")


def test_goals_that_the_message_shows_are_not_said_twice():
    told = feedback(error(2, "unsolved goals\n⊢ q", goals=["⊢ q"]))
    assert told.count("⊢ q") == 1


def test_of_many_goals_three_are_shown():
    told = feedback(error(2, goals=[f"⊢ goal{index}" for index in range(5)]))
    assert "⊢ goal2\n\n(2 more goals)" in told and "goal3" not in told


def test_at_most_three_errors_by_position_each_once():
    errors = [error(line, f"wrong {line}") for line in (9, 3, 7, 5, 3)]
    told = feedback(*errors)
    assert [told.index(f"wrong {line}") for line in (3, 5, 7)] == sorted(told.index(f"wrong {line}") for line in (3, 5, 7))
    assert "wrong 9" not in told and told.count("wrong 3") == 1 and told.endswith("(1 more errors are not shown.)")
    assert feedback(*errors, max_errors=1).count("# Error") == 1


def test_the_order_of_messages_and_lean_s_counters_do_not_matter():
    one = [error(3, "type ?m.71 and ?m.90 and ?m.71"), error(5, "b"), error(5, "warned", severity="warning")]
    two = [error(5, "b"), error(5, "warned", severity="warning"), error(3, "type ?m.7 and ?m.9 and ?m.7")]
    assert feedback(*one) == feedback(*two)
    assert "type ?m.1 and ?m.2 and ?m.1" in feedback(*one) and "warned" not in feedback(*one)
    assert "Sort ?u.1 and ?m.2" in feedback(error(1, "Sort ?u.83 and ?m.83"))


@pytest.mark.parametrize("verdict", [Verdict.PROVED, Verdict.UNVERIFIED])
def test_nothing_to_correct_is_no_feedback(verdict):
    assert feedback(verdict=verdict) is None
    assert feedback(error(1), verdict=verdict) is None


@pytest.mark.parametrize(
    ("verdict", "told"),
    [(Verdict.TIMEOUT, "too long"), (Verdict.SORRY, "sorry"), (Verdict.AXIOM_VIOLATION, "axiom"), (Verdict.LEAN_ERROR, "detail")],
)
def test_every_other_verdict_says_something(verdict, told):
    assert told in feedback(verdict=verdict)


def test_holes_are_shown_where_they_are():
    told = feedback(error(4, "declaration uses `sorry`", severity="warning"), error(2, "unused", severity="warning"), verdict=Verdict.SORRY)
    assert "4 >| line 4" in told and "unused" not in told


def test_a_long_message_does_not_displace_the_others():
    told = feedback(error(1, "short one"), error(6, "begin " + "x" * 50_000 + " end"), error(12, "short two"), max_tokens=1500)
    assert len(told) <= 1500
    for kept in ("short one", "begin x", "short two", "characters left out", "6 >| line 6"):
        assert kept in told


def test_length_is_counted_with_the_tokenizer():
    words = lambda text: len(text.split())  # noqa: E731
    told = feedback(error(3, "word " * 1000), max_tokens=80, count_tokens=words)
    assert 60 <= words(told) <= 80
    assert told.startswith("# Error 1") and told.endswith("line 5")


@given(st.text(max_size=400), st.integers(1, 300))
def test_cut_text_fits_and_keeps_head_and_tail(text, limit):
    cut = cut_middle(text, limit)
    assert len(cut) <= limit
    if len(text) <= limit:
        assert cut == text
    elif "characters left out" in cut:
        head, _, tail = cut.partition("\n[... ")
        tail = tail.partition(" ...]\n")[2]
        assert text.startswith(head) and text.endswith(tail) and 0 <= len(head) - len(tail) <= 1
        assert f"{len(text) - len(head) - len(tail)} characters left out" in cut
    else:
        assert text.startswith(cut)


@pytest.mark.parametrize("limit", [1, 10, 100, 1000])
def test_any_messages_fit_any_limit(limit):
    rng = random.Random(limit)
    for _ in range(20):
        errors = [error(rng.randint(-5, 20), "m" * rng.choice((0, 5, 500)), goals=["⊢ g" * rng.choice((1, 200))]) for _ in range(rng.randint(0, 6))]
        told = feedback(*errors, max_tokens=limit)
        assert len(told) <= limit and told == feedback(*errors, max_tokens=limit)


@pytest.mark.parametrize("settings", [{"max_errors": 0}, {"max_tokens": 0}])
def test_absurd_settings_are_refused(settings):
    with pytest.raises(ValueError, match="at least 1"):
        FeedbackSettings(**settings)


def test_a_real_reply_of_the_embedded_lean(embedded):
    code = "theorem t (p q : Prop) (hp : p) : p ∧ q := by\n  constructor\n  · exact hp\n  · exact hp"
    told = lean_feedback(code, embedded.check([CheckRequest("r", code, "t")])[0], FeedbackSettings())
    assert told.startswith("# Error 1 (line 4)") and "4 >|   · exact hp" in told and "q" in told
