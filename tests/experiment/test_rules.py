"""Rules of single values, on generated values."""

import math

from hypothesis import given
from hypothesis import strategies as st

from kimina.experiment.rules import Anything, Choice, Flag, Items, Like, Number, Text

VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers(), max_size=3)


@given(VALUES)
def test_a_number_rule_accepts_finite_numbers_in_range_and_nothing_else(value):
    fine = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 < value <= 1
    assert (Number(0.5, above=0, most=1).problem(value) is None) == fine


@given(VALUES)
def test_a_count_is_a_whole_number(value):
    fine = isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**63
    assert (Number(1, least=1, integer=True).problem(value) is None) == fine


@given(VALUES)
def test_a_flag_is_a_truth_value(value):
    assert (Flag().problem(value) is None) == isinstance(value, bool)


@given(VALUES)
def test_rules_answer_with_a_sentence_for_any_value(value):
    rules = [
        Number(1),
        Flag(),
        Text("a"),
        Choice(("a", "b")),
        Items(Number(1)),
        Like(1.0),
        Like("a"),
        Like([1]),
        Anything(),
    ]
    for rule in rules:
        problem = rule.problem(value)
        assert problem is None or problem.strip()


def test_an_example_obeys_its_own_rule():
    assert Number(0.5, above=0).problem(float(Number(0.5, above=0).example())) is None
    assert Choice(("a", "b")).problem(Choice(("a", "b")).example()) is None
    assert Text("x", pattern=r"\w+").problem(Text("x", pattern=r"\w+").example()) is None


def test_whole_numbers_may_stand_where_verls_default_is_a_float():
    assert Like(1.0).problem(1) is None
    assert Like(1).problem(0.95) is None
    assert Like(True).problem(1) is not None
    assert Like(None).problem("anything") is None
