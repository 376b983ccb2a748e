"""ThinkPrune: the stages of the limit, what counts within it, and the words in the prompt."""

import numpy as np
import pytest

from kimina.errors import UserError


def formula(limit):
    return lambda lengths, correct: np.where(lengths <= limit, correct, 0.0) - correct


def test_by_hand(control):
    method = control("thinkprune", limits=[200, 100], change_steps=[5])
    lengths, correct = [99, 100, 101, 150, 201], [True, True, True, False, True]
    assert method.rewards(lengths, correct, 4) == [0.0, 0.0, 0.0, 0.0, -1.0]
    assert method.rewards(lengths, correct, 5) == [0.0, 0.0, -1.0, 0.0, -1.0]


def test_the_limit_falls_at_its_steps(control):
    method = control("thinkprune")
    assert [method.limit(step) for step in (0, 1, 29, 30, 59, 60, 10_000)] == [4000, 4000, 4000, 3000, 3000, 2000, 2000]
    assert [method.budget(1, step, 7) for step in (1, 30, 60)] == [4000, 3000, 2000]
    assert control("thinkprune", limits=[50], change_steps=[]).limit(9) == 50


@pytest.mark.parametrize(("step", "limit"), [(1, 4000), (30, 3000), (60, 2000)])
def test_agrees_with_the_formula(groups, control, agrees, step, limit):
    method = control("thinkprune")
    for lengths, correct in groups:
        agrees(method, formula(limit), lengths, correct, step=step)


def test_the_system_prompt_states_the_limit(control):
    method = control("thinkprune")
    chat = [{"role": "system", "content": "Be exact.\n"}, {"role": "user", "content": "Prove it."}]
    asked = method.instruct(chat, 3000)
    assert asked[0]["content"].startswith("Be exact.\n\n") and "3000 tokens" in asked[0]["content"]
    assert asked[1:] == chat[1:] and "3000" not in chat[0]["content"]
    added = method.instruct(chat[1:], 3000)
    assert [message["role"] for message in added] == ["system", "user"] and "3000 tokens" in added[0]["content"]
    assert method.instruct(chat, None) == chat


def test_an_empty_chat_is_refused(control):
    with pytest.raises(ValueError, match="empty"):
        control("thinkprune").instruct([], 100)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"limits": [4000, 3000]}, r"length\.change_steps=\[30, 60\] has 2 steps.*1 in all"),
        ({"limits": [3000, 4000, 2000]}, r"length\.limits=\[3000, 4000, 2000\]: each limit must be below"),
        ({"limits": [3000, 3000, 2000]}, "below the one before"),
        ({"change_steps": [60, 30]}, r"length\.change_steps=\[60, 30\]: each step must be after"),
        ({"limits": []}, r"length\.limits"),
        ({"limits": [4000, 0.5, 1]}, r"length\.limits\.1=0\.5"),
        ({"limits": [4000, 3000, 0]}, r"length\.limits\.2=0"),
    ],
)
def test_stages_that_do_not_fit_are_refused(control, settings, words):
    with pytest.raises(UserError, match=words):
        control("thinkprune", **settings)
