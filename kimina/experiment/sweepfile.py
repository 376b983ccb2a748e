"""Checking of a W&B sweep file against the configuration, before an agent starts the first run.

Every value of every parameter is composed, alone, with the parameters that have one fixed value; a grid of n values costs n
compositions, not their product.
"""

from collections.abc import Mapping
from typing import Any

import yaml

from kimina.errors import UserError, nearest
from kimina.experiment.complaint import complaint, nearest_first
from kimina.experiment.compose import compose_with_warnings
from kimina.experiment.keys import is_known, unknown_key
from kimina.experiment.options import GROUPS, option_names
from kimina.strict_yaml import UniqueKeys

METHODS = ("grid", "random", "bayes")
COMMAND = ["${env}", "${interpreter}", "${program}", "${args_no_hyphens}"]
_TOP = (
    "program", "method", "parameters", "command", "metric", "name", "description", "project", "entity", "early_terminate",
    "run_cap", "controller",
)  # fmt: skip
_SETTINGS = ("value", "values", "distribution", "min", "max", "mu", "sigma", "q", "probabilities")
_DISTRIBUTIONS = (
    "constant", "categorical", "categorical_w_probabilities", "int_uniform", "uniform", "q_uniform", "log_uniform",
    "log_uniform_values", "q_log_uniform", "q_log_uniform_values", "inv_log_uniform", "inv_log_uniform_values", "normal",
    "q_normal", "log_normal", "q_log_normal", "beta", "q_beta",
)  # fmt: skip


def check_sweep_text(text: str, source: str = "sweep file") -> list[list[str]]:
    """Check a sweep file and return the overrides that were composed, one list for each.

    Args:
        text: the YAML text.
        source: its name for messages.

    Raises:
        UserError: the file is no sweep, or one of its values doesn't compose.
    """
    sweep = _read(text, source)
    _check_top(sweep, source)
    fixed: dict[str, str] = {}
    varied: dict[str, list[str]] = {}
    for key, settings in sweep["parameters"].items():
        values = _values(str(key), settings, source)
        if len(values) == 1:
            fixed[str(key)] = values[0]
        else:
            varied[str(key)] = values
    runs = [
        [f"{k}={v}" for k, v in {**fixed, key: value}.items()] for key, values in varied.items() for value in values
    ]
    runs = runs or [[f"{key}={value}" for key, value in fixed.items()]]
    for overrides in runs:
        try:
            compose_with_warnings(overrides)
        except UserError as error:
            raise UserError(f"{source}: {error}") from error
    return runs


def _read(text: str, source: str) -> dict[str, Any]:
    try:
        sweep = yaml.load(text, Loader=UniqueKeys)
    except yaml.YAMLError as error:
        mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
        where = f" in line {mark.line + 1}" if mark is not None else ""
        tab = " (YAML allows no tab as indentation)" if "\t" in text else ""
        raise complaint(f"{source}: not readable as YAML{where}: {str(error).splitlines()[0]}{tab}.") from error
    if not isinstance(sweep, dict):
        raise complaint(f"{source}: empty, or no mapping; a sweep has the keys program, method and parameters.")
    return sweep


def _check_top(sweep: Mapping[str, Any], source: str) -> None:
    for key in sweep:
        if key not in _TOP:
            close = nearest(str(key), _TOP)
            raise complaint(f"{source}: there is no sweep key {key!r}.", exists=close or _TOP)
    if sweep.get("method") not in METHODS:
        raise complaint(f"{source}: method is {sweep.get('method')!r}.", exists=METHODS)
    if sweep.get("program") != "run.py":
        raise complaint(f"{source}: program is {sweep.get('program')!r}; it must be run.py.")
    command = sweep.get("command")
    if not isinstance(command, list) or "${args_no_hyphens}" not in command:
        raise complaint(
            f"{source}: command must pass the parameters as ${{args_no_hyphens}} (key=value); W&B's own default passes "
            f"--key=value, which the command line refuses. Write: command: {COMMAND}"
        )
    parameters = sweep.get("parameters")
    if not isinstance(parameters, dict) or not parameters:
        raise complaint(f"{source}: parameters is {parameters!r}; it must name at least one key with its values.")
    if sweep["method"] == "bayes" and not isinstance(sweep.get("metric"), dict):
        raise complaint(f"{source}: method bayes needs a metric (name and goal).")


def _values(key: str, settings: Any, source: str) -> list[str]:
    """Return the values of one parameter as they reach the command line."""
    if key not in GROUPS and not is_known(key):
        raise UserError(f"{source}: {unknown_key(key)}")
    if not isinstance(settings, dict):
        raise complaint(f"{source}: {key}: {settings!r} has neither value nor values; write {key}: {{value: ...}}.")
    if "parameters" in settings:
        raise complaint(
            f"{source}: {key}: nested parameters reach the command line as one dictionary; write the dotted key instead, "
            f"such as {key}.{next(iter(settings['parameters'] or ['name']))}."
        )
    _check_settings(key, settings, source)
    if key in GROUPS and not {"value", "values"} & set(settings):
        raise complaint(f"{source}: {key}: a group needs value or values.", exists=option_names(key))
    if "value" in settings:
        return [_word(key, settings["value"], source)]
    if "values" in settings:
        values = settings["values"]
        if not isinstance(values, list) or not values:
            raise complaint(f"{source}: {key}: values is {values!r}; it must be a list with at least one value.")
        words = [_word(key, value, source) for value in values]
        twice = next((word for word in words if words.count(word) > 1), None)
        if twice is not None:
            raise complaint(f"{source}: {key}: the value {twice} stands twice in values.")
        return words
    low, high = settings.get("min"), settings.get("max")
    for name, bound in (("min", low), ("max", high)):
        if isinstance(bound, str):
            raise complaint(
                f"{source}: {key}: YAML reads {name}: {bound} as a text, not as a number; write it with a dot and a sign, "
                "such as 1.0e-6."
            )
    if not _is_number(low) or not _is_number(high) or low >= high:
        if "distribution" in settings and "mu" in settings:
            return [_word(key, settings["mu"], source)]
        raise complaint(f"{source}: {key}: neither value nor values, nor min below max (min {low!r}, max {high!r}).")
    return [_word(key, low, source), _word(key, high, source)]


def _check_settings(key: str, settings: Mapping[str, Any], source: str) -> None:
    for name in settings:
        if name not in _SETTINGS:
            raise complaint(
                f"{source}: {key}: there is no setting {name!r}.", exists=nearest_first(str(name), _SETTINGS)
            )
    if "distribution" in settings and settings["distribution"] not in _DISTRIBUTIONS:
        named = str(settings["distribution"])
        raise complaint(f"{source}: {key}: no distribution {named!r}.", exists=nearest_first(named, _DISTRIBUTIONS))
    if "value" in settings and "values" in settings:
        raise complaint(f"{source}: {key}: value and values exclude each other.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _word(key: str, value: Any, source: str) -> str:
    """Return one value as text; refuse what YAML read as something that was not meant."""
    if value is None:
        raise complaint(f"{source}: {key}: null (also written ~, or nothing) is no value.")
    if isinstance(value, dict | list):
        raise complaint(f"{source}: {key}: {value!r} would reach the command line as text; write single values.")
    if isinstance(value, bool) and key in GROUPS:
        raise complaint(
            f"{source}: {key}: YAML reads a bare on, off, yes, no, true or false as {value}; no option of {key!r} has such "
            "a name.",
            exists=option_names(key),
        )
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float):
        raise complaint(f"{source}: {key}: YAML reads {value} as a {type(value).__name__}; quote it if it is a text.")
    return str(value)
