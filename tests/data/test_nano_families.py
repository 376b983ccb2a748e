"""What the families draw: true theorems, decisions that can go wrong, names that tell the type."""

import random
import re

import pytest

from kimina.data.nano.families import FAMILIES, LEVELS
from kimina.data.nano.problem import Choice, hypothesis_name, realise
from kimina.lean.statement import Statement
from kimina.lean.verdict import Verdict

HYPOTHESIS = re.compile(r"\((h\S*) : ((?:[^()]|\([^()]*\))+)\)")


class AlwaysWrong(random.Random):
    """Takes every decision wrongly."""

    def random(self) -> float:
        return 0.0


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_draws_at_every_level(family, level):
    rng = random.Random(f"{family}-{level}")
    drawn = [realise(FAMILIES[family](rng, level), family, level, rng) for _ in range(25)]
    assert len({problem.statement for problem in drawn}) >= 15
    for problem in drawn:
        assert (problem.family, problem.level) == (family, level)
        assert Statement.parse(problem.statement).name == problem.name == f"nano_{family}"
        assert problem.choices >= 1 and problem.lines and problem.informal
        assert "$" not in problem.lean(problem.proof())
        for line in problem.lines:
            for part in line:
                assert not isinstance(part, Choice) or (part.wrong and part.right not in part.wrong)


def test_reference_proofs_are_proved_and_wrong_choices_are_mostly_refused(two_of_each, verdicts):
    right = verdicts([(problem, problem.proof()) for problem in two_of_each])
    assert len(right) == 120
    assert set(right) == {Verdict.PROVED}
    wrong = verdicts([(problem, problem.proof(AlwaysWrong(1), 1.0)) for problem in two_of_each])
    assert Verdict.UNVERIFIED not in wrong
    assert wrong.count(Verdict.PROVED) <= 6


def test_hypotheses_are_named_by_their_type(two_of_each):
    for problem in two_of_each:
        found = HYPOTHESIS.findall(problem.statement)
        assert found
        names = [name for name, _ in found]
        assert len(set(names)) == len(names)
        for name, type_ in found:
            assert name.rstrip("'") == hypothesis_name(type_)


@pytest.mark.parametrize(
    ("type_", "name"),
    [
        ("p", "hp"),
        ("p → q", "hpq"),
        ("¬p", "hnp"),
        ("p ∧ q", "hpq"),
        ("P 3", "hP3"),
        ("∀ x, P x → Q x", "hPQ"),
        ("a ≤ b", "hab"),
        ("f a = b", "hfab"),
    ],
)
def test_names_by_hand(type_, name):
    assert hypothesis_name(type_) == name


def test_a_higher_level_asks_for_more_decisions():
    rng = random.Random("decisions")
    means = []
    for level in LEVELS:
        drawn = [realise(FAMILIES[family](rng, level), family, level, rng) for family in FAMILIES for _ in range(40)]
        means.append(sum(problem.choices for problem in drawn) / len(drawn))
    assert means == sorted(means)
    assert means[-1] > 2 * means[0]


def test_wrong_choices_come_at_the_asked_rate(two_of_each):
    rng = random.Random("rate")
    decisions = sum(problem.choices for problem in two_of_each) * 40
    problems = [problem for problem in two_of_each for _ in range(40)]
    wrong = 0
    for problem in problems:
        right, drawn = problem.proof(), problem.proof(rng, 0.25)
        wrong += sum(a != b for a, b in zip(right, drawn, strict=True))
        assert len(right) == len(drawn)
    # A line with two decisions counts once, so the share of wrong lines lies a little below the rate.
    assert 0.2 < wrong / decisions < 0.26
    assert problems[0].proof() == problems[0].proof(random.Random(1), 0.0)
