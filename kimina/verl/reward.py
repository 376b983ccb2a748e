"""The training reward: verl's ``reward.custom_reward_function``, called once a response in a reward worker process.

A worker process makes one scorer and one verifier, at its first response. Which ones is in ``settings``, which
``kimina.verl.emit`` puts into the function's keyword arguments.
"""

import json
import uuid
from collections.abc import Mapping
from typing import Any

from kimina.lean.verdict import CheckRequest, Verdict
from kimina.lean.verifier import Verifier, make_verifier
from kimina.reward.scorer import Scorer, reward_value
from kimina.reward.settings import RewardSettings

NOT_CHECKED = "not_checked"


class Judge:
    """A scorer and a verifier under one set of settings."""

    def __init__(self, scorer: Scorer, verifier: Verifier, opens_think: bool = False):
        self.scorer = scorer
        self.verifier = verifier
        self.opens_think = opens_think

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "Judge":
        """Make both; ``settings`` has ``reward``, ``verifier``, ``think_in_prompt`` and ``tokenizer`` (a folder)."""
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(settings["tokenizer"])
        scorer = Scorer(
            RewardSettings.parse(settings["reward"]),
            count_tokens=lambda text: len(tokenizer.encode(text, add_special_tokens=False)),
        )
        return cls(scorer, make_verifier(settings["verifier"]), settings["think_in_prompt"])

    async def judge(self, statement: str, response: str, turn: int = 1) -> dict[str, Any]:
        """Return the reward of a response and what led to it; every response gets the same keys.

        ``turn`` is the response's place among the model's own turns: 1 for a first attempt, 2 for its correction.
        ``score`` is what verl trains on. A response that nobody could judge has score 0 and ``unverified`` 1: the
        trainer takes it out of the update.
        """
        report = self.scorer.check_format(statement, response, opens_think=self.opens_think)
        verdict, seconds, detail = None, 0.0, ""
        if self.scorer.needs_lean(report):
            request = CheckRequest(uuid.uuid4().hex, report.lean_code, report.theorem)
            result = await self.verifier.check_one(request)
            verdict, seconds, detail = result.verdict, result.seconds, result.detail
        reward = reward_value(verdict, report.violations, report.length_penalty)
        return {
            "score": 0.0 if reward is None else reward,
            "unverified": float(reward is None),
            "proved": float(verdict is Verdict.PROVED),
            "verdict": NOT_CHECKED if verdict is None else verdict.value,
            "violation": report.first or "",
            "violations": json.dumps(report.violations),
            "measures": json.dumps({code: report.measures[code] for code in report.violations}),
            "turn": turn,
            "verifier_seconds": seconds,
            "verifier_detail": detail,
        }


_judges: dict[str, Judge] = {}


async def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None, *, settings: Any, **_other: Any
) -> dict[str, Any]:
    """verl's entry; ``ground_truth`` is the statement's text, ``extra_info["turn"]`` the turn where it isn't the first."""
    plain = _plain(settings)
    key = json.dumps(plain, sort_keys=True)
    if key not in _judges:
        _judges[key] = Judge.from_settings(plain)
    turn = int(extra_info["turn"]) if extra_info is not None and "turn" in extra_info else 1
    return await _judges[key].judge(ground_truth, solution_str, turn)


def _plain(settings: Any) -> dict[str, Any]:
    """verl hands over a mapping of OmegaConf; the settings were resolved before."""
    if isinstance(settings, dict):
        return settings
    from omegaconf import OmegaConf

    return OmegaConf.to_container(settings)
