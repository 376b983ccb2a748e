"""What the embedded Lean offers: true theorems, one or more for each tactic and each part of the library."""

import pytest

from kimina.lean.verdict import Verdict

TRUE = {
    "intro": "theorem t (p q : Prop) : p → q → p := by\n  intro hp _\n  exact hp",
    "exact": "theorem t (p : Prop) (h : p) : p := by\n  exact h",
    "apply": "theorem t (p q : Prop) (h : p → q) (hp : p) : q := by\n  apply h\n  exact hp",
    "refine": "theorem t (p q : Prop) (hp : p) (hq : q) : p ∧ q := by\n  refine ⟨hp, ?_⟩\n  exact hq",
    "constructor": "theorem t (p q : Prop) (hp : p) (hq : q) : p ∧ q := by\n  constructor\n  · exact hp\n  · exact hq",
    "cases": "theorem t (p q : Prop) (h : p ∨ q) : q ∨ p := by\n  cases h with\n  | inl hp => exact Or.inr hp\n"
    "  | inr hq => exact Or.inl hq",
    "rcases": "theorem t (p q r : Prop) (h : p ∧ (q ∨ r)) : (p ∧ q) ∨ (p ∧ r) := by\n"
    "  rcases h with ⟨hp, hq | hr⟩\n  · exact Or.inl ⟨hp, hq⟩\n  · exact Or.inr ⟨hp, hr⟩",
    "rintro": "theorem t (p q : Prop) : p ∧ q → q ∧ p := by\n  rintro ⟨hp, hq⟩\n  exact ⟨hq, hp⟩",
    "obtain": "theorem t (f : Nat → Nat) (h : ∃ x, f x = 0) : ∃ y, f y + 1 = 1 := by\n  obtain ⟨x, hx⟩ := h\n"
    "  exact ⟨x, by rw [hx]⟩",
    "induction": "theorem t (n : Nat) : 0 + n = n := by\n  induction n with\n  | zero => rfl\n"
    "  | succ n ih => rw [← Nat.add_assoc, ih]",
    "induction_generalizing": "theorem t (xs ys : List Nat) : (xs ++ ys).length = xs.length + ys.length := by\n"
    "  induction xs generalizing ys with\n  | nil => simp\n  | cons x xs ih => simp [ih, Nat.add_right_comm]",
    "rw": "theorem t (a b c : Nat) (h : a = b) : a + c = c + b := by\n  rw [h, Nat.add_comm]",
    "rw_at": "theorem t (a b : Nat) (h : a + b = 3) : b + a = 3 := by\n  rw [Nat.add_comm] at h\n  exact h",
    "simp": "theorem t (a : Nat) : a + 0 = a * 1 := by\n  simp",
    "simp_only": "theorem t (a b c : Nat) : a + b + c = c + b + a := by\n  simp only [Nat.add_comm, Nat.add_left_comm]",
    "simp_all": "theorem t (p q : Prop) (h : p ∧ q) : q := by\n  simp_all",
    "simp_numerals": "theorem t (f : Nat → Nat) : f (3 + 4) = f 7 := by\n  simp",
    "dsimp": "theorem t (a : Nat) : (fun x : Nat => x + 1) a = a + 1 := by\n  dsimp",
    "rfl": "theorem t : 2 + 2 = 4 := by\n  rfl",
    "assumption": "theorem t (p q : Prop) (hp : p) (hq : q) : q := by\n  assumption",
    "have": "theorem t (p q r : Prop) (f : p → q) (g : q → r) (hp : p) : r := by\n  have hq : q := f hp\n  exact g hq",
    "show": "theorem t (n : Nat) : n + 0 = n := by\n  show n = n\n  rfl",
    "exists": "theorem t : ∃ n : Nat, n * n = 9 := by\n  exists 3",
    "decide": "theorem t : 2 ^ 10 = 1024 ∧ ¬(7 ∣ 3 → False) ∨ 3 < 4 := by\n  right\n  decide",
    "calc": "theorem t (a b c : Nat) (h : a = b) (k : b = c) : a = c := by\n  calc\n    a = b := h\n    _ = c := k",
    "calc_le": "theorem t (a b c : Nat) (h : a ≤ b) (k : b < c) : a < c := calc\n  a ≤ b := h\n  _ < c := k",
    "left_right": "theorem t (p q : Prop) (hq : q) : p ∨ q := by\n  right\n  exact hq",
    "exfalso": "theorem t (p q : Prop) (hp : p) (hn : ¬p) : q := by\n  exfalso\n  exact hn hp",
    "contradiction": "theorem t (p q : Prop) (hp : p) (hn : ¬p) : q := by\n  contradiction",
    "by_cases": "theorem t (p : Prop) : p ∨ ¬p := by\n  by_cases h : p\n  · exact Or.inl h\n  · exact Or.inr h",
    "funext": "theorem t : (fun x : Nat => 0 + x) = fun x => x := by\n  funext x\n  exact Nat.zero_add x",
    "subst": "theorem t (a b : Nat) (h : a = b) : b = a := by\n  subst h\n  rfl",
    "injection": "theorem t (a b : Nat) (h : a + 1 = b + 1) : a = b := by\n  injection h",
    "split": "theorem t (x : Nat) : (if x < 3 then 1 else 1) = 1 := by\n  split\n  · rfl\n  · rfl",
    "unfold": "def f (n : Nat) := n + 0\ntheorem t (n : Nat) : f n = n := by\n  unfold f\n  rfl",
    "specialize": "theorem t (f : Nat → Nat) (h : ∀ x, f x = 0) : f 3 = 0 := by\n  specialize h 3\n  exact h",
    "generalize": "theorem t (a b : Nat) : a + b - (a + b) = 0 := by\n  generalize a + b = c\n  exact Nat.sub_self c",
    "suffices": "theorem t (p q : Prop) (hp : p) (hq : q) : p ∧ q := by\n  suffices h : q ∧ p from ⟨h.2, h.1⟩\n"
    "  exact ⟨hq, hp⟩",
    "combinators": "theorem t (p q : Prop) (hp : p) (hq : q) : p ∧ q ∧ p := by\n"
    "  refine ⟨?_, ?_, ?_⟩ <;> first | exact hq | exact hp",
    "all_goals": "theorem t (p : Prop) (h : p) : p ∧ p := by\n  constructor\n  all_goals exact h",
    "trivial": "theorem t : True := by\n  trivial",
    "classical": "theorem t (p : Prop) (h : ¬¬p) : p := by\n  exact Classical.byContradiction h",
    "congr": "theorem t (f : Nat → Nat) (a b : Nat) (h : a = b) : f a = f b := by\n  congr",
    "conv": "theorem t (a b : Nat) (h : a = b) : a + a = b + a := by\n  conv => lhs; lhs; rw [h]",
    "change": "theorem t (n : Nat) : n.succ = n + 1 := by\n  change n + 1 = n + 1\n  rfl",
    "term_mode": "theorem t (p q : Prop) : p ∧ q ↔ q ∧ p := ⟨fun h => ⟨h.2, h.1⟩, fun h => ⟨h.2, h.1⟩⟩",
    "match": "theorem t (p q : Prop) (h : p ∨ q) : q ∨ p := match h with\n  | .inl hp => .inr hp\n"
    "  | .inr hq => .inl hq",
    "recursion": "def double : Nat → Nat\n  | 0 => 0\n  | n + 1 => double n + 2\n"
    "theorem t (n : Nat) : double n = 2 * n := by\n  induction n with\n  | zero => rfl\n"
    "  | succ n ih => rw [double, ih, Nat.mul_succ]",
    "own_types": "inductive Colour | red | green\n deriving DecidableEq\n"
    "theorem t : ∀ c : Colour, c = .red ∨ c = .green := by\n  intro c\n  cases c <;> simp",
    "own_structure": "structure Pair where\n  x : Nat\n  y : Nat\n"
    "instance : Add Pair := ⟨fun a b => ⟨a.x + b.x, a.y + b.y⟩⟩\n"
    "theorem t (a b : Pair) : (a + b).x = a.x + b.x := rfl",
    "namespace": "namespace A\ntheorem t : True := trivial\nend A\ntheorem t : True := A.t",
    "section_variable": "section\nvariable (p : Prop) (h : p)\ninclude h\ntheorem t : p ∧ p := ⟨h, h⟩\nend",
    "choice": "theorem t (α : Type) (r : α → α → Prop) (h : ∀ x, ∃ y, r x y) : ∃ f : α → α, ∀ x, r x (f x) :=\n"
    "  ⟨fun x => Classical.choose (h x), fun x => Classical.choose_spec (h x)⟩",
    "import_init": "import Init\n\ntheorem t : 1 + 1 = 2 := rfl",
    "dvd": "theorem t (a b c : Nat) (h : a ∣ b) (k : a ∣ c) : a ∣ b + c := Nat.dvd_add h k",
    "max": "theorem t (a b : Nat) : a ≤ max a b ∧ min a b ≤ b := ⟨Nat.le_max_left a b, Nat.min_le_right a b⟩",
    "mod": "theorem t : 17 % 5 + 17 / 5 * 5 = 17 := by decide",
    "list": "theorem t (xs : List Nat) : xs.reverse.reverse = xs := by simp",
    "comments": "/- a /- nested -/ comment -/\ntheorem t : True := by -- then\n  trivial",
}


@pytest.mark.parametrize("name", TRUE)
def test_true_theorem_is_proved(check, name):
    result = check(TRUE[name])
    assert result.verdict is Verdict.PROVED, result


@pytest.mark.parametrize(
    "tactic",
    ["omega", "linarith", "ring", "norm_num", "tauto", "aesop", "nlinarith", "positivity", "field_simp", "polyrith"],
)
def test_no_stand_in_under_a_name_that_is_not_offered(check, tactic):
    result = check(f"theorem t (a b : Nat) : a + b = b + a := by\n  {tactic}")
    assert result.verdict is Verdict.LEAN_ERROR
    assert result.messages[0].line == 2
    assert "unknown tactic" in result.messages[0].text


def test_error_has_position_and_goal(check):
    result = check("theorem t (p q : Prop) (hp : p) : p ∧ q := by\n  constructor\n  · exact hp\n  · assumption")
    (message,) = result.messages
    assert result.verdict is Verdict.LEAN_ERROR
    assert (message.severity, message.line, message.column) == ("error", 4, 4)
    assert (message.end_line, message.end_column) == (4, 14)
    assert "hp : p" in message.text and "⊢ q" in message.text


def test_unsolved_goals_are_shown(check):
    result = check(
        "import Init\n\ntheorem t (a b : Nat) : a + b = b + a := by\n  induction a with\n  | zero => simp\n"
        "  | succ n ih => skip"
    )
    assert result.messages[0].line == 6
    assert "unsolved goals" in result.messages[0].text and "ih : n + b = b + n" in result.messages[0].text


def test_columns_count_code_points(check):
    text = "theorem t (α β : Prop) : α ∧ β → β := «no such»"
    result = check(text)
    assert (result.messages[0].line, result.messages[0].column) == (1, text.index("«"))
    assert result.verdict is Verdict.LEAN_ERROR


def test_import_of_mathlib_names_the_other_verifier(check):
    result = check("-- note\nimport Mathlib\n\ntheorem t : True := trivial")
    assert result.verdict is Verdict.LEAN_ERROR
    assert result.messages[0].line == 2
    assert "verifier=kimina" in result.messages[0].text


def test_axioms_are_reported(check):
    assert check("theorem t : 1 = 1 := rfl").axioms == ()
    assert set(check("theorem t (p : Prop) : p ∨ ¬p := Classical.em p").axioms) == {
        "propext",
        "Classical.choice",
        "Quot.sound",
    }


def test_quoted_and_dotted_names_are_found(check):
    assert check("theorem A.«my theorem» : True := trivial", "A.«my theorem»").verdict is Verdict.PROVED
    assert check("namespace A.B\ntheorem c : True := trivial", "A.B.c").verdict is Verdict.PROVED
