"""How fast outputs are scored without Lean: one parse and all checks of the strict profile, on one core.

Type: ``python benchmarks/format_checks.py [--json FILE]`` (``make bench`` does). Texts of 10 kB to 10 MB, honest ones and
ones made to be slow. Times are processor time, the best of several rounds.

A call costs something however short the text is, and where a second is enough for hundreds of MB that is most of the time
at 10 kB. So the time is taken as ``fixed + length / rate``: ``spread`` is how much the rates differ between sizes with
the ``fixed`` cost, of at most 50 microseconds, at which they differ least. MB/s are whole calls, the fixed cost included,
and ``raw`` is how much these differ. The first line is what a call costs for a short, well-formed output.

Exit code 1 when honest texts are scored at less than 25 MB a second, or when ``spread`` is above 1.2 for any kind of text.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import yaml

from kimina.durable import write_json
from kimina.lean.statement import Statement
from kimina.reward.scorer import Scorer
from kimina.reward.settings import RewardSettings

REQUIRED_MB_PER_SECOND = 25.0
ALLOWED_SPREAD = 1.2
ALLOWED_FIXED_SECONDS = 50e-6
TURNS = 12
SECONDS_IN_TURN = 0.04
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
STATEMENT = "theorem pair (p q : Prop) (hp : p) (hq : q) : p ∧ q := by"
CONF = Path(__file__).resolve().parents[1] / "conf" / "reward"
WORDS = (
    "the goal follows from this hypothesis since both sides are equal after we rewrite with that lemma so it remains to "
    "show the inequality for every natural number where positivity of each factor is clear and the sum is bounded by"
).split()
TACTICS = ("have h{n} : a + b = b + a := by", "  nlinarith [sq_nonneg (a - b), mul_pos ha hb]", "  rw [Nat.add_comm] at h{n} ⊢",
           "rcases h{n} with ⟨x, hx⟩ | hx", "· simp only [Finset.sum_range_succ, pow_succ] at *")  # fmt: skip


def honest(size: int, rng: random.Random) -> str:
    """An output as a 72B prover writes them: four fifths thinking in prose, tactics blocks in it, a final block."""
    final = [STATEMENT]
    while sum(map(len, final)) < 0.1 * size:
        final.append("  " + TACTICS[len(final) % len(TACTICS)].format(n=len(final)))
    blocks = ["\n".join(["```tactics", *final[start : start + 12], "```"]) for start in range(0, len(final), 12)]
    prose = []
    while sum(map(len, prose)) < 0.8 * size / len(blocks):
        prose.append(" ".join(rng.choices(WORDS, k=rng.randint(8, 30))) + f" in step {len(prose)}.")
    paragraphs = [line for block in blocks for line in (*rng.sample(prose, len(prose)), block)]
    return "\n".join(["<think>", *paragraphs, "</think>", "```lean4", *final, "```"])


def in_final_block(filling: Callable[[int], str]) -> Callable[[int, random.Random], str]:
    """An output whose final block is filled with something up to the wanted size."""

    def build(size: int, _: random.Random) -> str:
        block = "```tactics\n  constructor\n  exact hp\n  exact hq\n```\n"
        head = f"<think>\n{block}{block}</think>\n```lean4\n{STATEMENT}\n"
        return head + filling(size - len(head) - 4) + "\n```"

    return build


def repeated(part: str) -> Callable[[int], str]:
    """``part`` as often as the size allows."""
    return lambda size: part * (size // len(part))


KINDS: dict[str, Callable[[int, random.Random], str]] = {
    "honest": honest,
    "openers /-": in_final_block(repeated("/-")),
    "openers and closers": in_final_block(repeated("/--/")),
    "line comments": in_final_block(repeated("--\n")),
    "unclosed string": in_final_block(lambda size: '"' + "a\\" * (size // 2)),
    "quotes": in_final_block(repeated('"')),
    "one line": in_final_block(repeated("x ")),
    "brackets": in_final_block(repeated("(")),
    "identifiers": in_final_block(repeated("a.b.c ")),
    "fences": lambda size, _: repeated("```tactics\n")(size),
    "think tags": lambda size, _: repeated("<think>")(size),
    "equal lines": lambda size, _: "<think>\n" + repeated(" ".join(WORDS[:14]) + "\n")(size) + "</think>",
}


def seconds(scorer: Scorer, statement: Statement, texts: list[str]) -> list[float]:
    """Processor time of scoring each text once: the best of many rounds, in turns, so that all meet the same weather."""
    best = [float("inf")] * len(texts)
    for _ in range(TURNS):
        for index, text in enumerate(texts):
            spent = 0.0
            while spent < SECONDS_IN_TURN:
                start = time.process_time()
                scorer.check_format(statement, text)
                took = time.process_time() - start
                best[index], spent = min(best[index], took), spent + took
    return best


def fitted(lengths: list[float], times: list[float]) -> tuple[float, float]:
    """The fixed cost at which the rates agree best, and their spread then; at most what is allowed and half of any time."""

    def spread(fixed: float) -> float:
        rates = [length / (took - fixed) for length, took in zip(lengths, times, strict=True)]
        return max(rates) / min(rates)

    most = min(ALLOWED_FIXED_SECONDS, min(times) / 2)
    fixed = min((most * step / 100 for step in range(101)), key=spread)
    return fixed, spread(fixed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    arguments = parser.parse_args()
    profile = yaml.safe_load((CONF / "kimina.yaml").read_text())["checks"]
    for name, settings in yaml.safe_load((CONF / "strict.yaml").read_text())["checks"].items():
        profile[name] = {**profile.get(name, {}), **settings}
    scorer = Scorer(RewardSettings.parse({"profile": "strict", "checks": profile}))
    statement = Statement.parse(STATEMENT)
    rng = random.Random(0)
    short = seconds(scorer, statement, [KINDS["one line"](0, rng)])[0]
    print(f"a short output: {short * 1e6:.1f} microseconds")
    rows, missed = [], []
    sizes = "".join(f"{size / 1e3:>10,.0f} kB" for size in arguments.sizes)
    print(f"{'text':<20}{sizes}{'raw':>8}{'fixed':>8}{'spread':>8}   (MB/s, fixed in microseconds)")
    for kind, build in KINDS.items():
        texts = [build(size, rng) for size in arguments.sizes]
        lengths = [len(text.encode()) / 1e6 for text in texts]
        times = seconds(scorer, statement, texts)
        rates = [length / took for length, took in zip(lengths, times, strict=True)]
        raw = max(rates) / min(rates)
        fixed, spread = fitted(lengths, times)
        by_size = {str(size): rate for size, rate in zip(arguments.sizes, rates, strict=True)}
        rows.append({"text": kind, "mb_per_second": by_size, "raw_spread": raw, "fixed_seconds": fixed, "spread": spread})
        columns = "".join(f"{rate:>13.1f}" for rate in rates)
        print(f"{kind:<20}{columns}{raw:>8.2f}{fixed * 1e6:>8.1f}{spread:>8.2f}", flush=True)
        if spread > ALLOWED_SPREAD:
            missed.append(f"{kind}: time per character differs by a factor {spread:.2f} between sizes")
        if kind == "honest" and min(rates) < REQUIRED_MB_PER_SECOND:
            missed.append(f"honest: {min(rates):.1f} MB/s, {REQUIRED_MB_PER_SECOND:.0f} are required")
    if arguments.json:
        write_json(arguments.json, {"short_output_seconds": short, "rows": rows, "missed": missed})
    for line in missed:
        print(f"missed: {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
