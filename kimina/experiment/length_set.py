"""Length control against itself and against the lengths and steps of the run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kimina.errors import UserError
from kimina.experiment.complaint import command_line, complaint

_MOST = "data.max_response_length"


def check_length(tree: Mapping[str, Any], words: Sequence[str]) -> Iterator[str]:
    """Yield a warning for each setting under which the chosen method changes nothing, or counts twice.

    Raises:
        UserError: settings that contradict each other, such as a buffer that is larger than the limit.
    """
    node = tree["length"]
    if node["name"] == "none":
        return
    from kimina.reward.length import make_length_control

    try:
        make_length_control(node)
    except UserError as error:
        # Without what was typed for this method its defaults are left, which fit together.
        raise complaint(f"{error}.", type_line=[word for word in words if not _key(word).startswith("length.")]) from error
    yield from _WARNINGS.get(node["name"], _no_warnings)(tree, words)


def _no_warnings(tree: Mapping[str, Any], words: Sequence[str]) -> Iterator[str]:
    yield from ()


def _k15(tree: Mapping[str, Any], words: Sequence[str]) -> Iterator[str]:
    start, steps = tree["length"]["start_step"], tree["trainer"]["total_training_steps"]
    if tree["length"]["weight"] == 0:
        yield "length.weight=0: the length reward is computed and counts for nothing; length=none says so."
    elif steps is not None and start > steps:
        yield (
            f"length.start_step={start} is after the last step, trainer.total_training_steps={steps}: the length reward never "
            f"starts. {_type(words, ('length.start_step', max(1, steps // 4)))}"
        )


def _overlong(tree: Mapping[str, Any], words: Sequence[str]) -> Iterator[str]:
    from kimina.reward.length.overlong import Overlong

    node, most = tree["length"], tree["data"]["max_response_length"]
    settings = Overlong(**{key: value for key, value in node.items() if key != "name"})
    free = settings.max_length - settings.buffer_tokens
    if free >= most:
        yield (
            f"length.max_length={settings.max_length} with a buffer of {settings.buffer_tokens} tokens: no response of at most "
            f"{_MOST}={most} tokens loses anything. {_type(words, ('length.max_length', most))}"
        )
    check = tree["reward"]["checks"]["too_long"]
    if check["enabled"] and check["buffer"]:
        yield (
            f"length=overlong with reward.checks.too_long.buffer={check['buffer']}: both are the penalty of DAPO, and long "
            f"responses lose twice. {_type(words, ('reward.checks.too_long.buffer', 0))}"
        )


def _l1_max(tree: Mapping[str, Any], words: Sequence[str]) -> Iterator[str]:
    node, most = tree["length"], tree["data"]["max_response_length"]
    if node["high"] > most:
        changes = [("length.high", most)]
        if node["low"] > most // 2:
            changes.insert(0, ("length.low", max(1, most // 10)))
        yield (
            f"length.high={node['high']} is above {_MOST}={most}: prompts ask for more tokens than a response can have. "
            f"{_type(words, *changes)}"
        )


def _thinkprune(tree: Mapping[str, Any], words: Sequence[str]) -> Iterator[str]:
    limits, most = tree["length"]["limits"], tree["data"]["max_response_length"]
    above = [limit for limit in limits if limit > most]
    if above:
        share = most / limits[0]
        fitting = ",".join(str(max(1, int(limit * share))) for limit in limits)
        yield (
            f"length.limits={limits}: {', '.join(map(str, above))} {'is' if len(above) == 1 else 'are'} above {_MOST}={most}, "
            f"where responses end anyway. {_type(words, ('length.limits', f'[{fitting}]'))}"
        )
    steps = tree["trainer"]["total_training_steps"]
    late = [step for step in tree["length"]["change_steps"] if steps is not None and step > steps]
    if late:
        yield (
            f"length.change_steps={tree['length']['change_steps']}: the run ends at trainer.total_training_steps={steps}, so "
            f"{len(late)} of {len(limits)} limits {'is' if len(late) == 1 else 'are'} never reached."
        )


_WARNINGS = {"k15": _k15, "overlong": _overlong, "l1_max": _l1_max, "thinkprune": _thinkprune}


def _key(word: str) -> str:
    return word.lstrip("+").partition("=")[0]


def _type(words: Sequence[str], *settings: tuple[str, Any]) -> str:
    keys = {key for key, _ in settings}
    line = [*(word for word in words if _key(word) not in keys), *(f"{key}={value}" for key, value in settings)]
    return f"To change it, type: {command_line(line)}"
