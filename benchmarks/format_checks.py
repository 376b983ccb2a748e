"""How fast outputs are scored without Lean: one parse and all checks of the strict profile, on one core.

Type: ``python benchmarks/format_checks.py [--json FILE]`` (``make bench`` does). Texts of 10 kB to 10 MB, honest ones and
ones made to be slow. Times are processor time, the best of several rounds. Exit code 1 when the honest texts are scored
at less than 25 MB a second, or when for any kind of text the time per character differs by more than 20 % between sizes.
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


def seconds(scorer: Scorer, statement: Statement, text: str) -> float:
    """Processor time of scoring ``text`` once: the best of rounds that together take a quarter of a second."""
    best, spent, rounds = float("inf"), 0.0, 0
    while rounds < 3 or (spent < 0.25 and rounds < 200):
        start = time.process_time()
        scorer.check_format(statement, text)
        took = time.process_time() - start
        best, spent, rounds = min(best, took), spent + took, rounds + 1
    return best


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
    rows, slow = [], []
    print(f"{'text':<22}" + "".join(f"{size / 1e3:>10,.0f} kB" for size in arguments.sizes) + f"{'spread':>9}   (MB/s)")
    for kind, build in KINDS.items():
        rates = {}
        for size in arguments.sizes:
            text = build(size, rng)
            rates[size] = len(text.encode()) / 1e6 / seconds(scorer, statement, text)
        spread = max(rates.values()) / min(rates.values())
        rows.append({"text": kind, "mb_per_second": {str(size): rate for size, rate in rates.items()}, "spread": spread})
        print(f"{kind:<22}" + "".join(f"{rate:>13.1f}" for rate in rates.values()) + f"{spread:>9.2f}", flush=True)
        if spread > ALLOWED_SPREAD:
            slow.append(f"{kind}: time per character differs by a factor {spread:.2f} between sizes")
        if kind == "honest" and min(rates.values()) < REQUIRED_MB_PER_SECOND:
            slow.append(f"honest: {min(rates.values()):.1f} MB/s, {REQUIRED_MB_PER_SECOND:.0f} are required")
    if arguments.json:
        write_json(arguments.json, {"rows": rows, "missed": slow})
    for line in slow:
        print(f"missed: {line}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
