"""Which methods an experiment names that aren't built yet.

An experiment file declares what a paper did, whether or not the method exists here. A method exists when its option has a
file in ``conf/``, so the answer follows the folder: nothing lists what is still to be built.
"""

from collections.abc import Sequence
from typing import Any

import yaml

from kimina.errors import UserError
from kimina.experiment.complaint import complaint, nearest_first
from kimina.experiment.options import EXPERIMENTS, GROUPS, default_options, option_names

_GROUP = "experiments"


def missing_methods(experiment: str) -> list[str]:
    """Return the ``group=option`` words of an experiment whose option has no file in ``conf/``, in the file's order.

    Args:
        experiment: its name as it is typed, such as ``kimina_rl/rl_1p7b``.

    Raises:
        UserError: there is no such experiment, or its file can't be read.
    """
    return [f"{group}={option}" for group, option in chosen_options(experiment) if option not in option_names(group)]


def chosen_options(experiment: str) -> list[tuple[str, str]]:
    """Return what an experiment's defaults list chooses, as (group, option), including what it takes over from others.

    Raises:
        UserError: there is no such experiment, or its file can't be read.
    """
    found: list[tuple[str, str]] = []
    for entry in _defaults(experiment):
        if isinstance(entry, str) and entry.removeprefix("/").startswith(f"{_GROUP}/"):
            found += chosen_options(entry.removeprefix("/").removeprefix(f"{_GROUP}/"))
        elif isinstance(entry, dict):
            for key, option in entry.items():
                group = str(key).removeprefix("override ").strip().removeprefix("/")
                if group in GROUPS and option is not None:
                    found.append((group, str(option)))
    return found


def _defaults(experiment: str) -> list[Any]:
    names = option_names(_GROUP)
    if experiment not in names:
        near = nearest_first(experiment, names)
        raise complaint(
            f"{_GROUP}={experiment}: there is no such experiment.",
            exists=near,
            exists_label=_GROUP,
            type_line=[f"{_GROUP}={near[0]}"],
        )
    try:
        tree = yaml.safe_load((EXPERIMENTS / f"{experiment}.yaml").read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise complaint(f"experiments/{experiment}.yaml: not readable as YAML: {str(error).splitlines()[0]}.") from error
    defaults = tree.get("defaults", []) if isinstance(tree, dict) else []
    if not isinstance(defaults, list):
        raise complaint(f"experiments/{experiment}.yaml: defaults must be a list, such as '- override /loss: drgpo'.")
    return defaults


def _built() -> list[str]:
    return [name for name in option_names(_GROUP) if not missing_methods(name)]


def refuse_missing_methods(choices: Sequence[str], words: Sequence[str]) -> None:
    """Refuse a chosen experiment that needs a method which isn't built, unless another option of that group was typed.

    Args:
        choices: the group choices of a command, ``experiments=...`` among them or not.
        words: all its arguments, for the message.

    Raises:
        UserError: names the methods and the experiments that compose.
    """
    typed = dict(word.lstrip("+").split("=", 1) for word in choices)
    if _GROUP not in typed:
        return
    experiment = typed[_GROUP].strip("'\"")
    missing = [method for method in missing_methods(experiment) if method.split("=")[0] not in typed]
    if missing:
        raise _not_built(experiment, missing, words)


def _not_built(experiment: str, missing: Sequence[str], words: Sequence[str]) -> UserError:
    near = nearest_first(experiment, _built())
    # Experiments of the same paper say more than names that look alike; one whose name goes on is the closest of all.
    paper = experiment.partition("/")[0]
    near.sort(key=lambda name: (not name.startswith(experiment), name.partition("/")[0] != paper))
    instead = [_without(*method.split("=", 1)) for method in missing]
    verb = "isn't" if len(missing) == 1 else "aren't"
    return complaint(
        f"{_GROUP}={experiment} needs {' and '.join(missing)}, which {verb} built yet.",
        exists=near,
        exists_label="experiments whose methods exist",
        type_line=[*words, *instead],
    )


def _without(group: str, option: str) -> str:
    """Return the choice that leaves a method out: what ``promptset_no_variants`` varies, else the group's default."""
    varied = [name for name in option_names(group) if option.startswith(f"{name}_")]
    return f"{group}={varied[-1] if varied else default_options()[group]}"
