"""A few responses of each training step, one JSON Lines file a step, for reading."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kimina.durable import JsonLines


class SampleLog:
    """``samples/000012.jsonl`` and so on; a step that is repeated after a resume replaces its file."""

    def __init__(self, folder: Path):
        self.folder = folder

    def write(self, step: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """Replace the step's file."""
        JsonLines(self._path(step)).replace(rows)

    def read(self, step: int) -> list[dict[str, Any]]:
        """Return the step's rows, an empty list where there are none."""
        return JsonLines(self._path(step)).read()

    def rewind(self, step: int) -> None:
        """Remove the files of later steps."""
        for path in self.folder.glob("*.jsonl"):
            if int(path.stem) > step:
                path.unlink()

    def _path(self, step: int) -> Path:
        return self.folder / f"{step:06d}.jsonl"

    @staticmethod
    def choose(scores: Mapping[str, float], each: int = 2) -> list[str]:
        """Return the keys of ``each`` best and ``each`` worst samples, ties broken by key."""
        ordered = sorted(scores, key=lambda key: (-scores[key], key))
        return list(dict.fromkeys([*ordered[:each], *ordered[-each:]]))
