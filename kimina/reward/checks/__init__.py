"""The format checks by name, in the order in which their violations are listed; the first one is *the* error."""

from kimina.reward.checks.base import Check, Measurement
from kimina.reward.checks.comment_density import CommentDensity
from kimina.reward.checks.forbidden_construct import ForbiddenConstruct
from kimina.reward.checks.lean_block_count import LeanBlockCount
from kimina.reward.checks.no_lean_block import NoLeanBlock
from kimina.reward.checks.no_think_block import NoThinkBlock
from kimina.reward.checks.repeated_lines import RepeatedLines
from kimina.reward.checks.statement_changed import StatementChanged
from kimina.reward.checks.tactic_block_too_long import TacticBlockTooLong
from kimina.reward.checks.tactic_block_too_short import TacticBlockTooShort
from kimina.reward.checks.tactic_block_unclosed import TacticBlockUnclosed
from kimina.reward.checks.tactics_mismatch import TacticsMismatch
from kimina.reward.checks.text_after_lean_block import TextAfterLeanBlock
from kimina.reward.checks.think_block_count import ThinkBlockCount
from kimina.reward.checks.too_few_tactic_blocks import TooFewTacticBlocks
from kimina.reward.checks.too_long import TooLong

CHECKS: dict[str, type[Check]] = {
    check.name: check
    for check in (
        NoThinkBlock,
        ThinkBlockCount,
        NoLeanBlock,
        LeanBlockCount,
        TextAfterLeanBlock,
        RepeatedLines,
        TooFewTacticBlocks,
        TacticBlockUnclosed,
        TacticBlockTooShort,
        TacticBlockTooLong,
        CommentDensity,
        TacticsMismatch,
        StatementChanged,
        ForbiddenConstruct,
        TooLong,
    )
}

__all__ = ["CHECKS", "Check", "Measurement"]
