"""How fast the embedded Lean checks proofs on one core, against a fresh Lean process for each proof.

Type: ``python benchmarks/lean_checks.py [--count 200] [--peer-count 20] [--json FILE]`` (``make bench`` does). Every
check is isolated (a process of its own) and none is answered from memory. The peer is the same Lean, same library and
same texts through the ordinary command line (``lean --json --stdin``), one process a proof. Exit code 1 when the
embedded Lean misses 20 checks a second or a median of 60 ms.
"""

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kimina.lean.embedded.build import ensure_library, server_environment, server_python
from kimina.lean.embedded.installation import find_installation
from kimina.lean.embedded.pool import EmbeddedVerifier
from kimina.lean.verdict import CheckRequest, Verdict

REQUIRED_PER_SECOND = 20.0
REQUIRED_MEDIAN_MS = 60.0

# A mixed diet: (text, whether it proves the theorem `t`); `K` is replaced so that no two texts are equal.
TEXTS = [
    ("theorem t (p q : Prop) (hp : p) (hq : q) : p ∧ q := by\n  constructor\n  · exact hp\n  · exact hq", True),
    ("theorem t (p q r : Prop) (f : p → q) (g : q → r) : p → r := by\n  intro hp\n  exact g (f hp)", True),
    ("theorem t (a b : Nat) : a + b + K = b + a + K := by\n  rw [Nat.add_comm a b]", True),
    ("theorem t (n : Nat) : 0 + n + K = n + K := by\n  induction n with\n  | zero => rfl\n  | succ n ih => simp", True),
    ("theorem t (a b c : Nat) : a + b + c + K = c + b + a + K := by\n  simp [Nat.add_comm, Nat.add_left_comm]", True),
    ("theorem t (p q : Prop) (h : p ∨ q) : q ∨ p := by\n  rcases h with hp | hq\n  · right; exact hp\n"
     "  · left; exact hq", True),
    ("theorem t : ∃ n : Nat, n * n = K * K := by\n  exact ⟨K, rfl⟩", True),
    ("theorem t (a b c : Nat) (h : a ≤ b) (k : b ≤ c) : a ≤ c + K := calc\n  a ≤ b := h\n  _ ≤ c := k\n"
     "  _ ≤ c + K := Nat.le_add_right c K", True),
    ("theorem t (a b : Nat) : a * b + K = b * a + K + 1 := by\n  rw [Nat.mul_comm]", False),
    ("theorem t (p q : Prop) (h : p → q) : q → p := by\n  intro hq\n  exact h hq -- K", False),
    ("theorem t (n : Nat) : n < n + K + 1 := by\n  omega", False),
]  # fmt: skip


def quantile(values: list[float], share: float) -> float:
    """The smallest value that at least ``share`` of ``values`` do not exceed."""
    return sorted(values)[math.ceil(len(values) * share) - 1]


def summary(seconds: list[float]) -> dict[str, float]:
    """Rate and latency of checks that ran one after the other."""
    return {
        "checks": len(seconds),
        "per_second": len(seconds) / sum(seconds),
        "median_ms": quantile(seconds, 0.5) * 1000,
        "p95_ms": quantile(seconds, 0.95) * 1000,
    }


def requests(count: int, offset: int) -> list[tuple[CheckRequest, bool]]:
    """``count`` different requests, and whether each is a proof."""
    made = []
    for index in range(count):
        text, right = TEXTS[index % len(TEXTS)]
        number = str(index // len(TEXTS) + offset)
        made.append((CheckRequest(str(index), f"{text.replace('K', number)}\n-- {number}", "t"), right))
    return made


def time_embedded(count: int) -> list[float]:
    """Seconds of each check through a warm pool of one worker."""
    seconds = []
    with EmbeddedVerifier(workers=1, cache_size=0) as verifier:
        verifier.check([requests(1, 10_000)[0][0]])
        for request, right in requests(count, 1):
            started = time.perf_counter()
            (result,) = verifier.check([request])
            seconds.append(time.perf_counter() - started)
            if (result.verdict is Verdict.PROVED) != right:
                raise SystemExit(f"wrong verdict {result.verdict} on: {request.code}\n{result.detail}")
    return seconds


def time_fresh_process(count: int) -> list[float]:
    """Seconds of each check by the ``lean`` command line in a new process."""
    installation = find_installation()
    environment = server_environment() | {"LEAN_PATH": str(ensure_library(installation))}
    command = [
        *server_python(),
        "-m",
        "kimina.lean.embedded.lean_program",
        str(installation.library),
        "--json",
        "--stdin",
    ]
    seconds = []
    for request, right in requests(count, 1):
        text = f"{request.code}\n#print axioms t\n"
        started = time.perf_counter()
        done = subprocess.run(command, input=text, capture_output=True, text=True, env=environment)
        seconds.append(time.perf_counter() - started)
        if (done.returncode == 0) != right:
            raise SystemExit(f"the peer ended with {done.returncode} on: {request.code}\n{done.stdout}{done.stderr}")
    return seconds


def main() -> int:
    """Measure both on one core, print and optionally write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=220, help="checks through the embedded Lean")
    parser.add_argument("--peer-count", type=int, default=22, help="checks in fresh processes")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args()
    if sys.platform == "linux":
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    load = os.getloadavg()[0]
    embedded = summary(time_embedded(options.count))
    peer = summary(time_fresh_process(options.peer_count))
    ratio = peer["median_ms"] / embedded["median_ms"]
    for name, numbers in (("embedded Lean, warm", embedded), ("fresh lean process", peer)):
        print(
            f"{name:20} {numbers['per_second']:7.1f} checks/s   median {numbers['median_ms']:6.1f} ms"
            f"   p95 {numbers['p95_ms']:6.1f} ms   ({numbers['checks']} checks, one core)"
        )
    print(f"ratio of medians: {ratio:.1f}   (load average before: {load:.1f} on {os.cpu_count()} cores)")
    if options.json:
        result = {"embedded": embedded, "fresh_process": peer, "ratio_of_medians": ratio, "load_average": load}
        options.json.write_text(
            json.dumps(result | {"machine": platform.processor() or platform.machine()}, indent=1) + "\n"
        )
    good = embedded["per_second"] >= REQUIRED_PER_SECOND and embedded["median_ms"] < REQUIRED_MEDIAN_MS
    if not good:
        print(
            f"missed: {REQUIRED_PER_SECOND:g} checks/s with a median under {REQUIRED_MEDIAN_MS:g} ms", file=sys.stderr
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
