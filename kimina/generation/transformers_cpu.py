"""Generation through transformers' own ``generate``: slow, and right for every architecture."""

from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from kimina.generation.checkpoint import checkpoint_folder
from kimina.generation.interface import Completion
from kimina.generation.qwen3_cpu import Gathering, check_request, plan_batches, torch_dtype
from kimina.generation.sampling import mix_seed, prompt_seeds


class TransformersGenerator:
    """Generator for any causal language model that transformers can load."""

    def __init__(self, model_path: str | Path, dtype: str = "float32", batch_rows: int = 64):
        from transformers import AutoModelForCausalLM

        folder = checkpoint_folder(model_path)
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch_dtype(dtype)).eval()
        self.batch_rows = batch_rows
        eos = self.model.generation_config.eos_token_id
        if eos is None:
            eos = self.model.config.eos_token_id
        self.stop_ids = frozenset(eos if isinstance(eos, list) else [] if eos is None else [eos])

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
        of_prompts = prompt_seeds(len(prompts), seed, seeds)
        for number, pieces in enumerate(plan_batches(prompts, n, self.batch_rows, of_prompts)):
            # transformers has one generator a batch, so samples depend on the batch that they are in.
            of_batch = mix_seed(seed, number) if seeds is None else mix_seed(*(piece.seed for piece in pieces))
            rows = [prompts[piece.index] for piece in pieces for _ in range(piece.last - piece.first)]
            flat = self._generate(rows, of_batch, max_new_tokens, temperature, top_p)
            batch, start = [], 0
            for piece in pieces:
                batch.append(flat[start : start + piece.last - piece.first])
                start += piece.last - piece.first
            gathering.add(pieces, batch)
        return gathering.results()

    @torch.inference_mode()
    def _generate(
        self, rows: Sequence[Sequence[int]], seed: int, max_new_tokens: int, temperature: float, top_p: float
    ) -> list[Completion]:
        width = max(map(len, rows))
        ids = torch.zeros(len(rows), width, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for number, row in enumerate(rows):
            ids[number, width - len(row) :] = torch.tensor(list(row))
            mask[number, width - len(row) :] = 1
        sampling = {"do_sample": False}
        if temperature > 0:
            sampling = {"do_sample": True, "temperature": float(temperature), "top_p": float(top_p), "top_k": 0}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            output = self.model.generate(
                input_ids=ids,
                attention_mask=mask,
                max_new_tokens=max_new_tokens,
                eos_token_id=sorted(self.stop_ids) or None,
                pad_token_id=0,
                return_dict_in_generate=True,
                output_logits=True,
                **sampling,
            )
        scale = temperature if temperature > 0 else 1.0
        tokens_BN = output.sequences[:, width:]
        log_probs_BN = torch.stack(
            [
                (logits.float() / scale).log_softmax(-1).gather(-1, tokens_BN[:, position, None])[:, 0]
                for position, logits in enumerate(output.logits)
            ],
            -1,
        )
        completions = []
        for tokens, log_probs in zip(tokens_BN.tolist(), log_probs_BN.tolist(), strict=True):
            end = next((place + 1 for place, token in enumerate(tokens) if token in self.stop_ids), None)
            completions.append(Completion(tokens[:end], log_probs[:end], end is not None))
        return completions

    def close(self) -> None:
        """Nothing runs between calls."""
