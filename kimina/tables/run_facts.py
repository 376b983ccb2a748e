"""What a report says about the run: its name, its command, and what it ran on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RunFacts:
    """The head of a report; what is not known is None or empty and left out of the page.

    Args:
        name: the run's name.
        command: the line that makes the run again.
        model: the model's name; ``parameters`` is its size.
        date: ISO 8601.
        commit: of this project; ``dirty`` if files differed from it.
        duration_s: seconds of the whole run.
        extra: further lines, title to text.
    """

    name: str
    command: str
    model: str = ""
    parameters: int | None = None
    date: str = ""
    commit: str | None = None
    dirty: bool | None = None
    lean_version: str | None = None
    hardware: str | None = None
    duration_s: float | None = None
    extra: Mapping[str, str] | None = None

    @classmethod
    def of_manifest(
        cls, manifest: Mapping[str, Any], *, command: str, model: str, parameters: int | None
    ) -> "RunFacts":
        """Take what an artifact's manifest knows."""
        git = manifest.get("git") or {}
        lean = manifest.get("lean") or {}
        return cls(
            name=str(manifest.get("name", "")),
            command=command,
            model=model,
            parameters=parameters,
            date=str(manifest.get("finished") or manifest.get("created") or ""),
            commit=git.get("commit"),
            dirty=git.get("dirty"),
            lean_version=lean.get("version"),
            hardware=machine_text(manifest),
            duration_s=manifest.get("seconds"),
        )

    def lines(self) -> list[tuple[str, str]]:
        """Return what is known as (title, text), in reading order."""
        facts = [
            ("Model", f"{self.model}, {count(self.parameters)} parameters" if self.parameters else self.model),
            ("Lean", self.lean_version or ""),
            ("Date", self.date.replace("T", " ").replace("+00:00", " UTC")),
            ("Duration", _duration(self.duration_s) if self.duration_s else ""),
            ("Machine", self.hardware or ""),
            ("Commit", f"{self.commit[:12]}{' with local changes' if self.dirty else ''}" if self.commit else ""),
        ]
        return [(title, text) for title, text in [*facts, *(self.extra or {}).items()] if text]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {**self.__dict__, "extra": dict(self.extra or {})}


def machine_text(manifest: Mapping[str, Any]) -> str | None:
    """Return what an artifact was made on, such as ``2 CPU cores, 24 GiB memory``."""
    machine = manifest.get("hardware") or {}
    parts = []
    if machine.get("gpus"):
        parts.append(f"{len(machine['gpus'])} × {machine['gpus'][0].partition(',')[0]}")
    elif machine.get("usable_cores"):
        parts.append(f"{machine['usable_cores']} CPU cores")
    memory = min(value for value in (machine.get("memory_bytes"), machine.get("memory_limit_bytes"), 2**63) if value)
    if memory < 2**63:
        parts.append(f"{memory / 2**30:.0f} GiB memory")
    return ", ".join(parts) or None


def count(number: int) -> str:
    """Return a number of parameters as it is said: ``680 k``, ``1.7 B``."""
    for unit, size in (("B", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            value = number / size
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.1f} {unit}"
    return str(number)


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
