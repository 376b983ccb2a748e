"""What a step of training has learned about its samples so far. Knows neither verl nor torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kimina.verl.group_rewards import GroupRewards, mean
from kimina.verl.rollout_record import RolloutRecord
from kimina.verl.step_metrics import JudgedSample


@dataclass
class StepRecord:
    """One step's samples by key; a step of several mini-batches takes them in one after the other.

    ``infos`` are what their rewards said, ``prompts`` the ``extra_info`` that their prompts were drawn with, ``truncated``
    whether an answer of theirs was cut off, ``order`` their keys in an order that a resumed run repeats.
    """

    judged: dict[str, JudgedSample] = field(default_factory=dict)
    infos: dict[str, dict[str, Any]] = field(default_factory=dict)
    prompts: dict[str, dict[str, Any]] = field(default_factory=dict)
    truncated: dict[str, bool] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    rollout: RolloutRecord = field(default_factory=RolloutRecord)
    start_kl_measured: bool = False
    _length_rewards: list[float] = field(default_factory=list)
    _in_equal_groups: list[float] = field(default_factory=list)

    def add(self, key: str, extra: Mapping[str, Any], prompt: dict[str, Any], tokens: int, step: int) -> None:
        """Take in a sample.

        Args:
            extra: its ``extra_fields``.
            tokens: that a mask counts; an agent loop of this project says how many are the model's, those included that an
                older policy drew.
        """
        info = extra["reward_extra_info"]
        self.infos[key], self.prompts[key] = info, prompt
        # an agent loop of the user's own says nothing of these two
        self.truncated[key] = bool(extra.get("truncated", False))
        self.judged[key] = JudgedSample.from_reward(key.split("_")[0], int(extra.get("own_tokens", tokens)), info)
        self.rollout.add(key, extra, step)

    def add_group_rewards(self, found: GroupRewards) -> None:
        """Take in what the samples' groups earned."""
        self._length_rewards += found.length.values()
        self._in_equal_groups += [float(key in found.equal) for key in found.length]

    def figures(self) -> dict[str, float | None]:
        """Return means over the samples: of the length reward over judged ones, and shares in equal groups and cut off."""
        return {
            "length_reward": mean(self._length_rewards),
            "equal_groups": mean(self._in_equal_groups),
            "truncated": mean([float(cut) for cut in self.truncated.values()]),
        }
