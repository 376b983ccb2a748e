"""Settings of verl's that this project's trainer decides itself are refused or warned of, not passed over."""

import shlex

import pytest

from kimina.errors import UserError
from kimina.experiment.compose import compose_with_warnings
from kimina.experiment.trainer_set import WITHOUT_EFFECT

_IS, _BYPASS = "algorithm.rollout_correction.rollout_is=token", "algorithm.rollout_correction.bypass_mode=false"
_NO_LOG_PROBS = "actor_rollout_ref.rollout.calculate_log_probs=false"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["trainer.v1.trainer_mode=colocate_async"], "chosen by rollout="),
        (["trainer.use_v1=false"], "only verl's V1 trainers"),
        (["trainer.resume_mode=disable"], "goes on from its last checkpoint"),
        (["loss=dapo", "algorithm.filter_groups.enable=true"], "who finishes first"),
        ([_IS], "bypass_mode=true has no effect"),
        (["algorithm.rollout_correction.rollout_rs=token_k1"], "bypass_mode=true has no effect"),
        ([_NO_LOG_PROBS], "has it compute none"),
        (
            ["correction=rollout", "correction.second_turn_reward=0.5", "length=l1_max", "length.low=20", "length.high=320"],
            "could earn less than none",
        ),
        (["actor_rollout_ref.actor.checkpoint.async_save=true"], "before it is written"),
        (["trainer.del_local_ckpt_after_load=true"], "before there is a newer one"),
        (["correction=replay", "+data.apply_chat_template_kwargs.enable_thinking=false"], "built without them"),
        (["correction=replay", "actor_rollout_ref.rollout.agent.agent_loop_config_path=mine.yaml"], "neither fix turns nor"),
        (["model=1p7b", _IS, _NO_LOG_PROBS], "has no effect with actor_rollout_ref.rollout.calculate_log_probs=false"),
    ],
)
def test_what_would_be_overridden_is_refused_with_a_line_that_works(words, reason):
    with pytest.raises(UserError, match=reason) as caught:
        compose_with_warnings(words)
    line = shlex.split(str(caught.value).rpartition("type: python run.py ")[2])
    assert compose_with_warnings(line).warnings == ()


def test_importance_weights_are_accepted_where_somebody_computes_them():
    assert compose_with_warnings([_IS, _BYPASS]).warnings == ()
    assert compose_with_warnings(["model=1p7b", _IS]).warnings == ()


_VALUES = {
    "trainer.v1.sampler.max_off_policy_strategy": "wait",
    "data.shuffle": "false",
    "actor_rollout_ref.rollout.agent.default_agent_loop": "tool_agent"}


@pytest.mark.parametrize("key", WITHOUT_EFFECT)
def test_what_has_no_effect_is_said(key):
    [warning] = compose_with_warnings([f"{key}={_VALUES.get(key, 8)}"]).warnings
    assert warning.startswith(f"{key} has no effect")


def test_feedback_needs_leans_reply_whatever_was_typed():
    [warning] = compose_with_warnings(["correction=replay", "reward.verify_rejected=false"]).warnings
    assert "Lean is asked" in warning
    assert compose_with_warnings(["reward.verify_rejected=false"]).warnings == ()
