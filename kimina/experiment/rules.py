"""Rules that one configuration value must obey. ``problem(value)`` is a sentence, or None when the value is fine."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from kimina.experiment.complaint import nearest_first

_LARGEST_INTEGER = 2**63 - 1


class Rule(Protocol):
    """What every rule offers."""

    def problem(self, value: Any) -> str | None:
        """Return what is wrong with ``value``, or None."""

    def example(self) -> str:
        """Return a value that the rule accepts, as it is typed on the command line."""


@dataclass(frozen=True)
class Number:
    """A finite number within bounds; ``above``/``below`` exclude the bound, ``least``/``most`` include it."""

    example_value: float
    above: float | None = None
    least: float | None = None
    below: float | None = None
    most: float | None = None
    integer: bool = False
    nullable: bool = False

    def problem(self, value: Any) -> str | None:
        """Refuse what is no number, not finite, or out of bounds. A boolean is no number."""
        if value is None:
            return None if self.nullable else f"null is not {self._needs()}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"{value!r} is not {self._needs()}"
        if isinstance(value, int) and abs(value) > _LARGEST_INTEGER:
            return f"a number of {len(str(abs(value)))} digits is out of range; it must be {self._needs()}"
        if not math.isfinite(value):
            return f"{value} is not finite; it must be {self._needs()}"
        if self.integer and not isinstance(value, int):
            return f"{value} is not a whole number; it must be {self._needs()}"
        low = (self.above is None or value > self.above) and (self.least is None or value >= self.least)
        high = (self.below is None or value < self.below) and (self.most is None or value <= self.most)
        return None if low and high else f"{value} is out of range; it must be {self._needs()}"

    def _needs(self) -> str:
        bounds = [("above", self.above), ("at least", self.least), ("below", self.below), ("at most", self.most)]
        text = " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)
        noun = "a whole number" if self.integer else "a number"
        return f"{noun} {text}".rstrip() + (", or null" if self.nullable else "")

    def example(self) -> str:
        """Return the example value."""
        return f"{self.example_value:g}" if not self.integer else str(int(self.example_value))


@dataclass(frozen=True)
class Flag:
    """true or false."""

    default: bool = True

    def problem(self, value: Any) -> str | None:
        """Refuse everything but the two truth values."""
        return None if isinstance(value, bool) else f"{value!r} is not true or false"

    def example(self) -> str:
        """Return the default."""
        return str(self.default).lower()


@dataclass(frozen=True)
class Text:
    """A non-empty text; with ``pattern`` one that matches it whole, described by ``described``."""

    example_value: str
    nullable: bool = False
    pattern: str | None = None
    described: str = "a text"

    def problem(self, value: Any) -> str | None:
        """Refuse what is no text, blank, or not of the pattern."""
        if value is None:
            return None if self.nullable else f"null is not {self.described}"
        if not isinstance(value, str):
            return f"{value!r} is not {self.described} (write quotes around it: '\"{value}\"')"
        if not value.strip():
            return f"an empty text is not {self.described}"
        if "\0" in value or "\n" in value:
            return f"{value!r} holds a line break or a null character"
        if self.pattern is not None and not re.fullmatch(self.pattern, value):
            return f"{value!r} is not {self.described}"
        return None

    def example(self) -> str:
        """Return the example value."""
        return self.example_value


@dataclass(frozen=True)
class Choice:
    """One of a fixed set of texts."""

    names: tuple[str, ...]
    nullable: bool = False

    def problem(self, value: Any) -> str | None:
        """Refuse every other value and list the names, nearest first."""
        if value is None and self.nullable:
            return None
        if isinstance(value, str) and value in self.names:
            return None
        return f"{value!r} is none of {', '.join(nearest_first(str(value), self.names))}"

    def example(self) -> str:
        """Return the first name."""
        return self.names[0]


@dataclass(frozen=True)
class Items:
    """A list of which each item obeys ``item``; ``least`` and ``most`` bound its length."""

    item: Rule
    least: int = 0
    most: int | None = None
    example_value: str = "[]"

    def problem(self, value: Any) -> str | None:
        """Refuse what is no list, too short or long, or holds a bad item (named by its position)."""
        if not isinstance(value, list | tuple):
            return f"{value!r} is not a list; write {self.example()}"
        if len(value) < self.least or (self.most is not None and len(value) > self.most):
            return f"a list of {len(value)} items; it must have {self._count()}"
        for position, entry in enumerate(value):
            problem = self.item.problem(entry)
            if problem is not None:
                return f"item {position}: {problem}"
        return None

    def _count(self) -> str:
        if self.most is None:
            return f"at least {self.least}"
        return f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"

    def example(self) -> str:
        """Return the example value."""
        return self.example_value


@dataclass(frozen=True)
class Anything:
    """Free content, which its reader judges."""

    def problem(self, value: Any) -> str | None:
        """Accept."""
        return None

    def example(self) -> str:
        """Return null."""
        return "null"


@dataclass(frozen=True)
class Like:
    """A value of the same kind as verl's own default."""

    default: Any
    _rule: Rule = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Choose the rule by the default's type; texts with interpolations and nulls say nothing about the type."""
        object.__setattr__(self, "_rule", _rule_like(self.default))

    def problem(self, value: Any) -> str | None:
        """Refuse a value of another kind than the default."""
        if value is None and not isinstance(self.default, bool | list):
            return None
        return self._rule.problem(value)

    def example(self) -> str:
        """Return verl's default."""
        return str(self.default).lower() if isinstance(self.default, bool) else str(self.default)


def _rule_like(default: Any) -> Rule:
    if isinstance(default, bool):
        return Flag(default)
    if isinstance(default, int | float):
        return Number(default)
    if isinstance(default, list) and not default:
        return Items(Anything())
    if isinstance(default, list):
        return Items(_rule_like(default[0]), example_value=_list_text(default))
    return Anything()


def _list_text(values: Sequence[Any]) -> str:
    return "[" + ",".join(str(value) for value in values) + "]"
