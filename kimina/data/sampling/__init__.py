"""How prompts are drawn: the options of ``sampling`` by name."""

from collections.abc import Mapping, Sequence
from typing import Any

from kimina.data.option_settings import chosen_option
from kimina.data.sampling.base import Outcome, Problem, PromptSampler
from kimina.data.sampling.curriculum import Curriculum
from kimina.data.sampling.prioritized import Prioritized
from kimina.data.sampling.solved_pruning import SolvedPruning
from kimina.data.sampling.uniform import Uniform

__all__ = ["SAMPLERS", "Outcome", "Problem", "PromptSampler", "make_sampler"]

SAMPLERS: dict[str, type[PromptSampler]] = {
    sampler.name: sampler for sampler in (Curriculum, Prioritized, SolvedPruning, Uniform)
}


def make_sampler(settings: Mapping[str, Any], problems: Sequence[Problem], seed: int) -> PromptSampler:
    """Make the sampler of the composed ``sampling`` node (a plain mapping) for the rows of a training set.

    Raises:
        UserError: no such option or key, a value out of range, an empty training set, or rows without the difficulty
            that the option needs.
    """
    chosen = chosen_option("sampling", settings, SAMPLERS)
    return chosen(chosen.settings_class.parse(settings), problems, seed)
