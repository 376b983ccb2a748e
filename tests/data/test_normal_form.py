"""Two problems have one normal form exactly if they agree up to names and the order of hypotheses."""

import itertools
import random
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from kimina.data.nano.families import FAMILIES, LEVELS
from kimina.data.nano.problem import KIND_OF, VARIABLES, normal_form, realise

VARIABLE = re.compile(r"(?<![\w$.])[pqrstuPQRSfgabcde](?!\w)")
CELLS = st.tuples(st.sampled_from(sorted(FAMILIES)), st.sampled_from(LEVELS))
SEEDS = st.integers(0, 2**32)
TEMPLATES = ("{p}", "¬{p}", "{p} → {q}", "{p} ∧ {q}", "{p} ∨ {q}", "{a} = {b}", "{a} ≤ {b}", "{a} + 1 < {b}")
FACTS = st.builds(
    lambda template, p, q, a, b: template.format(p=p, q=q, a=a, b=b),
    *(st.sampled_from(choices) for choices in (TEMPLATES, "pqr", "pqr", "abc", "abc")),
)
STATEMENTS = st.tuples(st.lists(FACTS, max_size=4), FACTS)


def renamed(text, renaming):
    return VARIABLE.sub(lambda match: renaming[match[0]], text)


def renamings():
    """All renamings that keep kinds, of the variables p q r a b c."""
    for props in itertools.permutations("pqr"):
        for numbers in itertools.permutations("abc"):
            yield dict(zip("pqrabc", [*props, *numbers], strict=True))


def agree(one, other):
    """Whether some renaming turns one statement into the other; tries all."""
    target = (sorted(other[0]), other[1])
    return any(
        (sorted(renamed(h, renaming) for h in one[0]), renamed(one[1], renaming)) == target for renaming in renamings()
    )


@settings(max_examples=200, deadline=None)
@given(CELLS, SEEDS, SEEDS, SEEDS)
def test_names_and_order_do_not_matter(cell, draft_seed, seed, other_seed):
    family, level = cell
    draft = FAMILIES[family](random.Random(draft_seed), level)
    one = realise(draft, family, level, random.Random(seed))
    other = realise(draft, family, level, random.Random(other_seed))
    assert one.normal_form == other.normal_form


@settings(max_examples=150, deadline=None)
@given(STATEMENTS, st.sampled_from(list(renamings())), st.randoms(use_true_random=False))
def test_a_renamed_and_shuffled_statement_has_the_same_form(statement, renaming, rng):
    hypotheses, goal = statement
    moved = [renamed(h, renaming) for h in hypotheses]
    rng.shuffle(moved)
    assert normal_form(hypotheses, goal) == normal_form(moved, renamed(goal, renaming))


@settings(max_examples=200, deadline=None)
@given(STATEMENTS, STATEMENTS)
def test_equal_forms_exactly_for_statements_that_agree(one, other):
    assert (normal_form(*one) == normal_form(*other)) == agree(one, other)


def test_the_direction_of_an_implication_and_the_goal_matter():
    assert normal_form(["p → q", "p"], "q") != normal_form(["q → p", "p"], "q")
    assert normal_form(["p", "q"], "p") != normal_form(["p", "q"], "p ∧ q")
    assert normal_form(["p", "p → q"], "q") != normal_form(["p", "p → q", "r"], "q")
    assert normal_form(["P 1"], "P 1") != normal_form(["P 2"], "P 1")


def test_kinds_are_not_mixed():
    assert {KIND_OF[letter] for letters in VARIABLES.values() for letter in letters} == set(VARIABLES)
    assert normal_form(["p"], "p") != normal_form(["a = a"], "a = a")
