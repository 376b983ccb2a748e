"""Draw the nano task's splits: disjoint after normalisation, balanced over families and levels."""

import itertools
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from kimina.data.nano.families import FAMILIES, LEVELS
from kimina.data.nano.problem import Problem, realise

CELLS = tuple((family, level) for level in LEVELS for family in FAMILIES)


@dataclass(frozen=True)
class Splits:
    """The three splits. No normal form occurs in two of them."""

    train: list[Problem]
    dev: list[Problem]
    test: list[Problem]


def draw(seed: int) -> Iterator[Problem]:
    """Yield problems for ever, cycling through all cells of family and level."""
    rng = random.Random(f"nano-task-{seed}")
    while True:
        for family, level in CELLS:
            yield realise(FAMILIES[family](rng, level), family, level, rng)


def build_splits(seed: int, train_count: int, dev_count: int, test_count: int) -> Splits:
    """Return splits of the wanted sizes, with distinct statements.

    The held-out splits take one problem for each of their normal forms, in turn over the cells, so that the
    counts of two cells differ by one at most; every other statement of a held-out form is dropped.
    """
    source = draw(seed)
    pool = [next(source) for _ in range(2 * (dev_count + test_count) + train_count // 2)]
    by_cell: dict[tuple[str, int], dict[str, Problem]] = defaultdict(dict)
    for problem in pool:
        by_cell[problem.family, problem.level].setdefault(problem.normal_form, problem)
    rng = random.Random(f"nano-splits-{seed}")
    queues = {cell: rng.sample(list(by_cell[cell].values()), len(by_cell[cell])) for cell in CELLS}
    test = _take(queues, test_count)
    dev = _take(queues, dev_count)
    held_out = {problem.normal_form for problem in [*test, *dev]}
    train: dict[str, Problem] = {}
    for problem in itertools.chain(pool, source):
        if problem.normal_form not in held_out:
            train.setdefault(problem.statement, problem)
        if len(train) == train_count:
            break
    return Splits(train=list(train.values()), dev=dev, test=test)


def _take(queues: dict[tuple[str, int], list[Problem]], count: int) -> list[Problem]:
    taken: list[Problem] = []
    while len(taken) < count:
        for cell in CELLS:
            if len(taken) < count:
                taken.append(queues[cell].pop())
    return taken
