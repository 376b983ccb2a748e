"""A wrong reward setting is refused with the nearest name and the line to type."""

import pytest

from kimina.errors import UserError
from kimina.reward.settings import RewardSettings


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ({"checks": {"repeated_line": {"max": 3}}}, ["reward.checks.repeated_line", "repeated_lines"]),
        ({"checks": {"repeated_lines": {"maxx": 3}}}, ["repeated_lines.maxx", "reward.checks.repeated_lines.max=..."]),
        ({"checks": {"repeated_lines": {"max": 0}}}, ["reward.checks.repeated_lines.max=0", "equal to 1"]),
        ({"checks": {"repeated_lines": {"max": 2.5}}}, ["reward.checks.repeated_lines.max=2.5"]),
        ({"checks": {"repeated_lines": {"max": "six"}}}, ["reward.checks.repeated_lines.max=six"]),
        ({"checks": {"tactics_mismatch": {"min": 1.5}}}, ["reward.checks.tactics_mismatch.min=1.5"]),
        ({"checks": {"tactics_mismatch": {"min": -0.1}}}, ["reward.checks.tactics_mismatch.min=-0.1"]),
        ({"checks": {"tactics_mismatch": {"min": float("nan")}}}, ["reward.checks.tactics_mismatch.min"]),
        ({"checks": {"tactics_mismatch": {"method": "iuo"}}}, ["tactics_mismatch.method=iuo", "iof", "iou", "subcode"]),
        ({"checks": {"comment_density": {"enabled": "yes"}}}, ["reward.checks.comment_density.enabled=yes"]),
        ({"checks": {"forbidden_construct": {"constructs": {"native": True}}}}, ["native_decide"]),
        ({"checks": {"too_long": {"buffer": 5}}}, ["reward.checks.too_long", "buffer"]),
        ({"checks": [1]}, ["reward.checks"]),
        ({"verify_rejected": "maybe"}, ["reward.verify_rejected=maybe"]),
    ],
)
def test_refused(node, words):
    with pytest.raises(UserError) as refused:
        RewardSettings.parse(node)
    for word in words:
        assert word in str(refused.value)


def test_verls_own_keys_are_passed_over():
    settings = RewardSettings.parse({"num_workers": 8, "reward_manager": {}, "profile": "strict"})
    assert settings.profile == "strict"
    assert settings.enabled() == []


def test_whole_numbers_are_fine_where_a_share_is_asked():
    assert RewardSettings.parse({"checks": {"tactics_mismatch": {"min": 1}}}).checks.tactics_mismatch.min == 1.0


@pytest.mark.parametrize("name", ["kimina", "strict", "proof_only"])
def test_the_shipped_profiles_are_valid(name, profile_node):
    assert RewardSettings.parse(profile_node(name)).profile == name


def test_what_the_profiles_enforce(profile_node):
    profiles = {name: RewardSettings.parse(profile_node(name)) for name in ("kimina", "strict", "proof_only")}
    on = {name: {check.name for check in settings.enabled()} for name, settings in profiles.items()}
    assert on["strict"] - on["kimina"] == {"tactic_block_too_short", "comment_density", "too_long"}
    assert on["kimina"] <= on["strict"]
    assert on["proof_only"] == {"statement_changed", "forbidden_construct"}
