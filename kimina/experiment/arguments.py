"""Arguments of the command line, taken apart into group choices and value overrides before anything is composed.

Each word is judged alone, so that a slip of the keyboard is answered with the word that was meant.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from kimina.errors import UserError, nearest
from kimina.experiment.complaint import complaint, nearest_first, replaced
from kimina.experiment.keys import is_known
from kimina.experiment.options import GROUPS, default_options, is_verl_group, option_names

#: Flags of the command line, as help lists them.
FLAGS = ("--help", "--cfg job|hydra|all", "--package PATH", "--resolve", "--json", "--version")
_ASSIGNMENT = re.compile(r"^(\+{0,2})([A-Za-z_][\w./@:\-]*)=", re.ASCII)


@dataclass(frozen=True)
class Assignment:
    """A value override: ``key=value``, ``+key=value`` or ``++key=value``."""

    word: str
    key: str
    value: Any


@dataclass(frozen=True)
class Request:
    """What a command line asks for: ``choices`` for Hydra's defaults list, ``assignments`` applied afterwards."""

    words: tuple[str, ...]
    choices: tuple[str, ...]
    assignments: tuple[Assignment, ...]


def read_arguments(words: Sequence[str]) -> Request:
    """Sort override words into group choices and assignments.

    Raises:
        UserError: a word is not of the form ``key=value``, names no group option, or deletes something.
    """
    choices: list[str] = []
    assignments: list[Assignment] = []
    for word in words:
        _refuse_other_shapes(word, words)
        override = _parse(word, words)
        key = override.key_or_group
        if override.is_sweep_override():
            raise complaint(
                f"{word}: several values in one argument. One command is one run; a list is written with brackets.",
                type_line=replaced(words, word, f"{key}={_first_choice(word)}"),
            )
        if key.startswith(("hydra.", "hydra/")):
            raise complaint(
                f"{word}: Hydra's own settings have no effect here; folders belong to the stages (output_dir, name).",
                type_line=replaced(words, word, None),
            )
        if key in GROUPS or is_verl_group(key):
            choice = _group_choice(override, word, words)
            if key != "experiments" or override.value() is not None:  # null: none, the root's own default
                choices.append(choice)
        else:
            key = "table.name" if key == "table" and not isinstance(override.value(), dict) else override.get_key_element().lstrip("+")
            assignments.append(Assignment(word, key, override.value()))
    return Request(tuple(words), (*choices, *_nano_twin(choices)), tuple(assignments))


def _nano_twin(choices: Sequence[str]) -> list[str]:
    """Return what ``scale=nano`` adds to an experiment of a paper: the nano model, so that only the scale differs.

    An experiment names a model that nano hardware can't train. A model that is typed stays.
    """
    typed = dict(word.lstrip("+").split("=", 1) for word in choices)
    twin = typed.get("scale") == "nano" and "experiments" in typed and "model" not in typed
    return ["model=nano"] if twin else []


def _refuse_other_shapes(word: str, words: Sequence[str]) -> None:
    """Answer everything that is no assignment with the assignment that was probably meant."""
    if word.startswith("~"):
        name = word[1:].split("=")[0]
        options = options_nearest_first(name, "") if name in GROUPS else []
        meant = f"{name}={options[0]}" if options else None
        raise complaint(
            f"{word}: nothing can be deleted from the configuration, verl and the stages read every key of it.",
            exists=[f"{name}={option}" for option in options],
            type_line=replaced(words, word, meant),
        )
    if word.startswith("-"):
        meant = _without_hyphens(word.lstrip("-"))
        raise complaint(
            f"{word}: no such flag. Settings are written without hyphens, as key=value.",
            exists=[*([meant] if meant else []), *FLAGS],
            type_line=replaced(words, word, meant) if meant else ["--help"],
        )
    if _ASSIGNMENT.match(word):
        return
    bare = re.split(r"[\s:=]", word, maxsplit=1)
    name = bare[0].lstrip("+")
    group = nearest(name, GROUPS, count=1)
    if group and len(bare) > 1 and bare[1].strip(" ="):
        meant = f"{group[0]}={bare[1].strip(' =')}"
    elif group:
        following = words[list(words).index(word) + 1 :][:1]
        options = options_nearest_first(group[0], "")
        value = following[0] if following and following[0] in options else options[0]
        meant = f"{group[0]}={value}"
        words = [other for other in words if other not in following or other not in options]
    else:
        meant = None
    raise complaint(
        f"{word!r}: not of the form key=value (no blanks around the equals sign).",
        exists=[f"{name}=" for name in nearest_first(name, list(GROUPS))],
        type_line=replaced(words, word, meant) if meant else ["--help"],
    )


def options_nearest_first(group: str, asked: str) -> list[str]:
    """Return the options of ``group``: those like ``asked``, then the default, then the others."""
    names = option_names(group)
    default = default_options().get(group)
    return nearest_first(asked, sorted(names, key=lambda name: name != default))


def _without_hyphens(assignment: str) -> str | None:
    """Return the assignment that ``--group=option`` or ``--key=value`` probably meant."""
    key, equals, value = assignment.partition("=")
    group = nearest(key.split(".")[0], GROUPS, count=1)
    if (group and "." in key and not is_known(key)) or (group and not equals):
        return f"{group[0]}={options_nearest_first(group[0], '')[0]}"
    if group and "." not in key:
        return f"{group[0]}={options_nearest_first(group[0], value)[0]}"
    return f"{key}={value}" if equals and is_known(key) else None


def _parse(word: str, words: Sequence[str]) -> Override:
    try:
        override = OverridesParser.create().parse_override(word)
        override.value()  # evaluates casts such as int(x)
        return override
    except HydraException as error:
        key, _, value = word.partition("=")
        if key.lstrip("+") in GROUPS:
            raise unknown_option(key.lstrip("+"), value, word, words) from error
        reason = str(error).splitlines()[0].split(" expecting ")[0]
        quoted = value.replace("\\", "\\\\").replace("'", "\\'")
        raise complaint(
            f"{word}: this value can't be read ({reason}). Text with special characters needs quotes of its own.",
            type_line=replaced(words, word, f"{key}='{quoted}'"),
        ) from error


def _first_choice(word: str) -> str:
    return word.partition("=")[2].split(",")[0]


def _group_choice(override: Override, word: str, words: Sequence[str]) -> str:
    """Check the option of a group choice and return the word for Hydra."""
    group, value = override.key_or_group, override.value()
    if group == "model_engine" and value != "dp":
        raise complaint(
            f"{word}: training runs on FSDP here (model_engine=dp); verl's other engines are not wired up.",
            type_line=replaced(words, word, None),
        )
    if group not in GROUPS or override.package is not None:
        return word
    if not ((isinstance(value, str) and value in option_names(group)) or (group == "experiments" and value is None)):
        raise unknown_option(group, value, word, words)
    if override.is_add() or override.is_force_add():
        raise complaint(
            f"{word}: the group {group!r} is already part of every configuration; choose without '+'.",
            type_line=replaced(words, word, f"{group}={value}"),
        )
    return word


def unknown_option(group: str, value: Any, word: str, words: Sequence[str]) -> UserError:
    """Build the message for an option that a group doesn't have."""
    if not option_names(group):
        return complaint(f"{word}: the group {group!r} has no options yet.", type_line=replaced(words, word, None))
    text = word.partition("=")[2]
    if value is None:
        problem = f"{word}: a group can't be removed, every configuration has a {group!r}."
    elif isinstance(value, str):
        problem = f"{word}: the group {group!r} has no option {text!r}."
    else:
        kind = type(value).__name__
        problem = f"{word}: {text!r} reads as a value of type {kind}, and {group!r} has no such option."
    ordered = options_nearest_first(group, text)
    return complaint(
        problem,
        exists=ordered,
        exists_label=f"options of {group}",
        type_line=replaced(words, word, f"{group}={ordered[0]}"),
    )
