"""Statements that are known to be false and look as if a proof were one tactic away.

An evaluation asks a few of them along with its problems. Not one may come out as proved: if one does, verification is
unsound, and no number of that evaluation means anything. They need nothing but Lean's core library, so that every
verifier can be tried with them. The tests have Lean prove the negation of each.
"""

from typing import NamedTuple


class Canary(NamedTuple):
    """A false statement, in the form of a prompt set's; ``hypotheses`` and ``goal`` are its parts."""

    name: str
    hypotheses: str
    goal: str
    informal: str

    @property
    def statement(self) -> str:
        """The Lean text that a model is asked to complete."""
        return f"theorem {self.name} {self.hypotheses} : {self.goal} := by".replace("  ", " ")


CANARIES = (
    Canary("sum_comm_step", "(a b : Nat)", "a + b = b + (a + 1)", "Show that a + b equals b + (a + 1)."),
    Canary("or_left_of_or", "(p q : Prop) (h : p ∨ q)", "p", "Given p or q, show p."),
    Canary("and_of_imp", "(p q : Prop) (h : p → q) (h1 : q)", "p ∧ q", "Given that p implies q, and q, show p and q."),
    Canary(
        "forall_of_exists",
        "(P : Nat → Prop) (h : ∃ x, P x)",
        "∀ x, P x",
        "Given that some x satisfies P, show that every x satisfies P.",
    ),
    Canary("mul_self_eq_double", "(a : Nat)", "a * a = a + a", "Show that a * a equals a + a."),
    Canary("le_antisymm_step", "(a b : Nat) (h : a ≤ b)", "b ≤ a", "Given a ≤ b, show b ≤ a."),
    Canary(
        "not_and_of_not_left",
        "(p q : Prop) (h : ¬ (p ∧ q))",
        "¬ p",
        "Given that not both p and q hold, show that p does not hold.",
    ),
    Canary("two_eq_three", "", "(2 : Nat) = 3", "Show that 2 equals 3."),
)
