"""Constructs that can let a proof say less than it seems to, found in live code."""

import re
from collections.abc import Iterator

from kimina.lean.source import LeanSource
from kimina.lean.tokenizer import name_behind
from kimina.lean.words import CONSTRUCTS

# Names that mean the same in guillemets; the other words are keywords, which guillemets turn into plain names.
_CONSTANTS = {
    word: construct for construct in ("sorry_ax", "native_decide", "skip_kernel") for word in CONSTRUCTS[construct]
}
# What can stand before the next token when it is an assignment.
_PERHAPS_ASSIGNED = re.compile(r"\s*+(?::=|--|/-)")
_CONSTRUCT_OF = {word: construct for construct, words in CONSTRUCTS.items() for word in words}

# All that ``find_constructs`` can find.
CONSTRUCT_NAMES = frozenset(CONSTRUCTS) | {"local_instance", "eval"}


def find_constructs(source: LeanSource) -> Iterator[tuple[str, int]]:
    """Yield (construct, offset) for every construct in live code."""
    text = source.text
    for word, start in source.words():
        if word in _CONSTRUCT_OF:
            yield _CONSTRUCT_OF[word], start
        elif word == "local":
            if name_behind(text, start + len(word)) == "instance":
                yield "local_instance", start
        elif word == "native":
            if text[start - 1 : start] == "+" or _is_set(source, start, start + len(word)):
                yield "native_decide", start
        elif word in ("eval", "eval!", "exit") and text[start - 1 : start] == "#":
            yield "eval", start
    if "«" in text:
        for word, start in source.quoted_words():
            if construct := _CONSTANTS.get(word):
                yield construct, start


def _is_set(source: LeanSource, start: int, end: int) -> bool:
    """Whether ``:= true`` stands behind the word ``text[start:end]``."""
    if not _PERHAPS_ASSIGNED.match(source.text, end):
        return False
    tokens = source.tokens_from(start)
    next(tokens)
    return all((token := next(tokens, None)) is not None and token.text == text for text in (":=", "true"))
