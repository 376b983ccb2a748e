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
    no part in the update nor in the means. ``turn`` is 1 for a first attempt, 2 for its correction. ``earlier`` is the
    first attempt where both turns happened within this sample; its tokens are not counted apart.
    """

    group: str
    score: float
    proved: bool
    unverified: bool
    verdict: str
    violations: tuple[str, ...]
    response_tokens: int
    turn: int = 1
    earlier: "JudgedSample | None" = None

    @classmethod
    def from_reward(cls, group: str, response_tokens: int, info: Mapping[str, Any]) -> "JudgedSample":
        """Read what ``kimina.verl.reward.Judge.whole`` returned."""
        first = json.loads(info["first_turn"]) if "first_turn" in info else None
        return cls(
            group=group,
            score=float(info["score"]),
            proved=bool(info["proved"]),
            unverified=bool(info["unverified"]),
            verdict=str(info["verdict"]),
            violations=tuple(json.loads(info["violations"])),
            response_tokens=response_tokens,
            turn=int(info["turn"]),
            earlier=None if first is None else cls.from_reward(group, 0, first),
        )

    @property
    def first(self) -> "JudgedSample":
        """The sample's first turn."""
        return self if self.earlier is None else self.earlier


def unverified_share(samples: Sequence[JudgedSample], expected: int) -> float:
    """Return the share of ``expected`` samples that nobody judged: unverified ones, and those that never came back."""
    judged = sum(not sample.unverified for sample in samples)
    return 1.0 - judged / expected


def left_out(samples: Sequence[JudgedSample], keys: Sequence[str]) -> list[str]:
    """Return the keys of the samples that take no part in the update.

    These are the unverified ones, and a sample that is the only judged one of its group: it has nobody to be compared
    with. A group that had one sample from the start is left as it is.
    """
    drawn = Counter(sample.group for sample in samples)
    judged = Counter(sample.group for sample in samples if not sample.unverified)
    return [
        key
        for sample, key in zip(samples, keys, strict=True)
        if sample.unverified or (judged[sample.group] == 1 and drawn[sample.group] > 1)
    ]


def summarise(samples: Sequence[JudgedSample], expected: int, checks: Sequence[str] = ()) -> dict[str, Any]:
    """Return the step's reward statistics; ``checks`` are the codes of the enabled checks.

    ``reward`` and ``proof_rate`` are means over judged samples, null when there are none. A group is all good when
    every judged sample in it is proved, all bad when none is; only mixed groups give a gradient. ``violations`` counts
    every violation of every sample, so a sample may count several times. ``turns`` has the figures of each turn, with
    the rate of each enabled check: the share of the turn's samples that violate it. ``either`` is the share of the judged
    samples that are proved in one of their turns; null where no sample has two.
    """
    judged = [sample for sample in samples if not sample.unverified]
    groups: dict[str, list[bool]] = {}
    for sample in judged:
        groups.setdefault(sample.group, []).append(sample.score > 0)
    answers = [answer for sample in samples for answer in (sample.earlier, sample) if answer is not None]
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
        "turns": {
            str(turn): _of_turn([answer for answer in answers if answer.turn == turn], checks)
            for turn in sorted({answer.turn for answer in answers})
        },
        "either": _either(judged),
    }


def _either(judged: Sequence[JudgedSample]) -> float | None:
    """The share of samples that are proved in one of their turns; null where no sample has two."""
    if not any(sample.earlier for sample in judged):
        return None
    return _mean([float(sample.proved or (sample.earlier is not None and sample.earlier.proved)) for sample in judged])


def _of_turn(samples: Sequence[JudgedSample], checks: Sequence[str]) -> dict[str, Any]:
    judged = [sample for sample in samples if not sample.unverified]
    return {
        "samples": len(samples),
        "reward": _mean([sample.score for sample in judged]),
        "proof_rate": _mean([float(sample.proved) for sample in judged]),
        "format_rate": _mean([float(not sample.violations) for sample in samples]),
        "violation_rates": {code: _mean([float(code in sample.violations) for sample in samples]) for code in checks},
    }


def tracked_metrics(summary: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the figures of :func:`summarise` under flat names, for W&B and the like."""
    flat: dict[str, float | None] = {
        f"kimina/{key}": summary[key] for key in ("reward", "proof_rate", "format_rate", "response_tokens", "unverified")
    }
    flat |= {f"kimina/groups/{name}": share for name, share in summary["groups"].items()}
    for turn, figures in summary["turns"].items():
        flat |= {f"kimina/turn_{turn}/{key}": figures[key] for key in ("reward", "proof_rate", "format_rate")}
        flat |= {f"kimina/turn_{turn}/violations/{code}": rate for code, rate in figures["violation_rates"].items()}
    return flat


def optimiser_metrics(metrics: Mapping[str, Any]) -> dict[str, float | None]:
    """Pick the update's figures out of verl's metrics; null where verl reports none.

    ``policy_kl`` is verl's estimate of the divergence from the policy that drew the samples; ``reference_kl`` the one
    from the reference model in the loss's own aggregation. ``log_prob_difference`` is the mean absolute difference, in nats
    a token, of the log-probabilities under trainer and sampling policy; over the updates of a step, so that with one update
    it is the mismatch of trainer and rollout engine. ``rollout_probability_difference`` is verl's own figure of that
    mismatch, where the trainer computes the old log-probabilities anew. ``sequence_log_ratio`` is the mean |d| of mirror
    descent.
    """
    names = {
        "grad_norm": "actor/grad_norm",
        "policy_loss": "actor/pg_loss",
        "clip_fraction": "actor/pg_clipfrac",
        "policy_kl": "actor/ppo_kl",
        "reference_kl": "actor/kl_loss",
        "learning_rate": "actor/lr",
        "log_prob_difference": "actor/log_prob_difference",
        "rollout_probability_difference": "training/rollout_probs_diff_mean",
        "sequence_log_ratio": "actor/sequence_log_ratio",
    }
    return {ours: float(metrics[theirs]) if theirs in metrics else None for ours, theirs in names.items()}


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _share(count: int, total: int) -> float | None:
    return count / total if total else None
