import json
import subprocess
import sys
from dataclasses import replace

import pytest

from kimina.evaluation import EvalResult, LeanMessage, Outcome, ProblemResult, group_by_problem, pass_curve
from kimina.evaluation.records import PROOF_CHECKS

PROOF = Outcome("p1", "conj", 1, 0, "proved", (), 1.0, 80, True, "```lean4\n∧ \ud800\n```")
ERROR = replace(PROOF, sample=1, verdict="lean_error", reward=0.0, messages=(LeanMessage("error", 2, 4, "unknown identifier"),))
BROKEN = replace(PROOF, sample=2, verdict=None, violations=("no_lean_block", "too_long"), reward=0.0, finished=False)
UNVERIFIED = replace(PROOF, sample=3, verdict="unverified", reward=None)
UGLY_PROOF = replace(PROOF, sample=4, violations=("comment_density",), reward=0.0)


def test_unverified_samples_are_no_failures():
    problem = ProblemResult.of([PROOF, ERROR, BROKEN, UNVERIFIED, UGLY_PROOF])
    assert (problem.n, problem.c, problem.proofs, problem.unverified) == (4, 1, 2, 1)
    assert EvalResult("x", (problem,)).pass_at_k(1).value == 0.25
    assert EvalResult("x", (problem,)).pass_at_k(5).value is None


def test_a_sample_that_nobody_judged_is_unverified():
    assert not replace(PROOF, verdict=None, reward=None).judged
    assert replace(BROKEN, verdict="unverified").judged


def test_an_answer_without_lean_code_has_failed_also_where_no_check_says_so():
    """Under reward=proof_only such an answer violates nothing, and Lean was not asked."""
    rambling = replace(PROOF, sample=5, verdict=None, reward=0.0, finished=False)
    assert rambling.judged and not rambling.success and rambling.proof is False
    problem = ProblemResult.of([PROOF, rambling])
    assert (problem.n, problem.c, problem.unverified) == (2, 1, 0)


def test_a_problem_without_any_verified_sample_is_undefined_not_zero():
    result = EvalResult.of("x", [UNVERIFIED])
    assert result.pass_at_k(1).value is None
    assert result.proof_rate().value is None
    assert result.unverified == 1


def test_one_problem_under_two_families_is_refused():
    with pytest.raises(ValueError, match="p1"):
        group_by_problem([PROOF, replace(ERROR, family="disj")])


def test_summary_by_hand():
    easy = [replace(PROOF, problem_id="a", sample=i, response_tokens=100 + i) for i in range(4)]
    hard = [replace(ERROR, problem_id="b", family="iff", level=5, sample=i, response_tokens=200) for i in range(3)]
    hard.append(replace(PROOF, problem_id="b", family="iff", level=5, sample=3, response_tokens=50))
    hard.append(replace(BROKEN, problem_id="b", family="iff", level=5, sample=4, response_tokens=10))
    summary = EvalResult.of("before", easy + hard).summary((1, 4, 8))
    assert summary["pass_at_k"]["1"]["value"] == pytest.approx((1 + 1 / 5) / 2)
    assert summary["pass_at_k"]["4"]["value"] == pytest.approx((1 + 4 / 5) / 2)
    assert summary["pass_at_k"]["8"] == {"value": None, "low": None, "high": None, "n": 0, "interval": None}
    assert summary["mean_response_tokens"]["all"] == pytest.approx((406 + 650 + 10) / 9)
    assert summary["mean_response_tokens"]["solved"] == pytest.approx((406 + 50) / 5)
    assert summary["mean_response_tokens"]["wrong"] == pytest.approx(610 / 4)
    assert summary["mean_response_tokens"]["truncated"] == 10
    assert summary["pass_at_every_k"][:2] == [pytest.approx(0.6), pytest.approx((1 + 0.4) / 2)]
    assert len(summary["pass_at_every_k"]) == 5
    assert summary["best_at_k"]["4"]["value"] == pytest.approx((1 + 1 - 0.8**4) / 2)
    assert summary["best_at_k"]["8"]["value"] is None
    assert summary["error_fixing"] is None
    assert summary["violations"] == {"no_lean_block": 1, "too_long": 1}
    assert summary["verdicts"] == {"proved": 5, "lean_error": 3, "not_checked": 1}
    assert (summary["truncated_samples"], summary["truncated_share"]) == (1, pytest.approx(1 / 9))
    assert summary["by_family"]["iff"]["problems"] == 1
    assert summary["by_level"]["5"]["pass_at_k"]["1"]["value"] == pytest.approx(0.2)
    json.dumps(summary, allow_nan=False)


def test_a_curve_rests_on_the_same_problems_throughout():
    full = [replace(ERROR, problem_id=f"f{p}", sample=i) for p in range(19) for i in range(8)]
    short = [replace(PROOF, problem_id="short", sample=i) for i in range(3)]
    curve = pass_curve(EvalResult.of("x", full + short), [1, 2, 4, 8, 16])
    assert [(k, rate.n, rate.value) for k, rate in curve] == [(k, 19, 0.0) for k in (1, 2, 4, 8)]
    assert pass_curve(EvalResult("x", ()), [1]) == []


def test_the_package_is_light_to_import():
    code = (
        "import sys, kimina.evaluation\n"
        "print([m for m in ('torch', 'numpy', 'scipy', 'verl', 'ray', 'transformers', 'duckdb', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_format_is_ignored_but_not_what_was_asked():
    """A proof of another statement is none, and what Lean could not judge is unknown."""
    changed = replace(PROOF, sample=5, violations=("statement_changed",), reward=0.0)
    lost = replace(BROKEN, sample=6, verdict="unverified")
    assert [o.proof for o in (PROOF, ERROR, BROKEN, UNVERIFIED, UGLY_PROOF, changed, lost)] == [
        True, False, False, None, True, False, None,
    ]  # fmt: skip
    result = EvalResult.of("x", [PROOF, ERROR, BROKEN, UNVERIFIED, UGLY_PROOF, changed, lost])
    assert result.proof_rate().value == pytest.approx(2 / 5)
    assert result.pass_at_k(1).value == pytest.approx(1 / 6)
    assert result.proved_at_k(4).value == 1.0 and result.proved_at_k(6).value is None


def test_the_checks_that_decide_about_a_proof_are_those_of_the_reward():
    from kimina.reward.scorer import PROOF_CHECKS as OF_REWARD

    assert set(OF_REWARD) == PROOF_CHECKS


def test_the_prompt_set_fixes_the_denominator():
    asked = [("p1", "conj", 1), ("p2", "disj", 2), ("p3", "disj", 2)]
    lost = replace(UNVERIFIED, problem_id="p2", family="disj", level=2)
    result = EvalResult.of("x", [lost, PROOF, ERROR], asked)
    assert [(p.problem_id, p.n) for p in result.problems] == [("p1", 2), ("p2", 0), ("p3", 0)]
    summary = result.summary((1,))
    assert (summary["problems"], summary["problems_without_samples"], summary["problems_without_verdict"]) == (3, 1, 2)
    assert summary["pass_at_k"]["1"]["n"] == 1
    assert summary["unverified_share"] == pytest.approx(1 / 3)
    assert result.families() == ["conj", "disj"] and summary["by_family"]["disj"]["problems"] == 2
    with pytest.raises(ValueError, match="p1"):
        EvalResult.of("x", [PROOF], asked[1:])
    with pytest.raises(ValueError, match="p1"):
        EvalResult.of("x", [PROOF], [("p1", "disj", 1)])


def test_error_fixing_by_hand():
    solved = replace(PROOF, no_fix="solved")
    failed = [replace(ERROR, sample=i, feedback="# Error 1") for i in (1, 2, 3)]
    none = replace(BROKEN, sample=4, no_fix="no_lean_code")
    fixed = replace(PROOF, sample=1, turn=2, response_tokens=40)
    still_wrong = replace(ERROR, sample=2, turn=2, response_tokens=60)
    result = EvalResult.of("x", [solved, *failed, none, fixed, still_wrong])
    problem = result.problems[0]
    assert (problem.n, problem.c, problem.fixes) == (5, 1, {1: fixed, 2: still_wrong})
    # The fix of sample 3 is missing: nobody knows what it would have been.
    assert problem.fixed_counts == (4, 2)
    assert result.pass_at_k_fixed(1).value == 0.5
    assert result.pass_at_k_fixed(5).value is None
    assert result.fix_generations(2) == pytest.approx(2 * 7 / 5)
    assert result.fix_generations(6) is None
    assert problem.solved_with_fixes
    summary = result.summary((1, 2))["error_fixing"]
    assert (summary["fix_turns"], summary["fixed"], summary["not_made"], summary["unverified"]) == (2, 1, 1, 0)
    assert summary["no_fix_turn"] == {"no_lean_code": 1, "solved": 1}
    assert summary["mean_response_tokens"] == 50
    assert summary["equal_budget"]["2"]["with_fix"]["value"] == 0.5
    assert summary["equal_budget"]["2"]["without_fix"]["value"] == pytest.approx(0.4)
    assert summary["pass_at_k_fixed"]["2"]["generations_at_most"] == 4
    # An unverified fix says nothing, in either direction.
    lost = replace(still_wrong, sample=3, verdict="unverified")
    assert EvalResult.of("x", [solved, *failed, none, fixed, still_wrong, lost]).problems[0].fixed_counts == (4, 2)


def test_without_the_protocol_a_rate_with_fixes_is_undefined():
    result = EvalResult.of("x", [PROOF, ERROR])
    assert result.pass_at_k_fixed(1).value is None and result.fix_generations(1) is None
    everything_solved = EvalResult.of("x", [replace(PROOF, no_fix="solved")])
    assert everything_solved.pass_at_k_fixed(1).value == 1.0 and everything_solved.fix_generations(1) == 1.0


def test_canaries_are_in_no_denominator():
    canary = replace(ERROR, problem_id="canary", canary=True)
    assert group_by_problem([canary, PROOF]) == group_by_problem([PROOF])


def test_a_fix_turn_without_its_first_attempt_counts_nowhere():
    assert group_by_problem([replace(PROOF, turn=2), ERROR])[0].fixes == {}
    assert group_by_problem([replace(PROOF, turn=2)]) == []


def test_the_message_is_the_first_error():
    messages = (LeanMessage("warning", 1, 0, "unused"), LeanMessage("error", 3, 2, "first"), LeanMessage("error", 1, 0, "second"))
    assert replace(ERROR, messages=messages).message == "first"
    assert PROOF.message is None
