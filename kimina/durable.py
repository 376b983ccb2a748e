"""Files that are either the old ones or the new ones, never half of each.

A whole file is written under a temporary name in its own folder, synced, and renamed over the old one, and then the
folder is synced, so that a crash or a full disk leaves the earlier file as it was. A growing file is a JSON Lines file to
which lines are appended and synced; a line that a crash tore is dropped when the file is read and cut off before the next
one is appended.
"""

import json
import math
import numbers
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kimina.errors import InfrastructureError

TEMPORARY_SUFFIX = ".part"
_SURROGATE = re.compile(r"[\ud800-\udfff]")

# mkstemp makes private files; a result should be as readable as any other file that the user makes. The mask can only be
# read by setting it, which is safe at import, before there are threads.
_UMASK = os.umask(0o022)
os.umask(_UMASK)


def to_json(value: Any, *, indent: int | None = None) -> str:
    """Return ``value`` as strict JSON: numbers of numpy are taken, and NaN or infinity become null (undefined)."""
    plain = _plain(value)
    text = json.dumps(plain, indent=indent, ensure_ascii=False, allow_nan=False)
    if not text.isascii() and _SURROGATE.search(text):
        # Half of a surrogate pair has no UTF-8; escaped it is JSON that every reader takes.
        return json.dumps(plain, indent=indent, ensure_ascii=True, allow_nan=False)
    return text


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, bool)):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (set, frozenset)):
        return sorted(_plain(item) for item in value)
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return [_plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} cannot be written as JSON: {value!r}")


def write_bytes(path: str | os.PathLike[str], content: bytes) -> Path:
    """Replace the file at ``path`` in one step; see `write_chunks`."""
    return write_chunks(path, [content])


def write_chunks(path: str | os.PathLike[str], chunks: Iterable[bytes]) -> Path:
    """Replace the file at ``path`` by the joined ``chunks`` in one step, making its folder where it is missing.

    Raises:
        InfrastructureError: the file could not be written (no space, no permission); an earlier file is unchanged.
    """
    target = Path(path)
    temporary: str | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=TEMPORARY_SUFFIX, dir=target.parent)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), 0o666 & ~_UMASK)
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        temporary = None
        sync_folder(target.parent)
    except OSError as error:
        kept = "; the earlier file is unchanged" if target.exists() else ""
        raise InfrastructureError(
            f"cannot write {target}: {error.strerror or error}{kept}. "
            "Make room or choose another place, then run the same command again."
        ) from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
    return target


def write_text(path: str | os.PathLike[str], content: str) -> Path:
    """Replace the UTF-8 text file at ``path`` in one step; see `write_bytes`."""
    return write_bytes(path, content.encode("utf-8", errors="surrogatepass"))


def write_json(path: str | os.PathLike[str], value: Any) -> Path:
    """Replace the JSON file at ``path`` in one step; see `write_bytes` and `to_json`."""
    return write_text(path, to_json(value, indent=2) + "\n")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file.

    Raises:
        InfrastructureError: it is missing, unreadable or no JSON.
    """
    try:
        return json.loads(Path(path).read_bytes())
    except OSError as error:
        raise InfrastructureError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise InfrastructureError(
            f"{path} is not valid JSON ({error}); remove it and run the same command again"
        ) from error


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Make a rename or a new file in ``folder`` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_temporary_files(folder: str | os.PathLike[str]) -> None:
    """Remove what writers that were killed left in ``folder``; call it only while nobody else writes there."""
    for leftover in Path(folder).glob(f".*{TEMPORARY_SUFFIX}"):
        leftover.unlink(missing_ok=True)


class JsonLines:
    """A JSON Lines file that grows by whole, synced lines and outlives a kill at any moment."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append one line a row and sync the file.

        Raises:
            InfrastructureError: the lines could not be written; the earlier lines stay readable.
        """
        content = "".join(to_json(row) + "\n" for row in rows).encode("utf-8", errors="surrogatepass")
        if not content:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not self.path.exists()
            with open(self.path, "a+b") as file:
                self._cut_torn_line(file)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if is_new:
                sync_folder(self.path.parent)
        except OSError as error:
            raise InfrastructureError(
                f"cannot append to {self.path}: {error.strerror or error}; what it held before is kept. "
                "Make room and run the same command again: it goes on from the last checkpoint."
            ) from error

    def read(self) -> list[dict[str, Any]]:
        """Return the rows, without a last line that was torn; an empty list where the file does not exist.

        Raises:
            InfrastructureError: a line that is not the last one is no JSON object.
        """
        if not self.path.exists():
            return []
        whole, _, _torn = self.path.read_bytes().rpartition(b"\n")
        rows: list[dict[str, Any]] = []
        for number, line in enumerate(whole.split(b"\n"), start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InfrastructureError(f"{self.path}, line {number}: not valid JSON ({error})") from error
            if not isinstance(row, dict):
                raise InfrastructureError(f"{self.path}, line {number}: a JSON object is expected")
            rows.append(row)
        return rows

    def replace(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Replace the whole file in one step."""
        write_text(self.path, "".join(to_json(row) + "\n" for row in rows))

    @staticmethod
    def _cut_torn_line(file: Any) -> None:
        size = file.seek(0, os.SEEK_END)
        end = size
        while end > 0:
            start = max(0, end - 65536)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end < size:
            file.truncate(end)
        file.seek(0, os.SEEK_END)
