"""One process at a time in an artifact's folder.

The lock belongs to the open file (``flock``), so the system releases it when its holder ends, however it ends; what is
written in the file only serves to name the holder.
"""

import errno
import fcntl
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kimina.durable import to_json
from kimina.errors import InfrastructureError, UserError

LOCK_NAME = ".lock"
_POLL_S = 0.2


@contextmanager
def folder_lock(folder: Path, *, wait_s: float = 0.0, on_wait: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold the folder for the time of the block.

    Args:
        folder: made where it is missing.
        wait_s: how long to wait for another holder; 0 gives up at once.
        on_wait: told once, with a sentence that names the holder, when waiting begins.

    Raises:
        UserError: another process holds the folder; its pid is named.
        InfrastructureError: the file system has no locks or cannot be written.
    """
    path = folder / LOCK_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise InfrastructureError(f"cannot use {folder}: {error.strerror or error}") from error
    try:
        _acquire(descriptor, folder, wait_s, on_wait)
        _name_holder(descriptor)
        _open_descriptors.add(descriptor)
        try:
            yield
        finally:
            _open_descriptors.discard(descriptor)
            os.ftruncate(descriptor, 0)
            # Said aloud, because a child that was forked a moment ago may still share the open file.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def lock_holder(folder: Path) -> dict[str, Any] | None:
    """Return ``{"pid", "host", "since"}`` of the process that holds the folder now, or None."""
    try:
        descriptor = os.open(folder / LOCK_NAME, os.O_RDWR)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_holder(descriptor)
    finally:
        os.close(descriptor)
    return None


def _acquire(descriptor: int, folder: Path, wait_s: float, on_wait: Callable[[str], None] | None) -> None:
    deadline = time.monotonic() + wait_s
    told = False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise InfrastructureError(
                    f"cannot lock {folder}: {error.strerror}. Choose an output_dir=… on a file system with locks."
                ) from error
        holder = _read_holder(descriptor)
        who = f"process {holder['pid']} on {holder['host']} (since {holder['since']})"
        if time.monotonic() >= deadline:
            raise UserError(f"{folder} is in use by {who}. Wait for it to end, or stop it with: kill {holder['pid']}")
        if not told and on_wait is not None:
            on_wait(f"{folder} is in use by {who}; waiting for it")
            told = True
        time.sleep(min(_POLL_S, max(0.0, deadline - time.monotonic())))


def _name_holder(descriptor: int) -> None:
    since = datetime.now(UTC).isoformat(timespec="seconds")
    # The lock is held without the name, too: on a full disk it is the work's own files that say so.
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, to_json({"pid": os.getpid(), "host": platform.node(), "since": since}).encode(), 0)


def _read_holder(descriptor: int) -> dict[str, Any]:
    try:
        return json.loads(os.pread(descriptor, 4096, 0))
    except ValueError:
        # The holder has the lock but has not yet written its name, or is about to let go.
        return {"pid": "?", "host": "this machine", "since": "just now"}


_open_descriptors: set[int] = set()


def _leave_to_parent() -> None:
    # A forked child shares the parent's lock and would keep it alive after the parent's end.
    for descriptor in _open_descriptors:
        os.close(descriptor)
    _open_descriptors.clear()


os.register_at_fork(after_in_child=_leave_to_parent)
