"""The nano model's size and initialisation."""

import torch

from kimina.sft.model import build_model


def test_the_shipped_model_is_small_and_a_qwen3(config, tokenizer):
    model = build_model(config["model"]["architecture"], tokenizer, 1)
    count = sum(p.numel() for p in model.parameters())
    assert count <= 4_000_000
    assert abs(count - config["model"]["parameters"]) < 0.15 * count
    assert model.config.model_type == "qwen3" and model.config.tie_word_embeddings
    assert (model.config.eos_token_id, model.config.pad_token_id) == (tokenizer.eos_token_id, tokenizer.pad_token_id)
    assert model.config.max_position_embeddings >= config["data"]["max_prompt_length"] + config["data"]["max_response_length"]
    for layer in model.model.layers:
        assert torch.all(layer.self_attn.q_norm.weight == config["model"]["architecture"]["qk_norm"])
        assert torch.all(layer.self_attn.k_norm.weight == config["model"]["architecture"]["qk_norm"])


def test_the_seed_decides_the_weights(config, tokenizer):
    architecture = {**config["model"]["architecture"], "layers": 1, "copy_strength": 0.0}
    one, same, other = (build_model(architecture, tokenizer, seed) for seed in (1, 1, 2))
    first = [next(iter(model.parameters())) for model in (one, same, other)]
    assert torch.equal(first[0], first[1]) and not torch.equal(first[0], first[2])
