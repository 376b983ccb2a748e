"""A model's output, parsed once: think block, tactic blocks, final Lean blocks, with positions.

The rules (they decide every trick with tags and fences):

- A byte order mark at the start is dropped and CRLF is LF. All offsets refer to the text after that.
- A fence opens at a line that, stripped, is three backticks and a word, and closes at a line that, stripped, is three
  backticks. Backticks anywhere else mean nothing, and neither does a closing line without an open fence.
- A fence that is still open where another opens, at the closing think tag, or at the end, was never closed.
- There is exactly one think block when each tag occurs once, in order. If the chat template has already opened it
  (``opens_think``), the prompt's tag is the opening one.
- Tactic blocks count anywhere. A Lean block counts behind the first closing tag that follows an opening one.
"""

import re
from array import array
from collections.abc import Iterator
from typing import NamedTuple

OPEN_TAG = "<think>"
CLOSE_TAG = "</think>"
TACTICS = "tactics"
LEAN = "lean4"

_LANGUAGES = frozenset({TACTICS, LEAN})
_OTHER = object()
# The word of a fence line as models write it, by the line and the line break before it; None on a closing line.
_PLAIN_FENCES = {"\n```": None, f"\n```{TACTICS}": TACTICS, f"\n```{LEAN}": LEAN}
_FENCE_LINE = re.compile(r"[^\S\n]*+```(\w[\w+.#-]*+)?[^\S\n]*+(?:(?=\n)|\Z)")


class Block(NamedTuple):
    """A fenced block.

    ``text`` is what stands between the fence lines, without the last line break, and begins at offset ``start``;
    ``line_count`` counts its lines, blank ones too; ``outer_start`` and ``outer_end`` take in the fence lines.
    """

    language: str
    text: str
    start: int
    line_count: int
    outer_start: int
    outer_end: int
    closed: bool


class Response(NamedTuple):
    """A parsed output.

    ``think`` holds the offsets of the text between the think tags when there is exactly one closed block, else None;
    ``opening_tags`` counts the opening tags, the prompt's included. Blocks are made when asked for: a text can be
    nothing but fences, and millions of objects cost more than finding them. Kept are four offsets of each in ``*_edges``:
    where its text starts and ends (its last line break is part of it), and where it does with its fence lines.
    """

    text: str
    think: tuple[int, int] | None
    opening_tags: int
    lean_edges: "array[int]"
    tactic_edges: "array[int]"
    closed_tactic_count: int

    @property
    def lean_count(self) -> int:
        """The number of Lean blocks."""
        return len(self.lean_edges) // 4

    @property
    def tactic_count(self) -> int:
        """The number of tactic blocks, closed or not."""
        return len(self.tactic_edges) // 4

    @property
    def lean_blocks(self) -> tuple[Block, ...]:
        """The closed Lean blocks that stand where an answer may stand."""
        return tuple([_block(self.text, LEAN, *edges) for edges in _fours(self.lean_edges)])

    @property
    def tactic_blocks(self) -> tuple[Block, ...]:
        """All tactic blocks."""
        return tuple([_block(self.text, TACTICS, *edges) for edges in _fours(self.tactic_edges)])

    def last_lean_block(self) -> Block | None:
        """The last one of ``lean_blocks``, if there is any."""
        return _block(self.text, LEAN, *self.lean_edges[-4:]) if self.lean_edges else None

    def closed_tactics(self) -> Iterator[str]:
        """Yield the text of each closed tactic block; each of its lines ends with a line break."""
        text = self.text
        for start, end, _, outer_end in _fours(self.tactic_edges):
            if end < outer_end:
                yield text[start:end]

    def think_text(self) -> str:
        """The text of the think block without the tactic blocks in it. The response must have one think block."""
        return "".join([self.text[start:end] for start, end in self.think_stretches()])

    def think_stretches(self) -> Iterator[tuple[int, int]]:
        """Yield start and end of each stretch of that text; they are of whole lines."""
        position, think_end = self.think
        for _, _, start, end in _fours(self.tactic_edges):
            if start >= think_end:
                break
            if start >= position:
                yield position, start
                position = end
        yield min(position, think_end), think_end


def parse_response(text: str, opens_think: bool = False) -> Response:
    """Parse a model's output. Accepts any text; takes time linear in its length.

    ``opens_think`` says that the prompt ends with the opening think tag, so that the output begins inside the block.
    """
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    # The text may be long, and every pass over it counts: one search tells whether there is a second tag.
    first_open = text.find(OPEN_TAG)
    if first_open < 0:
        opening_tags = int(opens_think)
    else:
        opening_tags = opens_think + (1 if text.rfind(OPEN_TAG) == first_open else text.count(OPEN_TAG))
    think_start = 0 if opens_think else first_open + len(OPEN_TAG)
    first_close = text.find(CLOSE_TAG, think_start if opening_tags else 0)
    one_block = (
        opening_tags == 1
        and first_close >= 0
        and text.find(CLOSE_TAG, first_close + len(CLOSE_TAG)) < 0
        and text.find(CLOSE_TAG, 0, think_start) < 0
    )
    think = (think_start, first_close) if one_block else None
    return Response(text, think, opening_tags, *_find_blocks(text, first_close))


def _find_blocks(text: str, think_end: int) -> tuple["array[int]", "array[int]", int]:
    """The edges of the closed Lean blocks where an answer may stand and of all tactic blocks; how many are closed.

    ``think_end`` is the offset of the closing think tag, or -1.
    """
    lean, tactics = array("q"), array("q")
    closed_tactics = 0
    answer_start = think_end + len(CLOSE_TAG) if think_end >= 0 else 0
    language: str | None = None  # of the block that is open; it begins at outer_start, and its text at start
    outer_start = start = position = 0
    while (found := text.find("```", position)) >= 0:
        line_start, line_end = found, text.find("\n", found)
        if line_end < 0:
            line_end = len(text)
        word = _PLAIN_FENCES.get(text[found - 1 : line_end], _OTHER)
        if word is _OTHER:
            line_start = text.rfind("\n", position, found) + 1 or position
            match = _FENCE_LINE.match(text, line_start)
            if match is None:
                position = line_end + 1
                continue
            word, line_end = match[1], match.end()
        if language in _LANGUAGES:
            end, outer_end = line_start, line_end
            if outer_start < think_end < line_start:
                end = outer_end = think_end
            elif word is not None:
                outer_end = line_start
            closed = end < outer_end
            if language == TACTICS:
                _add(tactics, start, end, outer_start, outer_end)
                closed_tactics += closed
            elif closed and outer_start >= answer_start:
                _add(lean, start, end, outer_start, outer_end)
        position = line_end + 1
        language, outer_start, start = word, line_start, position
    if language == TACTICS:
        end = think_end if outer_start < think_end else len(text)
        _add(tactics, start, end, outer_start, end)
    return lean, tactics, closed_tactics


def _add(edges: "array[int]", start: int, end: int, outer_start: int, outer_end: int) -> None:
    # Faster than extending an array by a tuple. The text of a block may end before its fence line does.
    edges.append(start if start < end else end)
    edges.append(end)
    edges.append(outer_start)
    edges.append(outer_end)


def _block(text: str, language: str, start: int, end: int, outer_start: int, outer_end: int) -> Block:
    inner, line_count = "", 0
    if start < end:
        inner = text[start : end - 1 if text[end - 1] == "\n" else end]
        line_count = inner.count("\n") + 1
    return Block(language, inner, start, line_count, outer_start, outer_end, end < outer_end)


def _fours(edges: "array[int]") -> Iterator[tuple[int, int, int, int]]:
    one_by_one = iter(edges)
    return zip(one_by_one, one_by_one, one_by_one, one_by_one, strict=False)
