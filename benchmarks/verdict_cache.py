"""What a verdict costs that is known already, from memory and from the file on disk, against a fresh check.

Type: ``python benchmarks/verdict_cache.py [--count 2000] [--fresh 60] [--json FILE]`` (``make bench`` does). The same mixed
proofs are asked for one at a time, ``check_one`` in an event loop as in training, and the file is asked in one batch too,
``check`` as in ``stage=verify``. Memory is empty when the file is asked: one at a time through the cache's thread, so that
the loop never waits for the disk, and a batch in the caller's own. The file holds 20,000 other verdicts beside. Exit code 1
when a verdict from memory (median) or one of a batch from the file (mean) costs 100 µs or more, or a verdict differs.
"""

import argparse
import asyncio
import json
import math
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kimina.lean.embedded.pool import EmbeddedVerifier
from kimina.lean.verdict import CheckRequest, CheckResult, Verdict
from kimina.lean.verdict_cache import Conditions, VerdictCache

REQUIRED_US = 100.0
OTHERS = 20_000
GOOD = "theorem t (p q r : Prop) (f : p → q) (g : q → r) : p → r := by\n  intro hp\n  exact g (f hp)\n  -- K"
BAD = "theorem t (p q : Prop) (h : p → q) : q → p := by\n  intro hq\n  exact h hq\n  -- K"


def requests(count: int) -> list[CheckRequest]:
    """``count`` different texts, three proofs and one that is none in turn."""
    return [CheckRequest(str(n), (BAD if n % 4 == 3 else GOOD).replace("K", str(n)), "t") for n in range(count)]


def fill(path: Path) -> None:
    """Put ``OTHERS`` verdicts of another header into the file."""
    cache = VerdictCache(path)
    other = Conditions("4.35.0", "another header")
    for first in range(0, OTHERS, 1000):
        cache.put(
            [
                (CheckRequest("", f"other {n}", "t"), other, CheckResult("", Verdict.PROVED, (), 1.0, "proved", (), "4.35.0"))
                for n in range(first, first + 1000)
            ]
        )
    cache.close()


async def time_each(verifier: EmbeddedVerifier, asked: list[CheckRequest]) -> tuple[list[float], list[Verdict]]:
    """Seconds and verdict of each request, asked one after the other."""
    seconds, verdicts = [], []
    for request in asked:
        started = time.perf_counter()
        result = await verifier.check_one(request)
        seconds.append(time.perf_counter() - started)
        verdicts.append(result.verdict)
    return seconds, verdicts


def quantile(values: list[float], share: float) -> float:
    """The smallest value that at least ``share`` of ``values`` do not exceed."""
    return sorted(values)[math.ceil(len(values) * share) - 1]


def main() -> int:
    """Measure the three, print and optionally write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000, help="verdicts from memory and from disk")
    parser.add_argument("--fresh", type=int, default=60, help="fresh checks that are timed")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args()
    asked = requests(options.count)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "verdicts.sqlite"
        fill(path)
        with EmbeddedVerifier(workers=1, cache=str(path)) as verifier:
            verifier.check([CheckRequest("first", "theorem t : True := trivial", "t")])
            fresh, right = asyncio.run(time_each(verifier, asked[: options.fresh]))
            right += [result.verdict for result in verifier.check(asked[options.fresh :])]
        with EmbeddedVerifier(workers=1, cache=str(path)) as verifier:
            started = time.perf_counter()
            from_batch = [result.verdict for result in verifier.check(asked)]
            batch = (time.perf_counter() - started) / len(asked)
        with EmbeddedVerifier(workers=1, cache=str(path)) as verifier:
            disk, from_disk = asyncio.run(time_each(verifier, asked))
            memory, from_memory = asyncio.run(time_each(verifier, asked))
            counts = verifier.counts
        size = path.stat().st_size
    if not from_batch == from_disk == from_memory == right or (counts.from_cache, counts.from_memory) != (len(asked), len(asked)):
        print(f"the verdicts differ, or were not all known: {counts}", file=sys.stderr)
        return 1
    measured = {"memory": memory, "file": disk, "fresh check": fresh}
    medians = {name: quantile(seconds, 0.5) * 1e6 for name, seconds in measured.items()}
    batch_us = batch * 1e6
    for name, seconds in measured.items():
        ratio = medians["fresh check"] / medians[name]
        print(
            f"{name:12} median {medians[name]:9.1f} µs   p95 {quantile(seconds, 0.95) * 1e6:9.1f} µs"
            f"   {ratio:7.0f} times a fresh check's rate   ({len(seconds)} verdicts)"
        )
    ratio = medians["fresh check"] / batch_us
    print(f"file, batch  mean   {batch_us:9.1f} µs   {'':18}   {ratio:7.0f} times a fresh check's rate   ({len(asked)} verdicts)")
    print(
        f"file of {size / 1e6:.1f} MB with {OTHERS + len(asked)} verdicts   (load average before: {load:.1f} on"
        f" {os.cpu_count()} cores)"
    )
    if options.json:
        options.json.write_text(json.dumps({"median_us": medians, "batch_us": batch_us, "load_average": load, "file_bytes": size}, indent=1) + "\n")
    missed = [name for name, cost in (("memory", medians["memory"]), ("the file", batch_us)) if cost >= REQUIRED_US]
    if missed:
        print(f"missed: a verdict from {' and from '.join(missed)} under {REQUIRED_US:g} µs", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
