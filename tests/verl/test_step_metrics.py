"""A step's row from judged samples."""

import json

from kimina.verl.step_metrics import JudgedSample, optimiser_metrics, summarise, unverified_share


def sample(group, proved=False, *, unverified=False, violations=(), tokens=10):
    return JudgedSample.from_reward(
        group,
        tokens,
        {
            "score": float(proved and not violations),
            "proved": float(proved),
            "unverified": float(unverified),
            "verdict": "unverified" if unverified else "proved" if proved else "lean_error",
            "violations": json.dumps(list(violations)),
        },
    )


def test_unverified_samples_count_neither_as_good_nor_as_bad():
    samples = [sample("a", True), sample("a", unverified=True), sample("b"), sample("b", unverified=True)]
    row = summarise(samples, expected=4)
    assert row["reward"] == 0.5 and row["proof_rate"] == 0.5
    assert row["groups"] == {"all_good": 0.5, "all_bad": 0.5, "mixed": 0.0}
    assert row["unverified"] == 2 and row["samples"] == 4 and row["missing"] == 0


def test_proof_rate_and_reward_differ_by_the_format():
    samples = [sample("a", True, violations=["repeated_lines", "too_long"]), sample("a", True, violations=["too_long"])]
    row = summarise([*samples, sample("a", True), sample("a")], expected=4)
    assert row["reward"] == 0.25 and row["proof_rate"] == 0.75 and row["format_rate"] == 0.5
    assert row["violations"] == {"repeated_lines": 1, "too_long": 2}
    assert row["groups"]["mixed"] == 1.0


def test_a_step_that_nobody_judged_has_no_mean():
    row = summarise([sample("a", unverified=True)], expected=2)
    assert row["reward"] is None and row["proof_rate"] is None
    assert row["groups"] == {"all_good": None, "all_bad": None, "mixed": None}
    assert row["missing"] == 1


def test_missing_samples_count_as_unverified():
    samples = [sample("a", True), sample("a"), sample("a", unverified=True)]
    assert unverified_share(samples, expected=4) == 0.5


def test_absent_optimiser_figures_are_null():
    row = optimiser_metrics({"actor/grad_norm": 2, "actor/lr": 1e-6})
    assert row["grad_norm"] == 2.0 and row["learning_rate"] == 1e-6
    assert row["reference_kl"] is None
