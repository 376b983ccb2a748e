"""Muon against the singular value decomposition in double precision, and the state of both optimisers."""

import math

import pytest
import torch

from kimina.sft.model import build_model
from kimina.sft.muon import Muon, MuonWithAdamW, orthogonalise

SHAPES = [(16, 16), (32, 8), (8, 32), (128, 384)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_orthogonalised_matrices_keep_the_singular_vectors(shape):
    torch.manual_seed(0)
    updates = torch.randn(3, *shape)
    # The iteration lifts singular values above about 1/100 of the norm; a random square matrix has smaller ones.
    u, s, v = torch.linalg.svd(updates.double(), full_matrices=False)
    updates = (u * s.clamp(min=0.02 * s.norm(dim=-1, keepdim=True)).unsqueeze(-2) @ v).float()
    u, _, v = torch.linalg.svd(updates.double(), full_matrices=False)
    inner = u.mT @ orthogonalise(updates).double() @ v.mT
    diagonal = inner.diagonal(dim1=-2, dim2=-1)
    assert diagonal.min() > 0.6 and diagonal.max() < 1.25
    assert (inner - torch.diag_embed(diagonal)).abs().max() < 1e-3


def test_the_scale_of_an_update_does_not_matter():
    torch.manual_seed(1)
    update = torch.randn(1, 12, 20)
    assert torch.allclose(orthogonalise(update), orthogonalise(1e4 * update), atol=1e-4)
    assert torch.equal(orthogonalise(torch.zeros(1, 4, 4)), torch.zeros(1, 4, 4))


def test_matrices_of_one_shape_are_treated_one_by_one():
    torch.manual_seed(2)
    updates = torch.randn(4, 6, 9)
    for one, together in zip(updates, orthogonalise(updates), strict=True):
        assert torch.allclose(orthogonalise(one[None])[0], together, atol=1e-5)


def test_a_first_step_by_hand():
    torch.manual_seed(3)
    tall, wide = torch.nn.Parameter(torch.randn(8, 2)), torch.nn.Parameter(torch.randn(2, 8))
    before = [p.detach().clone() for p in (tall, wide)]
    for p in (tall, wide):
        p.grad = torch.randn_like(p)
    Muon([tall, wide], lr=0.1, momentum=0.9).step()
    # Nesterov: gradient + 0.9 x momentum, whose first value is the gradient; the direction is the gradient's.
    for p, old, factor in zip((tall, wide), before, (math.sqrt(8 / 2), 1.0), strict=True):
        expected = old - 0.1 * factor * orthogonalise(1.9 * p.grad[None])[0]
        assert torch.allclose(p, expected, atol=1e-6)


def _model(config, tokenizer):
    small = {**config["model"]["architecture"], "hidden_size": 32, "heads": 2, "kv_heads": 1, "head_dim": 16, "layers": 2, "copy_strength": 0.0, "intermediate_size": 48}
    return build_model(small, tokenizer, 0)


def _steps(model, optimizer, scheduler, seeds):
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        ids = torch.randint(3, 200, (2, 12), generator=generator)
        optimizer.zero_grad()
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        scheduler.step()


def _pair(model):
    optimizer = MuonWithAdamW(model, muon_lr=0.02, lr=1e-3)
    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))


def test_a_restored_optimiser_goes_on_as_if_nothing_had_happened(config, tokenizer, tmp_path):
    through = _model(config, tokenizer)
    optimizer, scheduler = _pair(through)
    _steps(through, optimizer, scheduler, range(3))
    torch.save([through.state_dict(), optimizer.state_dict(), scheduler.state_dict()], tmp_path / "state.pt")
    _steps(through, optimizer, scheduler, range(3, 6))

    resumed = _model(config, tokenizer)
    other, its_scheduler = _pair(resumed)
    for target, state in zip((resumed, other, its_scheduler), torch.load(tmp_path / "state.pt", weights_only=True), strict=True):
        target.load_state_dict(state)
    _steps(resumed, other, its_scheduler, range(3, 6))
    for one, two in zip(through.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(one, two)


def test_every_parameter_belongs_to_one_optimiser_and_follows_the_schedule(config, tokenizer):
    model = _model(config, tokenizer)
    optimizer, scheduler = _pair(model)
    matrices, others = (group["params"] for group in optimizer.param_groups)
    assert len(matrices) + len(others) == len(list(model.parameters()))
    assert all(p.ndim == 2 for p in matrices)
    assert any(p is model.model.embed_tokens.weight for p in others)
    before = [p.detach().clone() for p in model.parameters()]
    _steps(model, optimizer, scheduler, [0])
    assert all(not torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))
    assert [group["lr"] for group in optimizer.param_groups] == [0.01, 0.0005]
    _steps(model, optimizer, scheduler, [1])
    assert optimizer._muon.param_groups[0]["lr"] == 0.01 and optimizer._adamw.param_groups[0]["lr"] == 0.0005
