"""Starts the Kimina Lean Server over the embedded Lean on loopback, and stops it with everything that it started."""

import contextlib
import http.client
import os
import socket
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from kimina.errors import InfrastructureError, UserError
from kimina.lean.embedded.installation import find_installation
from kimina.lean.real_server.package import PROGRAMS, ensure_package, package_python
from kimina.lean.repl.command import repl_command

HOST = "127.0.0.1"
REPL_MEMORY = "4G"
"""The server limits the address space of a REPL; Lean maps 2.4 GB of it before it does anything."""
_START_S = 60.0
_STOP_S = 5.0
_POLL_S = 0.05
_ATTEMPTS = 3


class RealServer:
    """A running Kimina Lean Server, as a context manager; ``url`` is its address.

    ``port``: 0 takes a free one (and keeps it for a second ``start``); ``repls`` Lean processes check at the same time;
    what the server prints is added to ``log``, in the detail of ``log_level``; ``folder`` is where its virtual
    environment lies or is made (``None``: the cache folder); ``max_wait_s`` is how long a proof waits for a free REPL.
    With ``api_key`` the server refuses requests without it.

    Raises ``InfrastructureError`` when it cannot be installed or does not start, ``UserError`` when ``port`` is taken or
    there is no embedded Lean here.
    """

    def __init__(
        self,
        log: Path,
        port: int = 0,
        repls: int = 2,
        folder: Path | None = None,
        max_wait_s: int = 3600,
        log_level: str = "WARNING",
        api_key: str | None = None,
    ) -> None:
        self.port = port
        self._log = log
        self._folder = folder
        self._settings = {
            "LEAN_SERVER_MAX_REPLS": str(repls),
            "LEAN_SERVER_MAX_WAIT": str(max_wait_s),
            "LEAN_SERVER_LOG_LEVEL": log_level,
        } | ({} if api_key is None else {"LEAN_SERVER_API_KEY": api_key})
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The server's address."""
        return f"http://{HOST}:{self.port}"

    @property
    def pid(self) -> int | None:
        """The server's process, while it runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def start(self) -> None:
        """Start the server and wait until it answers; one that runs already is stopped first."""
        self.stop()
        package = ensure_package(self._folder)
        chosen = self.port
        for attempt in range(_ATTEMPTS):
            self.port = chosen or _free_port()
            if chosen and not _is_free(chosen):
                raise UserError(f"Port {chosen} on {HOST} is taken. Type another one: make lean-server PORT={chosen + 1}")
            self._process = self._launch(package)
            try:
                if self._becomes_healthy(self._process):
                    return
            except BaseException:
                self.stop()
                raise
            self.stop()
            # A free port can be taken before the server has it. Then, and only then, another try may help.
            if chosen or attempt == _ATTEMPTS - 1 or _is_free(self.port):
                break
        raise InfrastructureError(f"The Kimina Lean Server does not start. The end of its log ({self._log}):\n{self._log_end()}")

    def stop(self) -> None:
        """End the server and its REPLs. May be called twice."""
        process, self._process = self._process, None
        if process is None:
            return
        # Killed at once: it has nothing to save, and asked politely it would first finish the checks under way. A REPL
        # that it starts in this very moment ends when it finds its input closed.
        family = _family(process.pid)
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
        _wait_for_end(family)
        process.wait()
        if process.stdin is not None:
            process.stdin.close()

    def wait(self) -> None:
        """Return when the server ends by itself."""
        if self._process is not None:
            self._process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _launch(self, package: Path) -> subprocess.Popen[bytes]:
        command, environment = repl_command()
        programs = package / PROGRAMS
        environment |= self._settings | {
            "PATH": f"{programs}{os.pathsep}{environment.get('PATH', os.defpath)}",
            "KIMINA_REPL_COMMAND": "\t".join(command),
            "LEAN_SERVER_HOST": HOST,
            "LEAN_SERVER_PORT": str(self.port),
            "LEAN_SERVER_REPL_PATH": str(programs / "repl"),
            "LEAN_SERVER_PROJECT_DIR": str(programs),
            "LEAN_SERVER_MAX_REPL_MEM": REPL_MEMORY,
            "LEAN_SERVER_LEAN_VERSION": f"v{find_installation().lean_version}",
            # The other environment, `dev`, colours every proof for a terminal.
            "LEAN_SERVER_ENVIRONMENT": "prod",
            # It asks for folders of Mathlib and of an exporter.
            "LEAN_SERVER_SKIP_VALIDATION": "1",
        }
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with open(self._log, "ab") as log:
            return subprocess.Popen(
                # Isolated: the path to this project is for the REPLs, not for the server.
                [str(package_python(package)), "-I", "-X", "utf8", str(Path(__file__).with_name("launch.py"))],
                # Settings are also read from a file `.env` in the working folder; here is none.
                cwd=programs, env=environment, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def _becomes_healthy(self, process: subprocess.Popen[bytes]) -> bool:
        deadline = time.monotonic() + _START_S
        while process.poll() is None and time.monotonic() < deadline:
            if self._is_healthy():
                return process.poll() is None
            time.sleep(_POLL_S)
        return False

    def _is_healthy(self) -> bool:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=2)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _log_end(self) -> str:
        return self._log.read_bytes()[-2000:].decode("utf-8", "replace").strip()


def _family(pid: int) -> list[psutil.Process]:
    """The process and all its descendants, as far as they live."""
    try:
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _wait_for_end(processes: Iterable[psutil.Process]) -> None:
    """Wait until all have ended, for ``_STOP_S`` at most."""
    deadline = time.monotonic() + _STOP_S
    while any(_lives(process) for process in processes) and time.monotonic() < deadline:
        time.sleep(_POLL_S)


def _lives(process: psutil.Process) -> bool:
    # An ended process whose parent has not asked for its exit code yet still has an entry.
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the server does: connections that have just ended do not make a port taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True
