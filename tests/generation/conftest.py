"""Tiny random Qwen3 models, saved as checkpoints in a temporary folder."""

import pytest
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM


def _save_tiny_qwen3(folder, **changes):
    settings = dict(
        vocab_size=61,
        hidden_size=48,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=256,
        tie_word_embeddings=True,
        rope_theta=300.0,
        eos_token_id=2,
        pad_token_id=0,
        bos_token_id=None,
        initializer_range=0.3,
    )
    settings.update(changes)
    torch.manual_seed(0)
    model = Qwen3ForCausalLM(Qwen3Config(**settings)).eval()
    model.save_pretrained(folder)
    return model


@pytest.fixture
def save_tiny_qwen3():
    """A function (folder, **config changes) that saves a tiny random Qwen3 there and returns the module."""
    return _save_tiny_qwen3


@pytest.fixture(scope="session")
def tiny_qwen3(tmp_path_factory):
    """A tiny random Qwen3 and the folder that it is saved in."""
    folder = tmp_path_factory.mktemp("qwen3")
    return _save_tiny_qwen3(folder), folder
