"""Choosing a method of length control from settings."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from kimina.errors import UserError, nearest
from kimina.reward.length.base import LengthControl
from kimina.reward.length.efficient import Efficient
from kimina.reward.length.k15 import K15
from kimina.reward.length.l1_max import L1Max
from kimina.reward.length.none import NoLength
from kimina.reward.length.overlong import Overlong
from kimina.reward.length.shorter_better import ShorterBetter
from kimina.reward.length.thinkprune import Thinkprune

LENGTHS: dict[str, type[LengthControl]] = {
    control.name: control for control in (K15, Overlong, Efficient, L1Max, ShorterBetter, Thinkprune)
}
"""The methods by name, without ``none``."""


def make_length_control(settings: Mapping[str, Any]) -> LengthControl:
    """Return the method that the composed ``length`` node, a plain mapping, asks for; ``none`` is one that does nothing.

    Raises:
        UserError: an unknown method or setting, a wrong type, or a value out of range.
    """
    known = {NoLength.name: NoLength, **LENGTHS}
    name = settings.get("name")
    if name not in known:
        close = nearest(str(name), known)
        ordered = [*close, *(other for other in known if other not in close)]
        raise UserError(f"length={name}: there is no such method of length control; there are {', '.join(ordered)}")
    kind = known[name]
    try:
        return kind.model_validate({key: value for key, value in settings.items() if key != "name"})
    except ValidationError as error:
        raise UserError("\n".join(_explain(kind, detail) for detail in error.errors())) from None


def _explain(kind: type[LengthControl], detail: ErrorDetails) -> str:
    key = ".".join(["length", *(str(part) for part in detail["loc"])])
    if detail["type"] == "extra_forbidden":
        settings = list(kind.model_fields)
        close = nearest(str(detail["loc"][0]), settings) or settings
        there = f"did you mean {', '.join(close)}?" if settings else "it has none."
        return f"{key}: length={kind.name} has no such setting; {there}"
    if detail["type"] == "missing":
        return f"{key}: length={kind.name} needs it"
    if detail["type"] == "value_error":
        # Relations between settings: the message names the keys itself.
        return str(detail["ctx"]["error"])
    return f"{key}={detail['input']}: {detail['msg'][0].lower()}{detail['msg'][1:]}"
