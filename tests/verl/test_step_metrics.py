"""A step's row from judged samples."""

import json

from kimina.verl.step_metrics import JudgedSample, optimiser_metrics, summarise, tracked_metrics, unverified_share


def sample(group, proved=False, *, unverified=False, violations=(), tokens=10, turn=1):
    return JudgedSample.from_reward(
        group,
        tokens,
        {
            "score": float(proved and not violations),
            "proved": float(proved),
            "unverified": float(unverified),
            "verdict": "unverified" if unverified else "proved" if proved else "lean_error",
            "violations": json.dumps(list(violations)),
            "turn": turn,
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


def test_every_check_has_a_rate_in_every_turn():
    samples = [
        sample("a", True),
        sample("a", violations=["too_long"]),
        sample("b", violations=["too_long", "repeated_lines"], turn=2),
        sample("b", True, turn=2),
        sample("b", unverified=True, turn=2),
        sample("b", True, violations=["too_long"], turn=2),
    ]
    row = summarise(samples, expected=6, checks=["no_think_block", "repeated_lines", "too_long"])
    assert list(row["turns"]) == ["1", "2"]
    first, second = row["turns"]["1"], row["turns"]["2"]
    assert first["violation_rates"] == {"no_think_block": 0.0, "repeated_lines": 0.0, "too_long": 0.5}
    assert second["violation_rates"] == {"no_think_block": 0.0, "repeated_lines": 0.25, "too_long": 0.5}
    assert (first["reward"], first["proof_rate"], first["format_rate"]) == (0.5, 0.5, 0.5)
    assert (second["samples"], second["reward"], second["proof_rate"], second["format_rate"]) == (4, 1 / 3, 2 / 3, 0.5)
    flat = tracked_metrics(row)
    assert flat["kimina/turn_2/violations/too_long"] == 0.5 and flat["kimina/turn_1/reward"] == 0.5
    assert flat["kimina/reward"] == row["reward"] and flat["kimina/groups/mixed"] == row["groups"]["mixed"]
