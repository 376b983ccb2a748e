"""Generation with the fused Qwen3 decoder in this process, and how a request is cut into batches."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from kimina.errors import UserError
from kimina.generation.checkpoint import read_config, read_state, stop_tokens
from kimina.generation.decode import decode
from kimina.generation.interface import Completion
from kimina.generation.qwen3 import Qwen3Decoder
from kimina.generation.sampling import prompt_seeds, uniform_rows


@dataclass(frozen=True)
class Piece:
    """Samples ``first`` to ``last`` (exclusive) of the prompt with number ``index``, which has ``n`` in all, and its seed."""

    index: int
    first: int
    last: int
    n: int
    seed: int


def plan_batches(
    prompts: Sequence[Sequence[int]], n: int, batch_rows: int, seeds: Sequence[int]
) -> Iterator[list[Piece]]:
    """Cut prompts × ``n`` samples into batches of at most ``batch_rows``, prompts of similar length together.

    The cut depends on the request alone, never on the number of workers, so that results don't either.
    """
    batch: list[Piece] = []
    room = batch_rows
    for index in sorted(range(len(prompts)), key=lambda number: len(prompts[number])):
        first = 0
        while first < n:
            last = min(n, first + room)
            batch.append(Piece(index, first, last, n, seeds[index]))
            room -= last - first
            first = last
            if room == 0:
                yield batch
                batch, room = [], batch_rows
    if batch:
        yield batch


def decode_pieces(
    model: Qwen3Decoder,
    prompts: Sequence[Sequence[int]],
    pieces: Sequence[Piece],
    *,
    max_new_tokens: int,
    temperature: float,
    top_p: float,
    stop_ids: Collection[int],
) -> list[list[Completion]]:
    """Decode one batch; ``prompts[i]`` belongs to ``pieces[i]``. Returns the completions of each piece."""
    uniforms = [
        uniform_rows(piece.seed, piece.n, max_new_tokens)[piece.first : piece.last] for piece in pieces
    ]
    return decode(
        model,
        prompts,
        uniforms,
        max_new_tokens=max_new_tokens,
        temperature=temperature,
        top_p=top_p,
        stop_ids=stop_ids,
    )


class Gathering:
    """Collects batches in any order into one list a prompt, and tells the callbacks."""

    def __init__(
        self,
        prompt_count: int,
        n: int,
        on_progress: Callable[[int, int], None] | None,
        on_result: Callable[[int, list[Completion]], None] | None,
    ):
        self._slots: list[list[Completion | None]] = [[None] * n for _ in range(prompt_count)]
        self._missing = [n] * prompt_count
        self._total = prompt_count * n
        self._done = 0
        self._on_progress = on_progress
        self._on_result = on_result

    def add(self, pieces: Sequence[Piece], batch: Sequence[Sequence[Completion]]) -> None:
        for piece, completions in zip(pieces, batch, strict=True):
            self._slots[piece.index][piece.first : piece.last] = completions
            self._missing[piece.index] -= len(completions)
            self._done += len(completions)
            if self._missing[piece.index] == 0 and self._on_result is not None:
                self._on_result(piece.index, [item for item in self._slots[piece.index] if item is not None])
        if self._on_progress is not None:
            self._on_progress(self._done, self._total)

    def results(self) -> list[list[Completion]]:
        return [[item for item in row if item is not None] for row in self._slots]


def check_request(prompts: Sequence[Sequence[int]], n: int, max_new_tokens: int, temperature: float, top_p: float):
    """Raise ``UserError`` for a request that no engine could answer."""
    if n < 1 or max_new_tokens < 1:
        raise UserError(f"samples and new tokens must be at least 1, not n={n}, max_new_tokens={max_new_tokens}")
    if temperature < 0 or not 0 < top_p <= 1:
        raise UserError(f"temperature must not be negative and top_p in (0, 1], not {temperature} and {top_p}")
    for number, prompt in enumerate(prompts):
        if not prompt:
            raise UserError(f"prompt number {number} has no tokens")


class Qwen3Generator:
    """Generator for Qwen3 models on this process's CPU threads."""

    def __init__(self, model: Qwen3Decoder, stop_ids: Collection[int], batch_rows: int = 512):
        self.model = model
        self.stop_ids = frozenset(stop_ids)
        self.batch_rows = batch_rows

    @classmethod
    def from_checkpoint(cls, model_path: str | Path, dtype: str = "float32", batch_rows: int = 512) -> "Qwen3Generator":
        config = read_config(model_path)
        try:
            model = Qwen3Decoder(config, read_state(model_path), torch_dtype(dtype))
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise UserError(f"config.json and weights of the model {model_path} don't fit each other: {error!r}") from error
        return cls(model, stop_tokens(model_path, config), batch_rows)

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
        """See ``kimina.generation.interface.Generator.generate``."""
        check_request(prompts, n, max_new_tokens, temperature, top_p)
        gathering = Gathering(len(prompts), n, on_progress, on_result)
        for pieces in plan_batches(prompts, n, self.batch_rows, prompt_seeds(len(prompts), seed, seeds)):
            batch = decode_pieces(
                self.model,
                [prompts[piece.index] for piece in pieces],
                pieces,
                max_new_tokens=max_new_tokens,
                temperature=temperature,
                top_p=top_p,
                stop_ids=self.stop_ids,
            )
            gathering.add(pieces, batch)
        return gathering.results()

    def close(self) -> None:
        """Nothing runs between calls."""


def torch_dtype(name: str) -> torch.dtype:
    """Return the torch dtype called ``name``; raises ``UserError`` for a name that is none."""
    names = ("float32", "bfloat16", "float16", "float64")
    if name not in names:
        raise UserError(f"dtype {name!r} does not exist; choose one of {', '.join(names)}")
    return {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "float64": torch.float64}[name]
