"""Length rewards and groups without a difference."""

import pytest

from kimina.reward.length import make_length_control
from kimina.verl.group_rewards import group_rewards, outcomes_of_rows
from kimina.verl.step_metrics import JudgedSample

K15 = make_length_control({"name": "k15", "weight": 1.0, "warmup": "step", "start_step": 3, "ramp_steps": 1})
NONE = make_length_control({"name": "none"})


def sample(group, score, tokens=10, unverified=False, turn=1, earlier=None):
    verdict = "unverified" if unverified else "proved" if score else "lean_error"
    return JudgedSample(group, score, bool(score), unverified, verdict, (), tokens, turn, earlier)


def rewards(samples, control=NONE, step=5, penalties=()):
    named = {f"{one.group}_{number}_0": one for number, one in enumerate(samples)}
    return group_rewards(named, control, step, dict.fromkeys(named), dict(penalties))


def test_the_length_reward_is_over_one_groups_judged_samples():
    found = rewards([sample("a", 1, 10), sample("a", 1, 30), sample("a", 0, 30), sample("a", 0, 999, True), sample("b", 1)], K15)
    assert found.length == {"a_0_0": 0.5, "a_1_0": -0.5, "a_2_0": -0.5, "b_4_0": 0.0}


def test_before_its_start_there_is_none():
    assert set(rewards([sample("a", 1, 10), sample("a", 1, 30)], K15, step=2).length.values()) == {0.0}


def test_groups_are_equal_by_what_they_are_trained_on():
    mixed, right, wrong = [sample("m", 1), sample("m", 0)], [sample("r", 1, 5), sample("r", 1, 9)], [sample("w", 0), sample("w", 0)]
    assert rewards(mixed + right + wrong).equal == {"r_2_0", "r_3_0", "w_4_0", "w_5_0"}
    # all right, but of different lengths: with a length reward there is something to learn
    assert rewards(mixed + right + wrong, K15).equal == {"w_4_0", "w_5_0"}


def test_a_penalty_is_taken_off_beside_the_length_reward_and_makes_a_difference():
    found = rewards([sample("a", 1, 10), sample("a", 1, 30)], K15, penalties={"a_1_0": 0.25})
    assert found.length == {"a_0_0": 0.5, "a_1_0": -0.5} and found.added == {"a_0_0": 0.5, "a_1_0": -0.75}
    wrong = rewards([sample("w", 0), sample("w", 0)], penalties={"w_0_0": 0.25})
    assert wrong.equal == frozenset() and wrong.equal_scores == {"w_0_0", "w_1_0"}


def test_what_is_left_of_a_group_may_be_equal():
    assert rewards([sample("a", 1), sample("a", 0, 10, True), sample("a", 1)]).equal == {"a_0_0", "a_2_0"}


def test_a_group_that_nobody_judged_has_neither():
    found = rewards([sample("a", 0, 10, True), sample("a", 0, 10, True)])
    assert found.length == {} and found.equal == frozenset()


def test_samplers_learn_from_judged_first_turns():
    first = sample("c", 0)
    samples = {
        "a_0_0": sample("a", 1),
        "a_1_0": sample("a", 0),
        "a_2_0": sample("a", 0, unverified=True),
        "b_0_0": sample("b", 1, turn=2),
        "c_0_0": sample("c", 1, turn=2, earlier=first),
        "c_1_0": sample("c", 1),
    }
    rows = {"a_0_0": 7, "a_1_0": 7, "a_2_0": 7, "b_0_0": 8, "c_0_0": 9, "c_1_0": 9}
    assert outcomes_of_rows(samples, rows) == [(7, 2, 1), (9, 2, 1)]


def test_budgets_reach_the_method():
    control = make_length_control({"name": "l1_max", "alpha": 0.01, "delta": 0.5, "low": 10, "high": 90})
    named = {"a_0_0": sample("a", 1, 40), "a_1_0": sample("a", 1, 20)}
    found = group_rewards(named, control, 1, {"a_0_0": 30, "a_1_0": 30})
    # r = clip(alpha (n_gold - n_y) + delta, 0, 1) in place of 1
    assert found.length == {"a_0_0": pytest.approx(0.4 - 1), "a_1_0": pytest.approx(0.6 - 1)}
