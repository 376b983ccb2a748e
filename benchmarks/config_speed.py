"""How fast ``python run.py --cfg job`` answers, against ``python -m verl.trainer.main_ppo --cfg job`` in the same run.

Both print the whole composed configuration. Each is started in a fresh process; the two alternate, so that a busy machine
slows both. The first round warms the file cache and isn't counted.

    python benchmarks/config_speed.py [--rounds 5] [--json FILE]
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
OURS = [sys.executable, "run.py", "--cfg", "job"]
VERL = [sys.executable, "-m", "verl.trainer.main_ppo", "--cfg", "job"]
TARGET_SECONDS, TARGET_RATIO = 1.5, 6.0


def seconds(command: list[str]) -> float:
    """Return the wall time of one command; its output is read and thrown away."""
    started = time.perf_counter()
    subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def measure(rounds: int) -> dict[str, float | int | list[float]]:
    """Measure both commands ``rounds`` times and return all times, both medians and their ratio."""
    seconds(OURS), seconds(VERL)
    pairs = [(seconds(OURS), seconds(VERL)) for _ in range(rounds)]
    ours, verl = ([pair[side] for pair in pairs] for side in (0, 1))
    return {
        "rounds": rounds,
        "run_py_seconds": ours,
        "verl_seconds": verl,
        "run_py_median": statistics.median(ours),
        "verl_median": statistics.median(verl),
        "ratio": statistics.median(verl) / statistics.median(ours),
    }


def main() -> int:
    """Measure, print, and write JSON on request."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    result = measure(arguments.rounds)
    print(
        f"python run.py --cfg job                     median {result['run_py_median']:.2f} s (target < {TARGET_SECONDS} s)"
    )
    print(f"python -m verl.trainer.main_ppo --cfg job   median {result['verl_median']:.2f} s")
    print(f"ratio                                       {result['ratio']:.1f} x (target >= {TARGET_RATIO:.0f} x)")
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
