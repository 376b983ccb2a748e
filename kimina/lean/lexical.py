r"""Lean 4's lexical rules as regular expressions.

Everything repeats possessively, so that no text makes matching take more than linear time. In alternatives that are
tried often the first item is a character or a set: Python's ``re`` then passes over those that do not fit at no cost.
"""

import re
from collections.abc import Iterable

# Lean's own character classes (isLetterLike, isSubScriptAlnum, isIdFirst, isIdRest), written as ranges.
_LETTER_LIKE = (
    "\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017f"  # Latin letters with marks, without the signs for times and division
    "\u0391-\u039f\u03a1\u03a2\u03a4-\u03a9\u03b1-\u03ba\u03bc-\u03fb"  # Greek without the symbols Pi, Sigma, lambda
    "\u1f00-\u1ffe"  # polytonic Greek
    "\u2100-\u214f"  # letter-like symbols such as the signs of number sets
    "\U0001d49c-\U0001d59f"  # script, double-struck and fraktur letters
)
_SUBSCRIPT = "\u2080-\u2089\u2090-\u209c\u1d62-\u1d6a\u2c7c"
_ASCII_FIRST = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
NAME_FIRST = f"A-Za-z_{_LETTER_LIKE}"
NAME_REST = f"{NAME_FIRST}0-9'!?{_SUBSCRIPT}"

PLAIN_ATOM = f"[{NAME_FIRST}][{NAME_REST}]*+"
QUOTED_ATOM = "«[^»]*+»"
ATOM = f"(?:{PLAIN_ATOM}|{QUOTED_ATOM})"
NAME = rf"{ATOM}(?:\.{ATOM})*+"
# A name with a part in guillemets.
QUOTED_NAME = rf"(?:{PLAIN_ATOM}(?:\.{PLAIN_ATOM})*+\.)?+{QUOTED_ATOM}(?:\.{ATOM})*+"
NUMBER = (
    r"(?:0[xX][0-9a-fA-F_]++|0[bB][01_]++|0[oO][0-7_]++"
    r"|[0-9][0-9_]*+(?:\.[0-9][0-9_]*+)?+(?:[eE][+-]?[0-9]++)?+)"
)
CHARACTER = r"'(?:\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)|[^\\'])'"
RAW_STRING_OPEN = r'r#*+"'
STRING_BODY = r'[^"\\]*+(?:\\.[^"\\]*+)*+'
INTERPOLATED_BODY = r'[^"\\{]*+(?:\\.[^"\\{]*+)*+'

# Symbols of several characters. Those that end in - / or ' decide whether a comment or a character starts there.
_LONG_SYMBOLS = (
    "<;>", "<|>", "...", "|||", "&&&", "^^^", "<<<", ">>>", ">>=", "<$>", "<*>", "⁻¹'", ":=", "=>", "->", "<-", "<|",
    "|>", "//", "\\/", "/\\", "||", "&&", "∃!", "∑'", "∏'", "Σ'", "×'", "''", "..", "::", "++", "<=", ">=", "!=", "==",
)  # fmt: skip
_LONG_SYMBOL = "|".join(re.escape(symbol) for symbol in _LONG_SYMBOLS)
_STOP = rf"--|/-|\"|{RAW_STRING_OPEN}|{CHARACTER}|«"
SYMBOL = rf"(?:{_LONG_SYMBOL}|(?!{_STOP})[^\s{NAME_FIRST}0-9])"

LINE_COMMENT = r"--[^\n]*+"
_INNER_COMMENT = "/-[^-/]*+(?:(?:-(?!/)|/(?!-))[^-/]*+)*+-/"
# A block comment with at most one level of comments inside. The sign behind /- belongs to the opener: /--/ is open.
FLAT_BLOCK_COMMENT = f"/-[-!]?+[^-/]*+(?:(?:-(?!/)|/(?!-)|{_INNER_COMMENT})[^-/]*+)*+-/"
FLAT_COMMENT = f"(?:{LINE_COMMENT}|{FLAT_BLOCK_COMMENT})"
# A string, closed or not, or a character, where no string is interpolated; a raw string only if it has no signs #.
PLAIN_LITERAL = rf'(?:"{STRING_BODY}.?+|r"[^"]*+"?+|{CHARACTER})'


def any_of(words: Iterable[str]) -> str:
    """A pattern for any of these names as a whole token."""
    alternatives = "|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in _by_first(words).items())
    return f"(?:{alternatives}){_NAME_ENDS}" if alternatives else "(?!)"


def code(watched: frozenset[str], guillemets: bool = True, in_hole: bool = False) -> str:
    """A pattern for a stretch of code, possibly empty, up to the next comment, string, character or watched name.

    Where names are watched it also ends at a name with a part in guillemets, which can be a watched one in disguise.
    Without ``guillemets`` there must be none in the text. Inside a hole of an interpolated string the stretch ends at
    a brace, too. It is not split into tokens where that makes no difference to where it ends.
    """
    braces = "{}" if in_hole else ""
    # White space, and signs that never decide how to read the next one.
    plain = rf"[^{NAME_FIRST}0-9<.\-/\\'\"«⁻∑∏Σ×{braces}]*+"
    field, rest = PLAIN_ATOM, ""
    if guillemets and watched:
        rest = rf"(?:\.{PLAIN_ATOM})*+(?!\.{QUOTED_ATOM})"
        field += rest
    elif guillemets:
        field = ATOM
    names = _by_first(watched)
    names.setdefault("r", [])
    others = "".join(letter for letter in _ASCII_FIRST if letter not in names)
    # First what needs no look at how a name ends; there are few names that begin like a watched one and go on.
    begins = "|".join([f"[{others}{_LETTER_LIKE}]", *(_unlike(first, rest) for first, rest in names.items())])
    alternatives = [
        # What follows a single dot is a field, which is never watched.
        rf"\.(?:{field}|\.\.?+)?+",
        f"(?:{begins})[{NAME_REST}]*+{rest}",
        "[0-9]++(?![_.eExXbBoO])",
        "-(?!-)",
        r"/(?:[/\\]|(?!-))",
        r"\\/?+",
        "<(?:-|<<)?+",
        "[∑∏Σ×]'?+",
        "⁻(?:¹')?+",
        "''",
        rf"(?!{CHARACTER})'",
        NUMBER,
    ]
    if watched:
        alternatives.append(f"(?!{RAW_STRING_OPEN}|{any_of(watched)}){PLAIN_ATOM}{rest}")
    elif guillemets:
        alternatives.append(QUOTED_ATOM)
    return f"{plain}(?:(?:{'|'.join(alternatives)}){plain})*+"


# A dot before guillemets that never close goes on with no name.
_NAME_ENDS = rf"(?![{NAME_REST}]|\.(?:{QUOTED_ATOM}|[{NAME_FIRST}]))"


def _by_first(words: Iterable[str]) -> dict[str, list[str]]:
    """What follows the first letter of each word, by that letter, the longest first."""
    by_first: dict[str, list[str]] = {}
    for word in sorted(words, key=lambda word: (word[0], -len(word), word)):
        by_first.setdefault(word[0], []).append(re.escape(word[1:]))
    return by_first


def _unlike(first: str, rest: list[str]) -> str:
    """The letter ``first`` where nothing begins that is like one of the words with these ends, nor a raw string."""
    not_followed = [*rest, '#*+"'] if first == "r" else rest
    return f"{first}(?!{'|'.join(not_followed)})"
