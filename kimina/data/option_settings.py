"""What a chosen option of a configuration group says, read into a typed object."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from kimina.errors import UserError, nearest


class OptionSettings(BaseModel):
    """The settings of one option; its fields are the option's keys beside ``name``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    group: ClassVar[str]
    """The configuration group, for messages."""

    @classmethod
    def parse(cls, node: Mapping[str, Any]) -> Self:
        """Read the composed node of the group; its ``name`` is passed over.

        Raises:
            UserError: a key that the option doesn't have, a wrong type, or a value out of range.
        """
        try:
            return cls.model_validate({key: value for key, value in node.items() if key != "name"})
        except ValidationError as error:
            raise UserError("\n".join(cls._explain(detail) for detail in error.errors())) from None

    @classmethod
    def _explain(cls, detail: ErrorDetails) -> str:
        key = ".".join([cls.group, *map(str, detail["loc"])])
        if detail["type"] != "extra_forbidden":
            message = detail["msg"].removeprefix("Value error, ")
            value = f"={detail['input']}" if detail["loc"] else ""
            return f"{key}{value}: {message[:1].lower()}{message[1:]}"
        close = nearest(str(detail["loc"][-1]), cls.model_fields) or sorted(cls.model_fields)
        exist = ", ".join(f"{cls.group}.{name}" for name in close)
        return f"{key}: the chosen option has no such key. It has {exist}." if close else f"{key}: the chosen option has no keys."


def chosen_option(group: str, node: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
    """Return what ``options`` holds under the node's name.

    Raises:
        UserError: there is no such option.
    """
    name = node.get("name")
    if name not in options:
        close = nearest(str(name), options) or list(options)
        raise UserError(f"{group}={name}: there is no such option.\n  exists: {', '.join(options)}\n  type: {group}={close[0]}")
    return options[name]
