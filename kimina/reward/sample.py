"""What a format check looks at: a parsed response, its statement, and questions that several checks ask."""

from collections import Counter
from functools import cached_property

from kimina.lean.source import LeanSource
from kimina.lean.statement import Statement, StatementMatch, single_spaced, statement_matches
from kimina.lean.tokenizer import Segment, comments, without_comments
from kimina.response import Block, Response


class Sample:
    """A response to a statement.

    ``answer`` is the Lean block that is judged, None when there is none or when it is not clear which one.
    ``raw_length`` is the length of the response in characters as the model wrote it; ``token_count`` its length in
    tokens, if known.
    """

    def __init__(
        self,
        statement: Statement,
        response: Response,
        answer: Block | None,
        raw_length: int,
        token_count: int | None = None,
    ) -> None:
        self.statement = statement
        self.response = response
        self.answer = answer
        self.raw_length = raw_length
        self.token_count = token_count
        # By the offset of the block.
        self._comments: dict[int, list[Segment]] = {}
        self._code_lines: dict[int, list[str]] = {}

    @cached_property
    def source(self) -> LeanSource | None:
        """The judged Lean block as Lean source."""
        return LeanSource(self.answer.text) if self.answer else None

    @cached_property
    def statement_match(self) -> StatementMatch:
        """Whether the judged block answers the statement; there must be one."""
        return statement_matches(self.statement, self.source)

    @property
    def has_think_block(self) -> bool:
        """Whether think text and tactic blocks can be judged."""
        return self.response.think is not None

    def comments_of(self, block: Block) -> list[Segment]:
        """The comments of a block of the response."""
        if block.start not in self._comments:
            self._comments[block.start] = comments(block.text)
        return self._comments[block.start]

    def code_lines(self, block: Block) -> list[str]:
        """The lines of a block, stripped, without comments and blank lines."""
        if block.start not in self._code_lines:
            text = without_comments(block.text, self.comments_of(block))
            self._code_lines[block.start] = [line for line in map(str.strip, text.split("\n")) if line]
        return self._code_lines[block.start]

    def comment_characters(self, block: Block) -> int:
        """Characters of the comments of a block, delimiters included, without those copied from the statement.

        Each comment of the statement is left out as often as the statement has it.
        """
        copied = Counter(self.statement.comments)
        total = 0
        for _, start, end in self.comments_of(block):
            total += end - start
            if copied:
                written = single_spaced(block.text[start:end])
                if copied[written] > 0:
                    copied[written] -= 1
                    total -= end - start
        return total
