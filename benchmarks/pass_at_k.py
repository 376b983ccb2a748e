"""How long pass@k takes for a million samples, beside a direct numpy product.

Type: ``python benchmarks/pass_at_k.py [--json FILE]`` (``make bench`` does). A million samples in four shapes, from one problem
with a million samples to a million problems with one; ``k = 32`` and the whole curve (every power of two up to n). The peer
is the formula as it is usually written, 1 - prod(1 - k / arange(n-c+1, n+1)) for each problem. Processor time, the best of
three. ``error`` is the largest difference from the exact fraction over a hundred of the problems: ours is rounded once.
(The file isn't called statistics.py: a script's folder comes first when Python looks for its own module of that name.)

Exit code 1 when any shape takes a second or more with k = 32, or the whole curve does.
"""

import argparse
import math
import random
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from kimina.durable import write_json
from kimina.evaluation import mean_pass_at_k, pass_at_k, powers_of_two

SHAPES = ((1, 1_000_000), (244, 4_098), (31_250, 32), (1_000_000, 1))
K = 32
LIMIT_S = 1.0
TURNS = 3


def product(n: int, c: int, k: int) -> float:
    """The peer: Chen et al. 2021, figure 3."""
    if n - c < k:
        return 1.0
    return float(1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1)))


def best_of(work: Callable[[], object]) -> float:
    """Seconds of the fastest of a few runs, each without what an earlier one remembered."""
    found = []
    for _ in range(TURNS):
        pass_at_k.cache_clear()
        started = time.process_time()
        work()
        found.append(time.process_time() - started)
    return min(found)


def worst_error(estimate: Callable[[int, int, int], float], counts: list[tuple[int, int]], k: int) -> float:
    """The largest distance to the exact fraction."""
    errors = []
    for n, c in counts[:100]:
        exact = 1 - Fraction(math.perm(n - c, k), math.perm(n, k))
        errors.append(abs(float(Fraction(estimate(n, c, k)) - exact)))
    return max(errors)


def main() -> int:
    """Time both estimators, print figures and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rng = random.Random(1)
    rows, slow = [], False
    print(f"{'problems x samples':>20} {'k':>6} {'here, s':>9} {'numpy, s':>9} {'ratio':>7} {'error':>9} {'numpy':>9}")
    for problems, samples in SHAPES:
        counts = [(samples, rng.randint(0, samples // 4) if samples > 1 else rng.randint(0, 1)) for _ in range(problems)]
        k = min(K, samples)
        for name, ks in ((str(k), [k]), ("curve", powers_of_two(samples))):
            here = best_of(lambda counts=counts, ks=ks: [mean_pass_at_k(counts, each) for each in ks])
            peer = best_of(lambda counts=counts, ks=ks: [sum(product(n, c, each) for n, c in counts) for each in ks])
            errors = [worst_error(estimate, counts, k) for estimate in (pass_at_k, product)]
            slow |= here >= LIMIT_S
            rows.append({"problems": problems, "samples": samples, "k": name, "here_s": here, "numpy_s": peer, "errors": errors})
            print(f"{f'{problems:,} x {samples:,}':>20} {name:>6} {here:9.4f} {peer:9.4f} {peer / here:7.1f} {errors[0]:9.1e} {errors[1]:9.1e}")
    if arguments.json:
        write_json(arguments.json, rows)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
