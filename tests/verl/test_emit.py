"""verl sees its own keys only, with our choices in them."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from omegaconf import OmegaConf

from kimina.errors import UserError
from kimina.experiment.compose import compose
from kimina.experiment.options import option_names
from kimina.verl.emit import OUR_NODES, emit_trainer_config


def emit(tmp_path, *overrides, model="owner/model"):
    return emit_trainer_config(
        compose(list(overrides)),
        out_dir=tmp_path / "run",
        model_path=model,
        train_files=[tmp_path / "train.parquet"],
        val_files=["val.parquet"],
    )


def test_our_nodes_are_taken_out_and_nothing_is_left_to_interpolate(tmp_path):
    config = emit(tmp_path)
    assert not set(OUR_NODES) & set(config)
    assert "checks" not in config.reward and "profile" not in config.reward
    assert "${" not in OmegaConf.to_yaml(config)


@pytest.fixture(scope="module")
def verl_keys():
    """The root keys of verl's own composed configuration."""
    folder = Path(find_spec("verl").submodule_search_locations[0]) / "trainer" / "config"
    with initialize_config_dir(str(folder), version_base=None):
        return set(hydra_compose("ppo_trainer"))


@pytest.mark.parametrize("model", option_names("model"))
def test_every_root_key_that_verl_gets_is_verls(tmp_path, model, verl_keys):
    assert set(emit(tmp_path, f"model={model}")) == verl_keys


def test_paths_seed_and_reward_reach_verl(tmp_path):
    config = emit(tmp_path, "seed=7", "reward=strict", model=tmp_path)
    assert config.data.train_files == [str(tmp_path / "train.parquet")]
    assert config.actor_rollout_ref.model.path == str(tmp_path)
    assert config.trainer.default_local_dir == str(tmp_path / "run" / "checkpoints")
    assert config.trainer.resume_mode == "auto"
    assert config.data.seed == config.actor_rollout_ref.actor.data_loader_seed == 7
    assert config.actor_rollout_ref.rollout.seed == 7
    settings = config.reward.custom_reward_function.reward_kwargs.settings
    assert settings.reward.profile == "strict" and settings.reward.checks.comment_density.enabled
    assert settings.verifier.name == "embedded" and "proofs_per_second" not in settings.verifier
    assert settings.max_unverified_share == 0.2 and settings.keep_checkpoints == 2
    assert "hf_model" in config.actor_rollout_ref.actor.checkpoint.save_contents


def test_the_verification_cache_is_the_same_file_in_every_worker(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def cache(*overrides):
        return emit(tmp_path, *overrides).reward.custom_reward_function.reward_kwargs.settings.verifier.cache

    assert cache() is None
    assert cache("verifier=kimina") == "auto"
    assert cache("verifier=kimina", "verifier.cache=v.sqlite") == str(tmp_path / "v.sqlite")



def test_a_run_always_saves_its_last_step(tmp_path):
    assert emit(tmp_path, "trainer.save_freq=-1").trainer.save_freq > 0


def test_cpu_pieces_stay_out_of_a_gpu_run(tmp_path):
    config = emit(tmp_path, "model=1p7b", "loss=drgpo", "reward=strict")
    text = OmegaConf.to_yaml(config)
    assert config.actor_rollout_ref.rollout.name == "vllm"
    assert config.trainer.device == "cuda"
    assert config.actor_rollout_ref.model.external_lib == "kimina.verl.without_trl"
    assert "cpu_worker" not in text and "hf_cpu" not in text


def test_the_old_trainer_of_verl_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"trainer\.use_v1=true"):
        emit(tmp_path, "trainer.use_v1=false")


def test_how_generation_and_training_take_turns_is_written_into_verls_keys(tmp_path):
    default = emit(tmp_path).trainer.v1
    assert default.trainer_mode == "sync"
    partial = emit(tmp_path, "rollout=partial", "rollout.extra_batches=2", "rollout.max_staleness=3", "rollout.stale=drop")
    v1 = partial.trainer.v1
    assert (v1.trainer_mode, v1.colocate_async.num_warmup_batches) == ("colocate_async", 2)
    assert (v1.sampler.max_off_policy_threshold, v1.sampler.max_off_policy_strategy) == (3, "drop")
    assert "rollout" not in partial, "verl has no such node"
    settings = partial.reward.custom_reward_function.reward_kwargs.settings
    assert settings.rollout.segment_tokens == 48 and settings.rollout.repetition.stop
    separate = emit(tmp_path, "model=1p7b", "rollout=separate_async")
    assert separate.trainer.v1.trainer_mode == "separate_async" and not separate.actor_rollout_ref.hybrid_engine
    assert separate.actor_rollout_ref.rollout.nnodes == separate.trainer.nnodes
    assert separate.actor_rollout_ref.rollout.checkpoint_engine.backend == "nccl"


def test_our_agent_loop_judges_by_itself_and_one_of_your_own_has_verls_reward_workers(tmp_path):
    config = emit(tmp_path, "model=1p7b")
    agent = config.actor_rollout_ref.rollout.agent
    assert (agent.default_agent_loop, config.reward.num_workers) == ("kimina_proof", 0)
    manager, name = agent.agent_loop_manager_class.rsplit(".", 1)
    assert isinstance(getattr(import_module(manager), name), type)
    theirs = emit(tmp_path, "model=1p7b", "actor_rollout_ref.rollout.agent.agent_loop_config_path=mine.yaml")
    assert theirs.reward.num_workers == 8
    assert theirs.actor_rollout_ref.rollout.agent.agent_loop_config_path == "mine.yaml"
