"""Constructs that can let a proof say less than it seems to, found in live code."""

from collections.abc import Iterator

from kimina.lean.source import LeanSource
from kimina.lean.words import CONSTRUCTS

# Names that mean the same in guillemets; the other words are keywords, which guillemets turn into plain names.
_CONSTANTS = {
    word: construct for construct in ("sorry_ax", "native_decide", "skip_kernel") for word in CONSTRUCTS[construct]
}
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
            if _follows(source, start, ("instance",)):
                yield "local_instance", start
        elif word == "native":
            if text[start - 1 : start] == "+" or _follows(source, start, (":=", "true")):
                yield "native_decide", start
        elif word in ("eval", "eval!", "exit") and text[start - 1 : start] == "#":
            yield "eval", start
    if "«" in text:
        for token in source.quoted_names():
            if construct := _CONSTANTS.get(token.text.replace("«", "").replace("»", "")):
                yield construct, token.start


def _follows(source: LeanSource, start: int, expected: tuple[str, ...]) -> bool:
    """Whether these tokens stand behind the one at ``start``."""
    tokens = source.tokens_from(start)
    next(tokens)
    return all((token := next(tokens, None)) is not None and token.text == text for text in expected)
