"""The type and the range of every configuration key that is ours, and of the verl keys that a user touches.

verl's other keys take the type of verl's own default (:class:`kimina.experiment.rules.Like`). Keys are dotted paths.
"""

from kimina.evaluation.canaries import CANARIES
from kimina.experiment.options import option_names
from kimina.experiment.rules import Anything, Choice, Flag, Items, Number, Rule, Text


def _count(example: int, least: int = 1, most: int | None = None, nullable: bool = False) -> Number:
    return Number(example, least=least, most=most, integer=True, nullable=nullable)


def _positive(example: float, nullable: bool = False) -> Number:
    return Number(example, above=0, nullable=nullable)


def _columns(example: str) -> Items:
    return Items(Text("name", described="a column"), example_value=example)


_NAME = Text("my-run", pattern=r"[A-Za-z0-9][\w.\-+]{0,99}", described="a name (letters, digits, . _ - + only)")
_PROBABILITY = Number(1.0, above=0, most=1)
_TEMPERATURE = Number(1.0, least=0, most=10)
_SHARE = Number(0.5, above=0, most=1)
_SEED = Number(1, least=0, most=2**32 - 1, integer=True)

_COLUMN_EXAMPLES = {"name": "[name]", "informal": "[informal_prefix]", "statement": "[formal_statement]"}

#: Nodes with free content: verl or a library reads whatever stands in them.
OPEN_NODES: frozenset[str] = frozenset(
    {
        "actor_rollout_ref.model.override_config",
        "actor_rollout_ref.rollout.engine_kwargs.vllm",
        "actor_rollout_ref.rollout.engine_kwargs.sglang",
        "actor_rollout_ref.rollout.engine_kwargs.trtllm",
        "actor_rollout_ref.rollout.checkpoint_engine.engine_kwargs",
        "actor_rollout_ref.actor.optim.override_optimizer_config",
        "data.apply_chat_template_kwargs",
        "data.mm_processor_kwargs",
        "trainer.v1.sampler.sampler_kwargs",
        "ray_kwargs.ray_init.runtime_env.env_vars",
        "hydra",
    }
)

_MIXED_PRECISION = {
    f"actor_rollout_ref.{role}.fsdp_config.mixed_precision.{part}": Choice(("fp32", "bf16", "fp16"))
    for role in ("actor", "ref")
    for part in ("param_dtype", "reduce_dtype", "buffer_dtype")
}

#: Keys that verl or Ray reads but that verl's files don't spell out.
EXTRA: dict[str, Rule] = {
    **_MIXED_PRECISION,
    "ray_kwargs.ray_init.num_gpus": Number(1, least=0, nullable=True),
    "ray_kwargs.ray_init.include_dashboard": Flag(False),
    "ray_kwargs.ray_init.address": Text("auto", nullable=True),
    "ray_kwargs.ray_init.object_store_memory": _count(10**9, nullable=True),
    "ray_kwargs.ray_init._temp_dir": Text("ray", nullable=True),
    "ray_kwargs.ray_init.log_to_driver": Flag(True),
    "ray_kwargs.ray_init.logging_level": Anything(),
    "reward.custom_reward_function.reward_kwargs": Anything(),
}


def _ours() -> dict[str, Rule]:
    architecture = {
        f"model.architecture.{key}": _count(value)
        for key, value in {
            "hidden_size": 128,
            "layers": 3,
            "heads": 4,
            "kv_heads": 2,
            "head_dim": 32,
            "intermediate_size": 384,
            "max_positions": 1024,
        }.items()
    }
    groups = ("loss", "correction", "length", "sampling", "long2short", "verifier", "rollout", "engine", "cluster")
    names: dict[str, Rule] = {
        f"{group}.name": Choice(tuple(option_names(group)))
        for group in (*groups, "logger", "evaluation", "stage", "scale", "model")
    }
    return {
        **names,
        **architecture,
        "seed": _SEED,
        "name": _NAME,
        "output_dir": Text("outputs", described="a folder"),
        "table.name": Anything(),  # preflight looks it up among the tables
        "table.build": Flag(),
        "table.page": Flag(),
        "plan.tokens_per_second": _positive(8000, nullable=True),
        "plan.proofs_per_second": _positive(4.33),
        "plan.response_tokens": _positive(1000, nullable=True),
        "model.path": Text("AI-MO/Kimina-Prover-Distill-1.7B", nullable=True, described="a hub name or a folder"),
        "model.think_in_prompt": Flag(False),
        "model.parameters": _count(700_000),
        "model.architecture": Anything(),
        "model.architecture.rope_theta": _positive(300.0),
        "model.architecture.init_std": Number(0.08, above=0, most=1),
        "model.architecture.qk_norm": _positive(1.5),
        "model.architecture.copy_strength": Number(8.0, least=0, most=1000),
        "recipe.name": Choice(tuple(option_names("data"))),
        "recipe.source": Text("generated", described="a hub data set or a folder"),
        "recipe.test_source": Text("generated", described="a hub data set or a folder"),
        "recipe.seed": _SEED,
        "recipe.split": Text("train", described="a split"),
        "recipe.test_split": Text("train", described="a split"),
        "recipe.revision": Text("main", nullable=True, described="a revision"),
        "recipe.test_revision": Text("main", nullable=True, described="a revision"),
        **{f"recipe.columns.{part}": _columns(example) for part, example in _COLUMN_EXAMPLES.items()},
        "recipe.limit": _count(8, nullable=True),
        "recipe.train_count": _count(8000),
        "recipe.dev_count": _count(244, least=0),
        "recipe.test_count": _count(244),
        **{
            f"scale.{part}_tokens.{option}": _count(192)
            for part in ("prompt", "response")
            for option in option_names("correction")
        },
        "scale.segment_tokens": _count(8192),
        "rollout.mode": Choice(("sync", "colocate_async", "separate_async")),
        "rollout.extra_batches": _count(1, least=0, most=100),
        "rollout.segment_tokens": _count(8192, nullable=True),
        "rollout.earlier_segments": Choice(("included", "excluded")),
        "rollout.max_staleness": _count(8, nullable=True),
        "rollout.stale": Choice(("wait", "drop")),
        "rollout.repetition.stop": Flag(True),
        "rollout.repetition.times": _count(6, least=2),
        "rollout.repetition.max_period": _count(128),
        "rollout.repetition.min_tokens": _count(256, least=2),
        "rollout.repetition.check_every": _count(512),
        "rollout.repetition.penalty": Number(0.0, least=0),
        "correction.first_turn_share": Number(0.5, above=0, below=1),
        "correction.second_turn_reward": Number(1.0, above=0, most=1),
        "loss.tau": Number(0.4, least=0),
        "loss.zero_variance": Choice(("keep", "mask", "resample")),
        "loss.resample_rounds": _count(10),
        "loss.reset_optimizer": Flag(False),
        "loss.start_kl_every": _count(5, least=0),
        "score.input": Text("in.jsonl", nullable=True, described="a file"),
        "score.output": Text("out.jsonl", nullable=True, described="a file"),
        "score.proof_field": Text("lean", nullable=True, described="the name of a field"),
        "score.tokenizer": Text("AI-MO/Kimina-Prover-Distill-1.7B", nullable=True, described="a hub name or a folder"),
        "verify.input": Text("in.jsonl", nullable=True, described="a file"),
        "verify.output": Text("out.jsonl", nullable=True, described="a file"),
        "verify.code_field": Text("code", described="the name of a field"),
        "sft.enabled": Flag(True),
        "sft.seed": _SEED,
        "sft.prepared": Text("assets/warm_start", nullable=True, described="a folder"),
        "sft.epochs": _positive(1),
        "sft.batch_size": _count(32),
        "sft.lr": _positive(1e-3),
        "sft.muon_lr": _positive(0.02),
        "sft.wrong_choice_rate": Number(0.2, least=0, below=1),
        "sft.remark_rate": Number(0.4, least=0, below=1),
        "sft.warmup_steps": _count(20, least=0),
        "sft.max_length": _count(384),
        "sft.vocab_size": _count(704, least=300, most=1_000_000),
        "sft.tokenizer_problems": _count(2000),
        "sft.compile": Flag(False),
        "sft.threads": _count(2, most=4096, nullable=True),
        "sampling.schedule": Choice(("warmup_then_hard", "linear")),
        "sampling.difficulty": Choice(("measured", "row")),
        "sampling.warmup_steps": _count(24, least=0),
        "sampling.hard_share": _SHARE,
        "sampling.hard_threshold": Number(4, nullable=True),
        "sampling.start_share": _SHARE,
        "sampling.end_step": _count(60),
        "sampling.prior_successes": Number(0.5, least=0),
        "sampling.prior_attempts": _positive(1.0),
        "sampling.window": _count(4, most=100, nullable=True),
        "sampling.floor": Number(0.05, least=0, most=1),
        "sampling.times": _count(2, most=1000),
        "sampling.revisit_share": Number(0.05, least=0, below=1),
        "correction.capacity": _count(5000),
        "correction.probability": _PROBABILITY,
        "correction.share": _SHARE,
        "correction.max_age": _count(1, nullable=True),
        "correction.remove_drawn": Flag(False),
        "correction.history": Choice(("code_only", "with_think")),
        "correction.max_feedback_chars": _count(3000),
        "correction.too_long": Choice(("drop", "cut")),
        "verifier.workers": _count(2, most=4096),
        "verifier.goals": Flag(False),
        "verifier.timeout_s": Number(60, above=0, most=3600),
        "verifier.deadline_s": _positive(1800, nullable=True),
        "verifier.memory_mb": _count(2048, least=64),
        "verifier.max_heartbeats": _count(200000),
        "verifier.cache_size": _count(100000, least=0),
        "verifier.cache": Text("auto", nullable=True, described="a file, or auto"),
        "verifier.proofs_per_second": _positive(4.33),
        # Optional: above this share of unverified samples in a step the run stops (+verifier.max_unverified_share=0.5).
        "verifier.max_unverified_share": Number(0.2, above=0, most=1),
        "verifier.urls": Items(
            Text("http://localhost:8000", pattern=r"https?://\S+", described="a URL (http://… or https://…)"),
            least=1,
            example_value='["http://localhost:8000"]',
        ),
        "verifier.batch_size": _count(8),
        "verifier.concurrency": _count(40),
        "verifier.api_key_env": Text(
            "LEAN_SERVER_API_KEY",
            nullable=True,
            pattern=r"[A-Za-z_]\w*",
            described="the name of an environment variable",
        ),
        "verifier.lean_version": Text("4.15.0", nullable=True, described="a version"),
        "verifier.project_dir": Text("my-lake-project", nullable=True, described="a folder"),
        "verifier.lean": Text("lean", described="a program"),
        # A key means what its method says; relations between them are judged by kimina.reward.length.
        "length.weight": Number(0.5, least=0),
        "length.warmup": Choice(("step", "linear")),
        "length.start_step": _count(20, least=0),
        "length.ramp_steps": _count(20),
        "length.max_length": _count(192),
        "length.buffer": _count(38, least=0, nullable=True),
        "length.factor": _positive(1.0),
        "length.alpha": _positive(0.1),
        "length.delta": Number(0.5, least=0, most=1),
        "length.low": _count(100),
        "length.high": _count(4000),
        "length.beta": _positive(0.001),
        "length.limits": Items(_count(4000), least=1, example_value="[4000,3000,2000]"),
        "length.change_steps": Items(_count(30), example_value="[30,60]"),
        "cluster.nodes": _count(1, most=10_000),
        "cluster.gpus_per_node": _count(8, most=1024),
        "cluster.gpu": Text("H100-80GB", nullable=True),
        "evaluation.split": Choice(("test", "dev", "train")),
        # Every answer is a row on disk and in memory.
        "evaluation.samples": _count(32, most=100_000),
        "evaluation.ks": Items(_count(1), least=1, example_value="[1,8]"),
        "evaluation.temperature": _TEMPERATURE,
        "evaluation.top_p": _PROBABILITY,
        "evaluation.max_new_tokens": _count(192),
        "evaluation.batch_size": _count(128, most=1_000_000),
        "evaluation.model": Text("start", nullable=True, described="a folder, a hub name, start or trained"),
        "evaluation.prompts": Text("problems.jsonl", nullable=True, described="a file"),
        "evaluation.verify_rejected": Flag(True),
        "evaluation.max_unverified_share": Number(0.01, least=0, most=1),
        "evaluation.canaries": _count(4, least=0, most=len(CANARIES)),
        "evaluation.fix_turns": _count(1, least=0, most=1),
        "evaluation.fix_history": Choice(("code_only", "with_think")),
        "evaluation.fix_feedback_tokens": _count(1000),
        # The settings of each check are judged by kimina.reward; here only what stands around them.
        "reward.profile": Choice(tuple(option_names("reward"))),
        "reward.verify_rejected": Flag(False),
    }


OURS: dict[str, Rule] = _ours()

_ACTOR = "actor_rollout_ref.actor"
_ROLLOUT = "actor_rollout_ref.rollout"

#: verl keys that a user touches, with tighter rules than the type of verl's default.
VERL: dict[str, Rule] = {
    "data.train_files": Anything(),
    "data.val_files": Anything(),
    "data.train_batch_size": _count(24),
    "data.gen_batch_size": _count(24, nullable=True),
    "data.max_prompt_length": _count(192),
    "data.max_response_length": _count(192),
    "data.seed": Number(1, least=0, most=2**32 - 1, integer=True, nullable=True),
    "data.truncation": Choice(("error", "left", "right", "middle")),
    "data.dataloader_num_workers": _count(0, least=0),
    "data.train_max_samples": _count(-1, least=-1),
    "data.val_max_samples": _count(-1, least=-1),
    "algorithm.adv_estimator": Text("grpo", pattern=r"\w+", described="the name of an advantage estimator"),
    "algorithm.gamma": Number(1.0, least=0, most=1),
    "algorithm.lam": Number(1.0, least=0, most=1),
    "algorithm.norm_adv_by_std_in_grpo": Flag(True),
    "algorithm.kl_ctrl.kl_coef": Number(0.001, least=0),
    f"{_ACTOR}.optim.lr": Number(2e-6, least=0),
    f"{_ACTOR}.optim.weight_decay": Number(0.01, least=0),
    f"{_ACTOR}.optim.clip_grad": _positive(1.0),
    f"{_ACTOR}.grad_clip": _positive(1.0),
    f"{_ACTOR}.optim.betas": Items(Number(0.9, least=0, below=1), least=2, most=2, example_value="[0.9,0.999]"),
    f"{_ACTOR}.optim.lr_scheduler_type": Choice(("constant", "cosine")),
    f"{_ACTOR}.optim.lr_warmup_steps": _count(-1, least=-1),
    f"{_ACTOR}.optim.lr_warmup_steps_ratio": Number(0.0, least=0, most=1),
    f"{_ACTOR}.strategy": Choice(("fsdp", "fsdp2", "megatron", "veomni", "torchtitan")),
    f"{_ACTOR}.ppo_mini_batch_size": _count(32),
    f"{_ACTOR}.ppo_micro_batch_size_per_gpu": _count(2, nullable=True),
    f"{_ACTOR}.ppo_max_token_len_per_gpu": _count(16384),
    f"{_ACTOR}.ppo_epochs": _count(1),
    f"{_ACTOR}.clip_ratio": Number(0.2, above=0),
    f"{_ACTOR}.clip_ratio_low": Number(0.2, above=0, most=1),
    f"{_ACTOR}.clip_ratio_high": Number(0.3, above=0),
    f"{_ACTOR}.clip_ratio_c": Number(3.0, above=1),
    f"{_ACTOR}.loss_agg_mode": Choice(
        ("token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm")
    ),
    f"{_ACTOR}.loss_scale_factor": _positive(192, nullable=True),
    f"{_ACTOR}.entropy_coeff": Number(0.0),
    f"{_ACTOR}.kl_loss_coef": Number(0.001, least=0),
    f"{_ACTOR}.use_kl_loss": Flag(False),
    f"{_ROLLOUT}.name": Text("vllm", described="the name of a rollout engine"),
    f"{_ROLLOUT}.n": _count(8, most=4096),
    f"{_ROLLOUT}.temperature": Number(1.0, above=0, most=10),
    f"{_ROLLOUT}.top_p": _PROBABILITY,
    f"{_ROLLOUT}.top_k": Number(-1, least=-1, integer=True),
    f"{_ROLLOUT}.gpu_memory_utilization": Number(0.6, above=0, most=1),
    f"{_ROLLOUT}.tensor_model_parallel_size": _count(1),
    f"{_ROLLOUT}.log_prob_micro_batch_size_per_gpu": _count(2, nullable=True),
    f"{_ROLLOUT}.max_model_len": _count(32768, nullable=True),
    f"{_ROLLOUT}.val_kwargs.n": _count(8, most=4096),
    f"{_ROLLOUT}.val_kwargs.temperature": _TEMPERATURE,
    f"{_ROLLOUT}.val_kwargs.top_p": _PROBABILITY,
    f"{_ROLLOUT}.agent.num_workers": _count(1),
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": _count(2, nullable=True),
    "actor_rollout_ref.model.external_lib": Text("kimina.verl.cpu_worker", nullable=True),
    "reward.num_workers": _count(1),
    "trainer.total_epochs": _count(15),
    "trainer.total_training_steps": _count(50, nullable=True),
    "trainer.save_freq": Number(10, least=-1, integer=True),
    "trainer.test_freq": Number(5, least=-1, integer=True),
    "trainer.nnodes": _count(1, most=10_000),
    "trainer.n_gpus_per_node": _count(8, most=1024),
    "trainer.logger": Items(
        Choice(("console", "wandb", "tensorboard", "mlflow", "swanlab", "file", "clearml", "trackio")),
        example_value="[console]",
    ),
    "trainer.device": Choice(("cuda", "cpu", "npu")),
    "trainer.resume_mode": Choice(("auto", "disable", "resume_path")),
    "trainer.max_actor_ckpt_to_keep": _count(2, nullable=True),
    "ray_kwargs.ray_init.num_cpus": _count(16, nullable=True),
}
