"""Lean's runtime objects seen from Python: just enough of the calling convention to use Lean functions through ctypes.

Facts used (Lean 4's published C interface, ``lean.h``): an object starts with a header of 8 bytes (reference count of
32 bits, size of 16, number of fields of 8, constructor tag of 8); small numbers and constructors without fields are
odd "boxed" words ``2n + 1``; the result of an ``IO`` function is a constructor with one field, tag 0 for a value and
1 for an error. Reference counts are raised where a value is used again and never lowered: the processes that do this
end after one check.
"""

import ctypes
import re
from collections.abc import Iterable

_HEADER = 8
_ARRAY_TAG = 246
_ARRAY_DATA = 24
_STRING_DATA = 32


class LeanError(Exception):
    """An ``IO`` function of Lean ended with an error; the text is Lean's."""


class Lean:
    """The loaded shared library, with constructors and readers for its objects (addresses as ``int``)."""

    def __init__(self, library: str) -> None:
        self._library = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
        word, size = ctypes.c_void_p, ctypes.c_size_t
        self._allocate = self.function("lean_alloc_small_object_core", size)
        self._string = self.function("lean_mk_string_from_bytes", ctypes.c_char_p, size)
        self._array = self.function("lean_mk_array", word, word)
        self._push = self.function("lean_array_push", word, word)
        self._extend_name = self.function("l_Lean_Name_str___override", word, word)
        self._error_text = self.function("lean_io_error_to_string", word)

    def function(self, symbol: str, *arguments: type, returns: type | None = ctypes.c_void_p):
        """The exported function ``symbol`` with the given ctypes signature."""
        found = self._library[symbol]
        found.argtypes = list(arguments)
        found.restype = returns
        return found

    def constant(self, symbol: str) -> int:
        """The object that the exported variable ``symbol`` holds."""
        return ctypes.c_void_p.in_dll(self._library, symbol).value

    def constructor(self, tag: int, *fields: int, scalars: bytes = b"") -> int:
        """A constructor object; ``scalars`` are the bytes of its unboxed fields (at most 8)."""
        scalars = scalars.ljust(8, b"\0") if scalars else b""
        size = _HEADER + 8 * len(fields) + len(scalars)
        address = self._allocate(size)
        words = (ctypes.c_uint64 * (size // 8)).from_address(address)
        words[0] = 1 | size << 32 | len(fields) << 48 | tag << 56
        words[1 : 1 + len(fields)] = fields
        if scalars:
            words[1 + len(fields)] = int.from_bytes(scalars, "little")
        return address

    def string(self, text: str) -> int:
        """A string object."""
        data = text.encode("utf-8")
        return self._string(data, len(data))

    def array(self, items: Iterable[int]) -> int:
        """An array object."""
        array = self._array(box(0), box(0))
        for item in items:
            array = self._push(array, item)
        return array

    def list(self, items: Iterable[int]) -> int:
        """A ``List`` object."""
        result = box(0)
        for item in reversed(list(items)):
            result = self.constructor(1, item, result)
        return result

    def name(self, parts: Iterable[str]) -> int:
        """A ``Lean.Name`` of string components."""
        result = box(0)
        for part in parts:
            result = self._extend_name(result, self.string(part))
        return result

    def value(self, outcome: int) -> int:
        """The value of an ``IO`` result. Raises ``LeanError``."""
        if tag(outcome) != 0:
            raise LeanError(read_string(self._error_text(share(field(outcome, 0)))))
        return field(outcome, 0)


def box(number: int) -> int:
    """A small number, or a constructor without fields, as Lean passes it."""
    return number << 1 | 1


def is_boxed(word: int) -> bool:
    """Whether ``word`` is such a number and no address."""
    return word & 1 == 1


def tag(address: int) -> int:
    """The constructor tag of an object."""
    return ctypes.c_uint8.from_address(address + 7).value


def field(address: int, index: int) -> int:
    """A field of a constructor object (borrowed: ``share`` it before passing it to a function that keeps it)."""
    return ctypes.c_uint64.from_address(address + _HEADER + 8 * index).value


def fields(address: int) -> list[int]:
    """All fields of a constructor object (borrowed), without its unboxed ones."""
    count = ctypes.c_uint8.from_address(address + 6).value
    return [field(address, index) for index in range(count)]


def share(word: int) -> int:
    """Count one more reference on an object of this thread, and return it."""
    if not is_boxed(word):
        count = ctypes.c_int32.from_address(word)
        if count.value > 0:
            count.value += 1
    return word


def items(array: int) -> list[int]:
    """The elements of an array object (borrowed)."""
    assert tag(array) == _ARRAY_TAG
    length = ctypes.c_size_t.from_address(array + _HEADER).value
    return list((ctypes.c_uint64 * length).from_address(array + _ARRAY_DATA))


def read_string(address: int) -> str:
    """The text of a string object."""
    size = ctypes.c_size_t.from_address(address + _HEADER).value
    return ctypes.string_at(address + _STRING_DATA, size - 1).decode("utf-8", "replace")


_PLAIN_PART = re.compile(r"[^\W\d][\w'!?]*+")


def read_name(word: int) -> str:
    """A ``Lean.Name`` as text, components joined by dots.

    A component that is no plain name stands in guillemets, so that two names never have one text: ``«Quot.sound»`` is
    another than ``Quot.sound``.
    """
    parts = []
    while not is_boxed(word):
        last = field(word, 1)
        text = read_string(last) if tag(word) == 1 else str(last >> 1)
        parts.append(text if tag(word) != 1 or _PLAIN_PART.fullmatch(text) else f"«{text}»")
        word = field(word, 0)
    return ".".join(reversed(parts))
