"""What a format check looks at: a parsed response, its statement, and questions that several checks ask."""

from collections import Counter

from kimina.lean.comments import Comments
from kimina.lean.source import LeanSource
from kimina.lean.statement import Statement, StatementMatch, single_spaced, statement_matches
from kimina.response import Block, Response


class Sample:
    """A response to a statement.

    ``answer`` is the Lean block that is judged, None when there is none or when it is not clear which one.
    ``raw_length`` is the length of the response in characters as the model wrote it; ``token_count`` its length in
    tokens, if known.
    """

    __slots__ = ("_comments", "_lines", "_source", "answer", "raw_length", "response", "statement", "token_count")

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
        self._source: LeanSource | None = None
        # By the offset of the block.
        self._comments: dict[int, Comments] = {}
        self._lines: dict[int, list[str]] = {}

    @property
    def source(self) -> LeanSource | None:
        """The judged Lean block as Lean source."""
        if self._source is None and self.answer is not None:
            self._source = LeanSource(self.answer.text)
        return self._source

    @property
    def statement_match(self) -> StatementMatch:
        """Whether the judged block answers the statement; there must be one."""
        return statement_matches(self.statement, self.source)

    @property
    def has_think_block(self) -> bool:
        """Whether think text and tactic blocks can be judged."""
        return self.response.think is not None

    def code_lines(self, block: Block) -> list[str]:
        """The lines of a block, stripped, without comments and blank lines."""
        lines = self._lines.get(block.start)
        if lines is None:
            comments = self._comments_of(block)
            text = block.text if comments is None else comments.removed
            lines = self._lines[block.start] = list(filter(None, map(str.strip, text.split("\n"))))
        return lines

    def comment_characters(self, block: Block) -> int:
        """Characters of the comments of a block, delimiters included, without those copied from the statement.

        Each comment of the statement is left out as often as the statement has it.
        """
        comments = self._comments_of(block)
        if comments is None:
            return 0
        total = len(block.text) - len(comments.removed)
        return total - self._copied_characters(comments) if self.statement.comments else total

    def _comments_of(self, block: Block) -> Comments | None:
        """The comments of a block of the response, None when there are none."""
        if "--" not in block.text and "/-" not in block.text:
            return None
        comments = self._comments.get(block.start)
        if comments is None:
            # The walk over the answer's source finds its comments, too; but the source is in NFC.
            shared = block is self.answer and self.source.text == block.text
            comments = self._comments[block.start] = self.source.comments if shared else Comments.of(block.text)
        return comments

    def _copied_characters(self, comments: Comments) -> int:
        """Characters of those comments that are copied from the statement."""
        copied = Counter(self.statement.comments)
        shortest = min(map(len, copied))
        left, total = copied.total(), 0
        for comment in comments:
            # With single blanks a text does not become longer.
            if len(comment) >= shortest and copied[written := single_spaced(comment)] > 0:
                copied[written] -= 1
                left -= 1
                total += len(comment)
                if left == 0:
                    break
        return total
