"""The reward's settings: which checks are enabled, and their thresholds."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import ErrorDetails

from kimina.errors import UserError, nearest
from kimina.reward.checks import CHECKS, Check
from kimina.reward.checks.forbidden_construct import Constructs

# Our keys of the `reward` node; the rest of that node is verl's.
REWARD_KEYS = ("profile", "checks", "verify_rejected")
PROFILES = ("kimina", "strict", "proof_only")

CheckSettings = create_model(
    "CheckSettings",
    __config__=ConfigDict(extra="forbid", frozen=True, strict=True),
    __doc__="The settings of all checks by name; a check that is not mentioned is off.",
    **{name: (check, check(enabled=False)) for name, check in CHECKS.items()},
)


class RewardSettings(BaseModel):
    """What the `reward` node of a configuration says about the reward.

    ``profile`` names the option that the settings came from and is for reports only. With ``verify_rejected`` Lean
    also judges what a format check has refused, so that the bare proof rate can be reported; the reward is the same.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    profile: str = "custom"
    checks: CheckSettings = CheckSettings()
    verify_rejected: bool = False

    @classmethod
    def parse(cls, node: Mapping[str, Any]) -> "RewardSettings":
        """Read the composed `reward` node, a plain mapping; verl's own keys in it are passed over.

        Raises UserError for an unknown check or threshold, a wrong type, or a value out of range.
        """
        try:
            return cls.model_validate({key: node[key] for key in REWARD_KEYS if key in node})
        except ValidationError as error:
            raise UserError("\n".join(_explain(detail) for detail in error.errors())) from None

    def enabled(self) -> list[Check]:
        """The enabled checks in the order of checking."""
        return [check for _, check in self.checks if check.enabled]


def _explain(detail: ErrorDetails) -> str:
    path = [str(part) for part in detail["loc"]]
    key = ".".join(["reward", *path])
    if detail["type"] != "extra_forbidden":
        # A validator's message may name the model; the key says it already.
        return f"{key}={detail['input']}: {detail['msg'][0].lower()}{detail['msg'][1:]}"
    choices = _choices(path[:-1])
    close = nearest(path[-1], choices) or sorted(choices)
    kind = "check" if path[:-1] == ["checks"] else "setting"
    typed = ".".join(["reward", *path[:-1], close[0]])
    return f"{key}: there is no {kind} {path[-1]!r}; did you mean {', '.join(close)}? For example {typed}=..."


def _choices(path: list[str]) -> list[str]:
    """The names that exist below ``path`` of the reward node."""
    if not path:
        return list(REWARD_KEYS)
    if len(path) == 1:
        return list(CHECKS)
    return list((CHECKS[path[1]] if len(path) == 2 else Constructs).model_fields)
