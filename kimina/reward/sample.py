"""What a format check looks at: a parsed response, its statement, and questions that several checks ask."""

from collections import Counter
from typing import Literal, NamedTuple

from kimina.lean.comments import Comments, may_have_comments
from kimina.lean.source import LeanSource
from kimina.lean.statement import Statement, StatementMatch, single_spaced, statement_matches
from kimina.response import Block, Response
from kimina.reward.lines import code_lines, parts


class Tactics(NamedTuple):
    """What the closed tactic blocks have.

    ``longest`` is the most lines of a block, blank ones too, ``fewest_lines`` the fewest lines of code; ``densest`` the
    largest share of comments; ``lines`` are all lines of code. Code lines are stripped, without comments, not blank.
    """

    longest: int
    fewest_lines: int
    densest: float
    lines: set[str]


class Sample:
    """A response to a statement.

    ``answer`` is the Lean block that is judged, None when there is none or when it is not clear which one.
    ``has_think_block`` says whether think text and tactic blocks can be judged. ``raw_length`` is the length of the
    response in characters as the model wrote it; ``token_count`` its length in tokens, if known.
    """

    __slots__ = (
        "_answer_comments", "_source", "_tactics", "answer", "has_think_block", "raw_length", "response", "statement",
        "token_count",
    )  # fmt: skip

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
        self.has_think_block = response.think is not None
        self.raw_length = raw_length
        self.token_count = token_count
        self._source: LeanSource | None = None
        # False where nobody has looked yet.
        self._answer_comments: Comments | Literal[False] | None = False
        self._tactics: Tactics | None = None

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
    def tactics(self) -> Tactics:
        """The closed tactic blocks; there must be one."""
        if self._tactics is None:
            self._tactics = self._read_tactics()
        return self._tactics

    def answer_lines(self) -> set[str]:
        """The lines of code of the judged block, stripped, without comments and blank lines."""
        comments = self._comments_of_answer()
        text = comments.removed if comments else self.answer.text
        lines: set[str] = set()
        for part in parts(text, [(0, len(text))]):
            lines.update(code_lines(part))
        return lines

    def answer_comment_share(self) -> float:
        """The share of comments in the judged block."""
        comments = self._comments_of_answer()
        return self._comment_share(comments) if comments else 0.0

    def _read_tactics(self) -> Tactics:
        # One pass for all questions: there can be millions of blocks.
        longest, fewest_lines, densest, lines = 0, len(self.response.text), 0.0, set()
        for text in self.response.closed_tactics():
            line_count = text.count("\n")
            if line_count > longest:
                longest = line_count
            if may_have_comments(text):
                comments = Comments.of(text.removesuffix("\n"))
                densest = max(densest, self._comment_share(comments))
                text = comments.removed
            own_lines = list(code_lines(text))
            if len(own_lines) < fewest_lines:
                fewest_lines = len(own_lines)
            lines.update(own_lines)
        return Tactics(longest, fewest_lines, densest, lines)

    def _comments_of_answer(self) -> Comments | None:
        if self._answer_comments is False:
            # The walk over the source, which other checks need, finds its comments, too; but the source is in NFC.
            shared = self.source.text == self.answer.text
            self._answer_comments = self.source.comments if shared else Comments.of(self.answer.text)
        return self._answer_comments

    def _comment_share(self, comments: Comments) -> float:
        """Characters of comments, delimiters included, of all characters, without those copied from the statement.

        Each comment of the statement is left out as often as the statement has it.
        """
        total = len(comments.text) - len(comments.removed)
        if self.statement.comments:
            total -= self._copied_characters(comments)
        return total / len(comments.text)

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
