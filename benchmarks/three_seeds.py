"""The nano experiment with three seeds, each from a warm start trained with that seed: the README's figure.

    python benchmarks/three_seeds.py [key=value ...]

Every run is resumable, and finished ones are reused. Prints each gain and the mean with its 95 % t-interval.
"""

import subprocess
import sys
from pathlib import Path

from kimina.experiment.compose import compose, resolved
from kimina.experiment.stages.graph import build_graph
from kimina.tables import seeds

SEEDS = (0, 1, 2)


def main(overrides: list[str]) -> int:
    """Run the three experiments, then print the mean gain over seeds."""
    results = []
    for seed in SEEDS:
        words = [f"seed={seed}", *overrides]
        code = subprocess.call([sys.executable, str(Path(__file__).parents[1] / "run.py"), *words])
        if code:
            return code
        results.append(str(build_graph(resolved(compose(words))).table.file("result.json")))
    return seeds.main(results)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
