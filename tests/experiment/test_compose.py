"""Composition, the closed world of keys, ranges, and relations between values."""

import pytest

from kimina.errors import UserError
from kimina.experiment.compose import compose, compose_with_warnings
from kimina.experiment.options import EXPERIMENTS

LR = "actor_rollout_ref.actor.optim.lr"
N = "actor_rollout_ref.rollout.n"
PROMPTS = "data.train_batch_size"
MINI = "actor_rollout_ref.actor.ppo_mini_batch_size"
MICRO = "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"
AGG = "actor_rollout_ref.actor.loss_agg_mode"
STD = "algorithm.norm_adv_by_std_in_grpo"
SCALE = "actor_rollout_ref.actor.loss_scale_factor"


def message(*words: str) -> str:
    with pytest.raises(UserError) as caught:
        compose(words)
    return str(caught.value)


def warnings(*words: str) -> str:
    return "\n".join(compose_with_warnings(words).warnings)


@pytest.mark.parametrize(
    ("word", "suggestion"),
    [
        ("modle=1p7b", "model=1p7b"),
        ("Model=nano", "model=nano"),
        ("lr=1e-5", f"{LR}=1e-5"),
        ("rollout.n=4", f"{N}=4"),
        (f"{LR}x=1e-5", f"{LR}=1e-5"),
        (f"++{N}n=8", f"{N}=8"),
        ("modle.path=x", "model.path=x"),
        ("actor_rolout_ref.rollout.n=4", f"{N}=4"),
        ("reward.checks.repeated_lines.mx=4", "reward.checks.repeated_lines.max=4"),
        ("model.architecture.head_dmi=64", "model.architecture.head_dim=64"),
    ],
)
def test_an_unknown_key_is_answered_with_the_nearest(word, suggestion):
    text = message(word)
    assert word in text
    assert text.endswith(f"type: python run.py {suggestion}")


@pytest.mark.parametrize("word", ["+reward.tpyo=1", "++foo.bar=1", "+foo=1", "a.b.c=1", f"{LR}.x=1"])
def test_nothing_unknown_composes_behind_a_plus(word):
    assert "there is no configuration key" in message(word)


def test_a_key_inside_a_node_is_known_or_refused():
    assert "tpyo" in message("+actor_rollout_ref.actor.optim={tpyo: 1}")
    assert compose(["actor_rollout_ref.actor.optim={lr: 1e-5}"]).actor_rollout_ref.actor.optim.lr == 1e-5


def test_an_unknown_key_in_an_experiment_file_fails():
    file = EXPERIMENTS / "test_of_a_misspelt_key.yaml"
    file.write_text("# @package _global_\nseeed: 3\n", encoding="utf-8")
    try:
        text = message(f"experiments={file.stem}")
    finally:
        file.unlink()
    assert "seeed" in text and "seed" in text and "configuration file" in text


def test_a_key_of_another_option_is_refused():
    assert "verifier.workers" in message("verifier=embedded", "verifier.urls=[http://localhost:1]")
    assert compose(["verifier=kimina", "verifier.urls=[http://localhost:1]"]).verifier.urls == ["http://localhost:1"]


def test_free_nodes_take_what_their_reader_understands():
    config = compose(
        ["+actor_rollout_ref.model.override_config.foo=1", "actor_rollout_ref.rollout.engine_kwargs.vllm.x=2"]
    )
    assert config.actor_rollout_ref.model.override_config.foo == 1


def test_a_name_follows_its_option():
    assert message("loss.name=grpo").endswith("type: python run.py loss=grpo")
    assert message("reward.profile=strict").endswith("type: python run.py reward=strict")


@pytest.mark.parametrize(
    "value", ["abc", "nan", "inf", "1e999", "-1e-6", "true", "null", "''", "[1e-6]", "'1e-6'", "${nothing}"]
)
def test_a_learning_rate_is_a_finite_number(value):
    assert f"{LR}=" in message(f"{LR}={value}") or LR in message(f"{LR}={value}")


def test_a_learning_rate_of_zero_warns():
    assert f"{LR}=0" in warnings(f"{LR}=0")
    assert LR in warnings(f"{LR}=10")
    assert warnings(f"{LR}=1e-5") == ""


@pytest.mark.parametrize(
    "word",
    [
        "seed=-1", "seed=1.5", "seed=true", "seed=99999999999999999999", f"{N}=0", f"{N}=-2", f"{N}=eight", f"{N}=2.5",
        f"{N}=99999999999999999999999", f"{PROMPTS}=0", "actor_rollout_ref.rollout.temperature=0",
        "actor_rollout_ref.rollout.top_p=1.5", "trainer.n_gpus_per_node=0", "trainer.logger=console", "trainer.logger=[nope]",
        "name=../x", "name=", "name=a/b", "output_dir=", "verifier.timeout_s=0", "sft.lr=-1", "evaluation.ks=[]",
        "evaluation.ks=[0]", "data.shuffle=3", "trainer.total_epochs=0", "reward.checks.repeated_lines.max=0",
        "reward.checks.tactics_mismatch.min=1.5", "reward.checks.repeated_lines.enabled=7", "model.parameters=0",
    ],
)  # fmt: skip
def test_a_value_out_of_range_is_named_with_its_key(word):
    assert word.partition("=")[0] in message(word)


def test_what_was_typed_is_named_before_what_follows_from_it():
    assert message("seed=-1").startswith("seed=-1")
    assert message(f"{PROMPTS}=0").startswith(f"{PROMPTS}=0")


def test_a_threshold_of_a_check_is_one_override():
    assert compose(["reward.checks.repeated_lines.max=4"]).reward.checks.repeated_lines.max == 4


@pytest.mark.parametrize("loss", ["grpo", "drgpo"])
def test_a_group_of_one_has_nothing_to_be_compared_with(loss):
    text = message(f"loss={loss}", f"{N}=1")
    assert f"{N}=1" in text and loss in text


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ([f"{PROMPTS}=10", f"{MINI}=4"], ["10", "4"]),
        ([f"{PROMPTS}=4", f"{MINI}=8"], ["4", "8"]),
        ([f"{MICRO}=7"], ["192", "7"]),
        (["trainer.n_gpus_per_node=7"], ["192", "7"]),
        (["model=1p7b", "data.max_response_length=30000"], ["38192", "32768"]),
        (["evaluation.ks=[1,128]"], ["128", "64"]),
        (["actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=7"], ["192", "7"]),
        (["model=1p7b", "actor_rollout_ref.rollout.tensor_model_parallel_size=3"], ["3", "8"]),
        ([f"{MICRO}=null"], [MICRO, "use_dynamic_bsz"]),
    ],
)
def test_numbers_that_do_not_fit_are_both_named(words, numbers):
    text = message(*words)
    assert all(number in text for number in numbers)


def test_the_suggested_batch_numbers_compose():
    for words in (
        [f"{PROMPTS}=10", f"{MINI}=4"],
        [f"{MICRO}=7"],
        ["trainer.n_gpus_per_node=7"],
        [f"{PROMPTS}=4", f"{MINI}=8"],
    ):
        line = message(*words).splitlines()[-1].partition("run.py ")[2]
        compose(line.split())


def test_batch_numbers_that_divide_compose():
    compose([f"{PROMPTS}=8", f"{N}=4", f"{MINI}=4", f"{MICRO}=2", "trainer.n_gpus_per_node=1"])
    compose([f"{PROMPTS}=10", f"{N}=3"])
    compose([f"{MICRO}=null", "actor_rollout_ref.actor.use_dynamic_bsz=true"])


@pytest.mark.parametrize(("key", "value"), [(AGG, "token-mean"), (STD, "true"), (SCALE, "null"), (SCALE, "0")])
def test_drgpo_with_half_of_it_changed_fails(key, value):
    text = message("loss=drgpo", f"{key}={value}")
    assert key in text
    if value != "0":
        assert "drgpo" in text


def test_a_deadline_that_a_step_of_proofs_exceeds_warns():
    # 2,048 proofs at 4.33 a second take 473 s.
    big = ("model=1p7b", "verifier=kimina")
    assert "verifier.deadline_s" not in warnings(*big)
    told = warnings(*big, "verifier.deadline_s=300")
    assert "2,048 proofs" in told and "473 s" in told and "verifier.deadline_s=946" in told
    assert "deadline" not in warnings(*big, "verifier.deadline_s=null")


def test_half_of_drgpo_under_grpo_warns_and_names_the_other_half():
    assert AGG in warnings("loss=grpo", f"{STD}=false")
    assert STD in warnings("loss=grpo", f"{AGG}=seq-mean-token-sum-norm", f"{SCALE}=192")
    assert "micro-batch" in message("loss=grpo", f"{AGG}=seq-mean-token-sum-norm", f"{SCALE}=null")
    assert warnings("loss=grpo") == ""


def test_the_normaliser_follows_the_response_length():
    config = compose(["data.max_response_length=100"])
    assert config.actor_rollout_ref.actor.loss_scale_factor == 100


def test_a_hub_model_on_a_cpu_warns():
    assert "without a GPU" in warnings("model=1p7b", "cluster=cpu")


def test_mathlib_theorems_with_the_embedded_lean_warn():
    assert "Mathlib" in warnings("model=1p7b", "verifier=embedded")


@pytest.mark.parametrize("table", ["no_such_table", "../secret", "", "null", "7"])
def test_an_unknown_table_lists_those_that_exist(table):
    text = message("stage=table", f"table={table}")
    assert table in text and "drgrpo" in text and "more" in text


def test_a_missing_file_is_found_before_anything_starts(tmp_path):
    text = message(f"data.train_files={tmp_path}/nothing.parquet")
    assert "nothing.parquet" in text


def test_composing_twice_gives_the_same_configuration():
    assert compose(["seed=3"]) == compose(["seed=3"])


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("model.architecture.heads=3", "not divisible by model.architecture.kv_heads=2"),
        ("model.architecture.head_dim=7", "head_dim=7 is odd"),
        ("model.architecture.layers=1", "needs 2 layers"),
        ("model.architecture.rope_theta=2.0", "rotary pairs"),
        ("model.architecture.copy_strength=1e308", "at most 1000"),
    ],
)
def test_sizes_of_a_model_that_do_not_fit_are_refused(word, said):
    with pytest.raises(UserError, match=said):
        compose([word])


def test_sizes_do_not_matter_where_no_model_is_made():
    compose(["model=1p7b"])
    compose(["model.architecture.layers=1", "model.architecture.copy_strength=0"])
