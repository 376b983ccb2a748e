"""What every way of drawing prompts is: rows are drawn for a step, and what became of them is recorded."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kimina.data.option_settings import OptionSettings
from kimina.data.sampling.packed import packed, unpacked
from kimina.errors import UserError


@dataclass(frozen=True)
class Problem:
    """What a sampler knows of a row of the training set; rows are numbered as in the data set that the trainer loads.

    ``difficulty`` is larger for harder problems: a level, or 1 - historical win rate. None where the data has none.
    """

    problem_id: str
    difficulty: float | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of one draw of a row: ``successes`` of ``attempts`` first turns earned the reward of a proof.

    Only judged samples are attempts: one without a verdict says nothing about the problem.
    """

    row: int
    attempts: int
    successes: int

    def __post_init__(self) -> None:
        if not 0 <= self.successes <= self.attempts:
            raise ValueError(f"{self.successes} successes of {self.attempts} attempts")


class SamplingSettings(OptionSettings):
    """The keys of a ``sampling`` option."""

    group: ClassVar[str] = "sampling"


class PromptSampler(ABC):
    """Draws rows of the training set. What it draws depends on seed, settings and history alone.

    A step may draw several times, to fill up a batch; all its draws are one batch. A sampler that is restored from its
    state goes on as if nothing had happened, so a checkpoint holds the state beside the weights.
    """

    name: ClassVar[str]
    settings_class: ClassVar[type[SamplingSettings]]

    def __init__(self, settings: SamplingSettings, problems: Sequence[Problem], seed: int) -> None:
        if not problems:
            raise UserError(f"sampling={self.name}: the training set has no rows to draw from.")
        self.rows = len(problems)
        self.seed = seed
        self._identity = {
            "option": self.name,
            "settings": settings.model_dump(),
            "seed": seed,
            "problems": _fingerprint(problems),
        }
        self._draws = 0
        self._drawn = np.zeros(self.rows, dtype=bool)
        # Of the last step of which anything was recorded: step, attempts, successes.
        self._recorded = (0, 0, 0)

    def draw(self, step: int, count: int) -> list[int]:
        """Return ``count`` row numbers for the batch of training step ``step`` (counted from 1)."""
        if step < 0 or count < 0:
            raise ValueError(f"step and count must not be negative: {step}, {count}")
        rows = self._choose(step, count) if count else []
        self._draws += count
        self._drawn[rows] = True
        return rows

    def record(self, step: int, outcomes: Sequence[Outcome]) -> None:
        """Take note of what became of rows drawn for ``step``; a row that was drawn twice has two outcomes."""
        wrong = next((outcome.row for outcome in outcomes if not 0 <= outcome.row < self.rows), None)
        if wrong is not None:
            raise ValueError(f"row {wrong} of a training set of {self.rows} rows")
        judged = [outcome for outcome in outcomes if outcome.attempts]
        before = self._recorded if self._recorded[0] == step else (step, 0, 0)
        attempts = sum(outcome.attempts for outcome in judged)
        self._recorded = (step, before[1] + attempts, before[2] + sum(outcome.successes for outcome in judged))
        self._learn(judged)

    def metrics(self) -> dict[str, float]:
        """Return figures about the pool and the draws so far; one that is undefined is left out.

        ``pool_size`` rows can be drawn now. ``epoch`` is all draws divided by all rows. ``never_drawn`` is the share of
        rows that no step has seen, ``success_rate`` the mean over the attempts of the last recorded step.
        """
        _, attempts, successes = self._recorded
        rate = {"success_rate": successes / attempts} if attempts else {}
        figures = {"epoch": self._draws / self.rows, "never_drawn": float(1 - self._drawn.mean())}
        return {"pool_size": float(self._pool_size()), **figures, **rate, **self._own_metrics()}

    def state(self) -> dict[str, Any]:
        """Return everything that later draws depend on, as JSON can hold it."""
        return {
            **self._identity,
            "draws": self._draws,
            "drawn": packed(self._drawn),
            "recorded": list(self._recorded),
            "own": self._own_state(),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from a state of the same option, settings, seed and training set.

        Raises:
            UserError: the state is another one's; nothing is changed.
        """
        for key, value in self._identity.items():
            if state.get(key) != value:
                raise UserError(f"sampling={self.name}: the saved state of the sampler is of another run (its {key} differs).")
        self._draws = state["draws"]
        self._drawn = unpacked(state["drawn"])
        step, attempts, successes = state["recorded"]
        self._recorded = (step, attempts, successes)
        self._load_own_state(state["own"])

    @abstractmethod
    def _choose(self, step: int, count: int) -> list[int]:
        """Draw; ``count`` is at least 1."""

    @abstractmethod
    def _pool_size(self) -> int:
        """The number of rows that can be drawn now."""

    def _learn(self, outcomes: Sequence[Outcome]) -> None:  # noqa: B027 - not every sampler learns
        """Use outcomes that have attempts."""

    def _own_metrics(self) -> dict[str, float]:
        return {}

    @abstractmethod
    def _own_state(self) -> dict[str, Any]: ...

    @abstractmethod
    def _load_own_state(self, state: dict[str, Any]) -> None: ...


def _fingerprint(problems: Sequence[Problem]) -> str:
    digest = hashlib.sha256()
    for problem in problems:
        digest.update(f"{problem.problem_id}\0{problem.difficulty}\0".encode())
    return digest.hexdigest()[:16]
