"""The reward entry: one judgement, the same keys for every response."""

import asyncio

from kimina.lean.verdict import CheckResult, Verdict
from kimina.reward.scorer import Scorer
from kimina.reward.settings import RewardSettings
from kimina.verl import reward
from kimina.verl.reward import NOT_CHECKED, Judge

STATEMENT = "theorem t (p : Prop) (h : p) : p := by"
PROOF = f"<think>\nok\n</think>\n```lean4\n{STATEMENT}\n  exact h\n```"


class FixedVerifier:
    """Answers every request with one verdict."""

    header, lean_version = "", "0"

    def __init__(self, verdict):
        self.verdict, self.requests = verdict, []

    async def check_one(self, request):
        self.requests.append(request)
        return CheckResult(request.id, self.verdict, (), 0.5, "said so", None, "0")


def judge(verdict, response=PROOF, checks=None, **settings):
    scorer = Scorer(RewardSettings.parse({"checks": checks or {}, **settings}))
    verifier = FixedVerifier(verdict)
    return asyncio.run(Judge(scorer, verifier).judge(STATEMENT, response)), verifier


def test_only_a_proof_earns_the_reward():
    for verdict in Verdict:
        result, verifier = judge(verdict)
        assert result["score"] == result["proved"] == float(verdict is Verdict.PROVED)
        assert result["verdict"] == verdict.value
        assert [request.theorem for request in verifier.requests] == ["t"]


def test_unverified_is_marked_and_not_called_wrong():
    result, _ = judge(Verdict.UNVERIFIED)
    assert result["unverified"] == 1.0 and result["verifier_detail"] == "said so"


def test_rejected_response_is_not_sent_to_lean_and_has_the_same_keys():
    accepted, _ = judge(Verdict.PROVED)
    rejected, verifier = judge(Verdict.PROVED, "no proof", checks={"no_lean_block": {"enabled": True}})
    assert verifier.requests == []
    assert rejected["verdict"] == NOT_CHECKED and rejected["violation"] == "no_lean_block"
    assert rejected["score"] == 0.0 and rejected["unverified"] == 0.0
    assert rejected.keys() == accepted.keys()
    assert {key: type(value) for key, value in rejected.items()} == {key: type(value) for key, value in accepted.items()}


def test_one_judge_serves_a_process(monkeypatch):
    made = []

    class Made:
        async def judge(self, statement, response, turn):
            return {"score": 1.0}

    def from_settings(settings):
        made.append(settings)
        return Made()

    monkeypatch.setattr(reward, "_judges", {})
    monkeypatch.setattr(Judge, "from_settings", from_settings)
    for _ in range(3):
        score = asyncio.run(reward.compute_score("nano", PROOF, STATEMENT, settings={"verifier": {"name": "x"}}))
        assert score == {"score": 1.0}
    assert made == [{"verifier": {"name": "x"}}]
