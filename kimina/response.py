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
from collections.abc import Iterator
from dataclasses import dataclass

OPEN_TAG = "<think>"
CLOSE_TAG = "</think>"
TACTICS = "tactics"
LEAN = "lean4"

_FENCE = re.compile(r"```(\w[\w+.#-]*+)?")


@dataclass(frozen=True)
class Block:
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


@dataclass(frozen=True)
class Response:
    """A parsed output.

    ``think`` holds the offsets of the text between the think tags when there is exactly one closed block, else None;
    ``opening_tags`` counts the opening tags, the prompt's included. ``lean_blocks`` are the closed Lean blocks that
    stand where an answer may stand, ``tactic_blocks`` all tactic blocks, closed or not.
    """

    text: str
    think: tuple[int, int] | None
    opening_tags: int
    tactic_blocks: tuple[Block, ...]
    lean_blocks: tuple[Block, ...]

    @property
    def closed_tactic_blocks(self) -> tuple[Block, ...]:
        """The tactic blocks that were closed."""
        return tuple(block for block in self.tactic_blocks if block.closed)

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
    opening_tags = text.count(OPEN_TAG) + opens_think
    think_start = 0 if opens_think else text.find(OPEN_TAG) + len(OPEN_TAG)
    first_close = text.find(CLOSE_TAG, think_start if opening_tags else 0)
    one_block = opening_tags == 1 and first_close >= 0 and text.count(CLOSE_TAG) == 1
    answer_start = first_close + len(CLOSE_TAG) if first_close >= 0 else 0
    blocks = list(_blocks(text, first_close))
    return Response(
        text=text,
        think=(think_start, first_close) if one_block else None,
        opening_tags=opening_tags,
        tactic_blocks=tuple(block for block in blocks if block.language == TACTICS),
        lean_blocks=tuple(
            block
            for block in blocks
            if block.language == LEAN and block.closed and block.outer_start >= answer_start
        ),
    )


def _fence_lines(text: str) -> Iterator[tuple[int, int, str | None]]:
    """Yield (start, end, word) of each fence line, without its line break; the word is None on a closing line."""
    position = 0
    while (found := text.find("```", position)) >= 0:
        start = text.rfind("\n", position, found) + 1 or position
        end = text.find("\n", found)
        end = len(text) if end < 0 else end
        if match := _FENCE.fullmatch(text[start:end].strip()):
            yield start, end, match[1]
        position = end + 1


def _blocks(text: str, think_end: int) -> Iterator[Block]:
    """Yield the fenced blocks in order; ``think_end`` is the offset of the closing think tag, or -1."""
    opened: tuple[int, int, str] | None = None
    for start, end, word in _fence_lines(text):
        if opened and opened[0] < think_end < start:
            yield _block(text, opened, think_end, think_end, closed=False)
            opened = None
        if word is not None:
            if opened:
                yield _block(text, opened, start, start, closed=False)
            opened = (start, end, word)
        elif opened:
            yield _block(text, opened, start, end, closed=True)
            opened = None
    if opened:
        end = think_end if opened[0] < think_end else len(text)
        yield _block(text, opened, end, end, closed=False)


def _block(text: str, opened: tuple[int, int, str], inner_end: int, outer_end: int, closed: bool) -> Block:
    outer_start, fence_end, language = opened
    start = min(fence_end + 1, inner_end)
    inner = text[start:inner_end]
    return Block(
        language=language,
        text=inner.removesuffix("\n"),
        start=start,
        line_count=inner.count("\n") + (inner != "" and not inner.endswith("\n")),
        outer_start=outer_start,
        outer_end=outer_end,
        closed=closed,
    )
