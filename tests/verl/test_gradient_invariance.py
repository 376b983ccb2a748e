"""The gradient of one fixed batch doesn't depend on micro-batches, dynamic batching or data-parallel workers.

Measured through verl's own training worker, with FSDP2 over gloo, on the tiny prover.
"""

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from support.training_worker import gradients

from kimina.experiment.compose import compose
from kimina.experiment.losses_set import DEPENDS_ON_MICRO_BATCHES
from kimina.losses import LOSSES
from kimina.verl.emit import emit_trainer_config

VARIANTS = [
    {"name": "micro-batch 8", "micro_batch": 8, "dynamic_tokens": None},
    {"name": "micro-batch 4", "micro_batch": 4, "dynamic_tokens": None},
    {"name": "micro-batch 2", "micro_batch": 2, "dynamic_tokens": None},
    {"name": "micro-batch 1", "micro_batch": 1, "dynamic_tokens": None},
    {"name": "dynamic", "micro_batch": None, "dynamic_tokens": 60},
]
ROWS = 16
#: verl's own losses by name in its registry, with what they need to run.
VERLS = {
    "vanilla": {},
    "dppo_tv": {},
    "dppo_kl": {},
    "gspo": {},
    "sapo": {},
    "gpg": {},
    "cispo": {},
    "dro": {"policy_loss.dro_beta": 0.1},
    "clip_cov": {"policy_loss.clip_cov_ratio": 0.2, "policy_loss.clip_cov_lb": 0.0},
    "kl_cov": {"policy_loss.kl_cov_ratio": 0.2, "policy_loss.ppo_kl_coef": 1e4},
    "geo_mean": {},
}


def _rows():
    """Responses of unequal lengths, one masked wholly and one in part, some far from the old policy."""
    rng = np.random.default_rng(5)
    rows = []
    for number in range(ROWS):
        prompt, response = rng.integers(3, 200, rng.integers(4, 9)), rng.integers(3, 200, rng.integers(3, 24))
        mask = np.ones(len(response), dtype=int)
        if number == 3:
            mask[:] = 0
        if number == 6:
            mask[1:4] = 0
        rows.append(
            {
                "prompt": prompt.tolist(),
                "response": response.tolist(),
                "mask": mask.tolist(),
                # near the tiny model's own log-probabilities of random tokens, so that clips act on some tokens
                "old_log_probs": rng.normal(-9.0, 4.0, len(response)).tolist(),
                "advantages": (np.full(len(response), rng.normal()) * mask).tolist(),
            }
        )
    return rows


def _ours(name):
    actor = compose(["loss=" + name]).actor_rollout_ref.actor
    keys = ("loss_agg_mode", "clip_ratio_low", "clip_ratio_high", "clip_ratio_c", "loss_scale_factor")
    settings = {key: actor[key] for key in keys}
    settings |= {"policy_loss.loss_mode": f"kimina_{name}", "policy_loss.tau": 0.4}
    # terms that come on top are aggregated in the same way
    return {"name": name, "actor": {**settings, "use_kl_loss": True, "kl_loss_coef": 0.1, "entropy_coeff": 0.01}}


def _verls(name):
    return {
        "name": f"verl {name}",
        "actor": {
            "loss_agg_mode": "seq-mean-token-sum-norm",
            "loss_scale_factor": 24,
            "use_kl_loss": False,
            "entropy_coeff": 0.0,
            "policy_loss.loss_mode": name,
            **VERLS[name],
        },
    }


@pytest.fixture(scope="module")
def measured(tiny_prover, tmp_path_factory):
    """Loss and gradient by loss and variant, for one worker and for two."""
    folder = tmp_path_factory.mktemp("gradients")
    words = ["actor_rollout_ref.actor.optim.lr=0.0", "actor_rollout_ref.actor.optim.clip_grad=1.0e9"]
    emitted = emit_trainer_config(
        compose(words), out_dir=folder, model_path=tiny_prover / "model", train_files=[], val_files=[]
    )
    ours = [{**_ours(name), "variants": VARIANTS} for name in LOSSES]
    theirs = [{**_verls(name), "variants": [VARIANTS[0], VARIANTS[3]]} for name in VERLS]
    spec = {"config": OmegaConf.to_container(emitted), "rows": _rows()}
    one = gradients(folder, {**spec, "losses": ours + theirs}, workers=1)
    two = gradients(folder, {**spec, "losses": [{**loss, "variants": VARIANTS[1:]} for loss in ours]}, workers=2)
    return {1: one, 2: two}


def _distance(one, other):
    return float((one - other).norm() / one.norm())


@pytest.mark.parametrize("name", LOSSES)
def test_the_gradient_is_the_same_however_the_batch_is_cut(measured, name):
    whole = measured[1][f"{name}/micro-batch 8"]
    assert whole["gradient"].norm() > 1e-6
    for workers, found in measured.items():
        for variant in VARIANTS[workers - 1 :]:
            part = found[f"{name}/{variant['name']}"]
            label = f"{variant['name']}, {workers} workers"
            assert _distance(whole["gradient"], part["gradient"]) < 1e-5, label
            torch.testing.assert_close(part["loss"], whole["loss"], rtol=1e-5, atol=1e-6, msg=label)


@pytest.mark.parametrize("name", LOSSES)
def test_metrics_are_means_over_all_tokens_however_the_batch_is_cut(measured, name):
    """With micro-batches of one size: dynamic batching doesn't tell how many there are."""
    whole = measured[1][f"{name}/micro-batch 8"]["kl"]
    assert abs(whole) > 0.1
    for workers, found in measured.items():
        for variant in VARIANTS[workers - 1 : -1]:
            part = found[f"{name}/{variant['name']}"]["kl"]
            torch.testing.assert_close(part, whole, rtol=1e-5, atol=1e-6, msg=f"{variant['name']}, {workers} workers")


def test_exactly_those_losses_of_verl_are_refused_that_depend_on_micro_batches(measured):
    dependent = {
        name
        for name in VERLS
        if _distance(
            measured[1][f"verl {name}/micro-batch 8"]["gradient"], measured[1][f"verl {name}/micro-batch 1"]["gradient"]
        )
        > 1e-5
    }
    assert dependent == set(DEPENDS_ON_MICRO_BATCHES) - {"bypass_mode"}


def test_bypass_mode_stops_at_a_micro_batch_of_masked_responses():
    from verl.trainer.ppo.core_algos import get_policy_loss_fn
    from verl.workers.config import FSDPActorConfig

    values, mask = torch.zeros(1, 3), torch.zeros(1, 3, dtype=torch.bool)
    config = FSDPActorConfig(strategy="fsdp2", rollout_n=8, ppo_micro_batch_size_per_gpu=1)
    with pytest.raises(ValueError, match="at least one valid token"):
        get_policy_loss_fn("bypass_mode")(values, values, values, mask, "token-mean", config)


def test_all_of_verls_losses_are_judged():
    from verl.trainer.ppo.core_algos import POLICY_LOSS_REGISTRY

    assert {name for name in POLICY_LOSS_REGISTRY if not name.startswith("kimina_")} == {*VERLS, "bypass_mode"}
