"""The order in which verl walks through a training set: a new shuffle for each epoch."""

import numpy as np


class Epochs:
    """Rows in shuffled order, epoch after epoch; within an epoch no row comes twice.

    Epoch e has the e-th permutation that ``torch.randperm`` gives with a generator seeded once. That is what verl's
    sampler draws (``create_rl_sampler`` with ``data.seed``), so a run has the prompts that verl alone would give it. One
    thing differs: verl leaves out the rows at the end of an epoch that don't fill a batch, here the batch goes on in the
    next epoch.
    """

    def __init__(self, rows: int, seed: int) -> None:
        self._rows, self._seed = rows, seed
        self._start()

    def take(self, count: int, within: np.ndarray | None = None) -> list[int]:
        """Return the next ``count`` rows; with ``within``, a boolean for each row, the others are passed over."""
        if within is not None and not within.any():
            raise ValueError("there is no row to take")
        taken: list[int] = []
        while len(taken) < count:
            if self._position == self._rows:
                self._begin_next()
            left, missing = self._order[self._position :], count - len(taken)
            chosen = np.arange(min(missing, len(left))) if within is None else np.flatnonzero(within[left])[:missing]
            taken += left[chosen].tolist()
            self._position += int(chosen[-1]) + 1 if len(chosen) == missing else len(left)
        return taken

    def state(self) -> list[int]:
        """Return epoch and position."""
        return [self._epoch, self._position]

    def load_state(self, state: list[int]) -> None:
        """Go on from there: earlier permutations are drawn again, a few milliseconds an epoch."""
        epoch, position = state
        self._start()
        while self._epoch < epoch:
            self._begin_next()
        self._position = position

    def _start(self) -> None:
        import torch  # here alone, for the sake of its random numbers

        self._generator = torch.Generator().manual_seed(self._seed)
        self._epoch = -1
        self._begin_next()

    def _begin_next(self) -> None:
        import torch

        self._order = torch.randperm(self._rows, generator=self._generator).numpy()
        self._epoch, self._position = self._epoch + 1, 0
