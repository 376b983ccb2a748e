"""From the judged samples of a step to what each is trained on: length rewards, and groups without a difference.

Knows neither verl nor torch. Samples are named by their keys; a group are the samples of one prompt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from kimina.reward.length import LengthControl
from kimina.verl.step_metrics import JudgedSample


@dataclass(frozen=True)
class GroupRewards:
    """What a step's groups earned.

    ``length`` are the length rewards by key, ``added`` these less the penalties, ``equal`` the keys of samples whose whole
    group earned the same in all, and ``equal_scores`` those whose group earned the same before anything was added.
    """

    length: dict[str, float]
    added: dict[str, float]
    equal: frozenset[str]
    equal_scores: frozenset[str]


def group_rewards(
    samples: Mapping[str, JudgedSample],
    control: LengthControl,
    step: int,
    budgets: Mapping[str, int | None],
    penalties: Mapping[str, float] = MappingProxyType({}),
) -> GroupRewards:
    """Compute the length reward of each judged sample and find the groups whose total rewards are all equal.

    Unverified samples take no part: a group is what was judged of it. A group of one has nobody to be compared with and
    counts as equal. ``penalties`` (by key) are taken off, whatever a sample earned.
    """
    groups: dict[str, list[str]] = {}
    for key, sample in samples.items():
        if not sample.unverified:
            groups.setdefault(sample.group, []).append(key)
    length: dict[str, float] = {}
    added: dict[str, float] = {}
    equal: set[str] = set()
    equal_scores: set[str] = set()
    for keys in groups.values():
        members = [samples[key] for key in keys]
        lengths = control.rewards(
            [member.response_tokens for member in members],
            [member.score > 0 for member in members],
            step,
            [budgets[key] for key in keys],
        )
        length.update(zip(keys, lengths, strict=True))
        added.update((key, length[key] - penalties.get(key, 0.0)) for key in keys)
        totals = [samples[key].score + added[key] for key in keys]
        if min(totals) == max(totals):
            equal.update(keys)
        if len({member.score for member in members}) == 1:
            equal_scores.update(keys)
    return GroupRewards(length, added, frozenset(equal), frozenset(equal_scores))


def outcomes_of_rows(
    samples: Mapping[str, JudgedSample], rows: Mapping[str, int]
) -> list[tuple[int, int, int]]:
    """Return (row, attempts, successes) of each group of first turns; samples without a verdict are no attempts."""
    found: dict[str, tuple[int, int, int]] = {}
    for key, sample in samples.items():
        first = sample.first
        if first.turn != 1:
            continue
        row, attempts, successes = found.get(sample.group, (rows[key], 0, 0))
        judged = not first.unverified
        found[sample.group] = (row, attempts + judged, successes + (judged and first.score > 0))
    return [found[group] for group in sorted(found)]


def mean(values: Sequence[float]) -> float | None:
    """Return the mean, None of nothing."""
    return sum(values) / len(values) if values else None
