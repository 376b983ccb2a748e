"""``verifier=embedded``: a warm pool of fork servers in the calling process.

A server that dies is replaced and its request tried again; a request that nobody could judge is ``UNVERIFIED``, never
wrong.
"""

from dataclasses import replace
from pathlib import Path

from kimina.lean.embedded.build import ensure_library
from kimina.lean.embedded.installation import Installation, find_installation
from kimina.lean.embedded.reply import HEADER, crashed, judge_reply, refuse, refuse_before_lean
from kimina.lean.embedded.worker import Worker, WorkerLost
from kimina.lean.threaded import ThreadedVerifier, positive
from kimina.lean.verdict import CheckRequest, CheckResult, Verdict

_ATTEMPTS = 3


class EmbeddedVerifier(ThreadedVerifier):
    """Judges proofs with the embedded Lean; see ``kimina.lean.verifier.Verifier`` for the interface.

    ``workers`` processes check at the same time, each check within ``timeout_s`` seconds of processor time and
    ``memory_mb`` of memory beyond what Lean itself maps. ``max_heartbeats`` is Lean's own deterministic limit (in
    thousands of small allocations; 1000 is about half a second), ``cache_size`` the number of remembered verdicts,
    ``cache`` the file of the verification cache (none by default: a check costs about 10 ms).

    Raises ``UserError`` when the embedded Lean cannot be had here, naming the verifier to use instead.
    """

    OPTIONS = ("workers", "timeout_s", "memory_mb", "max_heartbeats", "cache_size", "cache")

    def __init__(
        self,
        workers: int = 1,
        timeout_s: float = 10.0,
        memory_mb: int = 1024,
        max_heartbeats: int = 4000,
        cache_size: int = 50_000,
        cache: str | None = None,
    ) -> None:
        positive(workers=workers, timeout_s=timeout_s, memory_mb=memory_mb, max_heartbeats=max_heartbeats)
        installation = find_installation()
        self.lean_version = installation.lean_version
        self.header = HEADER.format(max_heartbeats=max_heartbeats)
        folder = ensure_library(installation)
        super().__init__(
            [EmbeddedWorker(installation, folder, self.header, timeout_s, memory_mb) for _ in range(workers)],
            cache_size,
            cache,
            environment=folder.name,
            limits={"timeout_s": timeout_s, "memory_mb": memory_mb},
        )

    def _refuse(self, request: CheckRequest) -> CheckResult | None:
        return refuse_before_lean(request, self.lean_version)


class EmbeddedWorker(Worker):
    """A fork server that judges, with retries."""

    def __init__(self, installation: Installation, folder: Path, header: str, timeout_s: float, memory_mb: int) -> None:
        super().__init__(installation.library, folder, header, timeout_s, memory_mb)
        self._lean_version = installation.lean_version

    def judge(self, request: CheckRequest) -> CheckResult:
        """Judge ``request``, in up to three attempts where a process is lost."""
        result = self._unverified(request, "not tried")
        crashes = starved = attempts = 0
        while attempts < _ATTEMPTS and starved < 2 and not self.stopped:
            attempts += 1
            try:
                reply = self.run(request)
            except WorkerLost as lost:
                result = self._unverified(request, f"the Lean server was lost: {lost}")
                continue
            result = judge_reply(request, reply, self._lean_version)
            if result.verdict is not Verdict.UNVERIFIED:
                return result
            crashes += crashed(reply)
            starved += reply["ended"] == "wall"
        if crashes == _ATTEMPTS:
            # A fault that comes back in every fresh process is the text's own.
            return refuse(request, self._lean_version, f"Lean crashed on this text, {crashes} times out of {crashes}")
        return replace(result, detail=f"{result.detail} (tried {attempts} times)")

    def _unverified(self, request: CheckRequest, detail: str) -> CheckResult:
        return CheckResult(request.id, Verdict.UNVERIFIED, (), 0.0, detail, None, self._lean_version)
