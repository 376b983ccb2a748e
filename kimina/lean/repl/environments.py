"""The environments that commands made: which texts lead to each. Old ones are forgotten."""

from collections import OrderedDict
from dataclasses import dataclass

COUNT = 1000
"""Environments that are kept."""
CHARACTERS = 32 * 1024 * 1024
"""Characters of text that all of them may hold together."""


@dataclass(frozen=True)
class Environment:
    """``texts`` lead to it from the imported library, one after the other. ``failure`` is the import that could not be
    had, if one could not: then nothing can be elaborated in it."""

    texts: tuple[str, ...] = ()
    failure: str | None = None


class Environments:
    """Environments by number. Numbers are never used again."""

    def __init__(self, count: int = COUNT, characters: int = CHARACTERS) -> None:
        self._count = count
        self._characters = characters
        self._kept: OrderedDict[int, Environment] = OrderedDict()
        self._held = 0
        self._next = 0

    def find(self, number: int) -> Environment | None:
        """The environment of that number; ``None``: there was none, or it is forgotten."""
        if number in self._kept:
            self._kept.move_to_end(number)
        return self._kept.get(number)

    def add(self, environment: Environment) -> int:
        """Keep an environment and return its number. The least recently used ones make room."""
        number = self._next
        self._next += 1
        self._kept[number] = environment
        self._held += _size(environment)
        while len(self._kept) > self._count or (len(self._kept) > 1 and self._held > self._characters):
            _, oldest = self._kept.popitem(last=False)
            self._held -= _size(oldest)
        return number


def _size(environment: Environment) -> int:
    return sum(map(len, environment.texts))
