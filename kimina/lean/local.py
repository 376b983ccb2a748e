"""``verifier=local``: judges with a Lean, or a Lake project, that the user has installed. One process a check."""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

from kimina.errors import UserError
from kimina.lean.report import compose_with_query, judge_messages, refuse_text, unverified
from kimina.lean.snippet import split_imports
from kimina.lean.threaded import ThreadedVerifier, positive
from kimina.lean.verdict import CheckRequest, CheckResult, Message, Verdict

_OPTIONS = """\
set_option autoImplicit false
set_option relaxedAutoImplicit false
set_option maxHeartbeats {max_heartbeats}
set_option linter.all false
"""
_VERSION = re.compile(r"version (\d+\.\d+\.\d+[^\s,]*)")
_START_S = 60


class LocalVerifier(ThreadedVerifier):
    """Judges proofs with the user's own Lean; see ``kimina.lean.verifier.Verifier`` for the interface.

    ``project_dir`` names a Lake project: its packages can be imported, and Mathlib is part of the header when the
    project has it. Without a project, ``lean`` is the program. ``timeout_s`` (wall time) and ``memory_mb`` limit each
    check. ``cache`` is the file of the verification cache; with a project, its verdicts hold as long as no compiled
    module and no Lake file of the project changes.

    Raises ``UserError`` when the program or the project isn't there.
    """

    OPTIONS = ("project_dir", "lean", "workers", "timeout_s", "memory_mb", "max_heartbeats", "cache_size", "cache")

    def __init__(
        self,
        project_dir: str | None = None,
        lean: str = "lean",
        workers: int = 1,
        timeout_s: float = 60.0,
        memory_mb: int = 8192,
        max_heartbeats: int = 400_000,
        cache_size: int = 50_000,
        cache: str | None = None,
    ) -> None:
        positive(workers=workers, timeout_s=timeout_s, memory_mb=memory_mb, max_heartbeats=max_heartbeats)
        project = None if project_dir is None else Path(project_dir)
        command = _command(project, lean)
        self.lean_version = _version(command, project)
        imports = ["import Mathlib"] if project is not None and _has_mathlib(project) else []
        self.header = " ".join(imports) + "\n" + _OPTIONS.format(max_heartbeats=max_heartbeats)
        command += ["--json", "--stdin", "-M", str(memory_mb)]
        super().__init__(
            [LocalWorker(command, project, self.header, timeout_s, self.lean_version) for _ in range(workers)],
            cache_size,
            cache,
            environment=_fingerprint(project) if project is not None and cache is not None else "",
            limits={"timeout_s": timeout_s, "memory_mb": memory_mb},
        )

    def _refuse(self, request: CheckRequest) -> CheckResult | None:
        return refuse_text(request, None, "", self.lean_version)


class LocalWorker:
    """Starts one Lean process a request."""

    def __init__(
        self, command: list[str], project: Path | None, header: str, timeout_s: float, lean_version: str
    ) -> None:
        self._command = command
        self._project = project
        self._header = header
        self._timeout_s = timeout_s
        self._lean_version = lean_version
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def judge(self, request: CheckRequest) -> CheckResult:
        """Judge ``request`` in a process of its own."""
        # The model's imports are the project's business: they join the header's first line, where imports belong.
        wanted = " ".join(f"import {found.module}" for found in split_imports(request.code)[1])
        snippet = compose_with_query(f"{wanted} {self._header}" if wanted else self._header, request)
        started = time.monotonic()
        with self._lock:
            if self._stopped:
                return unverified(request, "the verifier was closed", 0.0, self._lean_version)
            try:
                self._process = subprocess.Popen(
                    self._command, cwd=self._project, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                return unverified(request, f"Lean cannot be started: {error}", 0.0, self._lean_version)
        try:
            output, complaint = self._process.communicate(snippet.text.encode("utf-8"), timeout=self._timeout_s)
        except subprocess.TimeoutExpired:
            self._kill()
            self._process.communicate()
            seconds = time.monotonic() - started
            detail = f"the check took longer than {self._timeout_s:g} s"
            return CheckResult(request.id, Verdict.TIMEOUT, (), seconds, detail, None, self._lean_version)
        finally:
            self._kill()
        seconds = time.monotonic() - started
        raw = [parsed for line in output.decode("utf-8", "replace").splitlines() if (parsed := _parsed(line))]
        if self._process.returncode not in (0, 1):
            reason = complaint.decode("utf-8", "replace").strip()[-300:]
            detail = f"Lean ended with status {self._process.returncode}: {reason}"
            return unverified(request, detail, seconds, self._lean_version)
        in_header = [entry for entry in raw if entry["pos"]["line"] == 1 and entry["severity"] == "error"]
        if wanted and in_header:
            text = in_header[0]["data"].strip()
            message = Message("error", split_imports(request.code)[1][0].line, 0, None, None, text)
            return CheckResult(request.id, Verdict.LEAN_ERROR, (message,), seconds, text, None, self._lean_version)
        return judge_messages(
            raw, request, first_line=snippet.first_line, query_line=snippet.query_line, seconds=seconds,
            lean_version=self._lean_version,
        )  # fmt: skip

    def stop(self) -> None:
        """End the running process, and start none any more."""
        with self._lock:
            self._stopped = True
            self._kill()

    def _kill(self) -> None:
        # The whole session: `lake env` starts Lean as a child of its own.
        if self._process is not None and self._process.returncode is None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def _command(project: Path | None, lean: str) -> list[str]:
    advice = (
        "Install Lean with elan (https://lean-lang.org/install), name the program with verifier.lean=/path/to/lean,"
        " or use verifier=embedded (no installation) or verifier=kimina (a Kimina Lean server)."
    )
    if project is None:
        if shutil.which(lean) is None:
            raise UserError(f"verifier=local: there is no program {lean!r}. {advice}")
        return [lean]
    if not any((project / name).is_file() for name in ("lakefile.lean", "lakefile.toml")):
        raise UserError(
            f"verifier=local: {project} is no Lake project (no lakefile). Type: verifier.project_dir=/path/to/project"
        )
    if shutil.which("lake") is None:
        raise UserError(f"verifier=local with verifier.project_dir={project} needs the program 'lake'. {advice}")
    return ["lake", "env", lean]


def _version(command: list[str], project: Path | None) -> str:
    try:
        done = subprocess.run(
            [*command, "--version"],
            cwd=project,
            capture_output=True,
            text=True,
            timeout=_START_S,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(f"verifier=local: `{' '.join(command)} --version` fails: {error}") from error
    if found := _VERSION.search(done.stdout):
        return found[1]
    raise UserError(
        f"verifier=local: `{' '.join(command)} --version` gives no Lean version (status {done.returncode}):"
        f" {(done.stdout + done.stderr).strip()[-300:]}"
    )


def _has_mathlib(project: Path) -> bool:
    manifest = project / "lake-manifest.json"
    return manifest.is_file() and '"mathlib"' in manifest.read_text(encoding="utf-8")


def _fingerprint(project: Path) -> str:
    """Digest of what a proof can import from ``project`` itself; the manifest pins the packages that it depends on.

    Compiled modules count by size and time: proofs import those, not the sources.
    """
    digest = hashlib.sha256(str(project.resolve()).encode())
    for name in ("lean-toolchain", "lake-manifest.json", "lakefile.lean", "lakefile.toml"):
        if (project / name).is_file():
            digest.update(name.encode() + (project / name).read_bytes())
    compiled = project / ".lake" / "build"
    for file in sorted(compiled.rglob("*.olean")):
        status = file.stat()
        digest.update(f"{file.relative_to(compiled)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _parsed(line: str) -> dict | None:
    try:
        raw = json.loads(line)
    except ValueError:
        return None
    return raw if isinstance(raw, dict) and "pos" in raw else None
