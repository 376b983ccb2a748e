"""The shared conformance cases, where they lie beside the repository."""

import json
from pathlib import Path

import pytest

CASES = Path(__file__).parents[3] / "shared" / "cases"


def read_cases(name):
    path = CASES / name
    if not path.exists():
        reason = f"the conformance cases are not beside the repository: no {path}"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason))]
    with path.open(encoding="utf-8") as lines:
        return [pytest.param(case, id=case["id"]) for case in map(json.loads, lines)]


@pytest.mark.parametrize(("profile", "expectation"), [("kimina", "expect"), ("strict", "expect_strict")])
@pytest.mark.parametrize("case", read_cases("format_cases.jsonl"))
def test_format_case(case, profile, expectation, profile_scorer):
    options = case["options"]
    scorer = profile_scorer(profile, max=options.get("max_response_chars"), unit="characters")
    report = scorer.check_format(
        case["statement"], case["response"], opens_think=options.get("think_prefix_in_prompt", False)
    )
    assert list(report.violations) == case[expectation]["violations"]
    assert report.first == case[expectation]["first"]


@pytest.mark.parametrize("case", read_cases("lean_hacks.jsonl"))
def test_lean_hack(case, profile_scorer):
    report = profile_scorer("strict").check_proof(case["statement"], case["lean"])
    assert (report.violations != ()) is (case["must"] == "reject"), report
