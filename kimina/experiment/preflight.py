"""What can be known before resources are taken: values, batch arithmetic, methods set by half, files.

Works on the resolved configuration as plain containers; imports neither torch nor verl.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any

from kimina.errors import UserError
from kimina.experiment.complaint import complaint, nearest_first, replaced
from kimina.experiment.keys import all_rules, is_known, is_open, leaves, reward_profile, unknown_key
from kimina.experiment.length_set import check_length
from kimina.experiment.losses_set import half_set_losses
from kimina.experiment.options import TABLES, from_repository, table_names
from kimina.experiment.rollout_set import check_rollout
from kimina.experiment.trainer_set import check_trainer
from kimina.sft.circuit_size import check_circuit_size

#: verl's own estimators that compare a response with the others of its group; ours all do, or make no sense alone.
GROUP_RELATIVE = frozenset({"grpo", "grpo_passk", "grpo_vectorized", "gdpo", "rloo", "rloo_vectorized"})
LR = "actor_rollout_ref.actor.optim.lr"


def value_at(tree: Mapping[str, Any], key: str) -> Any:
    """Return the value at a dotted key, None where a node on the way is missing or null."""
    node: Any = tree
    for part in key.split("."):
        if not isinstance(node, Mapping) or part not in node:
            return None
        node = node[part]
    return node


def typed_word(key: str, words: Sequence[str]) -> str | None:
    """Return the argument that set ``key``, if one did: of several the last, which wins."""
    for word in reversed(words):
        if word.lstrip("+").partition("=")[0] == key:
            return word
    return None


def check_values(written: Mapping[str, Any], tree: Mapping[str, Any], words: Sequence[str] = ()) -> None:
    """Check that every key is known and every value obeys its rule.

    Args:
        written: the configuration with its interpolations, which says which keys were written.
        tree: the same with interpolations resolved, which says what they mean.
        words: the arguments of the command.

    Raises:
        UserError: names the key, the value, what it must be, and a command that works.
    """
    engine = str(tree["model_engine"])
    rules = all_rules(engine)
    typed = [word.lstrip("+").partition("=")[0] for word in words]
    keys = [key for key, _ in leaves(written)]
    # What was typed is judged before what follows from it by interpolation.
    for key in [*(key for key in typed if key in rules), *keys]:
        rule, value = rules.get(key), value_at(tree, key)
        if rule is None:
            if is_open(key) or (isinstance(value, Mapping | None) and is_known(key, engine)):
                continue
            raise unknown_key(key, engine)
        problem = rule.problem(value) if value != "???" else None
        if problem is None:
            continue
        word = typed_word(key, words)
        example = f"{key}={rule.example()}"
        raise complaint(
            f"{word or f'{key}={value}'}: {problem}.",
            type_line=replaced(words, word, example) if word else [*words, example],
        )


def cross_checks(tree: Mapping[str, Any], words: Sequence[str] = ()) -> Iterator[str]:
    """Check relations between values; yield warnings.

    Raises:
        UserError: the first relation that can't work.
    """
    _check_batches(tree, words)
    _check_forward_passes(tree, words)
    _check_group_size(tree, words)
    _check_lengths(tree, words)
    _check_evaluation(tree, words)
    _check_table(tree, words)
    _check_files(tree)
    _check_architecture(tree, words)
    _check_reward(tree, words)
    _check_sampling(tree, words)
    _check_correction(tree, words)
    yield from half_set_losses(tree, words)
    yield from check_length(tree, words)
    yield from check_trainer(tree, words)
    yield from check_rollout(tree, words)
    yield from _odd_but_possible(tree)


def _check_batches(tree: Mapping[str, Any], words: Sequence[str]) -> None:
    actor = tree["actor_rollout_ref"]["actor"]
    prompts, n = tree["data"]["train_batch_size"], tree["actor_rollout_ref"]["rollout"]["n"]
    mini, micro = actor["ppo_mini_batch_size"], actor["ppo_micro_batch_size_per_gpu"]
    workers = tree["trainer"]["n_gpus_per_node"] * tree["trainer"]["nnodes"]
    mini_key, micro_key = (
        "actor_rollout_ref.actor.ppo_mini_batch_size",
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu",
    )
    if mini > prompts:
        raise complaint(
            f"{mini_key}={mini} is larger than data.train_batch_size={prompts}: a mini-batch is a part of the batch "
            "(both count prompts).",
            type_line=_with(words, mini_key, prompts),
        )
    if prompts % mini:
        raise complaint(
            f"data.train_batch_size={prompts} is not divisible by {mini_key}={mini} (both count prompts).",
            type_line=_with(words, mini_key, _nearest_divisor(prompts, mini)),
        )
    if (prompts * n) % workers or (mini * n) % workers:
        wrong, number = (mini_key, mini) if (mini * n) % workers else ("data.train_batch_size", prompts)
        raise complaint(
            f"{wrong}={number} x actor_rollout_ref.rollout.n={n} = {number * n} responses can't be shared evenly by "
            f"trainer.n_gpus_per_node={tree['trainer']['n_gpus_per_node']} x trainer.nnodes={tree['trainer']['nnodes']} "
            f"= {workers} workers.",
            type_line=_with(
                words, "trainer.n_gpus_per_node", _fitting_workers(prompts * n, mini * n, micro or 1, workers)
            ),
        )
    share = mini * n // workers
    if micro is None:
        if not actor["use_dynamic_bsz"]:
            raise complaint(
                f"{micro_key} is null and actor_rollout_ref.actor.use_dynamic_bsz is false: one of them must say how "
                "many responses one forward pass takes.",
                type_line=_with(words, micro_key, 1),
            )
    elif not actor["use_dynamic_bsz"] and share % micro:
        raise complaint(
            f"{mini_key}={mini} x actor_rollout_ref.rollout.n={n} / {workers} workers = {share} responses are not "
            f"divisible by {micro_key}={micro}.",
            type_line=_with(words, micro_key, _nearest_divisor(share, micro)),
        )


def _check_forward_passes(tree: Mapping[str, Any], words: Sequence[str]) -> None:
    """Check what one worker computes log-probabilities for, and the workers that one copy of the rollout engine takes."""
    whole = tree["actor_rollout_ref"]
    rollout, workers = whole["rollout"], tree["trainer"]["n_gpus_per_node"] * tree["trainer"]["nnodes"]
    share = tree["data"]["train_batch_size"] * rollout["n"] // workers
    roles = ["rollout"]
    if whole["actor"]["use_kl_loss"] or tree["algorithm"]["use_kl_in_reward"] or tree["loss"]["start_kl_every"]:
        roles.append("ref")
    for role in roles:
        key, micro = (
            f"actor_rollout_ref.{role}.log_prob_micro_batch_size_per_gpu",
            whole[role]["log_prob_micro_batch_size_per_gpu"],
        )
        if micro is not None and not whole[role]["log_prob_use_dynamic_bsz"] and share % micro:
            raise complaint(
                f"data.train_batch_size={tree['data']['train_batch_size']} x actor_rollout_ref.rollout.n={rollout['n']} / "
                f"{workers} workers = {share} responses are not divisible by {key}={micro}.",
                type_line=_with(words, key, _nearest_divisor(share, micro)),
            )
    key, parallel = "actor_rollout_ref.rollout.tensor_model_parallel_size", rollout["tensor_model_parallel_size"]
    engine, where = workers, "trainer"
    if tree["rollout"]["mode"] == "separate_async":
        # rollout=separate_async has said by now where one of the two is 0
        engine, where = max(1, rollout["n_gpus_per_node"] * rollout["nnodes"]), "actor_rollout_ref.rollout"
    if engine % parallel:
        raise complaint(
            f"{key}={parallel} does not divide the {engine} workers ({where}.n_gpus_per_node x {where}.nnodes).",
            type_line=_with(words, key, _nearest_divisor(engine, parallel)),
        )


def _check_group_size(tree: Mapping[str, Any], words: Sequence[str]) -> None:
    n, loss = tree["actor_rollout_ref"]["rollout"]["n"], tree["loss"]["name"]
    estimator = tree["algorithm"]["adv_estimator"]
    if n < 2 and (estimator in GROUP_RELATIVE or estimator.startswith("kimina_")):
        raise complaint(
            f"actor_rollout_ref.rollout.n={n} with loss={loss}: a response is compared with the other responses to its "
            "prompt, so a prompt needs at least 2.",
            type_line=_with(words, "actor_rollout_ref.rollout.n", 8),
        )


def _check_lengths(tree: Mapping[str, Any], words: Sequence[str]) -> None:
    rollout = tree["actor_rollout_ref"]["rollout"]
    total = tree["data"]["max_prompt_length"] + tree["data"]["max_response_length"]
    limit = rollout["max_model_len"]
    if limit is not None and total > limit:
        raise complaint(
            f"data.max_prompt_length={tree['data']['max_prompt_length']} + data.max_response_length="
            f"{tree['data']['max_response_length']} = {total} tokens, more than "
            f"actor_rollout_ref.rollout.max_model_len={limit}.",
            type_line=_with(words, "actor_rollout_ref.rollout.max_model_len", total),
        )


def _check_evaluation(tree: Mapping[str, Any], words: Sequence[str]) -> None:
    evaluation = tree["evaluation"]
    too_large = [k for k in evaluation["ks"] if k > evaluation["samples"]]
    if too_large:
        raise complaint(
            f"evaluation.ks={evaluation['ks']}: pass@{too_large[0]} is undefined with evaluation.samples="
            f"{evaluation['samples']} answers a problem.",
            type_line=_with(words, "evaluation.samples", max(too_large)),
        )
    if evaluation["model"] is not None:
        _check_evaluated_model(tree, words)
    if evaluation["prompts"] is not None:
        path = Path(evaluation["prompts"]).expanduser()
        if path.suffix not in (".parquet", ".jsonl"):
            found = sorted(str(file) for suffix in ("parquet", "jsonl") for file in path.glob(f"*.{suffix}"))
            raise complaint(
                f"evaluation.prompts={evaluation['prompts']}: a prompt set is a .parquet file of stage=data or a .jsonl file.",
                exists=found,
                type_line=_with(words, "evaluation.prompts", found[0] if found else "problems.jsonl"),
            )
        if not path.is_file():
            raise complaint(
                f"evaluation.prompts={evaluation['prompts']}: there is no such file (looked for {Path.cwd() / path})."
            )


def _check_evaluated_model(tree: Mapping[str, Any], words: Sequence[str]) -> None:
    """Check that the model that is named exists, as far as that can be seen here, and that the stage asks for it."""
    from kimina.experiment.evaluation_inputs import START, TRAINED, is_hub_name

    model, stage = tree["evaluation"]["model"], tree["stage"]["name"]
    if stage in ("all", "table"):
        raise complaint(
            f"evaluation.model={model} with stage={stage}: a named model is evaluated by itself, and the table compares the "
            "experiment's models before and after RL.",
            type_line=_with(words, "stage", "eval"),
        )
    if model not in (START, TRAINED) and not Path(model).expanduser().exists() and not is_hub_name(model):
        raise complaint(
            f"evaluation.model={model}: there is no such folder (looked for {Path.cwd() / Path(model).expanduser()}), and "
            "names on the hub are OWNER/NAME.",
            exists=sorted(str(path) for path in Path(tree["output_dir"]).expanduser().glob("rl/*")),
            type_line=_with(words, "evaluation.model", START),
        )


def _check_table(tree: Mapping[str, Any], words: Sequence[str]) -> None:
    names, table = table_names(), tree["table"]["name"]
    typed = typed_word("table.name", words) or typed_word("table", words)
    asked = typed is not None or tree["stage"]["name"] == "table"
    if asked and table not in names:
        ordered = nearest_first(str(table), names)
        raise complaint(
            f"{typed or f'table={table}'}: there is no such table in {TABLES.parent.name}/{TABLES.name}.",
            exists=ordered,
            exists_label="tables",
            type_line=(replaced(words, typed, f"table={ordered[0]}") if typed else [*words, f"table={ordered[0]}"]) if ordered else None,
        )


def _check_reward(tree: Mapping[str, Any], words: Sequence[str]) -> None:
    """Let the reward's own settings judge thresholds, unless they stand as a shipped profile has them."""
    node = tree["reward"]
    shipped = reward_profile(node["profile"])
    if all(value_at(tree, key) == value for key, value in shipped.items()):
        return
    from kimina.reward.settings import RewardSettings

    try:
        RewardSettings.parse(node)
    except UserError as error:
        changed = next((key for key in shipped if typed_word(key, words) and f"{key}=" in str(error)), None)
        if changed is None:
            raise
        line = _with(words, changed, shipped[changed])
        raise complaint(f"{error}.", type_line=line) from error


def _check_correction(tree: Mapping[str, Any], words: Sequence[str]) -> None:
    correction = tree["correction"]
    if correction["name"] != "rollout":
        return
    if correction["history"] != "with_think":
        raise complaint(
            f"correction.history={correction['history']} with correction=rollout: both turns are one sequence of tokens, "
            "in which the second stands behind all of the first. A fix turn that sees the code alone is another prompt: "
            "correction=replay.",
            type_line=_with(words, "correction.history", "with_think"),
        )
    if tree["length"]["name"] == "l1_max" and correction["second_turn_reward"] < 1:
        raise complaint(
            f"length=l1_max with correction.second_turn_reward={correction['second_turn_reward']:g}: what exceeding the budget "
            "costs is reckoned from a reward of 1, so that a corrected proof could earn less than none.",
            type_line=_with(words, "correction.second_turn_reward", 1.0),
        )
    if tree["length"]["name"] == "thinkprune":
        raise complaint(
            "length=thinkprune with correction=rollout: the falling limit is one of a single answer, and a response holds two.",
            type_line=_with(words, "correction", "replay"),
        )


def _check_sampling(tree: Mapping[str, Any], words: Sequence[str]) -> None:
    sampling = tree["sampling"]
    if "prior_attempts" not in sampling:
        return
    successes, attempts = sampling["prior_successes"], sampling["prior_attempts"]
    if successes > attempts:
        raise complaint(
            f"sampling.prior_successes={successes:g} of sampling.prior_attempts={attempts:g}: more successes than attempts.",
            type_line=_with(words, "sampling.prior_attempts", successes),
        )


def _check_architecture(tree: Mapping[str, Any], words: Sequence[str]) -> None:
    """Check the sizes of a model that is made here against each other."""
    sizes = tree["model"].get("architecture")
    if not tree["sft"]["enabled"] or sizes is None:
        return
    prefix = "model.architecture"
    if sizes["heads"] % sizes["kv_heads"]:
        raise complaint(
            f"{prefix}.heads={sizes['heads']} is not divisible by {prefix}.kv_heads={sizes['kv_heads']}: key-value heads are "
            "shared by equally many heads.",
            type_line=_with(words, f"{prefix}.kv_heads", _nearest_divisor(sizes["heads"], sizes["kv_heads"])),
        )
    if sizes["head_dim"] % 2:
        raise complaint(
            f"{prefix}.head_dim={sizes['head_dim']} is odd: rotary embeddings turn pairs.",
            type_line=_with(words, f"{prefix}.head_dim", sizes["head_dim"] + 1),
        )
    if sizes["copy_strength"]:
        check_circuit_size(sizes["layers"], sizes["hidden_size"], sizes["head_dim"], sizes["rope_theta"])


def _check_files(tree: Mapping[str, Any]) -> None:
    for key in ("data.train_files", "data.val_files", "sft.prepared"):
        named = value_at(tree, key)
        for text in named if isinstance(named, list) else [named]:
            if text is None:
                continue
            if not isinstance(text, str) or not text.strip():
                raise complaint(f"{key}={text!r}: not a path.")
            if "://" in text:
                continue
            path = from_repository(text) if key == "sft.prepared" else Path.cwd() / Path(text).expanduser()
            if not path.exists():
                raise complaint(f"{key}={text}: there is no such file or folder (looked for {path}).")


def _odd_but_possible(tree: Mapping[str, Any]) -> Iterator[str]:
    lr = value_at(tree, LR)
    if lr == 0:
        yield f"{LR}={lr}: with a learning rate of 0 nothing is learnt."
    elif lr > 0.1:
        yield f"{LR}={lr}: a learning rate above 0.1 destroys a model within a few steps."
    cluster, model = tree["cluster"]["name"], tree["model"]["name"]
    if tree["trainer"]["device"] == "cpu" and tree["model"]["parameters"] > 50_000_000:
        yield (
            f"model={model} with cluster={cluster}: {tree['model']['parameters']:,} parameters without a GPU; a step takes "
            "hours. stage=plan says how long."
        )
    if tree["recipe"]["name"] == "promptset" and tree["verifier"]["name"] == "embedded":
        yield (
            "data=promptset with verifier=embedded: these theorems need Mathlib, which the embedded Lean doesn't have; "
            "use verifier=kimina."
        )
    yield from _late_curriculum(tree)
    deadline, rate = tree["verifier"].get("deadline_s"), tree["plan"]["proofs_per_second"]
    responses = tree["data"]["train_batch_size"] * tree["actor_rollout_ref"]["rollout"]["n"]
    if deadline is not None and responses / rate > deadline:
        yield (
            f"verifier.deadline_s={deadline:g}: a step asks for up to {responses:,} proofs, which at "
            f"plan.proofs_per_second={rate:g} takes {responses / rate:,.0f} s; the last would end unverified. "
            f"Use more servers, or type: verifier.deadline_s={ceil(2 * responses / rate)}"
        )
    for key in ("trainer.nnodes", "trainer.n_gpus_per_node"):
        ours = "cluster.nodes" if key.endswith("nnodes") else "cluster.gpus_per_node"
        found, shown = value_at(tree, key), f"{key}={value_at(tree, key)}"
        if tree["rollout"]["mode"] == "separate_async" and ours == "cluster.gpus_per_node":
            engine = "actor_rollout_ref.rollout.n_gpus_per_node"
            found, shown = found + value_at(tree, engine), f"{shown} + {engine}={value_at(tree, engine)}"
        if found != value_at(tree, ours):
            yield f"{shown} differs from {ours}={value_at(tree, ours)}; verl follows {key}."


def _late_curriculum(tree: Mapping[str, Any]) -> Iterator[str]:
    sampling, steps = tree["sampling"], tree["trainer"]["total_training_steps"]
    if sampling["name"] != "curriculum" or steps is None:
        return
    linear = sampling["schedule"] == "linear"
    key = "end_step" if linear else "warmup_steps"
    if sampling[key] > steps or (not linear and sampling[key] == steps):
        never = "the hardest problems are never in the pool" if linear else "the hard phase never begins"
        yield f"sampling.{key}={sampling[key]} with trainer.total_training_steps={steps}: {never}."


def _with(words: Sequence[str], key: str, value: Any) -> list[str]:
    """Return the arguments with ``key`` set to ``value``."""
    word = typed_word(key, words)
    setting = f"{key}={value}"
    return replaced(words, word, setting) if word else [*words, setting]


def _nearest_divisor(number: int, wish: int) -> int:
    """Return the largest divisor of ``number`` that is at most ``wish``."""
    return next(size for size in range(min(wish, number), 0, -1) if number % size == 0)


def _fitting_workers(responses: int, mini: int, micro: int, wish: int) -> int:
    """Return the largest number of workers up to ``wish`` that shares batch, mini-batch and forward passes evenly."""
    fits = (w for w in range(wish, 0, -1) if responses % w == 0 and mini % w == 0 and mini // w % micro == 0)
    return next(fits, 1)
