"""The command line: ``python run.py [flags] [group=option ...] [key=value ...]``.

Hydra's grammar and flags, over Hydra's compose API: no folder is made and no directory changed before a stage runs, and
everything heavy is imported inside the stages, so that ``--cfg job`` answers in about a second.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import TYPE_CHECKING

from omegaconf import DictConfig, OmegaConf

from kimina.errors import KiminaError
from kimina.experiment.arguments import FLAGS, read_arguments
from kimina.experiment.complaint import PROGRAM, complaint, nearest_first
from kimina.experiment.compose import Composition, check, compose_tree, resolved
from kimina.experiment.options import CONF, GROUPS, option_names, verl_config_folder
from kimina.experiment.preflight import typed_word

if TYPE_CHECKING:
    from kimina.experiment.stages.table_plan import TablePlan

_VIEWS = ("job", "hydra", "all")
_OPTIONS_WIDTH = 80  # characters; help gives longer lists of options lines of their own
_WITH_VALUE = {"--cfg": "--cfg", "-c": "--cfg", "--package": "--package", "-p": "--package"}
_WITHOUT_VALUE = {
    "--help": "--help", "-h": "--help", "--hydra-help": "--help", "--resolve": "--resolve", "--json": "--json",
    "--version": "--version", "--info": "--info", "-i": "--info", "--run": "--run", "-r": "--run",
}  # fmt: skip
_UNSUPPORTED = {
    "--multirun": "one command is one run; start one for each value, or use a W&B sweep file",
    "-m": "one command is one run; start one for each value, or use a W&B sweep file",
    "--config-name": "the root configuration is fixed; a whole experiment goes into experiments/ (experiments=NAME)",
    "-cn": "the root configuration is fixed; a whole experiment goes into experiments/ (experiments=NAME)",
    "--config-path": "the configuration lives in conf/; put an option file there",
    "-cp": "the configuration lives in conf/; put an option file there",
    "--config-dir": "the configuration lives in conf/; put an option file there",
    "-cd": "the configuration lives in conf/; put an option file there",
}
_EXAMPLES = """\
  python run.py                                          the nano experiment: warm start, RL, table; no GPU needed
  python run.py model=1p7b loss=drgpo reward=strict      the published recipe on 8 H100s, with the strict reward
  python run.py model=1p7b stage=plan                    what that would do and cost; starts nothing
  python run.py stage=verify verify.input=in.jsonl verify.output=out.jsonl    Lean's verdicts on proofs in a file
  python run.py model=1p7b data=nano cluster=cpu         defaults follow the model, each can be chosen by hand
  python run.py actor_rollout_ref.actor.optim.lr=1e-4    every verl option keeps its own name
  python run.py --cfg job --package actor_rollout_ref.actor   show a part of the configuration"""


@dataclass
class _CommandLine:
    """Flags by their long name, and the remaining words."""

    flags: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code (0 done, 2 user error, 3 infrastructure, 4 stopped by a limit)."""
    try:
        return _run(_split(arguments))
    except KiminaError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # The reader (head, less) has gone; Python must not complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("\nstopped; the same command continues where this one was.", file=sys.stderr)
        return 130


def _run(command: _CommandLine) -> int:
    if "--help" in command.flags:
        print(help_text())
        return 0
    if "--version" in command.flags:
        print(_version())
        return 0
    request = read_arguments(command.words)
    view = command.flags.get("--cfg")
    config = compose_tree(request, with_hydra=view in ("hydra", "all") or "--info" in command.flags)
    composition = Composition(config, request.words, check(config, request.words))
    plan_as_json = config.stage.name == "plan" and "--json" in command.flags
    if not plan_as_json and (view is not None or config.stage.name != "plan"):
        for warning in composition.warnings:
            print(f"warning: {warning}", file=sys.stderr)
    if "--info" in command.flags:
        print(_info(config))
        return 0
    if view is not None:
        print(_shown(config, view, command.flags.get("--package"), "--resolve" in command.flags), end="")
        return 0
    if config.stage.name == "plan":
        return _plan(composition, plan_as_json)
    from kimina.experiment.machine import check_machine
    from kimina.experiment.plan import make_plan

    for warning in check_machine(resolved(config), make_plan(composition)):
        print(f"warning: {warning}", file=sys.stderr)
    from kimina.experiment.stages import run_stages

    return run_stages(config, list(request.words))


def _split(arguments: Sequence[str]) -> _CommandLine:
    """Take our flags out of the arguments; everything else is left for :func:`read_arguments` to judge."""
    command = _CommandLine()
    pending = list(arguments)
    while pending:
        word = pending.pop(0)
        name, equals, value = word.partition("=")
        if name in _UNSUPPORTED:
            raise complaint(f"{name}: {_UNSUPPORTED[name]}.", exists=FLAGS, exists_label="flags", type_line=["--help"])
        if word in _WITHOUT_VALUE:
            command.flags[_WITHOUT_VALUE[word]] = ""
        elif name in _WITH_VALUE:
            if not equals:
                value = pending.pop(0) if pending else ""
            command.flags[_WITH_VALUE[name]] = value
        else:
            command.words.append(word)
    view = command.flags.get("--cfg")
    if view is not None and view not in _VIEWS:
        near = nearest_first(view, _VIEWS)
        raise complaint(
            f"--cfg {view}: no such view.".replace("  ", " "),
            exists=near,
            type_line=["--cfg", near[0], *[word for word in command.words]],
        )
    return command


def _shown(config: DictConfig, view: str, package: str | None, resolve: bool) -> str:
    """Return the part of the configuration that ``--cfg`` asks for, as YAML."""
    part: DictConfig = OmegaConf.masked_copy(config, ["hydra"]) if view == "hydra" else config
    if package:
        found = OmegaConf.select(part, package, throw_on_resolution_failure=False)
        if found is None:
            names = [str(key) for key in part]
            raise complaint(
                f"--package {package}: the configuration has no such part.",
                exists=nearest_first(package, names),
                type_line=["--cfg", view, "--package", nearest_first(package, names)[0]],
            )
        if not OmegaConf.is_config(found):
            return f"{found}\n"
        part = found
    return OmegaConf.to_yaml(part, resolve=resolve)


def _plan(composition: Composition, as_json: bool) -> int:
    """Print the plan, and what this machine lacks for it."""
    from kimina.experiment.machine import check_machine
    from kimina.experiment.plan import make_plan

    plan = make_plan(composition)
    table = _table_plan(composition)
    missing: list[str] = []
    try:
        missing.extend(check_machine(resolved(composition.config), plan))
    except KiminaError as error:
        missing.append(str(error).splitlines()[0])
    if as_json:
        import json

        shown = {**plan.as_json(), "machine": missing} | ({"table": table.as_json()} if table is not None else {})
        print(json.dumps(shown, indent=2, ensure_ascii=False))
        return 0
    from rich.console import Console

    if table is not None:
        from kimina.experiment.stages.table_plan import print_table_plan

        print_table_plan(table, Console())
        return 0
    from kimina.experiment.plan_report import print_plan

    print_plan(plan, missing, Console())
    return 0


def _table_plan(composition: Composition) -> "TablePlan | None":
    """The plan of the paper's table that was typed beside stage=plan, None where none was."""
    if not any(typed_word(key, composition.overrides) for key in ("table", "table.name")):
        return None
    from kimina.tables.declaration import load_table

    declaration = load_table(composition.config.table.name)
    if declaration.kind != "paper":
        return None
    from kimina.experiment.stages.table_plan import plan_table

    return plan_table(declaration, composition.overrides, composition.config.output_dir)


def _info(config: DictConfig) -> str:
    choices = config.hydra.runtime.choices
    lines = [f"{'configuration':<14} {CONF}", f"{'verl':<14} {verl_config_folder()}", "", "chosen options:"]
    lines += [f"  {group:<12} {choices.get(group)}" for group in GROUPS]
    return "\n".join(lines)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # costs 25 ms

    try:
        return f"kimina-lab {version('kimina-lab')}"
    except PackageNotFoundError:
        return "kimina-lab (not installed)"


def help_text() -> str:
    """Return the help page: usage, examples, flags, and every group with its options."""
    lines = [f"usage: {PROGRAM} [flags] [group=option ...] [key=value ...]", "", "examples:", _EXAMPLES, "", "flags:"]
    lines += [
        "  --cfg job|hydra|all     print the composed configuration and stop",
        "  --package PATH          with --cfg: only this part",
        "  --resolve               with --cfg: interpolations resolved",
        "  --json                  with stage=plan: machine-readable",
        "  --info                  print the chosen options and where the configuration lies",
        "  --version, --help",
        "",
        "groups and their options:",
    ]
    for group, meaning in GROUPS.items():
        options = " ".join(option_names(group)) or "(none yet)"
        if len(options) > _OPTIONS_WIDTH:
            lines.append(f"  {group:<12} {meaning}:")
            lines += wrap(options, 100, initial_indent=" " * 15, subsequent_indent=" " * 15, break_on_hyphens=False)
        else:
            lines.append(f"  {group:<12} {options:<44} {meaning}")
    lines += [
        "",
        "Without an argument the nano experiment runs. `model` chooses the other groups; any can be overridden.",
    ]
    return "\n".join(lines)
