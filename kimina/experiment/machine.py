"""Preflight of the machine: what a composition needs that may be missing here, asked before anything is started.

Each question costs milliseconds, except :func:`check_verifier`, which has Lean judge two theorems.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kimina.errors import InfrastructureError, UserError
from kimina.experiment.complaint import command_line
from kimina.experiment.options import option_names
from kimina.experiment.plan import Plan
from kimina.lean.verdict import CheckRequest, Verdict
from kimina.lean.verifier import make_verifier

TRAINING_COLUMNS = ("data_source", "prompt", "reward_model", "extra_info")
_CANARY_S = 300.0  # time for two theorems, a first import of Mathlib included
_SPARE = 1.2  # share of the estimated checkpoint size that must be free
CANARIES = (
    CheckRequest("true", "theorem canary_true : True := True.intro", "canary_true"),
    CheckRequest("false", "theorem canary_false : False := True.intro", "canary_false"),
)


def check_machine(tree: Mapping[str, Any], plan: Plan) -> Iterator[str]:
    """Check what the planned stages need of this machine; yield warnings.

    Raises:
        UserError: a named file lacks a column, or a named program doesn't exist.
        InfrastructureError: a package, a GPU or disk space is missing.
    """
    folder = Path(tree["output_dir"]).expanduser()
    if folder.exists() and not folder.is_dir():
        raise UserError(f"output_dir={tree['output_dir']} is a file; a folder is needed.\n  type: {command_line(['output_dir=outputs'])}")
    if tree["stage"]["name"] in ("data", "table", "card"):
        return  # these run anywhere; what a table or a card depends on is usually there already
    if tree["stage"]["name"] in ("score", "verify"):
        _check_files(tree, tree["stage"]["name"])
        if tree["stage"]["name"] == "score":
            _check_token_counter(tree)
        _check_lean(tree)
        return
    stages = set(plan.stages)
    if stages & {"rl", "eval"}:
        _check_lean(tree)
    if "rl" in stages:
        _check_gpus(tree)
        _check_training_files(tree)
        yield from _check_disk(tree, plan)
        _check_logger(tree)
    if stages & {"rl", "eval"}:
        _check_engine(tree)


def check_verifier(settings: Mapping[str, Any]) -> None:
    """Have the verifier judge a true and a false theorem.

    Args:
        settings: the ``verifier`` node as a plain mapping.

    Raises:
        InfrastructureError: the true one isn't proved, or the false one is; or Kimina Lean servers run another Lean than
            ``verifier.lean_version``, or different ones.
    """
    asked = dict(settings)
    if "cache" in asked:
        asked["cache"] = None  # whether a verdict is known from another day says nothing about the verifier of today
    if "deadline_s" in asked:
        # A run can wait for a server that is down for a while; a question before it starts is answered sooner.
        asked["deadline_s"] = min(asked["deadline_s"] or _CANARY_S, _CANARY_S)
    with make_verifier(asked) as verifier:
        true, false = verifier.check(CANARIES)
    name = settings["name"]
    if true.verdict is not Verdict.PROVED:
        raise InfrastructureError(
            f"verifier={name} did not prove a true theorem ({CANARIES[0].code}): {true.verdict}. {true.detail}".rstrip()
        )
    if false.verdict is Verdict.PROVED:
        raise InfrastructureError(
            f"verifier={name} accepted a false theorem ({CANARIES[1].code}); nothing it says can be used."
        )


def _check_gpus(tree: Mapping[str, Any]) -> None:
    elsewhere = tree["ray_kwargs"]["ray_init"].get("address")  # an existing Ray cluster has its GPUs where it likes
    if tree["trainer"]["device"] != "cuda" or elsewhere or tree["trainer"]["nnodes"] > 1:
        return
    wanted, found = tree["trainer"]["n_gpus_per_node"], len(list(Path("/dev").glob("nvidia[0-9]*")))
    if tree["rollout"]["mode"] == "separate_async":
        engine = tree["actor_rollout_ref"]["rollout"]
        wanted += engine["n_gpus_per_node"] * engine["nnodes"]
    if found < wanted:
        plan = command_line([f"model={tree['model']['name']}", "stage=plan"])
        raise InfrastructureError(
            f"cluster={tree['cluster']['name']} trains on {wanted} GPUs, this machine has {found}.\n"
            f"  type: {plan}    (what it would do and cost)\n"
            f"  type: {command_line(['model=nano'])}    (runs without a GPU)"
        )


def _check_engine(tree: Mapping[str, Any]) -> None:
    if tree["actor_rollout_ref"]["rollout"]["name"] == "vllm" and find_spec("vllm") is None:
        raise InfrastructureError("engine=vllm: vLLM is not installed here.\n  type: pip install -e '.[gpu]'")


def _check_lean(tree: Mapping[str, Any]) -> None:
    verifier = tree["verifier"]
    if verifier["name"] == "none" and tree["stage"]["name"] != "score":
        names = ", ".join(name for name in option_names("verifier") if name != "none")
        raise UserError(
            f"verifier=none with stage={tree['stage']['name']}: without Lean no proof has a reward, so there is nothing to "
            f"learn from or to measure; it is for stage=score.\n  verifiers: {names}\n"
            f"  type: {command_line(['verifier=embedded'])}"
        )
    if verifier["name"] != "local":
        return
    if shutil.which(verifier["lean"]) is None:
        raise UserError(
            f"verifier.lean={verifier['lean']}: no such program on PATH.\n"
            f"  type: {command_line(['verifier=embedded'])}    (needs no installation; no Mathlib)"
        )
    if verifier["project_dir"] is not None and not Path(verifier["project_dir"]).expanduser().is_dir():
        raise UserError(f"verifier.project_dir={verifier['project_dir']}: there is no such folder.")


def _check_files(tree: Mapping[str, Any], stage: str) -> None:
    """Check the files that stage=score or stage=verify is to read and write."""
    node, line = tree[stage], _typed(tree, stage)
    for key in ("input", "output"):
        if node[key] is None:
            raise UserError(
                f"stage={stage} reads JSON Lines from {stage}.input and writes them to {stage}.output; {stage}.{key} is not "
                f"set.\n  type: {line}"
            )
    source, target = (Path.cwd() / Path(node[key]).expanduser() for key in ("input", "output"))
    if not source.is_file():
        raise UserError(f"{stage}.input={node['input']}: there is no such file (looked for {source}).")
    if target.is_dir():
        name = {"score": "scores", "verify": "verdicts"}[stage]
        raise UserError(f"{stage}.output={node['output']} is a folder; a file is needed.\n  type: {line}/{name}.jsonl")
    if target.exists() and not target.is_file():
        # A device or a pipe would be replaced by a file of its name.
        raise UserError(f"{stage}.output={node['output']} is no regular file; choose another one.")
    if target.exists() and target.samefile(source):
        raise UserError(f"{stage}.output={node['output']} is the input, which would be overwritten; choose another file.")


def _check_token_counter(tree: Mapping[str, Any]) -> None:
    if tree["reward"]["checks"]["too_long"]["unit"] == "tokens" and tree["score"]["tokenizer"] is None:
        model = tree["model"]["path"] or "FOLDER"
        raise UserError(
            "reward.checks.too_long.unit=tokens: stage=score has no tokenizer to count with.\n"
            f"  type: {_typed(tree, 'score')} score.tokenizer={model}"
        )


def _typed(tree: Mapping[str, Any], stage: str) -> str:
    """The command of a stage that reads one file and writes another."""
    shown = {"input": tree[stage]["input"] or "in.jsonl", "output": tree[stage]["output"] or "out.jsonl"}
    return command_line([f"stage={stage}", *(f"{stage}.{key}={value}" for key, value in shown.items())])


def _check_training_files(tree: Mapping[str, Any]) -> None:
    named = tree["data"]["train_files"]
    for text in named if isinstance(named, list) else [named]:
        if text is None or "://" in text or not text.endswith(".parquet"):
            continue
        from pyarrow.parquet import read_schema

        columns = read_schema(Path(text).expanduser()).names
        missing = [column for column in TRAINING_COLUMNS if column not in columns]
        if missing:
            raise UserError(f"data.train_files={text}: no column {', '.join(missing)}; it has {', '.join(columns)}.")


def _check_disk(tree: Mapping[str, Any], plan: Plan) -> Iterator[str]:
    folder = Path(tree["output_dir"]).expanduser().resolve()
    while not folder.exists():
        folder = folder.parent
    if not os.access(folder, os.W_OK):
        raise UserError(f"output_dir={tree['output_dir']}: {folder} is not writable.")
    free = shutil.disk_usage(folder).free
    # While one checkpoint is written, the one it replaces is still there.
    needed = plan.checkpoint_bytes * (plan.checkpoints_kept + 1) * _SPARE
    if needed > free:
        raise InfrastructureError(
            f"the checkpoints need about {needed / 1e9:,.0f} GB ({plan.checkpoints_kept} kept), {folder} has "
            f"{free / 1e9:,.0f} GB free.\n"
            f"  type: {command_line(['trainer.max_actor_ckpt_to_keep=1'])}, or another output_dir"
        )
    if needed > free / 2:
        yield f"the checkpoints take about {needed / 1e9:,.0f} of {free / 1e9:,.0f} GB free in {folder}."


def _check_logger(tree: Mapping[str, Any]) -> None:
    if "wandb" not in tree["trainer"]["logger"]:
        return
    known = os.environ.get("WANDB_API_KEY") or (Path.home() / ".netrc").exists()
    if not known and os.environ.get("WANDB_MODE") not in ("offline", "disabled"):
        raise UserError(
            "logger=wandb: no W&B key on this machine, and a run can't ask for one.\n"
            "  type: wandb login\n"
            f"  type: WANDB_MODE=offline {command_line(['logger=wandb'])}"
        )
