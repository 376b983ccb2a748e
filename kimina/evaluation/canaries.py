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


# Written as the nano task writes its theorems, so that its small model makes real attempts at them too; a large model
# doesn't mind.
CANARIES = (
    Canary("nano_cases", "(p q : Prop) (hpq : p ∨ q)", "p", "Prove in both cases: p."),
    Canary("nano_chain", "(p q r : Prop) (hpq : p → q) (hrp : r → p) (hq : q)", "p", "Derive from what is given: p."),
    Canary("nano_order", "(a b c : Nat) (hab : a < b) (hcb : c < b)", "a < c", "Compare with: c."),
    Canary(
        "nano_induction",
        "(P : Nat → Prop) (a : Nat) (hPP : ∀ x, P x → P (x + 1))",
        "P a",
        "Prove by induction: P a.",
    ),
    Canary("nano_forall", "(P : Nat → Prop) (a : Nat) (hPa : P a)", "∀ x, P x", "Show for every number: P x."),
    Canary("nano_neg", "(p q : Prop) (hpq : p → q) (hnp : ¬p)", "¬q", "Refute: q."),
    Canary("nano_simplify", "(a b : Nat)", "(a + b) + 1 = b + a", "Simplify."),
    Canary("two_eq_three", "", "(2 : Nat) = 3", "Show that 2 equals 3."),
)
