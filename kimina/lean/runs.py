"""Comments, strings and a few watched names of a Lean text, found at little cost.

A text can consist of nothing but comments or strings, so a run of them is found as one. What stands between is code.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from kimina.lean.lexical import FLAT_COMMENT, PLAIN_LITERAL, QUOTED_NAME, RAW_STRING_OPEN, any_of, code
from kimina.lean.walker import INTERPOLATING_ENDS, TokenKind, Walker, special_pattern

COMMENT = re.compile(FLAT_COMMENT, re.DOTALL)
"""A comment of a comment run."""
PIECE = re.compile(f"(?P<comment>{FLAT_COMMENT})|{PLAIN_LITERAL}", re.DOTALL)
"""A piece of a comment run or literal run."""
COMMENT_OR_REST = re.compile(rf"{FLAT_COMMENT}|((?:{PLAIN_LITERAL}|\s++)++)", re.DOTALL)
"""A comment of such a run, or, as its group, what stands up to the next comment."""

# Possessively, how many pieces a run may have besides the first. What is made of a run of them fits into the processor's
# cache, and finding the run costs little beside it.
_MORE = "{0,1999}+"
_KIND = {
    "comments": TokenKind.COMMENT_RUN,
    "literals": TokenKind.LITERAL_RUN,
    "unclear": TokenKind.LITERAL_RUN,
    "word": TokenKind.NAME,
    "quoted": TokenKind.QUOTED_NAME,
}
# Behind one of these signs, a string is not interpolated whatever stands before it. The others end a word that
# interpolates, or white space or a comment between.
_PLAIN_BEFORE = f"(?<![{''.join(sorted(INTERPOLATING_ENDS))}\\s/])"


@lru_cache(maxsize=64)
def _rules(watched: frozenset[str], guillemets: bool) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Patterns for code with the run behind it, for code in a hole of an interpolated string, and for what ends it.

    Texts without ``guillemets``, nearly all, have simpler ones.
    """
    comments = rf"{FLAT_COMMENT}(?:\s*+{FLAT_COMMENT}){_MORE}"
    literals = rf"{PLAIN_LITERAL}(?:\s*+(?:{PLAIN_LITERAL}|{FLAT_COMMENT})){_MORE}"
    names = rf"|(?P<word>(?!{RAW_STRING_OPEN}){any_of(watched)})" if watched else ""
    if watched and guillemets:
        names += f"|(?P<quoted>{QUOTED_NAME})"
    return (
        re.compile(
            f"{code(watched, guillemets)}(?:"
            f"(?P<comments>{comments})"
            f"|(?P<literals>{_PLAIN_BEFORE}{literals})|(?P<unclear>{literals})"
            rf"{names}|\Z|(?P<other>))",
            re.DOTALL,
        ),
        re.compile(code(watched, in_hole=True), re.DOTALL),
        special_pattern(watched),
    )


def runs(text: str, watched: frozenset[str] = frozenset()) -> Iterator[tuple[TokenKind, int, int]]:
    """Yield (kind, start, end) of what is not code in ``text``, in order.

    A ``COMMENT_RUN`` is one comment or up to two thousand, with nothing but white space between; a ``LITERAL_RUN`` is a string or
    character, and as many that follow of strings, characters and comments, again with nothing but white space between.
    ``watched`` are names that begin with an ASCII letter: each is found as a whole token only, neither inside a longer
    name nor as a field behind a dot. Where names are watched, names with a part in guillemets are found as well, as
    ``QUOTED_NAME``. Other kinds are those of tokens; a ``SYMBOL`` is a brace in a hole of an interpolated string.
    """
    outside, code_in_hole, special = _rules(watched, "«" in text)
    walker: Walker | None = None
    # As in a walker, which few texts need.
    in_hole, code_end = False, 0
    position = 0
    while True:
        if in_hole:
            start = code_in_hole.match(text, position).end()
            if start == len(text):
                return
            group = "other"
        else:
            match = outside.match(text, position)
            group = match.lastgroup
            if group is None:
                return
            start, end = match.span(group)
        if group == "word" or group == "quoted":
            code_end = end
        elif group == "literals":
            code_end = 0
        elif start > position and not text[position:start].isspace():
            code_end = start
        if group == "other" or (group == "unclear" and text[start] == '"'):
            walker = walker or Walker(text)
            walker.code_end = code_end
            if group == "other" or walker.interpolates():
                kind, end = walker.special(start, special.match(text, start))
                yield kind, start, end
                in_hole, code_end, position = bool(walker.holes), walker.code_end, end
                continue
        if group == "unclear":
            code_end = 0
        yield _KIND[group], start, end
        position = end
