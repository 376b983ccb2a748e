"""Which prompts a step asks."""

import json

import pytest

from kimina.data.repair_entry import FixMaterial, Rollout
from kimina.data.sampling import Outcome
from kimina.errors import UserError
from kimina.verl.prompt_feed import PromptFeed

REPLAY = {
    "name": "replay",
    "capacity": 50,
    "probability": 0.5,
    "remove_drawn": False,
    "max_age": None,
    "history": "code_only",
    "max_feedback_chars": 100,
    "too_long": "drop",
}
PRIORITIZED = {"name": "prioritized", "floor": 0.0, "prior_successes": 0.5, "prior_attempts": 1.0, "window": None}


class Words:
    """A tokenizer of words, with a chat template that Qwen3's habits would break: it trims and drops think blocks."""

    def apply_chat_template(self, messages, add_generation_prompt, tokenize):
        parts = [f"<{m['role']}> {m['content'].split('</think>')[-1].strip()} <end>" for m in messages]
        return " ".join(parts) + " <assistant>"

    def encode(self, text, add_special_tokens):
        return [hash(word) % 1000 for word in text.split()]


def rows(count=20):
    return [
        {
            "raw_prompt": [{"role": "user", "content": f"prove {number}"}],
            "reward_model": {"ground_truth": f"theorem t{number}"},
            "extra_info": {"problem_id": f"p{number}", "level": number % 5},
            "data_source": "nano",
        }
        for number in range(count)
    ]


def feed(sampling=None, correction=None, length=None, max_prompt_tokens=100, data=None):
    return PromptFeed(
        rows() if data is None else data,
        Words(),
        sampling=sampling or {"name": "uniform"},
        correction=correction or {"name": "none"},
        length=length or {"name": "none"},
        seed=3,
        max_prompt_tokens=max_prompt_tokens,
    )


def test_prompts_are_items_of_the_training_set_with_what_the_rollout_must_know():
    data = rows()
    items = feed(data=data).draw(1, 6)
    assert [item["uid"] for item in items] == sorted(item["uid"] for item in items)
    assert not any("_" in item["uid"] for item in items)
    for item in items:
        info = item["extra_info"]
        assert item["raw_prompt"] == data[info["row"]]["raw_prompt"]
        assert info["statement"] == f"theorem t{info['row']}"
        assert (info["turn"], info["fix"], info["budget"], info["limit"]) == (1, None, None, None)
    assert "row" not in data[0]["extra_info"], "the training set was changed"


def test_a_refill_goes_on_where_the_batch_ended():
    whole = feed().draw(4, 9)
    parts = feed()
    assert [*parts.draw(4, 5), *parts.draw(4, 4)] == whole


def test_a_failure_comes_back_as_a_fix_turn():
    one = feed(correction={**REPLAY, "probability": 1.0})
    [first] = one.draw(1, 1)
    row = first["extra_info"]["row"]
    one.offer_fix_turn(Rollout(row, "theorem", 1, "key"), FixMaterial("<think>no</think> my proof", "line 2: no"))
    again, fresh = one.draw(2, 2)
    assert again["extra_info"]["turn"] == 2 and again["extra_info"]["row"] == row
    assert again["extra_info"]["fix"] == {"answer": "<think>no</think> my proof", "feedback": "line 2: no"}
    assert again["raw_prompt"] == first["raw_prompt"]
    assert fresh["extra_info"]["turn"] == 1, "no entry comes twice in a step"
    assert one.metrics()["correction"]["drawn"] == 1


def test_a_fix_prompt_that_is_too_long_is_counted_and_dropped():
    one = feed(correction=REPLAY, max_prompt_tokens=12)
    one.offer_fix_turn(Rollout(0, "theorem", 1, "a"), FixMaterial("code", "no"))
    one.offer_fix_turn(Rollout(0, "theorem", 1, "b"), FixMaterial("a proof of many more words", "no no no"))
    one.offer_fix_turn(Rollout(0, "theorem", 1, "c"), "no_lean_code")
    figures = one.metrics()["correction"]
    assert figures["added"] == 1
    assert figures["dropped/prompt_too_long"] == figures["dropped/no_lean_code"] == 1


def test_budgets_stand_in_the_prompt_and_beside_it():
    length = {"name": "l1_max", "alpha": 0.0003, "delta": 0.5, "low": 20, "high": 90}
    for item in feed(length=length).draw(1, 5):
        budget = item["extra_info"]["budget"]
        assert 20 <= budget <= 90
        assert f"Think for {budget} tokens." in item["raw_prompt"][-1]["content"]


L1_MAX = {"name": "l1_max", "alpha": 0.0003, "delta": 0.5, "low": 20, "high": 90}


def test_prompts_that_the_instruction_makes_too_long_are_refused_before_anything_is_generated():
    """verl cut off their beginning without a word."""
    with pytest.raises(UserError, match=r"20 of 20 prompts.*data.max_prompt_length=9$"):
        feed(length=L1_MAX, max_prompt_tokens=8)
    assert feed(length=L1_MAX, max_prompt_tokens=9).draw(1, 1)
    assert feed(max_prompt_tokens=5).draw(1, 1), "without an instruction prompts are verl's matter"


def test_a_fix_prompt_is_measured_with_the_instruction_on_length():
    material, dropped = FixMaterial("my proof", "line 2: no"), {}
    for name, length in (("none", None), ("l1_max", L1_MAX)):
        one = feed(correction=REPLAY, length=length, max_prompt_tokens=17)
        one.offer_fix_turn(Rollout(3, "theorem", 1, "key"), material)
        dropped[name] = one.metrics()["correction"]["dropped"]
    assert dropped == {"none": 0, "l1_max": 1}


def _steps(one, first, last):
    """Draw and record as a trainer would; what becomes of a prompt depends on the step and the prompt alone."""
    drawn = []
    for step in range(first, last + 1):
        items = one.draw(step, 4) + one.draw(step, 2)
        drawn.append([(item["uid"], item["extra_info"]["row"], item["extra_info"]["fix"]) for item in items])
        outcomes = []
        for number, item in enumerate(items):
            row, turn = item["extra_info"]["row"], item["extra_info"]["turn"]
            if turn == 1:
                outcomes.append(Outcome(row, 8, (row + step) % 9))
            material = FixMaterial(f"code {row}", f"error {step}") if (row + number) % 2 else "solved"
            one.offer_fix_turn(Rollout(row, "theorem", step, f"{step}-{number}", turn), material)
        one.record(step, outcomes)
    return drawn


@pytest.mark.parametrize("sampling", [{"name": "uniform"}, PRIORITIZED])
@pytest.mark.parametrize("stop", range(1, 10))
def test_a_restored_feed_goes_on_exactly(sampling, stop):
    whole = feed(sampling, REPLAY)
    expected = _steps(whole, 1, 10)
    before = feed(sampling, REPLAY)
    drawn = _steps(before, 1, stop)
    state = json.loads(json.dumps(before.state()))
    _steps(before, stop + 1, stop + 1)  # a step that is lost
    after = feed(sampling, REPLAY)
    after.load_state(state)
    assert drawn + _steps(after, stop + 1, 10) == expected
    assert after.state() == whole.state()
    assert any(fix for step in expected for _, _, fix in step), "no fix turn was drawn at all"


def test_the_state_is_a_copy():
    one = feed(PRIORITIZED, REPLAY)
    state = one.state()
    text = json.dumps(state)
    _steps(one, 1, 3)
    assert json.dumps(state) == text


@pytest.mark.parametrize(("saved", "wanted"), [(None, REPLAY), (REPLAY, None), (REPLAY, {**REPLAY, "capacity": 9})])
def test_a_state_of_other_settings_is_refused_and_changes_nothing(saved, wanted):
    one = feed(correction=wanted)
    before = one.state()
    with pytest.raises(UserError, match="of another run"):
        one.load_state(feed(correction=saved).state())
    assert one.state() == before
