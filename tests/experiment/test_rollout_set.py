"""How generation and training take turns: what can't go together is refused with a line that works."""

import shlex

import pytest

from kimina.errors import UserError
from kimina.experiment.compose import compose, compose_with_warnings

_BYPASS = "algorithm.rollout_correction.bypass_mode=false"
_HUB = "model=1p7b"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["rollout=separate_async"], "needs GPUs of its own"),
        (["rollout=partial", "rollout.mode=separate_async"], "needs GPUs of its own"),
        (["rollout.segment_tokens=30"], "a step waits for whole responses"),
        (["rollout=partial", "rollout.mode=sync"], "a step waits for whole responses"),
        (["rollout=colocate_async", "loss.zero_variance=resample"], "whole rounds"),
        (["rollout=partial", "loss=dapo"], "whole rounds"),
        (["rollout=colocate_async", _BYPASS], "nothing would weigh the difference"),
        (
            [
                "rollout=partial",
                "rollout.earlier_segments=excluded",
                "actor_rollout_ref.rollout.agent.agent_loop_config_path=mine.yaml",
            ],
            "leaves no segment out",
        ),
        (["rollout=colocate_async", "trainer.v1.sampler.custom_sampler.path=mine.py"], "yours would never be asked"),
        (["loss=dapo", "trainer.v1.sampler.custom_sampler.path=mine.py"], "yours would never be asked"),
        ([_HUB, "rollout=separate_async", "actor_rollout_ref.rollout.nnodes=0"], "has no GPU"),
        ([_HUB, "rollout=separate_async", "rollout.mode=colocate_async"], "no GPUs of its own"),
        ([_HUB, "rollout=colocate_async", "actor_rollout_ref.hybrid_engine=false"], "no GPUs of its own"),
        ([_HUB, "rollout=separate_async", "actor_rollout_ref.rollout.checkpoint_engine.backend=naive"], "within one process"),
        ([_HUB, "rollout=separate_async", "trainer.v1.separate_async.parameter_sync_step=4"], "is not data.train_batch_size=256"),
    ],
)
def test_what_cannot_go_together_is_refused_with_a_line_that_works(words, reason):
    with pytest.raises(UserError, match=reason) as caught:
        compose_with_warnings(words)
    compose_with_warnings(shlex.split(str(caught.value).rpartition("type: python run.py ")[2]))


@pytest.mark.parametrize(
    ("words", "warning"),
    [
        (["rollout.extra_batches=2"], "rollout.extra_batches has no effect with rollout=sync"),
        (["rollout.max_staleness=2"], "rollout.max_staleness has no effect with rollout=sync"),
        (["rollout=partial", "rollout.segment_tokens=500"], "cuts nothing"),
        (["rollout.repetition.penalty=0.5"], "nothing looks for repetition"),
        (["rollout.repetition.stop=true", "rollout.repetition.min_tokens=500"], "no repetition is ever found"),
        (["rollout=colocate_async", "loss=rloo"], "it is on-policy"),
        (["rollout=colocate_async", "rollout.extra_batches=0"], "as rollout=sync does"),
        (["rollout=colocate_async", "rollout.max_staleness=1"], "are waited for"),
        (["rollout=colocate_async", "rollout.max_staleness=1", "rollout.stale=drop"], "are dropped"),
        (["rollout=colocate_async", "rollout.max_staleness=null", "rollout.stale=drop"], "without rollout.max_staleness"),
    ],
)
def test_what_changes_nothing_or_fits_badly_is_said(words, warning):
    assert any(warning in said for said in compose_with_warnings(words).warnings)


@pytest.mark.parametrize("option", ["sync", "colocate_async", "partial"])
@pytest.mark.parametrize("model", ["nano", "1p7b"])
def test_each_mode_composes_without_a_word(model, option):
    assert compose_with_warnings([f"model={model}", f"rollout={option}"]).warnings == ()


def test_a_node_is_shared_by_engine_and_trainer_where_they_are_apart():
    config = compose([_HUB, "rollout=separate_async"])
    assert config.trainer.n_gpus_per_node + config.actor_rollout_ref.rollout.n_gpus_per_node == config.cluster.gpus_per_node == 8
    steps = config.trainer.v1.separate_async.parameter_sync_step
    assert steps * config.actor_rollout_ref.actor.ppo_mini_batch_size == config.data.train_batch_size


def test_importance_weights_take_the_place_of_the_sampling_policy():
    words = [_HUB, "rollout=colocate_async", _BYPASS, "algorithm.rollout_correction.rollout_is=token"]
    assert compose_with_warnings(words).warnings == ()


def test_gpus_of_engine_and_trainer_are_counted_together():
    separate = [_HUB, "rollout=separate_async"]
    assert compose_with_warnings(separate).warnings == ()
    [said] = compose_with_warnings([*separate, "trainer.n_gpus_per_node=8"]).warnings
    assert "trainer.n_gpus_per_node=8 + actor_rollout_ref.rollout.n_gpus_per_node=4 differs from cluster.gpus_per_node=8" in said
    divided = ["trainer.n_gpus_per_node=2", "actor_rollout_ref.rollout.n_gpus_per_node=6"]
    parallel = "actor_rollout_ref.rollout.tensor_model_parallel_size"
    compose([*separate, *divided, f"{parallel}=3"])
    with pytest.raises(UserError, match="does not divide the 6 workers"):
        compose([*separate, *divided, f"{parallel}=4"])
