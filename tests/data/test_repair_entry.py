"""Which failures get a fix turn in training, and what stands in its prompt."""

import pytest

from kimina.data.repair_entry import FixTurnSettings, RepairEntry, Rollout, entry_or_reason, material_or_reason
from kimina.lean.verdict import CheckResult, Message, Verdict
from kimina.reward.scorer import Scorer
from kimina.reward.settings import RewardSettings

STATEMENT = "theorem t : True := by"
CODE = "theorem t : True := by\n  exact 1"
RESPONSE = f"<think>\nEasy.\n</think>\n```lean4\n{CODE}\n```"
SCORER = Scorer(RewardSettings.parse({"checks": {"text_after_lean_block": {"enabled": True}}}))


def outcome(
    response=RESPONSE, verdict=Verdict.LEAN_ERROR, text="type mismatch", turn=1, opens_think=False, tokens=10, **settings
):
    report = SCORER.check_format(STATEMENT, response, opens_think=opens_think)
    result = None
    if verdict is not None:
        messages = (Message("error", 2, 2, None, None, text),) if verdict is Verdict.LEAN_ERROR else ()
        result = CheckResult("x", verdict, messages, 0.1, "detail", None, "4.35.0")
    chosen = FixTurnSettings(**settings)
    material = material_or_reason(report, result, response, chosen, opens_think=opens_think)
    return entry_or_reason(Rollout(7, STATEMENT, 3, "key", turn), material, chosen, lambda material: tokens, 100)


def test_a_failure_becomes_a_fix_turn():
    found = outcome()
    assert isinstance(found, RepairEntry)
    assert (found.row, found.statement, found.first_step, found.key) == (7, STATEMENT, 3, "key")
    assert found.first_answer == f"```lean4\n{CODE}\n```"
    assert "type mismatch" in found.feedback and "2 >|   exact 1" in found.feedback


def test_the_whole_answer_stays_where_the_history_says_so():
    assert outcome(history="with_think").first_answer == RESPONSE
    continued = RESPONSE.removeprefix("<think>\n")
    assert outcome(continued, opens_think=True, history="with_think").first_answer == RESPONSE
    assert outcome(continued, opens_think=True).first_answer == f"```lean4\n{CODE}\n```"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"verdict": Verdict.PROVED}, "solved"),
        ({"verdict": Verdict.UNVERIFIED}, "unverified"),
        ({"verdict": Verdict.PROVED, "response": RESPONSE + "\nmore"}, "format_only"),
        ({"verdict": None, "response": RESPONSE + "\nmore"}, "not_asked"),
        ({"verdict": None, "response": "I give up."}, "no_lean_code"),
        ({"turn": 2}, "second_turn"),
        ({"turn": 2, "verdict": Verdict.PROVED}, "solved"),
        ({"turn": 2, "verdict": Verdict.UNVERIFIED}, "unverified"),
        ({"text": "x" * 3001}, "feedback_too_long"),
        ({"tokens": 101}, "prompt_too_long"),
        ({"tokens": 101, "text": "x" * 3001}, "feedback_too_long"),
    ],
)
def test_who_gets_none(changes, reason):
    assert outcome(**changes) == reason


def test_what_lean_refuses_for_other_reasons_than_an_error_gets_a_fix_turn():
    for verdict in (Verdict.SORRY, Verdict.TIMEOUT, Verdict.HEARTBEAT_LIMIT, Verdict.AXIOM_VIOLATION):
        assert isinstance(outcome(verdict=verdict), RepairEntry)


def test_a_first_turn_that_broke_the_format_does_not_poison_the_second():
    """The released recipe checked the format of all turns at once: such a sample could never earn a reward."""
    found = outcome(RESPONSE + "\nand more")
    assert isinstance(found, RepairEntry)
    # What was wrong with the first answer isn't in the prompt, and the second answer is judged alone.
    assert "and more" not in found.first_answer
    second = f"<think>\nRight.\n</think>\n```lean4\n{found.statement}\n  trivial\n```"
    assert SCORER.check_format(found.statement, second).violations == ()
    assert outcome(RESPONSE + "\nand more", history="with_think").first_answer.endswith("and more")


def test_the_limit_is_in_characters_and_includes_itself():
    length = len(outcome().feedback)
    assert isinstance(outcome(max_feedback_chars=length), RepairEntry)
    assert outcome(max_feedback_chars=length - 1) == "feedback_too_long"


@pytest.mark.parametrize("limit", [1, 40, 200, 3000])
def test_long_feedback_can_be_cut_instead(limit):
    found = outcome(text="long " * 5000, too_long="cut", max_feedback_chars=limit)
    assert isinstance(found, RepairEntry) and 0 < len(found.feedback) <= limit


def test_the_prompts_length_is_asked_of_what_will_stand_in_it():
    seen = []
    report = SCORER.check_format(STATEMENT, RESPONSE)
    result = CheckResult("x", Verdict.TIMEOUT, (), 0.1, "detail", None, "4.35.0")
    material = material_or_reason(report, result, RESPONSE, FixTurnSettings())
    rollout = Rollout(7, STATEMENT, 3, "key")
    found = entry_or_reason(rollout, material, FixTurnSettings(), lambda asked: seen.append(asked) or 100, 100)
    assert seen == [material] and (found.first_answer, found.feedback) == (material.answer, material.feedback)
