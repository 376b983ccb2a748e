"""``sampling=prioritized``: problems that the model fails at are drawn more often."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from kimina.data.sampling.base import Outcome, Problem, PromptSampler, SamplingSettings
from kimina.data.sampling.history import HistorySettings, SuccessHistory


def priorities(success_rates: Sequence[float] | np.ndarray, floor: float = 0.0) -> np.ndarray:
    """Return the probability of each problem (Kimi k1.5 S2.3.4):

        p_i = w_i / sum_j w_j,    w_i = max(1 - s_i, floor)

    Where every weight is 0, all problems are solved alike and are equally probable. The paper has no floor.

    Raises:
        ValueError: no problem, or a rate outside [0, 1].
    """
    rates = np.asarray(success_rates, dtype=float)
    if rates.ndim != 1 or not rates.size:
        raise ValueError("success rates of at least one problem are needed")
    if not ((rates >= 0) & (rates <= 1)).all():
        raise ValueError(f"a success rate lies between 0 and 1: {rates[~((rates >= 0) & (rates <= 1))][0]}")
    weights = np.maximum(1 - rates, floor)
    total = weights.sum()
    return weights / total if total > 0 else np.full(rates.size, 1 / rates.size)


class PrioritizedSettings(HistorySettings):
    """See :class:`Prioritized`."""

    floor: float = Field(default=0.0, ge=0, le=1)


class Prioritized(PromptSampler):
    """Draws row i with a probability proportional to 1 - s_i (Kimi k1.5 S2.3.4), at least ``floor``.

    s_i is the smoothed success rate of :class:`~kimina.data.sampling.history.SuccessHistory`. Within a batch no row
    comes twice: the rows are drawn one after the other, each with a probability proportional to its weight among
    those that the step hasn't drawn yet. (Done by giving each row the key log w_i + G_i, with G_i standard Gumbel, and
    taking the greatest keys: Efraimidis and Spirakis 2006.) Rows of weight 0 come when all others are drawn, in random
    order; when the step has drawn all rows, it begins again with all of them.

    The G_i depend on seed and step alone, so a step that draws twice gets the rows that one draw would have given, and a
    step that is repeated after a failure gets its rows again.
    """

    name: ClassVar[str] = "prioritized"
    settings_class: ClassVar[type[SamplingSettings]] = PrioritizedSettings

    def __init__(self, settings: PrioritizedSettings, problems: Sequence[Problem], seed: int) -> None:
        super().__init__(settings, problems, seed)
        self._floor = settings.floor
        self._history = SuccessHistory(self.rows, settings)
        self._step = 0
        self._taken: list[int] = []  # by this step's draws
        self._forget_computed()

    def _forget_computed(self) -> None:
        self._probabilities: np.ndarray | None = None
        self._orders: dict[int, np.ndarray] = {}

    def _choose(self, step: int, count: int) -> list[int]:
        if step != self._step:
            self._step, self._taken, self._orders = step, [], {}
        before = len(self._taken)
        while (missing := before + count - len(self._taken)) > 0:
            turn, since = divmod(len(self._taken), self.rows)
            order = self._order(turn)
            # Not simply the next ones: the weights may have changed since the step's last draw.
            left = order[~np.isin(order, self._taken[len(self._taken) - since :])]
            self._taken += left[:missing].tolist()
        return self._taken[before:]

    def _order(self, turn: int) -> np.ndarray:
        """All rows in the order in which the step draws them; ``turn`` counts its passes over all rows."""
        if turn not in self._orders:
            probabilities = self._current()
            keys = np.random.default_rng([self.seed, self._step, turn]).gumbel(size=self.rows)
            possible = probabilities > 0
            keys[possible] += np.log(probabilities[possible])
            self._orders[turn] = np.lexsort((-keys, ~possible))
        return self._orders[turn]

    def _current(self) -> np.ndarray:
        if self._probabilities is None:
            self._probabilities = priorities(self._history.rates(), self._floor)
        return self._probabilities

    def _learn(self, outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            self._history.add(outcome)
        self._forget_computed()

    def _pool_size(self) -> int:
        return int((self._current() > 0).sum())

    def _own_metrics(self) -> dict[str, float]:
        """``effective_rows`` is 1 / sum p_i^2, the size of a uniform pool that is as concentrated."""
        measured = self._history.measured()
        rates = {"mean_rate": float(self._history.rates()[measured].mean())} if measured.any() else {}
        return {"effective_rows": float(1 / np.square(self._current()).sum()), **rates}

    def _own_state(self) -> dict[str, Any]:
        return {"step": self._step, "taken": list(self._taken), "history": self._history.state()}

    def _load_own_state(self, state: dict[str, Any]) -> None:
        self._step, self._taken = state["step"], list(state["taken"])
        self._history.load_state(state["history"])
        self._forget_computed()
