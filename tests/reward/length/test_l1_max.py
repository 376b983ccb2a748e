"""L1-Max: numbers worked out by hand, the formula in NumPy, budgets and the words in the prompt."""

import numpy as np
import pytest

from kimina.errors import UserError


def formula(alpha, delta):
    def added(lengths, correct, budgets):
        return correct * np.clip(alpha * (budgets - lengths) + delta, 0, 1) - correct

    return added


@pytest.mark.parametrize(
    ("length", "budget", "reward"),
    [
        (1000, 1000, 0.5),
        (0, 1000, 0.8),  # 0.0003 x 1000 + 0.5
        (2000, 1000, 0.2),
        (2667, 1000, 0.0),  # 0.5 - 0.5001 is cut off at 0
        (10, 4000, 1.0),  # 1.697 is cut off at 1
    ],
)
def test_by_hand(control, length, budget, reward):
    method = control("l1_max")
    right, wrong = method.rewards([length, length], [True, False], 1, [budget, budget])
    assert 1 + right == pytest.approx(reward) and wrong == 0


def test_agrees_with_the_formula(groups, control, agrees):
    method, generator = control("l1_max", alpha=0.002, delta=0.4), np.random.default_rng(5)
    for lengths, correct in groups:
        budgets = generator.integers(100, 4001, len(lengths)).tolist()
        agrees(method, formula(0.002, 0.4), lengths, correct, budgets=budgets)


def test_a_missing_budget_is_refused(control):
    method = control("l1_max")
    for budgets in (None, [100, None], [100], [100, 0], [100, 2.5]):
        with pytest.raises(ValueError, match="budget"):
            method.rewards([5, 6], [True, False], 1, budgets)


def test_budgets_follow_from_their_arguments_alone(control):
    method = control("l1_max")
    drawn = [method.budget(1, step, number) for step in range(1, 21) for number in range(256)]
    assert drawn == [control("l1_max").budget(1, step, number) for step in range(1, 21) for number in range(256)]
    # Written down: a resumed run of a later release draws the same.
    assert drawn[:4] == [2960, 3476, 2996, 1301]
    assert drawn != [method.budget(2, step, number) for step in range(1, 21) for number in range(256)]
    assert method.budget(1, 2, 3) != method.budget(1, 3, 2)
    assert method.budget(np.int64(1), np.int64(2), np.int64(3)) == method.budget(1, 2, 3)


def test_budgets_are_even_over_their_range(control):
    method = control("l1_max", low=3, high=12)
    drawn = np.array([method.budget(7, step, number) for step in range(100) for number in range(100)])
    counts = np.bincount(drawn, minlength=13)[3:]
    assert drawn.min() == 3 and drawn.max() == 12
    # Ten cells of 1,000: the 99.9 % point of chi-square with 9 degrees of freedom is 27.9.
    assert ((counts - 1000) ** 2 / 1000).sum() < 27.9
    assert control("l1_max", low=8, high=8).budget(1, 1, 1) == 8


def test_the_prompt_asks_for_the_budget(control):
    chat = [
        {"role": "system", "content": "Be exact."},
        {"role": "user", "content": "Prove it.\n```lean4\ntheorem t : True := by sorry\n```\n", "name": "x"},
    ]
    asked = control("l1_max").instruct(chat, 250)
    assert asked[1]["content"].endswith("sorry\n```\n\nThink for 250 tokens.")
    assert asked[0] == chat[0] and asked[1]["name"] == "x"
    assert "250" not in chat[1]["content"], "the chat that was given must stay as it is"


def test_of_several_turns_the_last_one_asks(control):
    chat = [{"role": role, "content": role} for role in ("user", "assistant", "user")]
    assert [message["content"] for message in control("l1_max").instruct(chat, 9)] == [
        "user",
        "assistant",
        "user\n\nThink for 9 tokens.",
    ]


def test_without_a_budget_the_prompt_stays(control):
    chat = [{"role": "user", "content": "Prove it."}]
    assert control("l1_max").instruct(chat, None) == chat


def test_a_chat_that_has_no_place_for_it_is_refused(control):
    for chat in ([], [{"role": "system", "content": "x"}], [{"role": "user", "content": [{"type": "text"}]}]):
        with pytest.raises(ValueError):
            control("l1_max").instruct(chat, 100)


def test_a_range_that_falls_is_refused(control):
    with pytest.raises(UserError, match=r"length\.low=200 is above length\.high=100"):
        control("l1_max", low=200, high=100)
