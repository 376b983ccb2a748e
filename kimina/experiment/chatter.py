"""A quiet terminal: what libraries print goes to a log file, what we say goes to the terminal.

Trainers, their workers and compiled libraries write to the file descriptors 1 and 2 without asking. For the time of a block
those two lead into a log file, in this process and in every child it starts, and only `QuietTerminal.stream` still leads to
the terminal.
"""

import ctypes
import os
import sys
from types import TracebackType
from typing import TextIO

from kimina.errors import InfrastructureError


class QuietTerminal:
    """Context manager that sends the output of everything else to ``log_path`` (appended to)."""

    def __init__(self, log_path: str | os.PathLike[str]) -> None:
        self.log_path = os.fspath(log_path)
        self.stream: TextIO = sys.stdout

    def __enter__(self) -> "QuietTerminal":
        try:
            os.makedirs(os.path.dirname(os.path.abspath(self.log_path)), exist_ok=True)
            log = os.open(self.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise InfrastructureError(f"cannot write the log {self.log_path}: {error.strerror or error}") from error
        _flush_all()
        self._terminal_fds = (os.dup(1), os.dup(2))
        self._python_streams = (sys.stdout, sys.stderr)
        self.stream = os.fdopen(os.dup(self._terminal_fds[0]), "w", encoding="utf-8", errors="replace", buffering=1)
        os.dup2(log, 1)
        os.dup2(log, 2)
        # sys.stdout may have been replaced by something that does not write to descriptor 1. These follow the
        # descriptors, so a logging handler that keeps one of them writes to the terminal again after the block.
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)
        os.close(log)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _flush_all()
        sys.stdout, sys.stderr = self._python_streams
        for target, saved in zip((1, 2), self._terminal_fds, strict=True):
            os.dup2(saved, target)
            os.close(saved)
        self.stream.close()
        self.stream = sys.stdout

    def tail(self, lines: int = 20) -> str:
        """Return the last lines of the log, for a message about what failed."""
        _flush_all()
        try:
            with open(self.log_path, "rb") as log:
                log.seek(max(0, os.fstat(log.fileno()).st_size - 65536))
                text = log.read().decode("utf-8", errors="replace")
        except OSError as error:
            return f"(the log cannot be read: {error.strerror or error})"
        return "\n".join(text.splitlines()[-lines:])


def _flush_all() -> None:
    for stream in (sys.stdout, sys.stderr):
        if not stream.closed:
            stream.flush()
    # Compiled libraries buffer in C's stdio, apart from Python's streams.
    ctypes.CDLL(None).fflush(None)
