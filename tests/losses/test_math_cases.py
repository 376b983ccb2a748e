"""The losses against the shared conformance cases."""

import json
from pathlib import Path

import pytest
import torch

from kimina.losses import LossSettings, Scope
from kimina.losses.advantages import centred, leave_one_out, standardised
from kimina.losses.mirror_descent import MirrorDescent, log_partition_baseline

CASES = Path(__file__).resolve().parents[2].parent / "shared" / "cases" / "math_cases.jsonl"


def _advantage(kind, rewards, eps=1e-6):
    rule = {"grpo": lambda r: standardised(r, eps), "drgpo": centred, "rloo": leave_one_out}[kind]
    return {"advantages": rule(rewards)}


def _tensors(loss, mask):
    return torch.tensor(loss, dtype=torch.float64), torch.tensor(mask)


def _aggregation(loss, mask, mode, normaliser=None):
    losses, mask = _tensors(loss, mask)
    return {"loss": float(Scope.of(mode, mask, normaliser).of_tokens(losses, mask))}


def _microbatch(loss, mask, mode, micro_batches, normaliser=None):
    losses, mask = _tensors(loss, mask)
    scope = Scope.of(mode, mask, normaliser)
    shares = [float(scope.of_tokens(losses[rows], mask[rows])) for rows in micro_batches]
    parts = []
    for rows in micro_batches:
        own = Scope.of(mode, mask[rows], normaliser)
        weight = own.tokens / scope.tokens if mode == "token-mean" else own.sequences / scope.sequences
        parts.append({"loss": float(own.of_tokens(losses[rows], mask[rows])), "weight": weight})
    assert sum(part["loss"] * part["weight"] for part in parts) == pytest.approx(sum(shares), rel=1e-12)
    return {"loss": sum(shares), "parts": parts}


def _mirror_descent(rewards, logp, logp_old, tau, baseline="mean"):
    loss = MirrorDescent(LossSettings(tau=tau))
    new = torch.tensor(logp, dtype=torch.float64).unsqueeze(-1).requires_grad_()
    old, mask = torch.tensor(logp_old, dtype=torch.float64).unsqueeze(-1), torch.ones(len(logp), 1).long()
    base = log_partition_baseline(rewards, tau) if baseline == "log_partition" else sum(rewards) / len(rewards)
    advantages = (
        [reward - base for reward in rewards] if baseline == "log_partition" else loss.advantages(rewards)
    )
    advantages = torch.tensor(advantages, dtype=torch.float64).unsqueeze(-1)
    value, _ = loss.policy_loss(new, old, advantages, mask, Scope.of("seq-mean-token-sum", mask))
    value.backward()
    residual = advantages - tau * (new - old)
    return {
        "baseline": base,
        "loss": value.item(),
        "grad_logp": new.grad.squeeze(-1).tolist(),
        "squared_surrogate": float(residual.detach().square().mean()),
    }


ANSWERS = {
    "advantage": _advantage,
    "aggregation": _aggregation,
    "microbatch": _microbatch,
    "mirror_descent": _mirror_descent,
}


def _differences(got, expected, tolerance):
    if isinstance(expected, dict):
        return [d for key, value in expected.items() for d in _differences(got[key], value, tolerance)]
    if isinstance(expected, list):
        return [d for one, other in zip(got, expected, strict=True) for d in _differences(one, other, tolerance)]
    if isinstance(expected, float) and got is not None:
        return [] if abs(got - expected) <= tolerance * max(1.0, abs(expected)) else [(got, expected)]
    return [] if got == expected else [(got, expected)]


def test_losses_agree_with_the_shared_cases():
    if not CASES.exists():
        pytest.skip(f"the shared conformance cases are not beside this checkout ({CASES})")
    with CASES.open(encoding="utf-8") as file:
        cases = [case for case in map(json.loads, file) if case["family"] in ANSWERS]
    assert {case["family"] for case in cases} == set(ANSWERS)
    wrong = []
    for case in cases:
        answer = ANSWERS[case["family"]]
        if case["expected"] == {"error": True}:
            with pytest.raises(ValueError):
                answer(**case["input"])
            continue
        found = _differences(answer(**case["input"]), case["expected"], case["tolerance"])
        if found:
            wrong.append((case["id"], found))
    assert wrong == []
