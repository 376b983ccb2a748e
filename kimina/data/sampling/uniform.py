"""``sampling=uniform``: what everybody does."""

from collections.abc import Sequence
from typing import Any, ClassVar

from kimina.data.sampling.base import Problem, PromptSampler, SamplingSettings
from kimina.data.sampling.epochs import Epochs


class UniformSettings(SamplingSettings):
    """There is nothing to set."""


class Uniform(PromptSampler):
    """Every row is drawn equally often: once an epoch, in an order shuffled anew for each epoch.

    The baseline of Kimi k1.5 (S3.5, figure 9), and what Kimina-Prover-RL does. In the first epoch the prompts are those
    of verl's own sampler. A batch may go on in the next epoch and can then hold a row twice.
    """

    name: ClassVar[str] = "uniform"
    settings_class: ClassVar[type[SamplingSettings]] = UniformSettings

    def __init__(self, settings: UniformSettings, problems: Sequence[Problem], seed: int) -> None:
        super().__init__(settings, problems, seed)
        self._epochs = Epochs(self.rows, seed)

    def _choose(self, step: int, count: int) -> list[int]:
        return self._epochs.take(count)

    def _pool_size(self) -> int:
        return self.rows

    def _own_state(self) -> dict[str, Any]:
        return {"epochs": self._epochs.state()}

    def _load_own_state(self, state: dict[str, Any]) -> None:
        self._epochs.load_state(state["epochs"])
