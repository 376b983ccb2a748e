"""The decode loop: many samples of several prompts advance together, one token a step.

Samples lie in a rectangle of prompts × slots. A finished sample's slot goes on computing until enough of them have
gathered; then the rectangle is rebuilt from the living samples (``compact``). Copying the caches only now and then
costs less than dropping every row at once. A prompt with many living samples may be cut into several rows of the
rectangle, so that one prompt's stragglers don't keep slots open for all others.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import torch

from kimina.generation.interface import Completion
from kimina.generation.qwen3 import PrefixCache, Qwen3Decoder, SuffixCache
from kimina.generation.sampling import choose_tokens

COMPACT_BELOW = 0.8  # share of living slots below which a smaller rectangle is sought
WASTE = 1.12  # slots a living sample that a rebuilt rectangle may spend
CAPACITY_STEP = 48  # tokens by which the suffix caches grow


@dataclass
class _Rectangle:
    """The samples in flight; ``rows_PS`` names the output row of each slot, the scratch row for empty slots."""

    tokens_PS: torch.Tensor
    rows_PS: torch.Tensor
    prefix: PrefixCache
    suffix: SuffixCache


@torch.inference_mode()
def decode(
    model: Qwen3Decoder,
    prompts: Sequence[Sequence[int]],
    uniforms: Sequence[torch.Tensor],
    *,
    max_new_tokens: int,
    temperature: float,
    top_p: float,
    stop_ids: Collection[int],
    interrupted: Callable[[], bool] = lambda: False,
) -> list[list[Completion]]:
    """Sample continuations of a batch of prompts.

    Args:
        uniforms: for each prompt a tensor (samples, max_new_tokens) of numbers in [0, 1); its first dimension is the
            number of samples of that prompt (at least one), which may differ between prompts.
        stop_ids: a sample ends with the first of these tokens.
        interrupted: asked before each token; once it says yes, samples are returned as far as they are, unfinished.

    Returns:
        The completions of each prompt, in the order of ``prompts`` and of the rows of ``uniforms``.
    """
    counts = [len(rows) for rows in uniforms]
    total, P, S = sum(counts), len(prompts), max(counts)
    # one scratch row at the end takes what empty slots write
    uniform_R = torch.cat([*uniforms, torch.full((1, max_new_tokens), 0.5)])
    tokens_out = torch.zeros(total + 1, max_new_tokens, dtype=torch.long)
    log_probs_out = torch.zeros(total + 1, max_new_tokens)
    lengths = torch.full((total + 1,), max_new_tokens)
    finished = torch.zeros(total + 1, dtype=torch.bool)
    stop = torch.tensor(sorted(stop_ids), dtype=torch.long)

    rows_PS = torch.full((P, S), total)
    first = 0
    for index, count in enumerate(counts):
        rows_PS[index, :count] = torch.arange(first, first + count)
        first += count
    logits_PV, prefix = model.prefill(prompts)
    capacity = min(CAPACITY_STEP, max_new_tokens)
    state = _Rectangle(rows_PS, rows_PS, prefix, model.new_suffix(P, S, capacity))
    logits = logits_PV[:, None].expand(P, S, -1)
    for position in range(max_new_tokens):
        if interrupted():
            # scratch and finished rows keep their lengths
            lengths[~finished] = position
            break
        rows_B = state.rows_PS.flatten()
        tokens_B, log_probs_B = choose_tokens(logits.flatten(0, 1), uniform_R[rows_B, position], temperature, top_p)
        tokens_out[rows_B, position] = tokens_B
        log_probs_out[rows_B, position] = log_probs_B
        ended_B = (tokens_B[:, None] == stop).any(-1)
        lengths[rows_B[ended_B]] = position + 1
        finished[rows_B[ended_B]] = True
        state.rows_PS = rows_B.masked_fill(ended_B, total).view_as(state.rows_PS)
        state.tokens_PS = tokens_B.view_as(state.rows_PS)
        alive_PS = state.rows_PS != total
        alive = int(alive_PS.sum())
        if alive == 0 or position + 1 == max_new_tokens:
            break
        if alive < COMPACT_BELOW * alive_PS.numel():
            state = _compact(state, alive_PS, total)
        if position == capacity:
            capacity = min(capacity + max(CAPACITY_STEP, capacity // 2), max_new_tokens)
            _grow(state.suffix, capacity)
        logits = model.step(state.tokens_PS, position, state.prefix, state.suffix)

    completions = []
    for row, length in enumerate(lengths[:total].tolist()):
        completions.append(
            Completion(tokens_out[row, :length].tolist(), log_probs_out[row, :length].tolist(), bool(finished[row]))
        )
    bounds = [sum(counts[:index]) for index in range(P + 1)]
    return [completions[bounds[index] : bounds[index + 1]] for index in range(P)]


def _compact(state: _Rectangle, alive_PS: torch.Tensor, scratch: int) -> _Rectangle:
    """Rebuild the rectangle from living slots; the same rectangle is returned when nothing would be gained."""
    per_prompt = alive_PS.sum(1).tolist()
    alive = sum(per_prompt)
    slots = max(per_prompt)
    while slots > 1 and sum(-(-count // slots) for count in per_prompt) * slots > WASTE * alive:
        slots = (slots + 1) // 2
    rows_after = sum(-(-count // slots) for count in per_prompt)
    if rows_after * slots > 0.9 * alive_PS.numel():
        return state
    source_prompts, source_slots, empty = [], [], []
    for prompt, living in enumerate(alive_PS):
        positions = living.nonzero()[:, 0].tolist()
        for start in range(0, len(positions), slots):
            part = positions[start : start + slots]
            source_prompts.append(prompt)
            empty.append([False] * len(part) + [True] * (slots - len(part)))
            source_slots.append(part + [part[0]] * (slots - len(part)))
    prompt_index = torch.tensor(source_prompts)
    slot_index = torch.tensor(source_slots)
    P, S = alive_PS.shape
    flat_PS = prompt_index[:, None] * S + slot_index

    def take(cache: torch.Tensor) -> torch.Tensor:
        heads = cache.shape[1]
        index = (prompt_index[:, None] * heads + torch.arange(heads))[:, :, None] * S + slot_index[:, None]
        return cache.flatten(0, 2).index_select(0, index.flatten()).view(*index.shape, *cache.shape[3:])

    prefix = PrefixCache(
        [keys[prompt_index] for keys in state.prefix.keys],
        [values[prompt_index] for values in state.prefix.values],
        state.prefix.mask_P11T[prompt_index],
        state.prefix.lengths_P[prompt_index],
    )
    suffix = SuffixCache([take(keys) for keys in state.suffix.keys], [take(values) for values in state.suffix.values])
    rows = state.rows_PS.flatten()[flat_PS].masked_fill(torch.tensor(empty), scratch)
    return _Rectangle(state.tokens_PS.flatten()[flat_PS], rows, prefix, suffix)


def _grow(suffix: SuffixCache, capacity: int) -> None:
    """Enlarge the caches in place to ``capacity`` sampled tokens."""
    for caches in (suffix.keys, suffix.values):
        for index, old in enumerate(caches):
            new = old.new_empty(*old.shape[:3], capacity, old.shape[4])
            new[:, :, :, : old.shape[3]] = old
            caches[index] = new
