"""too_long: a hard limit, and a penalty before it."""

import pytest

from kimina.errors import UserError
from kimina.reward.scorer import Scorer
from kimina.reward.settings import RewardSettings

STATEMENT = "theorem t : True := by sorry"


def scorer(count_tokens=None, **settings):
    return Scorer(RewardSettings.parse({"checks": {"too_long": {"enabled": True, **settings}}}), count_tokens)


def test_no_limit_by_default(measured):
    assert not measured("too_long", "x" * 100_000)["violated"]


@pytest.mark.parametrize(("length", "violated"), [(2000, False), (2001, True)])
def test_characters_as_the_model_wrote_them(measured, length, violated):
    assert measured("too_long", "\ufeff" + "\r\n" * 500 + "x" * (length - 1001), max=2000)["violated"] is violated


def test_tokens_where_they_are_counted():
    words = scorer(lambda text: len(text.split()), max=3)
    assert words.check_format(STATEMENT, "a b c").violations == ()
    assert words.check_format(STATEMENT, "a b c d").violations == ("too_long",)
    letters = scorer(lambda text: len(text.split()), max=3, unit="characters")
    assert letters.check_format(STATEMENT, "a b").violations == ()
    assert letters.check_format(STATEMENT, "a b c").violations == ("too_long",)


def test_tokens_without_a_tokenizer():
    with pytest.raises(UserError, match="unit=tokens"):
        scorer(max=3, unit="tokens")


@pytest.mark.parametrize(("length", "penalty"), [(5, 0.0), (6, 0.0), (7, -0.25), (10, -1.0), (11, -1.0)])
def test_penalty_falls_linearly_over_the_buffer(length, penalty):
    assert scorer(max=10, buffer=4).check_format(STATEMENT, "x" * length).length_penalty == penalty


def test_no_penalty_without_a_buffer():
    assert scorer(max=10).check_format(STATEMENT, "x" * 99).length_penalty == 0.0
