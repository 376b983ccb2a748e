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
from typing import NamedTuple

OPEN_TAG = "<think>"
CLOSE_TAG = "</think>"
TACTICS = "tactics"
LEAN = "lean4"

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
    ``opening_tags`` counts the opening tags, the prompt's included. ``lean_blocks`` are the closed Lean blocks that
    stand where an answer may stand, ``tactic_blocks`` all tactic blocks, closed or not.
    """

    text: str
    think: tuple[int, int] | None
    opening_tags: int
    tactic_blocks: tuple[Block, ...]
    closed_tactic_blocks: tuple[Block, ...]
    lean_blocks: tuple[Block, ...]

    def think_text(self) -> str:
        """The text of the think block without the tactic blocks in it. The response must have one think block."""
        start, end = self.think
        pieces, position = [], start
        for block in self.tactic_blocks:
            if block.outer_start >= end:
                break
            if block.outer_start >= position:
                pieces.append(self.text[position : block.outer_start])
                position = block.outer_end
        pieces.append(self.text[min(position, end) : end])
        return "".join(pieces)


def parse_response(text: str, opens_think: bool = False) -> Response:
    """Parse a model's output. Accepts any text; takes time linear in its length.

    ``opens_think`` says that the prompt ends with the opening think tag, so that the output begins inside the block.
    """
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    # Each search begins where the one before has ended: the text is long, and every pass over it counts.
    first_open = text.find(OPEN_TAG)
    opening_tags = opens_think + (text.count(OPEN_TAG, first_open) if first_open >= 0 else 0)
    think_start = 0 if opens_think else first_open + len(OPEN_TAG)
    first_close = text.find(CLOSE_TAG, think_start if opening_tags else 0)
    one_block = (
        opening_tags == 1
        and first_close >= 0
        and text.find(CLOSE_TAG, first_close + len(CLOSE_TAG)) < 0
        and text.find(CLOSE_TAG, 0, think_start) < 0
    )
    blocks = _blocks(text, first_close)
    tactic_blocks = tuple([block for block in blocks if block.language == TACTICS])
    closed = tuple([block for block in tactic_blocks if block.closed])
    answer_start = first_close + len(CLOSE_TAG) if first_close >= 0 else 0
    return Response(
        text,
        (think_start, first_close) if one_block else None,
        opening_tags,
        tactic_blocks,
        tactic_blocks if len(closed) == len(tactic_blocks) else closed,
        tuple([b for b in blocks if b.language == LEAN and b.closed and b.outer_start >= answer_start]),
    )


def _blocks(text: str, think_end: int) -> list[Block]:
    """The fenced blocks in order; ``think_end`` is the offset of the closing think tag, or -1."""
    blocks: list[Block] = []
    language: str | None = None  # of the block that is open; it begins at outer_start and its text at start
    outer_start = start = position = 0
    while (found := text.find("```", position)) >= 0:
        line_start = text.rfind("\n", position, found) + 1 or position
        match = _FENCE_LINE.match(text, line_start)
        if match is None:
            position = text.find("\n", found) + 1
            if position == 0:
                break
            continue
        line_end = match.end()
        word = match[1]
        if language is not None and outer_start < think_end < line_start:
            blocks.append(_block(text, language, start, think_end, outer_start, think_end, False))
            language = None
        if word is not None:
            if language is not None:
                blocks.append(_block(text, language, start, line_start, outer_start, line_start, False))
            language, outer_start, start = word, line_start, line_end + 1
        elif language is not None:
            blocks.append(_block(text, language, start, line_start, outer_start, line_end, True))
            language = None
        position = line_end + 1
    if language is not None:
        end = think_end if outer_start < think_end else len(text)
        blocks.append(_block(text, language, start, end, outer_start, end, False))
    return blocks


def _block(
    text: str, language: str, start: int, inner_end: int, outer_start: int, outer_end: int, closed: bool
) -> Block:
    if start >= inner_end:
        return Block(language, "", inner_end, 0, outer_start, outer_end, closed)
    # The last line ends with its line break or without one.
    last = inner_end - 1 if text[inner_end - 1] == "\n" else inner_end
    inner = text[start:last]
    return Block(language, inner, start, inner.count("\n") + 1, outer_start, outer_end, closed)
