"""From the judged samples of one training step to its row in ``metrics.jsonl``. Knows neither verl nor torch."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class JudgedSample:
    """One response of a training step.

    ``group`` names the prompt's group of samples. ``verdict`` is Lean's, or "not_checked". ``unverified`` samples take
    no part in the update nor in the means.
    """

    group: str
    score: float
    proved: bool
    unverified: bool
    verdict: str
    violations: tuple[str, ...]
    response_tokens: int

    @classmethod
    def from_reward(cls, group: str, response_tokens: int, info: Mapping[str, Any]) -> "JudgedSample":
        """Read what ``kimina.verl.reward.Judge.judge`` returned."""
        return cls(
            group=group,
            score=float(info["score"]),
            proved=bool(info["proved"]),
            unverified=bool(info["unverified"]),
            verdict=str(info["verdict"]),
            violations=tuple(json.loads(info["violations"])),
            response_tokens=response_tokens,
        )


def unverified_share(samples: Sequence[JudgedSample], expected: int) -> float:
    """Return the share of ``expected`` samples that nobody judged: unverified ones, and those that never came back."""
    judged = sum(not sample.unverified for sample in samples)
    return 1.0 - judged / expected


def summarise(samples: Sequence[JudgedSample], expected: int) -> dict[str, Any]:
    """Return the step's reward statistics.

    ``reward`` and ``proof_rate`` are means over judged samples, null when there are none. A group is all good when
    every judged sample in it is proved, all bad when none is; only mixed groups give a gradient. ``violations`` counts
    every violation of every sample, so a sample may count several times.
    """
    judged = [sample for sample in samples if not sample.unverified]
    groups: dict[str, list[bool]] = {}
    for sample in judged:
        groups.setdefault(sample.group, []).append(sample.score > 0)
    good = sum(all(outcomes) for outcomes in groups.values())
    bad = sum(not any(outcomes) for outcomes in groups.values())
    return {
        "reward": _mean([sample.score for sample in judged]),
        "proof_rate": _mean([float(sample.proved) for sample in judged]),
        "format_rate": _mean([float(not sample.violations) for sample in judged]),
        "response_tokens": _mean([float(sample.response_tokens) for sample in samples]),
        "samples": len(samples),
        "unverified": sum(sample.unverified for sample in samples),
        "missing": expected - len(samples),
        "groups": {
            "all_good": _share(good, len(groups)),
            "all_bad": _share(bad, len(groups)),
            "mixed": _share(len(groups) - good - bad, len(groups)),
        },
        "violations": dict(sorted(Counter(code for sample in samples for code in sample.violations).items())),
        "verdicts": dict(sorted(Counter(sample.verdict for sample in samples).items())),
    }


def optimiser_metrics(metrics: Mapping[str, Any]) -> dict[str, float | None]:
    """Pick the update's figures out of verl's metrics; null where verl reports none.

    ``policy_kl`` is verl's estimate of the divergence from the policy that drew the samples; ``reference_kl`` the one
    from the reference model, when a loss uses it.
    """
    names = {
        "grad_norm": "actor/grad_norm",
        "policy_loss": "actor/pg_loss",
        "clip_fraction": "actor/pg_clipfrac",
        "policy_kl": "actor/ppo_kl",
        "reference_kl": "actor/kl_loss",
        "learning_rate": "actor/lr",
    }
    return {ours: float(metrics[theirs]) if theirs in metrics else None for ours, theirs in names.items()}


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _share(count: int, total: int) -> float | None:
    return count / total if total else None
