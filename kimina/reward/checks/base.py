"""What every format check is: settings with a threshold, and a measurement of a sample."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from kimina.reward.sample import Sample

Measurement = dict[str, bool | float | int | str | None]
"""What a check found, as output rows have it; ``measurement`` makes it."""


def measurement(
    violated: bool, value: float | int | None, threshold: float | int | None, detail: str | None = None
) -> Measurement:
    """What a check found: the measured value, the threshold it was compared with, and the outcome.

    ``detail`` names what the value alone does not tell, such as the forbidden construct.
    """
    return {"value": value, "threshold": threshold, "violated": violated, "detail": detail}


class Check(BaseModel):
    """A format check; its fields are what ``reward.checks.<name>`` may set, its name is the code of the violation.

    ``skipped_after`` names the checks whose violation leaves this one nothing to measure.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: ClassVar[str]
    skipped_after: ClassVar[frozenset[str]] = frozenset()
    enabled: bool = True

    def measure(self, sample: Sample) -> Measurement | None:
        """Measure a sample; None when what the check looks at is missing, so that it does not apply."""
        raise TypeError(f"{type(self).__name__} has no measure")
