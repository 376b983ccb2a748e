"""What a generation engine is: token ids in, sampled continuations with their log-probabilities out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Completion:
    """One sampled continuation of a prompt.

    ``token_ids`` holds the sampled tokens, the stop token included when there was one; ``log_probs`` holds the natural
    logarithm of each token's probability under the model at the sampling temperature (temperature 1 when greedy) and
    before any top-p truncation, which is what verl's trainer recomputes. ``finished`` says that a stop token ended it.
    """

    token_ids: list[int]
    log_probs: list[float]
    finished: bool


class Generator(Protocol):
    """An engine that holds one model."""

    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        n: int,
        *,
        max_new_tokens: int,
        temperature: float = 1.0,
        top_p: float = 1.0,
        seed: int = 0,
        seeds: Sequence[int] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        on_result: Callable[[int, list[Completion]], None] | None = None,
    ) -> list[list[Completion]]:
        """Sample ``n`` continuations of every prompt.

        Args:
            prompts: token ids, one non-empty sequence a prompt.
            n: samples a prompt.
            max_new_tokens: a continuation without stop token ends here, with ``finished=False``.
            temperature: 0 is greedy decoding.
            top_p: nucleus mass in (0, 1].
            seed: the same seed gives the same samples, whatever the number of worker processes.
            seeds: one seed a prompt, in place of those that are drawn from ``seed`` and the prompt's position
                (`prompt_seeds`): what a prompt's samples are then doesn't depend on the other prompts.
            on_progress: called with (finished samples, all samples).
            on_result: called once a prompt, in order of completion, with the prompt's index and its samples.

        Returns:
            One list of ``n`` completions a prompt, in the order of ``prompts``.
        """
        ...

    def close(self) -> None:
        """Stop worker processes and free the model. May be called twice."""
        ...
