"""What a stage leaves behind: a folder that is named by what went into it.

A stage's output lies in ``<root>/<stage>/<name>-<hash>/``, where the hash is that of the declared part of the configuration
and of the hashes of its parents. The folder is ``none`` (not begun), ``running`` (begun and not finished; being worked on
if somebody holds its lock, else interrupted), ``failed`` or ``done``. A finished one is reused, an unfinished or failed
one is taken up where it stands.
"""

import hashlib
import json
import math
import numbers
import os
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from kimina.durable import read_json, remove_temporary_files, write_bytes, write_json, write_text
from kimina.errors import InfrastructureError
from kimina.experiment.environment import capture_environment
from kimina.experiment.lock import LOCK_NAME, folder_lock, lock_holder
from kimina.metrics_log import MetricsLog

__all__ = [
    "NOT_IDENTITY",
    "Artifact",
    "MetricsLog",
    "Status",
    "artifacts_below",
    "canonical_json",
    "capture_environment",
    "stage_hash",
    "write_bytes",
    "write_json",
    "write_text",
]

MANIFEST_SCHEMA = 1
MANIFEST_NAME = "manifest.json"
METRICS_NAME = "metrics.jsonl"
HASH_LENGTH = 12

# Where a run happens and where it writes do not change what it computes.
NOT_IDENTITY = (
    "cluster",
    "logger",
    "output_dir",
    "hydra",
    "ray_kwargs",
    "trainer.logger",
    "trainer.nnodes",
    "trainer.n_gpus_per_node",
    "trainer.project_name",
    "trainer.experiment_name",
    "trainer.default_local_dir",
    "trainer.default_hdfs_dir",
    "trainer.rollout_data_dir",
    "trainer.validation_data_dir",
    "data.train_files",
    "data.val_files",
)


class Status(StrEnum):
    """Where an artifact stands."""

    NONE = "none"
    RUNNING = "running"
    FAILED = "failed"
    DONE = "done"


def canonical_json(value: Any) -> str:
    """Return the one text for a configuration: keys sorted, 1.0 written as 1, tuples as lists.

    Raises:
        TypeError: a value that JSON does not have.
        ValueError: NaN or infinity, which equal nothing and would never be found again.
    """
    return json.dumps(_canonical(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _canonical(value: Any) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        if not math.isfinite(number):
            raise ValueError(f"a configuration holds {number}, which cannot be compared")
        return int(number) if number.is_integer() else number
    if isinstance(value, Mapping):
        return {str(key): _canonical(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [_canonical(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"a configuration holds a {type(value).__name__}: {value!r}")


def stage_hash(
    config: Mapping[str, Any],
    parents: Mapping[str, str] | Sequence[str] = (),
    *,
    excluded: Sequence[str] = NOT_IDENTITY,
) -> str:
    """Return the name of what a stage would compute: 12 hexadecimal digits.

    Args:
        config: the part of the configuration that the stage declares to depend on.
        parents: the hashes of its inputs, by role or in a fixed order.
        excluded: dotted keys that do not count (a cluster, a logger, paths).
    """
    kept = _without(_canonical(config), [key.split(".") for key in excluded])
    parents = dict(parents) if isinstance(parents, Mapping) else list(parents)
    identity = canonical_json({"schema": MANIFEST_SCHEMA, "config": kept, "parents": parents})
    return hashlib.sha256(identity.encode("utf-8", errors="surrogatepass")).hexdigest()[:HASH_LENGTH]


def _without(tree: dict[str, Any], keys: list[list[str]]) -> dict[str, Any]:
    dropped = {key[0] for key in keys if len(key) == 1}
    result = {}
    for name, value in tree.items():
        if name in dropped:
            continue
        below = [key[1:] for key in keys if len(key) > 1 and key[0] == name]
        result[name] = _without(value, below) if below and isinstance(value, dict) else value
    return result


class Artifact:
    """The folder of one stage's output, its manifest, its metrics and its lock."""

    def __init__(self, root: str | os.PathLike[str], stage: str, name: str, hash: str) -> None:
        self.root = Path(root)
        self.stage = stage
        self.name = name
        self.hash = hash
        self.folder = self.root / stage / f"{name}-{hash}"

    @classmethod
    def at(cls, folder: str | os.PathLike[str]) -> "Artifact":
        """Return the artifact whose folder this is."""
        folder = Path(folder)
        name, _, digest = folder.name.rpartition("-")
        return cls(folder.parent.parent, folder.parent.name, name, digest)

    def __repr__(self) -> str:
        return f"Artifact({str(self.folder)!r}, {self.status.value})"

    def file(self, name: str) -> Path:
        """Return the path of a file of this artifact."""
        return self.folder / name

    @property
    def metrics(self) -> MetricsLog:
        """The artifact's ``metrics.jsonl``."""
        return MetricsLog(self.folder / METRICS_NAME)

    def manifest(self) -> dict[str, Any]:
        """Return the manifest, an empty mapping before the stage has begun.

        Raises:
            InfrastructureError: the file is unreadable, or no manifest.
        """
        path = self.folder / MANIFEST_NAME
        content = read_json(path) if path.exists() else {}
        if not isinstance(content, dict) or content.get("status", Status.NONE) not in list(Status):
            raise InfrastructureError(
                f"{path} is no manifest of a stage; remove it and run the same command again: it goes on from what else is "
                "in the folder"
            )
        return content

    @property
    def status(self) -> Status:
        """Where the artifact stands by its manifest."""
        return Status(self.manifest().get("status", Status.NONE))

    @property
    def is_done(self) -> bool:
        """Whether the artifact is finished and can be reused."""
        return self.status is Status.DONE

    @property
    def failure(self) -> str | None:
        """Why the last attempt failed, or None."""
        return self.manifest().get("reason")

    def describe(self) -> str:
        """Return one line for a plan or a log: done, running in process 12, interrupted, failed and why, not begun."""
        status = self.status
        if status is Status.RUNNING:
            holder = lock_holder(self.folder)
            return f"running in process {holder['pid']}" if holder else "interrupted, will be resumed"
        if status is Status.FAILED:
            return f"failed: {self.failure}"
        return "done" if status is Status.DONE else "not begun"

    def produce(
        self,
        work: Callable[["Artifact"], None],
        record: Mapping[str, Any],
        *,
        wait_s: float = 0.0,
        announce: Callable[[str], None] | None = None,
    ) -> bool:
        """Make the artifact, or reuse it when it is finished.

        ``work`` must be able to go on from what an earlier, interrupted call left in the folder.

        Args:
            work: called with this artifact; it writes into `folder` and may `update` the manifest.
            record: goes into the manifest: config (resolved), overrides, parents, lean, data_fingerprint, seeds, …
            wait_s: how long to wait for another process that works in the folder.
            announce: told in a sentence what happens: reuse, resume, or why the last attempt failed.

        Returns:
            True if the work was done now, False if a finished artifact was reused.

        Raises:
            UserError: another process works in the folder.
            Exception: whatever ``work`` raised, after the manifest says so. A stop by hand (KeyboardInterrupt,
                SystemExit) leaves the artifact unfinished, not failed.
        """
        tell = announce if announce is not None else _say_nothing
        if self.is_done:
            tell(f"{self.stage}: reusing {self.folder}")
            return False
        with folder_lock(self.folder, wait_s=wait_s, on_wait=tell):
            if self.is_done:
                tell(f"{self.stage}: reusing {self.folder}")
                return False
            before = self.describe_earlier_attempt()
            if before:
                tell(f"{self.stage}: {before}; going on in {self.folder}")
            remove_temporary_files(self.folder)
            self._begin(record)
            started = time.monotonic()
            try:
                work(self)
            except BaseException as error:
                # A stop by hand is no failure: the next call goes on.
                if isinstance(error, Exception):
                    self._end(Status.FAILED, started, reason=_reason(error), trace=traceback.format_exc())
                else:
                    self._end(Status.RUNNING, started, reason=None)
                raise
            self.metrics.compact()
            self._end(Status.DONE, started, reason=None)
        return True

    def describe_earlier_attempt(self) -> str | None:
        """Return what became of the last attempt, for a process that now holds the lock; None for a first attempt."""
        status = self.status
        if status is Status.FAILED:
            return f"the last attempt failed ({self.failure})"
        return "the last attempt was interrupted" if status is Status.RUNNING else None

    def update(self, **fields: Any) -> None:
        """Add to the manifest what is known only while working, such as the Lean version or a data fingerprint."""
        write_json(self.folder / MANIFEST_NAME, {**self.manifest(), **fields})

    def _begin(self, record: Mapping[str, Any]) -> None:
        earlier = self.manifest()
        if earlier and earlier["hash"] != self.hash:
            raise InfrastructureError(
                f"{self.folder} holds the artifact {earlier['hash']}; move it away and run the same command again"
            )
        attempts = earlier.get("attempts", [])
        attempt = {"started": _now(), "ended": None, "seconds": None, "status": Status.RUNNING, "pid": os.getpid()}
        write_json(
            self.folder / MANIFEST_NAME,
            {
                "schema": MANIFEST_SCHEMA,
                "stage": self.stage,
                "name": self.name,
                "hash": self.hash,
                "status": Status.RUNNING,
                "reason": None,
                "created": earlier.get("created", attempt["started"]),
                "finished": None,
                "seconds": None,
                **record,
                **capture_environment(),
                "attempts": [*attempts[:-1], *map(self._closed, attempts[-1:]), attempt],
            },
        )

    def _closed(self, attempt: dict[str, Any]) -> dict[str, Any]:
        """Return an attempt with an end: one that was killed ended when it last wrote something, as far as anyone knows."""
        if attempt["ended"] is not None:
            return attempt
        started = datetime.fromisoformat(attempt["started"]).timestamp()
        seen = [path.stat().st_mtime for path in self.folder.iterdir() if path.name not in (LOCK_NAME, MANIFEST_NAME)]
        seconds = max(0.0, max(seen, default=started) - started)
        ended = datetime.fromtimestamp(started + seconds, UTC).isoformat(timespec="seconds")
        return {**attempt, "ended": ended, "seconds": round(seconds, 3), "status": "killed"}

    def _end(self, status: Status, started: float, *, reason: str | None, trace: str | None = None) -> None:
        manifest = self.manifest()
        seconds = time.monotonic() - started
        outcome = "interrupted" if status is Status.RUNNING else status.value
        manifest["attempts"][-1].update(ended=_now(), seconds=round(seconds, 3), status=outcome, reason=reason)
        manifest.update(status=status, reason=reason)
        if trace is not None:
            manifest["attempts"][-1]["traceback"] = trace
        if status is Status.DONE:
            manifest["finished"] = _now()
            manifest["seconds"] = round(sum(attempt["seconds"] or 0.0 for attempt in manifest["attempts"]), 3)
        write_json(self.folder / MANIFEST_NAME, manifest)


def artifacts_below(root: str | os.PathLike[str], stage: str | None = None) -> Iterator[Artifact]:
    """Yield the artifacts that have a manifest, of one stage or of all, in the order of their paths."""
    pattern = f"{stage or '*'}/*/{MANIFEST_NAME}"
    for manifest in sorted(Path(root).glob(pattern)):
        yield Artifact.at(manifest.parent)


def _reason(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text if len(text) <= 2000 else text[:2000] + " …"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _say_nothing(_: str) -> None:
    return None
