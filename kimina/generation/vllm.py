"""Generation with vLLM's offline engine, for GPUs."""

from collections.abc import Callable, Sequence

from kimina.errors import UserError
from kimina.generation.factory import GenerationSettings
from kimina.generation.interface import Completion
from kimina.generation.qwen3_cpu import check_request
from kimina.generation.sampling import prompt_seeds


class VllmGenerator:
    """Generator on vLLM. With ``top_p < 1`` the log-probabilities are those after truncation, as vLLM reports them."""

    def __init__(self, model_path: str, settings: GenerationSettings):
        try:
            import vllm
        except ImportError as error:
            raise UserError(
                "generation engine 'vllm' needs the gpu extra, which is not installed. "
                "Type: pip install 'kimina-lab[gpu]', or choose cluster=cpu"
            ) from error
        self._sampling_params = vllm.SamplingParams
        self._engine = vllm.LLM(
            model=model_path,
            dtype=settings.dtype,
            tensor_parallel_size=settings.tensor_parallel_size,
            gpu_memory_utilization=settings.gpu_memory_utilization,
            max_model_len=settings.max_model_len,
            enable_prefix_caching=True,
            logprobs_mode="processed_logprobs",
        )
        self.batch_rows = settings.batch_rows

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
        of_prompts = prompt_seeds(len(prompts), seed, seeds)
        results: list[list[Completion]] = []
        # whole prompts a call: vLLM schedules within it, and results come back between calls
        step = max(1, self.batch_rows // n)
        for first in range(0, len(prompts), step):
            chunk = [{"prompt_token_ids": list(prompt)} for prompt in prompts[first : first + step]]
            parameters = [
                self._sampling_params(
                    n=n,
                    temperature=temperature,
                    top_p=top_p,
                    max_tokens=max_new_tokens,
                    logprobs=0,
                    seed=of_prompts[first + place],
                )
                for place in range(len(chunk))
            ]
            for output in self._engine.generate(chunk, parameters, use_tqdm=False):
                results.append([_completion(sample) for sample in output.outputs])
                if on_result is not None:
                    on_result(len(results) - 1, results[-1])
            if on_progress is not None:
                on_progress(len(results) * n, len(prompts) * n)
        return results

    def close(self) -> None:
        """Free the engine, and with it the GPU memory."""
        self._engine = None


def _completion(sample) -> Completion:
    token_ids = list(sample.token_ids)
    log_probs = [entry[token].logprob for entry, token in zip(sample.logprobs, token_ids, strict=True)]
    return Completion(token_ids, log_probs, sample.finish_reason == "stop")
