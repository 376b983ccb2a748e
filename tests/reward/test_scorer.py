"""From an output to a reward."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimina.errors import UserError
from kimina.lean.verdict import Verdict
from kimina.reward.checks import CHECKS
from kimina.reward.scorer import FormatReport, Scorer, needs_lean, reward_value
from kimina.reward.settings import RewardSettings

STATEMENT = "import Mathlib\n\ntheorem pair (p q : Prop) (h : p ∧ q) : q ∧ p := by sorry\n"
EVERY_CHECK = RewardSettings.parse({"checks": {name: {"enabled": True} for name in CHECKS}})

PIECES = [
    "<think>", "</think>", "\n```tactics\n", "\n```lean4\n", "\n```\n", STATEMENT, "sorry", "/-", "-/", '"', "«",
    "\ud800", "\x00", "\r\n",
]  # fmt: skip
any_output = st.one_of(st.text(max_size=100), st.lists(st.sampled_from(PIECES), max_size=30).map("".join))


@pytest.mark.parametrize("profile", ["kimina", "strict", "proof_only"])
def test_an_honest_answer_passes_every_profile(profile_scorer, answer, profile):
    scorer = profile_scorer(profile)
    report = scorer.check_format(STATEMENT, answer())
    assert report.violations == ()
    assert report.first is None
    assert report.theorem == "pair"
    assert report.lean_code.startswith("import Mathlib")
    assert scorer.needs_lean(report)


def test_all_violations_are_listed_and_the_first_is_the_error(profile_scorer, answer):
    output = answer(tactics=(), after="\nDone.").replace("q ∧ p :=", "q ∨ p :=")
    report = profile_scorer("kimina").check_format(STATEMENT, output)
    assert report.violations == ("text_after_lean_block", "too_few_tactic_blocks", "statement_changed")
    assert report.first == "text_after_lean_block"
    assert report.measures["too_few_tactic_blocks"] == {"value": 0, "threshold": 2, "violated": True, "detail": None}


@given(any_output, st.booleans())
def test_any_output_gets_a_report(output, opens_think):
    report = Scorer(EVERY_CHECK).check_format(STATEMENT, output, opens_think=opens_think)
    assert set(report.violations) <= set(CHECKS)
    assert list(report.violations) == [name for name in CHECKS if name in report.violations]
    assert report.first == (report.violations[0] if report.violations else None)
    assert {name for name, measure in report.measures.items() if measure["violated"]} == set(report.violations)


@given(any_output)
def test_what_fewer_checks_refuse_more_checks_refuse(output):
    some = Scorer(RewardSettings.parse({"checks": {name: {"enabled": True} for name in list(CHECKS)[:5]}}))
    violations = some.check_format(STATEMENT, output).violations
    assert set(violations) <= set(Scorer(EVERY_CHECK).check_format(STATEMENT, output).violations)


def test_a_refused_output_is_not_sent_to_lean_unless_asked():
    refused = FormatReport(("repeated_lines",), "repeated_lines", {}, "code", "t")
    assert not needs_lean(refused)
    assert needs_lean(refused, verify_rejected=True)
    assert not needs_lean(FormatReport(("no_lean_block",), "no_lean_block", {}, None, None), verify_rejected=True)
    asked = Scorer(RewardSettings.parse({"verify_rejected": True}))
    assert asked.needs_lean(refused)


@pytest.mark.parametrize("verdict", Verdict)
def test_only_proved_earns_and_unverified_is_masked(verdict):
    expected = {Verdict.PROVED: 1.0, Verdict.UNVERIFIED: None}.get(verdict, 0.0)
    assert reward_value(verdict, ()) == expected
    assert reward_value(verdict, ("repeated_lines",)) == 0.0


def test_an_output_that_lean_was_not_asked_about_earns_nothing():
    assert reward_value(None, ()) == 0.0
    assert reward_value(None, ("no_lean_block",)) == 0.0


def test_the_length_penalty_is_added():
    assert reward_value(Verdict.PROVED, (), -0.25) == 0.75
    assert reward_value(Verdict.UNVERIFIED, (), -0.25) is None


def test_bare_proofs_are_judged_by_statement_and_constructs_only(profile_scorer):
    scorer = profile_scorer("strict")
    assert scorer.check_proof(STATEMENT, STATEMENT.replace("by sorry", "⟨h.2, h.1⟩")).violations == ()
    assert scorer.check_proof(STATEMENT, STATEMENT).violations == ("forbidden_construct",)
    assert scorer.check_proof(STATEMENT, "-- c\ntheorem other : True := trivial").violations == ("statement_changed",)


def test_a_statement_without_a_theorem(profile_scorer):
    with pytest.raises(UserError, match="no theorem"):
        profile_scorer("kimina").check_format("import Mathlib", "x")


def test_nothing_heavy_is_imported():
    heavy = {"torch", "verl", "ray", "transformers"}
    code = f"import sys, kimina.reward.scorer; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
