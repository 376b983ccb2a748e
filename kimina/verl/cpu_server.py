"""The Ray actor that generates rollouts on the CPU.

It imports neither verl nor transformers, which makes it start in seconds. Requests that arrive together are
decoded together, and requests with the same prompt share the prompt's keys and values. Which samples a prompt gets
depends on the seed, the training step and the prompt alone, so that a resumed run draws what the interrupted one would
have drawn.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from kimina.generation.checkpoint import read_config, read_state, stop_tokens
from kimina.generation.decode import decode
from kimina.generation.interface import Completion
from kimina.generation.qwen3 import Qwen3Decoder, is_supported
from kimina.generation.qwen3_cpu import torch_dtype
from kimina.generation.sampling import mix_seed, uniform_rows


@dataclass
class ServerOutput:
    """The fields of verl's ``TokenOutput`` that its agent loops read, in a class that needs no import of verl."""

    token_ids: list[int]
    log_probs: list[float]
    stop_reason: str
    extra_fields: dict[str, Any]
    num_preempted: int = 0
    routed_experts: None = None


@dataclass(frozen=True)
class ServerSettings:
    """What the server needs to know; plain values, so that the actor needs no import of verl to read them."""

    model_path: str
    dtype: str
    prompt_length: int
    response_length: int
    max_rows: int
    seed: int
    extra_stop_ids: tuple[int, ...] = ()
    threads: int = 1
    window_s: float = 0.05
    enough_rows: int = 64


@dataclass(frozen=True)
class _Sampling:
    temperature: float
    top_p: float
    max_new_tokens: int


@dataclass
class _Waiting:
    prompt: tuple[int, ...]
    sampling: _Sampling
    answer: asyncio.Future = field(repr=False)


class CpuServer:
    """Holds the policy's weights and answers verl's rollout requests."""

    def __init__(self, settings: ServerSettings):
        torch.set_num_threads(settings.threads)
        self.settings = settings
        config = read_config(settings.model_path)
        if not is_supported(config):
            raise ValueError(f"engine=hf_cpu decodes plain Qwen3 models only, not {config.get('model_type')!r}")
        self.model = Qwen3Decoder(config, read_state(settings.model_path), torch_dtype(settings.dtype))
        self.stop_ids = stop_tokens(settings.model_path, config) | set(settings.extra_stop_ids)
        self.step = 0
        self._drawn: Counter[tuple[int, ...]] = Counter()
        self._queue: list[_Waiting] = []
        self._drain_task: asyncio.Task | None = None
        self._weights_lock = asyncio.Lock()
        self._open = asyncio.Event()  # closed between an abortion and the next resume_generation
        self._open.set()
        self.busy_s = 0.0

    # ---- generation -------------------------------------------------------------------------------------------------
    async def generate(self, prompt_ids: Sequence[int], sampling_params: dict[str, Any], request_id: str, **_other):
        """Sample one continuation; the multimodal and priority arguments of verl's interface are ignored."""
        if sampling_params.get("top_k", -1) not in (-1, 0, None):
            raise ValueError("engine=hf_cpu has no top_k; set actor_rollout_ref.rollout.top_k=-1")
        if sampling_params.get("repetition_penalty", 1.0) != 1.0:
            raise ValueError("engine=hf_cpu has no repetition penalty")
        limit = sampling_params.get("max_tokens") or sampling_params.get("max_new_tokens") or self.settings.response_length
        room = self.settings.prompt_length + self.settings.response_length - len(prompt_ids)
        sampling = _Sampling(
            float(sampling_params.get("temperature", 1.0)),
            float(sampling_params.get("top_p", 1.0)),
            max(1, min(limit, room)),
        )
        waiting = _Waiting(tuple(prompt_ids), sampling, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        if self._drain_task is None or self._drain_task.done():
            self._drain_task = asyncio.create_task(self._drain())
        return await waiting.answer

    async def _drain(self) -> None:
        while self._queue:
            await self._open.wait()
            await self._gather_requests()
            if not self._open.is_set():
                continue
            batch, self._queue = self._queue[: self.settings.max_rows], self._queue[self.settings.max_rows :]
            for sampling in dict.fromkeys(waiting.sampling for waiting in batch):
                await self._answer([waiting for waiting in batch if waiting.sampling == sampling], sampling)

    async def _gather_requests(self) -> None:
        """Wait until there are enough requests, or none has arrived for one window.

        Decoding the first ones while the agent loops still send the others is faster than one large batch.
        """
        seen = -1
        while seen < len(self._queue) < self.settings.enough_rows:
            seen = len(self._queue)
            await asyncio.sleep(self.settings.window_s)

    async def _answer(self, batch: list[_Waiting], sampling: _Sampling) -> None:
        groups: dict[tuple[int, ...], list[_Waiting]] = {}
        for waiting in batch:
            groups.setdefault(waiting.prompt, []).append(waiting)
        prompts = sorted(groups, key=lambda prompt: (len(prompt), prompt))
        counts = [len(groups[prompt]) for prompt in prompts]
        try:
            async with self._weights_lock:
                step = self.step
                uniforms = [self._uniforms(prompt, len(groups[prompt]), sampling) for prompt in prompts]
                results = await asyncio.to_thread(self._decode, prompts, uniforms, sampling)
        except Exception as error:  # the process boundary: every caller gets the failure, none waits for ever
            for waiting in batch:
                waiting.answer.set_exception(error)
            return
        assert [len(row) for row in results] == counts
        for prompt, completions in zip(prompts, results, strict=True):
            for waiting, completion in zip(groups[prompt], completions, strict=True):
                waiting.answer.set_result(_output(completion, step, sampling.max_new_tokens))

    def _uniforms(self, prompt: tuple[int, ...], count: int, sampling: _Sampling) -> torch.Tensor:
        """Return fresh uniform numbers for the next ``count`` samples of a prompt within this step."""
        first = self._drawn[prompt]
        self._drawn[prompt] += count
        prompt_key = "-".join(map(str, prompt))
        return torch.cat(
            [
                uniform_rows(mix_seed(self.settings.seed, self.step, prompt_key, number), 1, sampling.max_new_tokens)
                for number in range(first, first + count)
            ]
        )

    def _decode(self, prompts, uniforms, sampling: _Sampling) -> list[list[Completion]]:
        started = time.monotonic()
        results = decode(
            self.model,
            prompts,
            uniforms,
            max_new_tokens=sampling.max_new_tokens,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            stop_ids=self.stop_ids,
            interrupted=lambda: not self._open.is_set(),
        )
        self.busy_s += time.monotonic() - started
        return results

    # ---- weights ----------------------------------------------------------------------------------------------------
    async def load_weights(self, state: dict[str, torch.Tensor], step: int | None) -> None:
        """Replace the weights; requests that arrive meanwhile wait and see the new ones."""
        async with self._weights_lock:
            # Ray hands out read-only views of shared memory; the decoder keeps unfused tensors as they are
            self.model.load({name: tensor.clone() for name, tensor in state.items()})
            if step is not None:
                self.step = step
                self._drawn.clear()

    async def set_global_steps(self, global_steps: int) -> None:
        self.step = global_steps

    async def statistics(self) -> dict[str, float]:
        """Return the seconds spent decoding since the start; also tells that the server is up."""
        return {"busy_s": self.busy_s}

    # ---- interruption -----------------------------------------------------------------------------------------------
    async def abort_all_requests(self, *_args, **_kwargs) -> None:
        """End what is being decoded where it stands (``aborted``) and keep what waits; new requests wait, too."""
        self._open.clear()
        async with self._weights_lock:
            # decoding holds the lock: it has stopped now
            pass

    async def resume_generation(self, *_args, **_kwargs) -> None:
        """Decode again."""
        self._open.set()

    # ---- memory: nothing to free on a CPU -----------------------------------------------------------------------------
    async def _nothing(self, *_args, **_kwargs) -> None:
        return None

    sleep = wake_up = clear_kv_cache = release_kv_cache = resume_kv_cache = _nothing
    start_profile = stop_profile = _nothing


def _output(completion: Completion, step: int, limit: int) -> ServerOutput:
    reason = "completed" if completion.finished else "length" if len(completion.token_ids) == limit else "aborted"
    return ServerOutput(completion.token_ids, completion.log_probs, reason, {"global_steps": step})


def stop_ids_of(tokenizer: Any) -> Collection[int]:
    """Return the tokenizer's own end-of-text id, if it has one."""
    return () if tokenizer.eos_token_id is None else (tokenizer.eos_token_id,)
