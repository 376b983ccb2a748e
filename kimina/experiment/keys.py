"""The closed world of configuration keys: every key that exists, and the rule of each.

Known are our keys (:mod:`kimina.experiment.schema`), the reward checks as ``conf/reward`` spells them out, and verl's keys
as the flattened trainer configuration that verl ships beside its tree spells them out. Reading that one file costs 30 ms;
composing verl's tree a second time would cost ten times as much.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import yaml

from kimina.errors import UserError, nearest
from kimina.experiment.complaint import complaint, replaced
from kimina.experiment.options import CONF, GROUPS, verl_config_folder
from kimina.experiment.rules import Anything, Like, Rule
from kimina.experiment.schema import EXTRA, OPEN_NODES, OURS, VERL

try:  # libyaml reads verl's file ten times faster; not every build of PyYAML has it
    from yaml import CSafeLoader as Loader
except ImportError:
    from yaml import SafeLoader as Loader  # type: ignore[assignment]

_GENERATED = {"dp": "_generated_ppo_trainer.yaml"}


def leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted path and value of every leaf of ``tree``; an empty mapping and a list are leaves."""
    for key, value in tree.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping) and value and path not in OPEN_NODES:
            yield from leaves(value, f"{path}.")
        else:
            yield path, value


@cache
def verl_defaults(engine: str = "dp") -> dict[str, Any]:
    """Return verl's keys and its own defaults, interpolations unresolved, for one ``model_engine``."""
    name = _GENERATED.get(engine, f"_generated_ppo_{engine}_trainer.yaml")
    text = (verl_config_folder() / name).read_text(encoding="utf-8")
    return dict(leaves(yaml.load(text, Loader=Loader)))


@cache
def reward_profile(profile: str) -> dict[str, Any]:
    """Return our keys of the reward node as one of the shipped profiles sets them (each extends ``kimina``)."""
    found: dict[str, Any] = {}
    for name in ("kimina", profile):
        tree = yaml.load((CONF / "reward" / f"{name}.yaml").read_text(encoding="utf-8"), Loader=Loader)
        found.update(leaves({key: node for key, node in tree.items() if key != "defaults"}, "reward."))
    return found


@cache
def all_rules(engine: str = "dp") -> dict[str, Rule]:
    """Return the rule of every known leaf key."""
    rules: dict[str, Rule] = {key: Like(value) for key, value in verl_defaults(engine).items()}
    rules.update({key: Like(value) for key, value in reward_profile("kimina").items()})
    rules.update(EXTRA)
    rules.update(VERL)
    rules.update(OURS)
    rules["model_engine"] = Anything()
    return rules


@cache
def nodes(engine: str = "dp") -> dict[str, list[str]]:
    """Return the names directly below each node; the root is the empty text."""
    children: dict[str, dict[str, None]] = {}
    for key in all_rules(engine):
        parts = key.split(".")
        for depth, part in enumerate(parts):
            children.setdefault(".".join(parts[:depth]), {})[part] = None
    return {node: list(names) for node, names in children.items()}


def is_open(key: str) -> bool:
    """Tell whether ``key`` is an open node or lies within one."""
    parts = key.split(".")
    return any(".".join(parts[:depth]) in OPEN_NODES for depth in range(1, len(parts) + 1))


def is_known(key: str, engine: str = "dp") -> bool:
    """Tell whether ``key`` is a known leaf or node."""
    return key in all_rules(engine) or key in nodes(engine) or is_open(key)


def unknown_key(key: str, engine: str = "dp", *, word: str | None = None, words: Sequence[str] = ()) -> UserError:
    """Build the message for a key that nobody knows.

    Args:
        key: the dotted key.
        word: the argument that named it, or None when a file did.
        words: all arguments of the command.
    """
    children = nodes(engine)
    parts = key.split(".")
    depth = next(d for d in range(len(parts) - 1, -1, -1) if ".".join(parts[:d]) in children)
    parent, missing = ".".join(parts[:depth]), parts[depth]
    rest = parts[depth + 1 :]
    here = [f"{parent}.{name}" if parent else name for name in children[parent] if not name.startswith("_")]
    if not parent:
        here = [*GROUPS, *(name for name in here if name not in GROUPS)]
    close = nearest(missing, [name.rpartition(".")[2] for name in here])
    close = [f"{parent}.{name}" if parent else name for name in close]
    # A misspelt part in the middle: modle.path. Then the same last name elsewhere: lr=1e-5, rollout.n=8.
    corrected = [".".join([name, *rest]) for name in close if rest and is_known(".".join([name, *rest]), engine)]
    elsewhere = [known for known in (*VERL, *OURS, *verl_defaults(engine)) if known.endswith("." + parts[-1])]
    elsewhere.sort(key=lambda known: not known.endswith("." + key))
    likely = list(dict.fromkeys([*corrected, *elsewhere[:3], *close]))
    asked = word or f"{key} (in a configuration file)"
    problem = f"{asked}: there is no configuration key {key!r}"
    if parent and missing in children[parent]:
        problem += f"; {parent}.{missing} is one value and has no parts."
    else:
        problem += f"; {parent!r} has no {missing!r}." if parent else "."
    line = None
    if word is not None and likely:
        line = replaced(words, word, f"{likely[0]}={word.partition('=')[2]}")
    elif word is not None:
        line = ["--cfg", "job", *(["--package", parent] if parent else [])]
    return complaint(problem, exists=list(dict.fromkeys([*likely, *here])), type_line=line)
