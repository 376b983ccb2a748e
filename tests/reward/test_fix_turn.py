"""What is sent in a fix turn is what the setting says, whatever the chat template does to earlier turns."""

from pathlib import Path

import pytest

from kimina.errors import UserError
from kimina.lean.statement import Statement
from kimina.lean.verdict import CheckResult, Message, Verdict
from kimina.reward.feedback import FeedbackSettings
from kimina.reward.fix_turn import HISTORIES, feedback_or_reason, first_answer, fix_prompt
from kimina.reward.scorer import Scorer
from kimina.reward.settings import RewardSettings

MODEL = Path(__file__).parents[2] / "assets" / "warm_start" / "model"
PROMPT = [{"role": "system", "content": "You prove."}, {"role": "user", "content": "theorem t : True := by"}]
RESPONSE = "<think>\nEasy.\n</think>\n```lean4\ntheorem t : True := by\n  exact 1\n```"
CODE = "theorem t : True := by\n  exact 1"
# As Qwen3's: think blocks of earlier turns are cut out, texts are trimmed.
STRIPPING = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['role'] == 'assistant' %}{{ message['content'].split('</think>')[-1].strip() }}"
    "{% else %}{{ message['content'] | trim }}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
WITHOUT_HISTORY = (
    "{% for message in messages if message['role'] != 'assistant' %}{{ message['content'] }}\n{% endfor %}"
)


@pytest.fixture(scope="module")
def tokenizer():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(MODEL)


@pytest.fixture(params=["plain", "stripping"])
def chat(request, tokenizer, monkeypatch):
    if request.param == "stripping":
        monkeypatch.setattr(tokenizer, "chat_template", STRIPPING)
    return tokenizer


@pytest.mark.parametrize("history", HISTORIES)
def test_the_prompt_holds_what_the_history_says(chat, history):
    answer = first_answer(history, RESPONSE, CODE)
    assert ("<think>\nEasy." in answer) == (history == "with_think") and CODE in answer
    feedback = "  # Error 1 (line 2)\n</think> is kept too \n"
    text = fix_prompt(chat, PROMPT, answer, feedback)
    assert f"<|im_start|>assistant\n{answer}<|im_end|>\n<|im_start|>user\n{feedback}<|im_end|>\n" in text
    assert text.endswith("<|im_start|>assistant\n")
    first = chat.apply_chat_template(PROMPT, add_generation_prompt=True, tokenize=False)
    assert text.startswith(first)


def test_the_template_alone_would_have_cut_the_think_block(tokenizer, monkeypatch):
    monkeypatch.setattr(tokenizer, "chat_template", STRIPPING)
    messages = [*PROMPT, {"role": "assistant", "content": RESPONSE}, {"role": "user", "content": "wrong"}]
    assert "Easy." not in tokenizer.apply_chat_template(messages, tokenize=False)
    assert "Easy." in fix_prompt(tokenizer, PROMPT, first_answer("with_think", RESPONSE, CODE), "wrong")


def test_a_think_tag_in_the_prompt_belongs_to_the_first_answer():
    assert first_answer("with_think", "Easy.\n</think>\nx", CODE, opens_think=True) == "<think>\nEasy.\n</think>\nx"
    assert first_answer("code_only", "Easy.\n</think>\nx", CODE, opens_think=True) == f"```lean4\n{CODE}\n```"


def test_a_template_without_earlier_turns_is_refused(tokenizer, monkeypatch):
    monkeypatch.setattr(tokenizer, "chat_template", WITHOUT_HISTORY)
    with pytest.raises(UserError, match="fix_turns=0"):
        fix_prompt(tokenizer, PROMPT, "x", "y")


def result(verdict, *messages):
    found = tuple(Message("error", 2, 2, None, None, text) for text in messages)
    return CheckResult("x", verdict, found, 0.1, "detail", None, "4.35.0")


@pytest.mark.parametrize(
    ("response", "verdict", "expected"),
    [
        (RESPONSE, Verdict.PROVED, "solved"),
        (RESPONSE, Verdict.UNVERIFIED, "unverified"),
        (RESPONSE, Verdict.LEAN_ERROR, None),
        (RESPONSE, Verdict.TIMEOUT, None),
        (RESPONSE + "\nand more", Verdict.PROVED, "format_only"),
        (RESPONSE + "\nand more", Verdict.LEAN_ERROR, None),
        (RESPONSE + "\nand more", None, "not_asked"),
        ("<think>\nI give up.\n</think>", None, "no_lean_code"),
    ],
)
def test_who_gets_a_fix_turn(response, verdict, expected):
    checks = {"text_after_lean_block": {"enabled": True}, "no_lean_block": {"enabled": True}}
    report = Scorer(RewardSettings.parse({"checks": checks})).check_format(Statement.parse(PROMPT[1]["content"]), response)
    messages = ("type mismatch",) if verdict is Verdict.LEAN_ERROR else ()
    found = result(verdict, *messages) if verdict else None
    feedback, reason = feedback_or_reason(report, found, FeedbackSettings())
    assert reason == expected
    assert (feedback is None) == (expected is not None)
    if verdict is Verdict.LEAN_ERROR:
        assert "type mismatch" in feedback and "2 >|   exact 1" in feedback


def test_the_histories_are_those_of_the_configuration():
    from kimina.experiment.schema import OURS

    assert OURS["evaluation.fix_history"].names == HISTORIES
