"""A loss is one switch: what stands beside it and contradicts it, or changes nothing, is said."""

import pytest

from kimina.experiment.compose import compose_with_warnings
from kimina.experiment.options import option_names

_ACTOR = "actor_rollout_ref.actor"


@pytest.mark.parametrize("loss", option_names("loss"))
@pytest.mark.parametrize("model", ["nano", "1p7b"])
def test_a_loss_as_shipped_contradicts_nothing(loss, model):
    warnings = compose_with_warnings([f"loss={loss}", f"model={model}"]).warnings
    # the recipe's eight updates a step are of Dr. GRPO
    assert [one for one in warnings if "it is on-policy" not in one] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["algorithm.adv_estimator=grpo"], "the advantage is grpo's then, and not that of loss=drgpo"),
        (["loss=mirror_descent", f"{_ACTOR}.policy_loss.loss_mode=vanilla"], "the loss is vanilla's then"),
        (["loss=gspo", f"{_ACTOR}.loss_agg_mode=token-mean"], "a loss of whole responses"),
        (["loss=rloo", f"{_ACTOR}.clip_ratio_low=0.1"], "loss=rloo doesn't read it"),
        (["loss=rest", "algorithm.norm_adv_by_std_in_grpo=true"], "loss=rest doesn't read it"),
        ([f"{_ACTOR}.clip_ratio=0.1"], "has no effect beside"),
        ([f"{_ACTOR}.use_kl_loss=true"], "the divergence counts for nothing"),
        (["loss=rest", "loss.zero_variance=mask"], "prompts that are always solved are left out"),
        (["loss=dapo", "length=k15"], "drawn anew although their length rewards differ"),
    ],
)
def test_what_changes_nothing_or_something_else_is_said(words, said):
    [warning] = compose_with_warnings(words).warnings
    assert said in warning


def test_what_belongs_together_is_not_warned_of():
    together = [
        ["loss=dapo", "length=overlong"],  # the paper's own
        ["length=k15", "loss.zero_variance=mask"],
        ["loss=gspo", f"{_ACTOR}.clip_ratio_low=0.001"],
        [f"{_ACTOR}.use_kl_loss=true", f"{_ACTOR}.kl_loss_coef=0.04"],
    ]
    assert [compose_with_warnings(words).warnings for words in together] == [()] * len(together)
