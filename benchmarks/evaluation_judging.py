"""How busy an evaluation keeps a Kimina Lean server: many problems judged at a time against one after the other.

Type: ``python benchmarks/evaluation_judging.py [--problems 61]`` (``make bench`` does). The server is the stand-in of
``kimina_client.py`` (60 workers that sleep 0.3 s a proof on average), the answers are given, everything between them is
the evaluation's own: format checks, verifier, pool, records on disk. Printed is the share of the workers' time in use while
proofs wait to be sent or started. Exit code 1 below 90 % or below twice one after the other.
"""

import argparse
import io
import json
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import urlopen

sys.path[0] = str(Path(__file__).resolve().parents[1])

from benchmarks.kimina_client import SERVICE_S, stand_in
from kimina.evaluation import read_outcomes
from kimina.experiment.compose import compose, resolved
from kimina.experiment.progress import Progress
from kimina.experiment.stages.sample_judge import Answer, AnswerJudge, ChatTokenizer, Judging, Problem, judging_threads
from kimina.lean.kimina_server import KiminaServerVerifier

MODEL = Path(__file__).resolve().parents[1] / "assets" / "warm_start" / "model"
STATEMENT = "theorem t (a b : Nat) : a + b = b + a := by"
SAMPLES = 32
LEAST = 0.9


def answers(problem: Problem) -> list[Answer]:
    """Different answers in the required format."""
    texts = [
        f"<think>\nCommute.\n</think>\n```lean4\n{STATEMENT}\n  rw [Nat.add_comm] -- {problem.id} {sample}\n```"
        for sample in range(SAMPLES)
    ]
    return [Answer(problem, sample, 1, text, 40, True, 0.0) for sample, text in enumerate(texts)]


def judged(url: str, problems: list[Problem], threads: int | None) -> tuple[float, float]:
    """Return (seconds, share of the workers' time in use) for judging all answers."""
    from transformers import AutoTokenizer

    config = resolved(compose(["model=1p7b", "reward=proof_only"]))
    tokenizer = ChatTokenizer(AutoTokenizer.from_pretrained(MODEL), None)
    urlopen(f"{url}/reset/{len(problems) * SAMPLES}").close()
    with tempfile.TemporaryDirectory() as folder, KiminaServerVerifier([url]) as verifier, Progress(io.StringIO()) as progress:
        assert verifier.lean_version == "4.15.0"
        judge = AnswerJudge(config, tokenizer, verifier, opens_think=False)
        started = time.perf_counter()
        settings = {**config["verifier"], "urls": [url]}
        with (
            progress.stage("eval") as shown,
            Judging(judge, Path(folder), threads or judging_threads(settings, SAMPLES), shown) as judging,
        ):
            for problem in problems:
                judging.submit(answers(problem))
        seconds = time.perf_counter() - started
        assert len(read_outcomes(folder)) == len(problems) * SAMPLES
    with urlopen(f"{url}/stats") as response:
        return seconds, json.load(response)["utilisation_while_queued"]


def main() -> int:
    """Measure both, print them, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=61)
    count = parser.parse_args().problems
    shares = []
    with stand_in(1, SERVICE_S) as [url]:
        for name, threads in (("one problem after the other", 1), ("many at a time", None)):
            problems = [Problem(f"{name} {i}", "", 0, STATEMENT, (), 0) for i in range(count)]
            seconds, share = judged(url, problems, threads)
            shares.append(share)
            print(f"{name}: {count * SAMPLES / seconds:.0f} proofs a second, workers busy {100 * share:.1f} % of the time while proofs wait")
    return int(shares[1] < LEAST or shares[1] < 2 * shares[0])


if __name__ == "__main__":
    sys.exit(main())
