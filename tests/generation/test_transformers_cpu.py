"""The fallback for architectures that the fused decoder does not compute."""

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from kimina.generation import make_generator
from kimina.generation.transformers_cpu import TransformersGenerator


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=61,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        eos_token_id=[2, 3],
        pad_token_id=0,
        bos_token_id=None,
        initializer_range=0.3,
    )
    model = LlamaForCausalLM(config).eval()
    folder = tmp_path_factory.mktemp("llama")
    model.save_pretrained(folder)
    return model, folder


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_log_probs_equal_the_forward_pass(llama, temperature):
    model, folder = llama
    generator = make_generator({"batch_rows": 3}, folder)
    assert isinstance(generator, TransformersGenerator)
    prompts = [[5, 6, 7], [8], [9, 10]]
    request = dict(max_new_tokens=20, temperature=temperature, seed=3)
    results = generator.generate(prompts, 2, **request)
    assert results == generator.generate(prompts, 2, **request)
    for prompt, samples in zip(prompts, results, strict=True):
        for sample in samples:
            with torch.inference_mode():
                logits = model(torch.tensor([prompt + sample.token_ids])).logits[0, len(prompt) - 1 : -1]
            log_probs = (logits / temperature).log_softmax(-1)
            expected = log_probs.gather(-1, torch.tensor(sample.token_ids)[:, None])[:, 0]
            assert torch.allclose(torch.tensor(sample.log_probs), expected, atol=1e-4)
            assert sample.finished == (sample.token_ids[-1] in (2, 3))
