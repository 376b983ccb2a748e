"""Worked answers to nano problems, in the output format of the recipe.

An answer has a think block with two tactics blocks and, behind it, one Lean block with the statement and the
proof (output format: Kimina-Prover Preview, section 2.3). The thinking is free in length: each part may carry
remarks, so that losses which weigh length differently have something to change.
"""

import random
from collections.abc import Sequence

from kimina.data.nano.problem import Problem

OPENINGS = ("I look at the goal.", "First the goal.", "What is the last step?")
REMARKS = (
    "I read the hypotheses again.",
    "Some of them may not be needed.",
    "The names tell the types.",
    "Each step must fit the goal.",
    "I check this once more.",
)
BRIDGES = ("Then the rest follows.", "Now the last steps.", "This leaves nothing open.")
#: The chance of another remark: (rate / (1 - rate)) remarks a thought on average.
REMARK_RATE = 0.4


def answer(problem: Problem, proof: Sequence[str], rng: random.Random, remark_rate: float = REMARK_RATE) -> str:
    """Return an answer that gives ``proof``; ``rng`` draws the wording and the number of remarks.

    The blocks together hold every line of the proof. A proof of fewer than three different lines is shown together
    with the statement: coverage counts different lines, and the statement is one of them.
    """
    lines = [f"  {line}" for line in proof]
    count = len(lines)
    if count == 1:
        first, second = [problem.statement, *lines, "  done"], ["  skip", *lines, "  done"]
    elif count == 2:
        first, second = [problem.statement, *lines], [*lines, "  done"]
    else:
        cut = max(3, count - 3)
        shown = [problem.statement] if len(set(lines)) < 3 else []
        first, rest = [*shown, *lines[:cut]], lines[cut:]
        second = rest if len(rest) >= 3 else [*lines[-2:], "  done"]
    return "\n".join(
        [
            "<think>",
            *_thought(OPENINGS, rng, remark_rate),
            "```tactics",
            *first,
            "```",
            *_thought(BRIDGES, rng, remark_rate),
            "```tactics",
            *second,
            "```",
            "</think>",
            "```lean4",
            problem.statement,
            *lines,
            "```",
        ]
    )


def _thought(first: Sequence[str], rng: random.Random, remark_rate: float) -> list[str]:
    """One opening sentence, then a geometric number of remarks."""
    lines = [rng.choice(first)]
    while rng.random() < remark_rate:
        lines.append(rng.choice(REMARKS))
    return lines
