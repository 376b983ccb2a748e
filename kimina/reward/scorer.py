"""From a model's output to a reward: format checks, what Lean is asked, and the value.

    reward = proved x (no enabled check is violated)

A violated check makes the reward 0 whatever Lean says. A proof that nobody could judge has no reward at all: it is
masked out, never counted as wrong.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kimina.errors import UserError
from kimina.lean.source import normalized
from kimina.lean.statement import Statement
from kimina.lean.verdict import Verdict
from kimina.response import Block, parse_response
from kimina.reward.checks import Check, Measurement
from kimina.reward.sample import Sample
from kimina.reward.settings import RewardSettings

# The checks that judge Lean code alone, without the output format around it.
PROOF_CHECKS = ("statement_changed", "forbidden_construct")


@dataclass(frozen=True)
class FormatReport:
    """What the enabled checks found.

    ``violations`` are the codes of all violated checks in the fixed order, ``first`` the first of them. ``measures``
    holds each applicable check's value, threshold, outcome and detail. ``lean_code`` is the Lean block that Lean
    judges, if there is one, and ``theorem`` the full name that it must prove. ``length_penalty`` is at most 0.
    """

    violations: tuple[str, ...]
    first: str | None
    measures: dict[str, dict[str, object]]
    lean_code: str | None
    theorem: str | None
    length_penalty: float = 0.0


_Prepared = tuple[str, Callable[[Sample], Measurement | None], frozenset[str]]
"""What scoring needs of a check: its name, how it measures, and ``skipped_after``."""


def _prepared(check: Check) -> _Prepared:
    return check.name, check.measure, check.skipped_after


class Scorer:
    """Judges outputs under given settings.

    ``count_tokens`` gives the length of a text in tokens; without it lengths are in characters.
    """

    def __init__(self, settings: RewardSettings, count_tokens: Callable[[str], int] | None = None) -> None:
        self.settings = settings
        self._count_tokens = count_tokens
        enabled = settings.enabled()
        self._checks = [_prepared(check) for check in enabled]
        self._proof_checks = [_prepared(check) for check in enabled if check.name in PROOF_CHECKS]
        # Of several blocks the last one is judged, if several are allowed at all.
        self._several_blocks = not settings.checks.lean_block_count.enabled
        too_long = settings.checks.too_long
        self._penalty = too_long.penalty if too_long.enabled and too_long.buffer else None
        if too_long.enabled and too_long.unit == "tokens" and count_tokens is None:
            raise UserError(
                "reward.checks.too_long.unit=tokens: no tokenizer is given here; set reward.checks.too_long.unit=auto"
            )

    def check_format(
        self, statement: Statement | str, response_text: str, *, opens_think: bool = False
    ) -> FormatReport:
        """Check a model's output against the statement that it answers.

        ``opens_think`` says that the prompt already ends with the opening think tag. Raises UserError when the
        statement has no theorem; any response is accepted.
        """
        response = parse_response(response_text, opens_think)
        last = response.last_lean_block()
        sample = Sample(
            statement=_parsed(statement),
            response=response,
            answer=last if response.lean_count == 1 or self._several_blocks else None,
            raw_length=len(response_text),
            token_count=self._count_tokens(response_text) if self._count_tokens else None,
        )
        return self._report(sample, self._checks, last)

    def check_proof(self, statement: Statement | str, lean_code: str) -> FormatReport:
        """Check bare Lean code against the statement, without any rule about the output format."""
        block = Block("lean4", lean_code, 0, lean_code.count("\n") + 1, 0, len(lean_code), True)
        sample = Sample(_parsed(statement), parse_response(""), block, raw_length=len(lean_code))
        return self._report(sample, self._proof_checks, block)

    def needs_lean(self, report: FormatReport) -> bool:
        """Whether Lean has to judge the output under these settings."""
        return needs_lean(report, self.settings.verify_rejected)

    def _report(self, sample: Sample, checks: Sequence[_Prepared], lean: Block | None) -> FormatReport:
        measures: dict[str, Measurement] = {}
        violations: list[str] = []
        for name, measure, skipped_after in checks:
            if violations and skipped_after and not skipped_after.isdisjoint(violations):
                continue
            found = measure(sample)
            if found is not None:
                measures[name] = found
                if found["violated"]:
                    violations.append(name)
        code = None
        if lean:
            # In the form that was compared with the statement: Lean tells apart what normalisation makes equal.
            code = sample.source.text if sample.answer else normalized(lean.text)
        return FormatReport(
            violations=tuple(violations),
            first=violations[0] if violations else None,
            measures=measures,
            lean_code=code,
            theorem=sample.statement.name if lean else None,
            length_penalty=self._penalty(sample) if self._penalty else 0.0,
        )


def needs_lean(report: FormatReport, verify_rejected: bool = False) -> bool:
    """Whether Lean has to judge the output: there is code, and no check has refused it (or it is judged anyway)."""
    return report.lean_code is not None and (verify_rejected or not report.violations)


def reward_value(verdict: Verdict | None, violations: Sequence[str], length_penalty: float = 0.0) -> float | None:
    """The reward of an output: proved x (no violation) + length penalty.

    ``verdict`` is None when Lean was not asked, because a check refused the output or it has no Lean code. Returns
    None when Lean was asked and could not judge (unverified) and no check decides: such an output is masked out.
    """
    if violations:
        return 0.0 + length_penalty
    if verdict is Verdict.UNVERIFIED:
        return None
    return float(verdict is Verdict.PROVED) + length_penalty


def _parsed(statement: Statement | str) -> Statement:
    return Statement.parse(statement) if isinstance(statement, str) else statement
