"""The induction circuit: what it does before any training, and what it refuses."""

import pytest
import torch

from kimina.errors import UserError
from kimina.sft.model import build_model


def copying(model, length, gap, seed=0):
    """Share of tokens of a repeated random segment that the model predicts, the first one left out."""
    draw = torch.Generator().manual_seed(seed)
    tokens = torch.randint(3, model.config.vocab_size, (16, length + gap), generator=draw)
    ids = torch.cat([tokens, tokens[:, :length]], dim=1)
    with torch.no_grad():
        predicted = model(ids).logits[:, length + gap : -1].argmax(-1)
    return (predicted == ids[:, length + gap + 1 :]).float().mean().item()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_untrained_model_copies(config, tokenizer, seed):
    model = build_model(config["model"]["architecture"], tokenizer, seed)
    assert copying(model, length=30, gap=0) > 0.8
    assert copying(model, length=30, gap=60) > 0.8


def test_without_the_circuit_it_does_not(config, tokenizer):
    model = build_model({**config["model"]["architecture"], "copy_strength": 0.0}, tokenizer, 0)
    assert copying(model, length=30, gap=0) < 0.1


def test_the_shared_direction_changes_no_probability(config, tokenizer):
    model = build_model(config["model"]["architecture"], tokenizer, 0)
    embeddings_VD = model.model.embed_tokens.weight.detach()
    shared_D = embeddings_VD.mean(0)
    # The same component in every row, so that each logit moves by the same amount.
    components_V = embeddings_VD @ shared_D / shared_D.norm()
    assert components_V.std() < 0.1 * components_V.mean()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"layers": 1}, "layers=1"),
        ({"hidden_size": 96}, "hidden_size=96"),
        ({"rope_theta": 2.0}, "rotary pairs"),
        ({"head_dim": 2}, "head_dim"),
    ],
)
def test_a_model_too_small_for_it_is_a_users_error(config, tokenizer, changes, told):
    with pytest.raises(UserError, match=f"(?s){told}.*copy_strength=0"):
        build_model({**config["model"]["architecture"], **changes}, tokenizer, 0)
    build_model({**config["model"]["architecture"], **changes, "copy_strength": 0.0}, tokenizer, 0)
