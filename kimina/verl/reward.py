"""The training reward: what is told about a response, and the process's scorer and verifier that tell it.

Our agent loop judges its responses itself. To any other agent loop this is verl's ``reward.custom_reward_function``, called
once a response in a reward worker. A process makes one scorer and one verifier, at its first response. Which ones is in
``settings``, which ``kimina.verl.emit`` puts into the function's keyword arguments.
"""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kimina.data.repair_entry import FixMaterial, FixTurnSettings, material_or_reason
from kimina.lean.verdict import CheckRequest, Verdict
from kimina.lean.verifier import Verifier, make_verifier
from kimina.reward.scorer import Scorer, reward_value
from kimina.reward.settings import RewardSettings

NOT_CHECKED = "not_checked"


@dataclass(frozen=True)
class Turn:
    """One judged answer: verl's ``info`` on it, and what a fix turn would say about it or why there is none.

    ``info`` has the same keys for every answer. Its ``score`` is what verl trains on. An answer that nobody could judge has
    score 0 and ``unverified`` 1: the trainer takes it out of the update.
    """

    info: dict[str, Any]
    material: FixMaterial | str


class Judge:
    """A scorer and a verifier under one set of settings."""

    def __init__(
        self,
        scorer: Scorer,
        verifier: Verifier,
        opens_think: bool = False,
        fix_turns: FixTurnSettings | None = None,
        second_turn_reward: float = 1.0,
    ):
        self.scorer = scorer
        self.verifier = verifier
        self.opens_think = opens_think
        self.fix_turns = fix_turns
        self.second_turn_reward = second_turn_reward

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "Judge":
        """Make both; ``settings`` are those of :func:`kimina.verl.emit.reward_settings`."""
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(settings["tokenizer"])
        scorer = Scorer(
            RewardSettings.parse(settings["reward"]),
            count_tokens=lambda text: len(tokenizer.encode(text, add_special_tokens=False)),
        )
        correction = settings["correction"]
        return cls(
            scorer,
            make_verifier(settings["verifier"]),
            settings["think_in_prompt"],
            correction_settings(correction),
            float(correction.get("second_turn_reward", 1.0)),
        )

    async def judge(self, statement: str, response: str, turn: int = 1) -> dict[str, Any]:
        """Return the reward of a response and what led to it.

        ``turn`` is the response's place among the model's own turns: 1 for a first attempt, 2 for its correction.
        """
        return self.whole([await self.turn(statement, response, turn)])

    async def turn(self, statement: str, response: str, turn: int) -> Turn:
        """Judge one answer by itself."""
        report = self.scorer.check_format(statement, response, opens_think=self.opens_think)
        result = None
        if self.scorer.needs_lean(report):
            request = CheckRequest(uuid.uuid4().hex, report.lean_code, report.theorem)
            result = await self.verifier.check_one(request)
        verdict = None if result is None else result.verdict
        reward = reward_value(verdict, report.violations, report.length_penalty)
        info = {
            "score": 0.0 if reward is None else reward,
            "unverified": float(reward is None),
            "proved": float(verdict is Verdict.PROVED),
            "verdict": NOT_CHECKED if verdict is None else verdict.value,
            "violation": report.first or "",
            "violations": json.dumps(report.violations),
            "measures": json.dumps({code: report.measures[code] for code in report.violations}),
            "turn": turn,
            "verifier_seconds": 0.0 if result is None else result.seconds,
            "verifier_detail": "" if result is None else result.detail,
        }
        if self.fix_turns is None:
            return Turn(info, "")
        return Turn(info, material_or_reason(report, result, response, self.fix_turns, opens_think=self.opens_think))

    def whole(self, turns: Sequence[Turn], no_fix: str | None = None) -> dict[str, Any]:
        """Return what is told about a sample of one or two turns: the last turn's figures, and those of the first beside.

        A success of a second turn that followed within the sample counts ``second_turn_reward``. If one of the turns has
        no verdict, nobody can say what the sample is worth. ``no_fix`` is why there is no second turn, where that isn't
        what the judge said.
        """
        last = turns[-1]
        info = dict(last.info)
        if len(turns) > 1:
            info["score"] *= self.second_turn_reward
            if turns[0].info["unverified"]:
                info |= {"score": 0.0, "unverified": 1.0}
        material = no_fix if no_fix is not None else last.material
        shown = material if isinstance(material, FixMaterial) else FixMaterial("", "")
        return {
            **info,
            "first_turn": json.dumps(turns[0].info if len(turns) > 1 else None),
            "no_fix_turn": material if isinstance(material, str) else "",
            "fix_answer": shown.answer,
            "fix_feedback": shown.feedback,
        }


def correction_settings(correction: Mapping[str, Any]) -> FixTurnSettings | None:
    """Return how fix turns are worded under a ``correction`` node; None where there are none."""
    name, keys = correction["name"], FixTurnSettings.model_fields
    if name == "none":
        return None
    return FixTurnSettings.parse({key: value for key, value in correction.items() if key in keys})


def material_of(info: Mapping[str, Any]) -> FixMaterial | str:
    """Return what :meth:`Judge.whole` said about a fix turn."""
    return info["no_fix_turn"] or FixMaterial(info["fix_answer"], info["fix_feedback"])


_judges: dict[str, Judge] = {}
_latest: tuple[Any, Judge] | None = None


def judge_of(settings: Any) -> Judge:
    """Return this process's judge for these settings; it makes one, with its verifier, at the first call."""
    global _latest
    # callers hand over the same object for each response; reading it takes longer than some checks
    if _latest is None or _latest[0] is not settings:
        plain = _plain(settings)
        key = json.dumps(plain, sort_keys=True)
        if key not in _judges:
            _judges[key] = Judge.from_settings(plain)
        _latest = settings, _judges[key]
    return _latest[1]


async def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None, *, settings: Any, **_other: Any
) -> dict[str, Any]:
    """verl's entry; ``ground_truth`` is the statement's text, ``extra_info["turn"]`` the turn where it isn't the first."""
    turn = int(extra_info["turn"]) if extra_info is not None and "turn" in extra_info else 1
    return await judge_of(settings).judge(ground_truth, solution_str, turn)


def _plain(settings: Any) -> dict[str, Any]:
    """verl hands over a mapping of OmegaConf; the settings were resolved before."""
    if isinstance(settings, dict):
        return settings
    from omegaconf import OmegaConf

    return OmegaConf.to_container(settings)
