"""``sampling=solved_pruning``: what the model solves every time is no longer drawn."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from kimina.data.sampling.base import Outcome, Problem, PromptSampler, SamplingSettings
from kimina.data.sampling.epochs import Epochs
from kimina.data.sampling.packed import packed, unpacked
from kimina.data.spacing import spaced


class SolvedPruningSettings(SamplingSettings):
    """See :class:`SolvedPruning`."""

    times: int = Field(default=2, ge=1, le=1000)
    revisit_share: float = Field(default=0.05, ge=0, lt=1)


class SolvedPruning(PromptSampler):
    """A row that was solved in all judged attempts of ``times`` draws in a row leaves the pool.

    A group that is all good has no advantage, so its generations teach nothing; no paper of this project describes this,
    it is the usual remedy. The others are drawn in the order of uniform sampling, those that left passed over.

    ``revisit_share`` of all places, evenly spaced, go to rows that left, the one that was out the longest first. A row that
    fails there comes back with its count at 0, one that doesn't stays out. A draw that nobody judged changes nothing.

    The training set never runs dry: places that the pool could fill only by drawing a row twice in the step go to rows
    that left, too. When every row has left, all are revisited in turn.
    """

    name: ClassVar[str] = "solved_pruning"
    settings_class: ClassVar[type[SamplingSettings]] = SolvedPruningSettings

    def __init__(self, settings: SolvedPruningSettings, problems: Sequence[Problem], seed: int) -> None:
        super().__init__(settings, problems, seed)
        self._settings = settings
        self._epochs = Epochs(self.rows, seed)
        self._streaks = np.zeros(self.rows, dtype=np.int16)
        # The rows that left, the one that was drawn the longest ago first.
        self._out: OrderedDict[int, None] = OrderedDict()
        self._inside = np.ones(self.rows, dtype=bool)
        self._step = 0
        self._of_pool = self._of_out = 0  # this step's draws

    def _choose(self, step: int, count: int) -> list[int]:
        if step != self._step:
            self._step, self._of_pool, self._of_out = step, 0, 0
        places = [self._next_out() if self._goes_out(place) else None for place in self._places(count)]
        inside = iter(self._epochs.take(places.count(None), self._inside) if None in places else [])
        return [next(inside) if row is None else row for row in places]

    def _places(self, count: int) -> range:
        return range(self._draws, self._draws + count)

    def _goes_out(self, place: int) -> bool:
        """Whether a place goes to a row that left; counts it."""
        revisit = spaced(place, self._settings.revisit_share)
        pool, out = self._pool_size() - self._of_pool, len(self._out) - self._of_out
        chosen = (out > 0 and (revisit or pool <= 0)) or len(self._out) == self.rows
        self._of_out += chosen
        self._of_pool += not chosen
        return chosen

    def _next_out(self) -> int:
        row = next(iter(self._out))
        self._out.move_to_end(row)
        return row

    def _learn(self, outcomes: Sequence[Outcome]) -> None:
        times = self._settings.times
        for outcome in outcomes:
            row = outcome.row
            if outcome.successes < outcome.attempts:
                self._streaks[row] = 0
                self._out.pop(row, None)
                self._inside[row] = True
                continue
            self._streaks[row] = min(times, self._streaks[row] + 1)
            if self._streaks[row] == times and self._inside[row]:
                self._out[row] = None
                self._inside[row] = False

    def _pool_size(self) -> int:
        return self.rows - len(self._out)

    def _own_metrics(self) -> dict[str, float]:
        return {"pruned": len(self._out) / self.rows}

    def _own_state(self) -> dict[str, Any]:
        return {
            "epochs": self._epochs.state(),
            "streaks": packed(self._streaks),
            "out": packed(np.array(list(self._out), dtype=np.int32)),
            "step": [self._step, self._of_pool, self._of_out],
        }

    def _load_own_state(self, state: dict[str, Any]) -> None:
        self._epochs.load_state(state["epochs"])
        self._streaks = unpacked(state["streaks"])
        out = unpacked(state["out"]).tolist()
        self._out = OrderedDict.fromkeys(out)
        self._inside = np.ones(self.rows, dtype=bool)
        self._inside[out] = False
        self._step, self._of_pool, self._of_out = state["step"]
