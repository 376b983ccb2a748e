"""Worked answers keep the output format that the rewards ask for."""

import random

import pytest

from kimina.data.nano.answers import BRIDGES, OPENINGS, REMARKS, answer
from kimina.experiment.compose import compose, resolved
from kimina.response import parse_response
from kimina.reward.scorer import Scorer
from kimina.reward.settings import RewardSettings


@pytest.fixture(scope="module", params=["kimina", "strict"])
def scorer(request):
    settings = RewardSettings.parse(resolved(compose([f"reward={request.param}"]))["reward"])
    return Scorer(settings, count_tokens=lambda text: len(text.split()))


@pytest.mark.parametrize("wrong_choice_rate", [0.0, 0.5])
def test_answers_have_no_format_violation(two_of_each, scorer, wrong_choice_rate):
    rng = random.Random("wording")
    for problem in two_of_each:
        for _ in range(3):
            proof = problem.proof(rng, wrong_choice_rate)
            report = scorer.check_format(problem.statement, answer(problem, proof, rng))
            assert report.violations == (), (problem.family, problem.level, report.measures)
            assert report.lean_code.strip() == problem.lean(proof)
            assert report.theorem == problem.name


def test_an_answer_has_two_tactics_blocks_of_three_lines(two_of_each):
    rng = random.Random("blocks")
    for problem in two_of_each:
        response = parse_response(answer(problem, problem.proof(), rng))
        assert len(response.tactic_blocks) == 2
        assert all(len(block.text.strip("\n").split("\n")) >= 3 for block in response.tactic_blocks)


def test_the_thinking_is_free_in_length(two_of_each):
    problem = two_of_each[0]
    rng = random.Random("length")
    texts = [answer(problem, problem.proof(), rng) for _ in range(200)]
    remarks = [sum(line in REMARKS for line in text.split("\n")) for text in texts]
    # Two thoughts with a geometric number of remarks each: 4/3 on average.
    assert 1.0 < sum(remarks) / len(remarks) < 1.7
    assert min(remarks) == 0 and max(remarks) >= 4
    for text in texts:
        assert any(opening in text for opening in OPENINGS) and any(bridge in text for bridge in BRIDGES)


def test_a_start_can_think_at_length_and_keep_the_format(two_of_each, scorer):
    rng = random.Random("at length")
    remarks = []
    for problem in two_of_each:
        for _ in range(10):
            text = answer(problem, problem.proof(rng), rng, 0.9)
            assert scorer.check_format(problem.statement, text).violations == ()
            remarks.append(sum(line in REMARKS for line in text.split("\n")))
    # 2 x 0.9 / 0.1 on average
    assert 15 < sum(remarks) / len(remarks) < 21


def test_a_worked_answer_is_right_and_repeatable(two_of_each):
    problem = two_of_each[-1]
    text = answer(problem, problem.proof(), random.Random(7))
    assert text == answer(problem, problem.proof(), random.Random(7))
    assert problem.lean(problem.proof()) in text
