"""The statistics against the shared conformance cases, which are worked out by hand or with other software."""

import json
from pathlib import Path

import pytest

from kimina.evaluation import best_at_k, mcnemar, mean_pass_at_k, pass_at_k, percent, wilson

CASES = Path(__file__).resolve().parents[2].parent / "shared" / "cases" / "math_cases.jsonl"


def _interval(k, n):
    interval = wilson(k, n)
    return {"low": None, "high": None} if interval is None else {"low": interval.low, "high": interval.high}


def _mean(problems, k):
    mean = mean_pass_at_k([tuple(problem) for problem in problems], k)
    return {"value": mean.value, "eligible": mean.eligible}


ANSWERS = {
    "pass_at_k": lambda n, c, k: {"value": pass_at_k(n, c, k)},
    "pass_at_k_mean": _mean,
    "best_at_k": lambda n, c, k: {"best_at_k": best_at_k(n, c, k), "pass_at_k": pass_at_k(n, c, k)},
    "wilson": _interval,
    "mcnemar": lambda only_a, only_b: {"p": mcnemar(only_a, only_b).p},
    "percent": lambda k, n: {"text": percent(k, n)},
}


def _cases():
    if not CASES.exists():
        return []
    with CASES.open(encoding="utf-8") as file:
        return [case for case in map(json.loads, file) if case["family"] in ANSWERS]


def test_statistics_agree_with_the_shared_cases():
    cases = _cases()
    if not cases:
        pytest.skip(f"the shared conformance cases are not beside this checkout ({CASES})")
    wrong = []
    for case in cases:
        answer, expected = ANSWERS[case["family"]], case["expected"]
        if expected == {"error": True}:
            with pytest.raises(ValueError):
                answer(**case["input"])
            continue
        got = answer(**case["input"])
        for key, value in expected.items():
            if isinstance(value, float):
                close = got[key] is not None and abs(got[key] - value) <= case["tolerance"] * max(1.0, abs(value))
            else:
                close = got[key] == value
            if not close:
                wrong.append((case["id"], key, got[key], value))
    assert wrong == []
