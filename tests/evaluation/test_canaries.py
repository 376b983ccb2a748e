"""Canaries are false, and Lean says so: the negation of each is proved."""

import pytest

from kimina.evaluation.canaries import CANARIES
from kimina.lean.statement import Statement

# For each canary by name a proof that the statement fails.
REFUTATIONS = {
    "nano_cases": "(h False True (Or.inr True.intro))",
    "nano_chain": "(h False True False (fun _ => True.intro) (fun x => x) True.intro)",
    "nano_order": "(Nat.lt_irrefl 0 (h 0 1 0 (Nat.lt_succ_self 0) (Nat.lt_succ_self 0)))",
    "nano_induction": "(h (fun _ => False) 0 (fun _ x => x))",
    "nano_forall": "(Nat.noConfusion (h (fun x => x = 0) 0 rfl 1))",
    "nano_neg": "(h False True (fun _ => True.intro) (fun x => x) True.intro)",
    "nano_simplify": "(Nat.noConfusion (h 0 0))",
    "two_eq_three": "(Nat.noConfusion h (fun h1 => Nat.noConfusion h1 (fun h2 => Nat.noConfusion h2)))",
}


def test_names_and_statements_differ():
    assert {canary.name for canary in CANARIES} == set(REFUTATIONS)
    assert len({canary.statement for canary in CANARIES}) == len(CANARIES) == len(REFUTATIONS)


@pytest.mark.parametrize("canary", CANARIES, ids=lambda canary: canary.name)
def test_lean_proves_that_a_canary_is_false(check, canary):
    asked = f"∀ {canary.hypotheses}, {canary.goal}" if canary.hypotheses else canary.goal
    result = check(f"theorem t (h : {asked}) : False :=\n  {REFUTATIONS[canary.name]}")
    assert result.verdict == "proved", [message.text for message in result.messages]


@pytest.mark.parametrize("canary", CANARIES, ids=lambda canary: canary.name)
def test_a_canary_is_a_statement_that_can_be_asked(check, canary):
    assert Statement.parse(canary.statement).name == canary.name
    result = check(f"{canary.statement}\n  sorry", canary.name)
    assert result.verdict == "sorry"
