"""Every file of conf/, experiments/ and sweeps/ composes and validates; verl accepts what is emitted for it.

verl takes seconds to import, so everything that needs it runs in this one module.
"""

import json
from functools import cache
from pathlib import Path

import pytest
import yaml
from omegaconf import DictConfig, OmegaConf, open_dict

from kimina.experiment.compose import compose, compose_with_warnings
from kimina.experiment.keys import leaves, reward_profile, verl_defaults
from kimina.experiment.missing_methods import chosen_options, missing_methods
from kimina.experiment.options import (
    CONF,
    EXPERIMENTS,
    GROUPS,
    REPOSITORY,
    default_options,
    option_names,
    table_names,
    verl_config_folder,
)
from kimina.experiment.schema import EXTRA, OPEN_NODES, OURS, VERL
from kimina.experiment.sweepfile import check_sweep_text
from kimina.reward.settings import PROFILES, RewardSettings
from kimina.verl.emit import OUR_NODES, emit_trainer_config

HUB_MODELS = ("0p6b", "1p7b", "8b")
REWARDS = {("reward", profile) for profile in option_names("reward")}
#: tests/experiment/test_experiments.py has the experiments that wait for a method.
SHIPPED = [
    (group, option)
    for group in GROUPS
    for option in option_names(group)
    if group != "experiments" or not missing_methods(option)
]
#: Experiments that differ in more than what the reward asks, which verl never sees: the first of each kind.
DISTINCT = list({frozenset(chosen_options(name)) - REWARDS: name for name in reversed(option_names("experiments"))}.values())
#: Options that can't work on the default's cluster; tests/experiment/test_rollout_set.py has what is said then.
ON_GPUS = ("separate_async",)
#: Each shipped option alone, and those that change what verl sees also with a hub-sized model.
PAIRS = [
    *([f"{group}={option}"] for group, option in SHIPPED if (group != "experiments" or option in DISTINCT) and option not in ON_GPUS),
    *(
        ["model=1p7b", f"{group}={option}"]
        for group, option in SHIPPED
        if group in ("loss", "data", "cluster", "rollout", "engine", "scale")
    ),
    ["model=1p7b", "data=nano", "cluster=cpu", "verifier=embedded"],
    ["model=nano", "cluster=h100x8"],
]

#: papers.md B3: kimina_prover_1.7B.sh of the Kimina-Prover-RL recipe; the script for 0.6B differs in the model alone.
#: Its error correction is correction=replay, whose numbers tests/data/test_corrections_agree.py compares.
RECIPE = {
    "data.max_prompt_length": 8192,
    "data.max_response_length": 24576,
    "actor_rollout_ref.rollout.max_model_len": 32768,
    "data.train_batch_size": 256,
    "actor_rollout_ref.rollout.n": 8,
    "actor_rollout_ref.actor.ppo_mini_batch_size": 32,
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": 2,
    "actor_rollout_ref.actor.optim.lr": 2e-6,
    "actor_rollout_ref.actor.optim.lr_scheduler_type": "constant",
    "actor_rollout_ref.actor.optim.lr_warmup_steps_ratio": 0.0,
    "actor_rollout_ref.actor.optim.lr_warmup_steps": 0,
    "actor_rollout_ref.actor.optim.weight_decay": 0.01,
    "actor_rollout_ref.actor.optim.clip_grad": 1.0,
    "actor_rollout_ref.actor.grad_clip": 1.0,
    "actor_rollout_ref.actor.ppo_epochs": 1,
    "algorithm.adv_estimator": "kimina_drgpo",
    "algorithm.norm_adv_by_std_in_grpo": False,
    "algorithm.use_kl_in_reward": False,
    "actor_rollout_ref.actor.loss_agg_mode": "seq-mean-token-sum-norm",
    "actor_rollout_ref.actor.loss_scale_factor": 24576,
    "actor_rollout_ref.actor.use_kl_loss": False,
    "actor_rollout_ref.actor.kl_loss_coef": 0.0,
    "actor_rollout_ref.actor.entropy_coeff": 0,
    "actor_rollout_ref.actor.clip_ratio_low": 0.2,
    "actor_rollout_ref.actor.clip_ratio_high": 0.3,
    "actor_rollout_ref.actor.clip_ratio_c": 3.0,
    "actor_rollout_ref.rollout.name": "vllm",
    "actor_rollout_ref.rollout.tensor_model_parallel_size": 1,
    "actor_rollout_ref.rollout.gpu_memory_utilization": 0.6,
    "actor_rollout_ref.rollout.temperature": 1.0,
    "actor_rollout_ref.rollout.top_p": 1.0,
    "actor_rollout_ref.rollout.val_kwargs.do_sample": True,
    "actor_rollout_ref.rollout.val_kwargs.n": 8,
    "actor_rollout_ref.rollout.val_kwargs.temperature": 1.0,
    "actor_rollout_ref.rollout.val_kwargs.top_p": 0.95,
    "trainer.test_freq": 5,
    "trainer.save_freq": 5,
    "trainer.total_epochs": 15,
    "trainer.n_gpus_per_node": 8,
    "trainer.nnodes": 1,
    "data.dataloader_num_workers": 0,
    "data.filter_overlong_prompts": True,
    "data.truncation": "error",
    "verifier.name": "kimina",
    "verifier.timeout_s": 60.0,
    "verifier.concurrency": 40,
    "recipe.source": "AI-MO/Kimina-Prover-Promptset",
    "recipe.test_source": "AI-MO/minif2f_test",
    "correction.name": "none",
}
BASES = {"0p6b": "AI-MO/Kimina-Prover-Distill-0.6B", "1p7b": "AI-MO/Kimina-Prover-Distill-1.7B"}


@cache
def composed(*overrides: str) -> DictConfig:
    """Return a composed configuration; no test changes it."""
    return compose(overrides)


@pytest.mark.parametrize("overrides", PAIRS, ids=" ".join)
def test_every_shipped_option_composes(overrides):
    config = composed(*overrides)
    group, option = overrides[-1].split("=")
    if group in OUR_NODES and f"{group}.name" in OURS and (group, option) != ("loss", "drgrpo"):
        assert config[group].name == option


def test_every_group_folder_is_a_group_with_options():
    folders = {path.name for path in CONF.iterdir() if path.is_dir()}
    assert folders == set(GROUPS) - {"experiments"}
    assert all(option_names(group) for group in folders)


def test_every_yaml_file_of_conf_is_an_option_or_is_included_by_one():
    options = {
        CONF / group / f"{option}.yaml" for group in GROUPS if group != "experiments" for option in option_names(group)
    }
    included = {CONF / "config.yaml", CONF / "base.yaml", *(CONF / "data" / "recipe").glob("*.yaml")}
    assert set(CONF.rglob("*.yaml")) == options | included
    assert {path.stem for path in (CONF / "data" / "recipe").glob("*.yaml")} == set(option_names("data"))


def test_option_names_survive_yaml():
    """A bare ``on``, ``off``, ``yes``, ``no`` or number would reach a sweep as something else than its name."""
    for _, option in SHIPPED:
        assert yaml.safe_load(option) == option


def test_experiments_say_how_to_run_them():
    for name in option_names("experiments"):
        first = (EXPERIMENTS / f"{name}.yaml").read_text(encoding="utf-8").splitlines()[:6]
        assert any(line.startswith("#") and "run.py" in line for line in first), name


def test_sweeps_compose():
    for path in sorted((REPOSITORY / "sweeps").glob("*.yaml")):
        check_sweep_text(path.read_text(encoding="utf-8"), path.name)


def test_the_table_that_is_built_by_default_exists():
    assert compose(["stage=table"]).table.name in table_names()


def test_no_argument_is_the_nano_experiment():
    config = compose([])
    chosen = {group: config[group].name for group in ("model", "verifier", "cluster", "engine", "evaluation", "scale")}
    assert chosen == {
        "model": "nano", "verifier": "embedded", "cluster": "cpu", "engine": "hf_cpu", "evaluation": "nano", "scale": "nano",
    }  # fmt: skip
    assert (config.stage.name, config.recipe.name, config.sft.enabled, config.trainer.device) == (
        "all",
        "nano",
        True,
        "cpu",
    )
    assert default_options()["loss"] == "drgpo"


@pytest.mark.parametrize("model", HUB_MODELS)
def test_a_hub_model_leaves_nothing_of_nano_behind(model):
    composition = compose_with_warnings([f"model={model}", "loss=drgpo", "reward=strict"])
    config = composition.config
    chosen = {group: config[group].name for group in ("verifier", "cluster", "engine", "evaluation", "scale")}
    assert chosen == {
        "verifier": "kimina", "cluster": "h100x8", "engine": "vllm", "evaluation": "minif2f", "scale": "hub",
    }  # fmt: skip
    assert (config.recipe.name, config.sft.enabled, config.trainer.device) == ("promptset", False, "cuda")
    assert config.reward.profile == "strict"
    assert config.name == f"{model}-drgpo"
    assert not composition.warnings
    text = OmegaConf.to_yaml(config)
    assert "cpu_worker" not in text and "embedded" not in text


def test_what_follows_the_model_can_be_overridden_one_by_one():
    config = compose(["model=1p7b", "data=nano", "cluster=cpu", "verifier=embedded", "evaluation=nano"])
    assert (config.recipe.name, config.cluster.name, config.engine.name) == ("nano", "cpu", "hf_cpu")
    assert (config.verifier.name, config.evaluation.name) == ("embedded", "nano")
    assert config.data.train_batch_size == 256
    config = compose(["model=nano", "cluster=h100x8"])
    assert (config.engine.name, config.recipe.name, config.trainer.n_gpus_per_node) == ("vllm", "nano", 8)
    config = compose(["model=1p7b", "scale=nano"])
    assert (config.model.name, config.recipe.name, config.cluster.name) == ("1p7b", "nano", "cpu")
    config = compose(["model=nano", "cluster=h100x8", "engine=hf_cpu"])
    assert config.actor_rollout_ref.rollout.name == "hf_cpu"


@pytest.mark.parametrize("model", ["0p6b", "1p7b"])
def test_the_published_hyperparameters_hold(model):
    config = compose([f"model={model}", "loss=drgpo"])
    composed = {key: OmegaConf.select(config, key) for key in RECIPE}
    assert composed == RECIPE
    assert config.model.path == config.actor_rollout_ref.model.path == BASES[model]


def test_the_two_published_scripts_differ_in_the_model_alone():
    small, large = (
        dict(leaves(OmegaConf.to_container(compose([f"model={m}"]), resolve=True))) for m in ("0p6b", "1p7b")
    )
    differing = {key for key in small if small[key] != large[key]}
    assert differing == {
        "model.name", "model.path", "model.parameters", "name", "actor_rollout_ref.model.path",
        "actor_rollout_ref.rollout.prometheus.served_model_name", "actor_rollout_ref.rollout.trace.experiment_name",
        "trainer.experiment_name", "trainer.default_local_dir",
    }  # fmt: skip


def test_drgrpo_is_drgpo():
    assert compose(["loss=drgrpo"]) == compose(["loss=drgpo"])


def test_one_seed_reaches_everything_that_draws():
    config = compose(["seed=7"])
    for key in (
        "data.seed",
        "actor_rollout_ref.actor.data_loader_seed",
        "actor_rollout_ref.actor.fsdp_config.seed",
        "actor_rollout_ref.rollout.seed",
    ):
        assert OmegaConf.select(config, key) == 7, key


def test_reward_profiles_are_valid_and_named_alike():
    assert set(option_names("reward")) == set(PROFILES)
    for profile in PROFILES:
        node = OmegaConf.to_container(compose([f"reward={profile}"]).reward, resolve=True)
        assert RewardSettings.parse(node).profile == profile
        assert reward_profile(profile)["reward.profile"] == profile


def test_a_verifier_option_spells_out_all_that_its_class_takes():
    from kimina.lean.embedded.pool import EmbeddedVerifier
    from kimina.lean.kimina_server import KiminaServerVerifier
    from kimina.lean.local import LocalVerifier

    classes = {"embedded": EmbeddedVerifier, "kimina": KiminaServerVerifier, "local": LocalVerifier}
    assert set(option_names("verifier")) == {*classes, "none"}
    for name, verifier in classes.items():
        assert set(composed(f"verifier={name}").verifier) == {"name", *verifier.OPTIONS}


def test_the_nodes_that_verl_must_not_see_are_all_named():
    composed = {str(key) for key in compose([])} | {str(key) for key in compose(["model=1p7b"])}
    verls = {key.split(".")[0] for key in verl_defaults()} | {"model_engine"}
    assert composed - verls == set(OUR_NODES)
    assert {key.split(".")[0] for key in OURS} - {"reward"} == set(OUR_NODES)


@pytest.mark.parametrize("overrides", [[], ["model=1p7b"]], ids=["nano", "1p7b"])
def test_verls_flattened_file_spells_out_what_its_tree_composes(overrides):
    """The closed world of keys is read from that file."""
    written = OmegaConf.to_container(composed(*overrides), resolve=False)
    keys = {key for key, _ in leaves({name: node for name, node in written.items() if name not in OUR_NODES})}
    ours = set(reward_profile("kimina")) | set(EXTRA) | {"model_engine"}
    unknown = {
        key for key in keys - set(verl_defaults()) - ours if not any(key.startswith(f"{n}.") for n in OPEN_NODES)
    }
    assert not unknown


def test_rules_for_verl_keys_name_keys_that_verl_has():
    assert set(VERL) <= set(verl_defaults())
    for node in OPEN_NODES - {"hydra", "ray_kwargs.ray_init.runtime_env.env_vars"}:
        assert any(key == node or key.startswith(f"{node}.") for key in verl_defaults()), node


def test_verls_folder_is_found_without_importing_verl():
    assert (verl_config_folder() / "ppo_trainer.yaml").is_file()


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory) -> Path:
    """A folder that transformers takes for a Qwen3 of a few thousand parameters, with a tokenizer."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen3Config

    folder = tmp_path_factory.mktemp("tiny_model")
    words = {word: index for index, word in enumerate(["<pad>", "<eos>", "<unk>", "a", "b"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    ).save_pretrained(folder)
    config = Qwen3Config(
        vocab_size=8, hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=1,
        num_key_value_heads=1, head_dim=32, architectures=["Qwen3ForCausalLM"], torch_dtype="float32",
    )  # fmt: skip
    config.save_pretrained(folder)
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": 1}), encoding="utf-8")
    return folder


@cache
def converted_model(node: str):
    """Convert a model node to verl's dataclass, which reads tokenizer and model configuration from disk."""
    from verl.utils.config import omega_conf_to_dataclass

    return omega_conf_to_dataclass(OmegaConf.create(node))


@pytest.mark.parametrize("overrides", PAIRS, ids=" ".join)
def test_verl_accepts_every_shipped_option(overrides, tiny_model, tmp_path):
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    files = [tiny_model / "prompts.parquet"]
    emitted = emit_trainer_config(
        composed(*overrides), out_dir=tmp_path, model_path=tiny_model, train_files=files, val_files=files
    )
    assert not set(emitted) & set(OUR_NODES)
    validate_config(emitted, use_reference_policy=need_reference_policy(emitted), use_critic=need_critic(emitted))
    assert not need_critic(emitted)
    reference = emitted.actor_rollout_ref.ref
    with open_dict(reference):  # as verl's worker renames them before it builds the reference model
        reference.ppo_mini_batch_size = emitted.actor_rollout_ref.actor.ppo_mini_batch_size
        for name in ("micro_batch_size", "micro_batch_size_per_gpu", "max_token_len_per_gpu"):
            reference[f"ppo_{name}"] = reference.pop(f"log_prob_{name}")
        reference.use_dynamic_bsz = reference.pop("log_prob_use_dynamic_bsz")
    for node in (
        reference,
        emitted.distillation,
        emitted.critic.optim,
        emitted.actor_rollout_ref.rollout.checkpoint_engine,
    ):
        omega_conf_to_dataclass(node)
    actor = omega_conf_to_dataclass(emitted.actor_rollout_ref.actor)
    rollout = omega_conf_to_dataclass(emitted.actor_rollout_ref.rollout)
    model = converted_model(OmegaConf.to_yaml(emitted.actor_rollout_ref.model))
    # verl 0.9.1 never converts the reward node as a whole: its RewardManagerConfig raises in __post_init__.
    sandbox = omega_conf_to_dataclass(emitted.reward.sandbox_fusion)
    algorithm = omega_conf_to_dataclass(emitted.algorithm)
    assert actor.optim.lr == emitted.actor_rollout_ref.actor.optim.lr
    assert actor.loss_scale_factor == emitted.actor_rollout_ref.actor.loss_scale_factor
    assert rollout.n == 8 and rollout.name in ("hf_cpu", "vllm")
    assert model.path == str(tiny_model)
    assert sandbox.url is None and emitted.reward.num_workers == 0
    assert algorithm.adv_estimator == emitted.algorithm.adv_estimator
