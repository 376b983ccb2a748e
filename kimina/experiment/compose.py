"""Composition: from the words of a command line to one validated configuration.

Hydra composes the groups (conf/, verl's tree, experiments/); the value overrides are applied here, after the composition,
so that each is checked against the closed world of keys and a bad one is answered with the word that was typed.
"""

import io
from collections.abc import Sequence
from contextlib import redirect_stderr
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from kimina.errors import InfrastructureError, UserError
from kimina.experiment.arguments import Assignment, Request, options_nearest_first, read_arguments
from kimina.experiment.complaint import complaint, nearest_first, replaced
from kimina.experiment.keys import all_rules, is_known, is_open, unknown_key
from kimina.experiment.missing_methods import refuse_missing_methods
from kimina.experiment.options import CONF, GROUPS
from kimina.experiment.preflight import check_values, cross_checks
from kimina.experiment.schema import OURS
from kimina.experiment.search_path import KiminaSearchPath

ROOT = "config"


@dataclass(frozen=True)
class Composition:
    """A validated configuration, the words that led to it, and what its author should know (``warnings``)."""

    config: DictConfig
    overrides: tuple[str, ...]
    warnings: tuple[str, ...]


def compose(overrides: Sequence[str] = ()) -> DictConfig:
    """Return the validated configuration of ``overrides`` (``["model=1p7b", "actor_rollout_ref.actor.optim.lr=1e-6"]``).

    Raises:
        UserError: an override names no option or key, or a value breaks a rule.
    """
    return compose_with_warnings(overrides).config


def compose_with_warnings(overrides: Sequence[str] = ()) -> Composition:
    """Like :func:`compose`, with the warnings that the checks gave."""
    request = read_arguments(overrides)
    config = compose_tree(request)
    warnings = check(config, request.words)
    return Composition(config, request.words, warnings)


def compose_tree(request: Request, *, with_hydra: bool = False) -> DictConfig:
    """Compose the groups and apply the assignments; keys are checked, values not yet."""
    if not (CONF / f"{ROOT}.yaml").is_file():
        raise InfrastructureError(f"the configuration folder {CONF} is missing; run from a clone of the repository.")
    # Unknown keys are answered before anything is composed.
    engine = next((word.partition("=")[2] for word in request.choices if word.startswith("model_engine=")), "dp")
    for assignment in request.assignments:
        _refuse_unknown(assignment, engine, request.words)
    refuse_missing_methods(request.choices, request.words)
    try:
        config = deepcopy(_groups(request.choices, with_hydra))
    except (HydraException, OmegaConfBaseException) as error:
        raise _composition_failed(error) from error
    OmegaConf.set_struct(config, False)
    for assignment in request.assignments:
        _apply(config, assignment, engine, request.words)
    OmegaConf.set_struct(config, True)
    return config


@cache
def _register_search_path() -> None:
    """Tell Hydra about our folders, once a process: it keeps every registration."""
    Plugins.instance().register(KiminaSearchPath)


@lru_cache(maxsize=64)
def _groups(choices: tuple[str, ...], with_hydra: bool) -> DictConfig:
    """Have Hydra compose the groups. Remembered, because a sweep asks for the same choices again and again."""
    _register_search_path()
    with initialize_config_dir(str(CONF), version_base="1.3"), redirect_stderr(io.StringIO()):
        return hydra_compose(ROOT, overrides=list(choices), return_hydra_config=with_hydra)


def check(config: DictConfig, words: Sequence[str] = ()) -> tuple[str, ...]:
    """Check every key, every value and their relations; return warnings.

    Raises:
        UserError: the first thing that is wrong.
    """
    config = without_hydra(config)
    tree = resolved(config, words)
    written = OmegaConf.to_container(config, resolve=False)
    assert isinstance(written, dict)
    check_values(written, tree, words)
    return tuple(cross_checks(tree, words))


def without_hydra(config: DictConfig) -> DictConfig:
    """Return the configuration without Hydra's own node, which is there only when it was asked for."""
    if "hydra" not in config:
        return config
    return OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])


def resolved(config: DictConfig, words: Sequence[str] = ()) -> dict[str, Any]:
    """Return the configuration as plain containers with interpolations resolved; missing values stay ``???``."""
    try:
        tree = OmegaConf.to_container(config, resolve=True, throw_on_missing=False)
    except OmegaConfBaseException as error:
        reason = str(error).splitlines()[0]
        named = f"{error.full_key}: " if error.full_key else ""
        raise complaint(f"{named}an interpolation can't be resolved ({reason}).", type_line=["--help"]) from error
    assert isinstance(tree, dict)
    return {str(key): value for key, value in tree.items()}


def _composition_failed(error: Exception) -> UserError:
    text = str(error).split("Config search path")[0]
    reason = " ".join(line.strip() for line in text.splitlines() if line.strip())
    if not reason and error.__cause__ is not None:
        reason = str(error.__cause__).splitlines()[0]
    return complaint(f"the configuration can't be composed: {reason}", type_line=["--help"])


def _apply(config: DictConfig, assignment: Assignment, engine: str, words: Sequence[str]) -> None:
    key, word = assignment.key, assignment.word
    parent, _, name = key.rpartition(".")
    if key == "reward.profile" or (name == "name" and parent in GROUPS):
        raise complaint(
            f"{word}: this name follows the chosen option and is not set alone; choose the option.",
            exists=[f"{parent}={option}" for option in options_nearest_first(parent, str(assignment.value))],
            type_line=replaced(words, word, f"{parent}={options_nearest_first(parent, str(assignment.value))[0]}"),
        )
    holder = OmegaConf.select(config, parent, throw_on_resolution_failure=False) if parent else config
    if key in OURS and not word.startswith("+") and (not isinstance(holder, DictConfig) or name not in holder):
        there = [str(other) for other in holder] if isinstance(holder, DictConfig) else []
        raise complaint(
            f"{word}: the chosen option of {parent.split('.')[0]!r} has no {name!r}; another option has.",
            exists=[f"{parent}.{other}" for other in nearest_first(name, there)],
            exists_label="it has",
            type_line=["--help"],
        )
    node = OmegaConf.select(config, key, throw_on_resolution_failure=False)
    if isinstance(node, DictConfig) and not isinstance(assignment.value, dict) and not is_open(key):
        inside = sorted(f"{key}.{name}" for name in node)
        raise complaint(f"{word}: {key!r} is a group of settings, not one value.", exists=inside, exists_label="it has")
    with open_dict(config):
        try:
            OmegaConf.update(config, key, assignment.value, merge=True, force_add=True)
        except OmegaConfBaseException as error:
            reason = str(error).splitlines()[0]
            rule = all_rules(engine).get(key)
            raise complaint(f"{word}: {reason}.", type_line=[f"{key}={rule.example()}"] if rule else None) from error


def _refuse_unknown(assignment: Assignment, engine: str, words: Sequence[str]) -> None:
    """Check the key, and those of ``node={a: 1, b: 2}`` like keys written one by one."""
    pending = [(assignment.key, assignment.value)]
    while pending:
        key, value = pending.pop()
        if is_open(key):
            continue
        if not is_known(key, engine):
            raise unknown_key(key, engine, word=assignment.word, words=words)
        if isinstance(value, dict):
            pending.extend((f"{key}.{name}", inner) for name, inner in value.items())
