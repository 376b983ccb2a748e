"""``sampling=curriculum``: the hard problems come later."""

from collections.abc import Sequence
from math import ceil
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from kimina.data.sampling.base import Outcome, Problem, PromptSampler, SamplingSettings
from kimina.data.sampling.epochs import Epochs
from kimina.data.sampling.history import HistorySettings, SuccessHistory
from kimina.errors import UserError

_ROUNDING = 1e-9  # so that 0.07 of 100 rows are 7 and not 8


class CurriculumSettings(HistorySettings):
    """See :class:`Curriculum`. ``warmup_steps`` is the paper's; it gives neither a hard share nor a growing schedule."""

    schedule: Literal["warmup_then_hard", "linear"] = "warmup_then_hard"
    difficulty: Literal["measured", "row"] = "measured"
    warmup_steps: int = Field(default=24, ge=0)
    hard_share: float = Field(default=0.5, gt=0, le=1)
    hard_threshold: float | None = Field(default=None, allow_inf_nan=False)
    start_share: float = Field(default=0.25, gt=0, le=1)
    end_step: int = Field(default=60, ge=1)


class Curriculum(PromptSampler):
    """Draws from a pool that follows the step t, in the order of uniform sampling with the other rows passed over.

    ``schedule=warmup_then_hard`` (Kimi k1.5 S3.5, figure 9: "initially use D for a warm-up phase and then focus solely on
    hard questions"): the whole set up to t = ``warmup_steps``, the same prompts as with ``sampling=uniform``; then the
    hardest ceil(``hard_share`` x rows) rows, or, where ``hard_threshold`` is set, those of at least that difficulty (if
    there are none, the hardest that there are).

    ``schedule=linear`` (k1.5 S2.3.4, "start by training on easier tasks and gradually progress"): the easiest
    ceil(f x rows) rows with f = ``start_share`` + (1 - ``start_share``) min(1, t / ``end_step``).

    ``difficulty=row`` takes each row's own (larger is harder); ``measured`` is 1 - s_i with the smoothed success rate
    of :class:`~kimina.data.sampling.history.SuccessHistory`, where a row that was never tried stands in between.
    Rows of equal difficulty are told apart by lot, once a run.
    """

    name: ClassVar[str] = "curriculum"
    settings_class: ClassVar[type[SamplingSettings]] = CurriculumSettings

    def __init__(self, settings: CurriculumSettings, problems: Sequence[Problem], seed: int) -> None:
        super().__init__(settings, problems, seed)
        self._settings = settings
        self._epochs = Epochs(self.rows, seed)
        self._history = SuccessHistory(self.rows, settings)
        self._lots = np.random.default_rng([seed, self.rows]).permutation(self.rows)
        self._given = self._difficulties(problems) if settings.difficulty == "row" else None
        self._step = 0
        # Rows from easy to hard; None when it has to be found anew.
        self._order: np.ndarray | None = None

    def _difficulties(self, problems: Sequence[Problem]) -> np.ndarray:
        known = [problem.difficulty is not None and np.isfinite(problem.difficulty) for problem in problems]
        without = [problem.problem_id for problem, is_known in zip(problems, known, strict=True) if not is_known]
        if without:
            shown = ", ".join(without[:3]) + (", …" if len(without) > 3 else "")
            raise UserError(
                f"sampling.difficulty=row: {len(without)} of {len(problems)} rows of the training set have no difficulty "
                f"({shown}).\n  type: sampling.difficulty=measured"
            )
        return np.array([problem.difficulty for problem in problems], dtype=float)

    def _choose(self, step: int, count: int) -> list[int]:
        self._step = step
        return self._epochs.take(count, self._pool(step))

    def _pool(self, step: int) -> np.ndarray | None:
        """A boolean for each row, or None for all of them."""
        settings = self._settings
        if settings.schedule == "linear":
            share = settings.start_share + (1 - settings.start_share) * min(1.0, step / settings.end_step)
            return self._marked(self._ordered()[: self._size(share)])
        if step <= settings.warmup_steps:
            return None
        if settings.hard_threshold is None:
            return self._marked(self._ordered()[-self._size(settings.hard_share) :])
        difficulty = self._difficulty()
        hard = difficulty >= settings.hard_threshold
        return hard if hard.any() else difficulty == difficulty.max()

    def _size(self, share: float) -> int:
        return max(1, ceil(share * self.rows - _ROUNDING))

    def _marked(self, rows: np.ndarray) -> np.ndarray:
        marks = np.zeros(self.rows, dtype=bool)
        marks[rows] = True
        return marks

    def _difficulty(self) -> np.ndarray:
        return 1 - self._history.rates() if self._given is None else self._given

    def _ordered(self) -> np.ndarray:
        if self._order is None:
            self._order = np.lexsort((self._lots, self._difficulty()))
        return self._order

    def _learn(self, outcomes: Sequence[Outcome]) -> None:
        if self._given is not None:
            return
        for outcome in outcomes:
            self._history.add(outcome)
        self._order = None

    def _pool_size(self) -> int:
        pool = self._pool(self._step)
        return self.rows if pool is None else int(pool.sum())

    def _own_metrics(self) -> dict[str, float]:
        """``pool_difficulty`` and ``difficulty``: the mean over the pool and over all rows."""
        difficulty, pool = self._difficulty(), self._pool(self._step)
        inside = difficulty if pool is None else difficulty[pool]
        return {"pool_difficulty": float(inside.mean()), "difficulty": float(difficulty.mean())}

    def _own_state(self) -> dict[str, Any]:
        history = None if self._given is not None else self._history.state()
        return {"epochs": self._epochs.state(), "step": self._step, "history": history}

    def _load_own_state(self, state: dict[str, Any]) -> None:
        self._epochs.load_state(state["epochs"])
        self._step = state["step"]
        if state["history"] is not None:
            self._history.load_state(state["history"])
        self._order = None
