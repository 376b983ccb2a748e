"""One fork server as seen from its owner: started when first needed, replaced when it dies."""

import json
import math
import select
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from kimina.lean.embedded.build import MODULE, server_environment, server_python
from kimina.lean.embedded.reply import compose_check
from kimina.lean.verdict import CheckRequest

_START_S = 120.0
_GRACE_S = 10.0


class WorkerLost(Exception):
    """The server died, hung or was stopped before it answered."""


class Worker:
    """Owns one server process. ``run`` is for one thread at a time; ``stop`` may be called from any thread."""

    def __init__(self, library: Path, folder: Path, header: str, timeout_s: float, memory_mb: int) -> None:
        arguments = [str(library), str(folder), MODULE, header]
        self._command = [*server_python(), "-m", "kimina.lean.embedded.server", *arguments]
        self._cpu_s = timeout_s
        # Processor time is the limit that counts. Wall time only catches a child that sleeps or starves.
        self._wall_s = 4 * timeout_s + 5
        self._memory_mb = memory_mb
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = b""
        self._stopped = False
        self._lock = threading.Lock()

    def run(self, request: CheckRequest) -> dict[str, Any]:
        """Check ``request`` and return the server's answer. Raises ``WorkerLost``; the next call starts a server."""
        process = self._started()
        message = compose_check(request) | {
            "cpu_s": self._cpu_s,
            "wall_s": self._wall_s,
            "memory_mb": self._memory_mb,
        }
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps(message).encode("ascii") + b"\n")
            process.stdin.flush()
            return self._read(process, time.monotonic() + self._wall_s + _GRACE_S)
        except (OSError, ValueError) as error:
            self._discard(process)
            raise WorkerLost(str(error)) from error

    @property
    def stopped(self) -> bool:
        """Whether ``stop`` was called."""
        return self._stopped

    def stop(self) -> None:
        """Kill the server for good."""
        with self._lock:
            self._stopped = True
            process = self._process
        if process is not None:
            self._discard(process)

    def _started(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise WorkerLost("stopped")
            if self._process is not None:
                return self._process
            self._unread = b""
            process = self._process = subprocess.Popen(
                self._command,
                env=server_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        try:
            greeting = self._read(process, time.monotonic() + _START_S)
            if "failed" in greeting:
                raise OSError(greeting["failed"])
        except (OSError, ValueError) as error:
            self._discard(process)
            raise WorkerLost(f"it did not start: {error}") from error
        return process

    def _read(self, process: subprocess.Popen[bytes], deadline: float) -> dict[str, Any]:
        assert process.stdout is not None
        blocks = [self._unread]
        while b"\n" not in blocks[-1]:
            wait = deadline - time.monotonic()
            if wait <= 0 or not select.select([process.stdout], [], [], wait)[0]:
                raise OSError(f"no answer within {math.ceil(self._wall_s)} s")
            block = process.stdout.read1(1 << 16)  # type: ignore[attr-defined]
            if not block:
                raise OSError("it ended")
            blocks.append(block)
        line, self._unread = b"".join(blocks).split(b"\n", 1)
        return json.loads(line)

    def _discard(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            if self._process is process:
                self._process = None
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    # Unsent bytes of a dead server; there is nobody to send them to.
                    pass
