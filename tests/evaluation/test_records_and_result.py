import json
import subprocess
import sys
from dataclasses import asdict, replace

import pytest

from kimina.errors import InfrastructureError
from kimina.evaluation import (
    EvalResult,
    Outcome,
    ProblemResult,
    append_outcomes,
    group_by_problem,
    pass_curve,
    read_outcomes,
    write_outcomes,
)

PROOF = Outcome("p1", "conj", 1, 0, "proved", (), 1.0, 80, True, "```lean4\n∧ \ud800\n```")
ERROR = replace(PROOF, sample=1, verdict="lean_error", reward=0.0, message="unknown identifier")
BROKEN = replace(PROOF, sample=2, verdict=None, violations=("no_lean_block", "too_long"), reward=0.0, finished=False)
UNVERIFIED = replace(PROOF, sample=3, verdict="unverified", reward=None)
UGLY_PROOF = replace(PROOF, sample=4, violations=("comment_density",), reward=0.0)


def test_unverified_samples_are_no_failures():
    problem = ProblemResult.of([PROOF, ERROR, BROKEN, UNVERIFIED, UGLY_PROOF])
    assert (problem.n, problem.c, problem.proofs, problem.unverified) == (4, 1, 2, 1)
    assert EvalResult("x", (problem,)).pass_at_k(1).value == 0.25
    assert EvalResult("x", (problem,)).pass_at_k(5).value is None


def test_a_sample_that_nobody_judged_is_unverified():
    assert not replace(PROOF, verdict=None).judged
    assert replace(BROKEN, verdict="unverified").judged


def test_a_problem_without_any_verified_sample_is_undefined_not_zero():
    result = EvalResult.of("x", [UNVERIFIED])
    assert result.pass_at_k(1).value is None
    assert result.proof_rate().value is None
    assert result.unverified == 1


@pytest.mark.parametrize("name", ["samples.jsonl", "samples.jsonl.gz"])
def test_records_survive_a_round_trip(tmp_path, name):
    outcomes = [PROOF, ERROR, BROKEN, UNVERIFIED]
    path = write_outcomes(tmp_path / name, outcomes)
    assert read_outcomes(path) == outcomes
    first = path.read_bytes()
    assert write_outcomes(path, outcomes).read_bytes() == first
    assert EvalResult.read("x", tmp_path).problems == tuple(group_by_problem(outcomes))


def test_the_record_has_the_documented_keys():
    assert list(asdict(PROOF)) == [
        "problem_id", "family", "level", "sample", "verdict", "violations", "reward",
        "response_tokens", "finished", "response", "message",
        "turn", "messages", "generation_s", "lean_s",
    ]  # fmt: skip


def test_a_killed_evaluation_goes_on_and_counts_no_sample_twice(tmp_path):
    path = tmp_path / "samples.jsonl"
    append_outcomes(path, [PROOF, ERROR])
    with path.open("a") as file:
        file.write('{"problem_id": "p1", "fam')
    assert read_outcomes(path) == [PROOF, ERROR]
    append_outcomes(path, [replace(ERROR, verdict="sorry"), BROKEN])
    problem = EvalResult.read("x", path).problems[0]
    assert [outcome.verdict for outcome in problem.outcomes] == ["proved", "sorry", None]


def test_a_record_without_a_key_or_a_missing_file_is_named(tmp_path):
    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps({"problem_id": "p1"}) + "\n")
    with pytest.raises(InfrastructureError, match=r"samples\.jsonl.*family"):
        read_outcomes(path)
    with pytest.raises(InfrastructureError, match="does not exist"):
        read_outcomes(tmp_path / "none.jsonl")
    damaged = tmp_path / "samples.jsonl.gz"
    damaged.write_bytes(write_outcomes(tmp_path / "whole.jsonl.gz", [PROOF] * 50).read_bytes()[:40])
    with pytest.raises(InfrastructureError, match="damaged"):
        read_outcomes(damaged)


def test_keys_from_later_versions_are_left_aside():
    assert Outcome.from_record({**asdict(PROOF), "speed": 1}) == PROOF


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
    assert summary["violations"] == {"no_lean_block": 1, "too_long": 1}
    assert summary["verdicts"] == {"proved": 5, "lean_error": 3, "not_checked": 1}
    assert summary["unfinished_samples"] == 1
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
        "print([m for m in ('torch', 'numpy', 'scipy', 'verl', 'ray', 'transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
