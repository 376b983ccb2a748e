"""Draw the nano task's splits: disjoint after normalisation, balanced over families and levels."""

import itertools
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from kimina.data.nano.families import FAMILIES, LEVELS
from kimina.data.nano.problem import Problem, realise
from kimina.errors import UserError

CELLS = tuple((family, level) for level in LEVELS for family in FAMILIES)
POOL_OF_A_CELL = 20
"""Problems drawn of a cell at least before the splits are cut, however small they are."""


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

    The held-out splits take problems in turn over the cells, so that the counts of two cells differ by one at most,
    and no two problems share a normal form; every other statement of a held-out form is dropped.

    Raises:
        UserError: a cell has too few normal forms for the held-out splits.
    """
    source = draw(seed)
    pool_size = max(POOL_OF_A_CELL * len(CELLS), 2 * (dev_count + test_count) + train_count // 2)
    pool = list(itertools.islice(source, pool_size))
    by_cell: dict[tuple[str, int], dict[str, Problem]] = defaultdict(dict)
    for problem in pool:
        by_cell[problem.family, problem.level].setdefault(problem.normal_form, problem)
    rng = random.Random(f"nano-splits-{seed}")
    queues = {cell: rng.sample(list(by_cell[cell].values()), len(by_cell[cell])) for cell in CELLS}
    held_out: set[str] = set()
    test = _take(queues, test_count, held_out)
    dev = _take(queues, dev_count, held_out)
    train: dict[str, Problem] = {}
    for problem in itertools.chain(pool, source):
        if problem.normal_form not in held_out:
            train.setdefault(problem.statement, problem)
        if len(train) == train_count:
            break
    return Splits(train=list(train.values()), dev=dev, test=test)


def _take(queues: dict[tuple[str, int], list[Problem]], count: int, held_out: set[str]) -> list[Problem]:
    """Take ``count`` problems in turn over the cells and add their normal forms to ``held_out``.

    No form is taken twice: two levels of a family may share one.
    """
    taken: list[Problem] = []
    for cell in itertools.islice(itertools.cycle(CELLS), count):
        while queues[cell] and queues[cell][-1].normal_form in held_out:
            queues[cell].pop()
        if not queues[cell]:
            family, level = cell
            raise UserError(
                f"recipe.dev_count and recipe.test_count: the nano task has too few different theorems of family {family}, "
                f"level {level}, for these counts.\n  type: recipe.dev_count=244 recipe.test_count=244"
            )
        taken.append(queues[cell].pop())
        held_out.add(taken[-1].normal_form)
    return taken
