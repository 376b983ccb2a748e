"""Texts that made a false theorem look proved, each once found by an attack; none may earn reward."""

import pytest

from kimina.lean.verdict import CheckRequest, Verdict
from kimina.reward.scorer import Scorer, reward_value
from kimina.reward.settings import RewardSettings

BAD = "class Bad (p : Prop) : Prop where\n  out : p\n"
FIVE = "theorem t : 2 + 2 = 5 := by"
WIN = f"{FIVE} exact b.out.elim"
HELPER = "theorem helper : True := trivial\n"

FORGERIES = {
    "in_inside_a_term": (FIVE, f"{BAD}variable [b : Bad (open Nat in False)]\n{HELPER}{WIN}"),
    "option_in_inside_a_term": (FIVE, f"{BAD}variable [b : Bad (set_option maxRecDepth 100 in False)]\n{HELPER}{WIN}"),
    "hash_inside_a_term": (FIVE, f"{BAD}variable [b : Bad (open Nat in [1].length = 1 ∧ False)] -- in #\n{HELPER}{WIN}"),
    "hole_that_is_none": (
        FIVE,
        "def throwError (s : String) : Nat := 0\n"
        f'def foo : Nat := throwError "{{ {FIVE} trivial "\n'
        'theorem t : True := by trivial\ndef bar : Nat := throwError " }"',
    ),
    "namespace_named_lemma": (
        FIVE, f"{BAD}section Outer\nvariable [b : Bad False]\nnamespace lemma\nend lemma\n{WIN}\nend Outer",
    ),
    "sign_with_a_prime": (
        FIVE,
        f"{BAD}theorem h1 : True := by first | exact (1 ×'(') | trivial\nvariable [b : Bad False]\n"
        f"theorem h2 : True := by first | exact (1 ×')') | trivial\n{WIN}",
    ),
    "default_instance": ("theorem t : 0 = 1 := by", "@[default_instance 5000] def ev : OfNat Nat 0 := ⟨1⟩\ntheorem t : 0 = 1 := by rfl"),
    "kelvin": (
        "theorem t (K : Nat) (h : K = 2) : K = 3 := by",
        "def \u212a : Nat := 3\ntheorem t (K : Nat) (h : K = 2) : \u212a = 3 := by rfl",
    ),
    "ohm": ("theorem t (Ω : Prop) : Ω := by", "def \u2126 : Prop := True\ntheorem t (Ω : Prop) : \u2126 := by trivial"),
    "name_with_dots_opens_its_namespace": (
        "theorem Nat.foo (n : Nat) : Not (n = n) := by",
        "def Nat.Not (p : Prop) : Prop := True\ntheorem Nat.foo (n : Nat) : Not (n = n) := by trivial",
    ),
    "name_of_a_definition_is_redefined": (
        "namespace Foo\ndef P : Prop := Not True\ntheorem t : P := by",
        "namespace Foo\ndef Not (p : Prop) : Prop := True\ndef P : Prop := Not True\ntheorem t : P := by trivial",
    ),
    "where_declares": (
        "namespace Foo\ntheorem t : Not True := by",
        "def Foo : Nat := 0\nwhere Not (p : Prop) : Prop := True\nnamespace Foo\ntheorem t : Not True := by trivial",
    ),
    "constructor_declares": (
        "namespace Foo\ntheorem t : ∃ x : Nat, Zero x := by",
        "structure Foo where\n  Zero : Nat → Prop\nnamespace Foo\ntheorem t : ∃ x : Nat, Zero x := by trivial",
    ),
    "renamed_on_opening": (
        "namespace X\ndef v : Nat := 1\nend X\nopen X\ntheorem t : v = 2 := by",
        "namespace X\ndef v : Nat := 1\nend X\nnamespace Y\ndef w : Nat := 2\nend Y\nopen X hiding v\n"
        "open Y renaming w → v\ntheorem t : v = 2 := by rfl",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
def test_no_forgery_earns_reward(embedded, profile_scorer, name):
    statement, text = FORGERIES[name]
    report = profile_scorer("strict").check_proof(statement, text)
    theorem = "Nat.foo" if "Nat.foo" in statement else "Foo.t" if statement.startswith("namespace Foo") else "t"
    verdict = embedded.check([CheckRequest(name, report.lean_code, theorem)])[0].verdict
    assert reward_value(verdict, report.violations) == 0.0
    # The two letters are one sign after normalisation, and Lean gets the normalised text.
    assert report.violations or name in ("kelvin", "ohm"), "Lean alone may find this proof right: the text must be refused as another statement"


@pytest.mark.parametrize("axiom", ["Quot.sound", "Classical.choice", "propext "])
def test_an_axiom_with_the_text_of_an_allowed_one_is_another(embedded, axiom):
    text = f"axiom «{axiom}» : False\ntheorem t : 2 + 2 = 5 := by exact («{axiom}»).elim"
    report = Scorer(RewardSettings()).check_proof(FIVE, text)
    result = embedded.check([CheckRequest("a", report.lean_code, "t")])[0]
    assert result.verdict is Verdict.AXIOM_VIOLATION and result.axioms == (f"«{axiom}»",)


HONEST = {
    "open_in": f"open Nat in\n{HELPER}{FIVE}",
    "interpolation_in_a_comment": f'-- s!"{{x}}"\n/- ×\'(\' -/\n{FIVE}',
    "image": f"theorem h (f : Nat → Nat) (s : List Nat) : s = s := by\n  have := s -- f '' s, f ''(g ''s)\n  rfl\n{FIVE}",
    "where_with_other_names": f"def f (n : Nat) : Nat := go n\nwhere go (m : Nat) : Nat := m\n{FIVE}",
    "structure_with_other_fields": f"structure S where\n  a : Nat\n  b : Nat\n{FIVE}",
    "more_opened": f"open Nat\n{FIVE}",
}


@pytest.mark.parametrize("name", HONEST)
def test_the_honest_neighbours_pass(profile_scorer, name):
    assert profile_scorer("strict").check_proof(FIVE, HONEST[name] + "\n  rfl").violations == ()
