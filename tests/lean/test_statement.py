"""Which proofs answer a statement."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimina.errors import UserError
from kimina.lean.statement import Statement, statement_matches

STATEMENT = """import Mathlib

open Real Nat

/-- A docstring with := by in it. -/
theorem sum_swap (a b : ℕ) (h₀ : 0 < a) : a + b = b + a := by sorry
"""
PROOF = STATEMENT.replace("sorry", "\n  omega")


def accepted(code, statement=STATEMENT):
    return bool(statement_matches(statement, code))


def test_parts_of_a_statement():
    statement = Statement.parse(STATEMENT)
    assert statement.name == "sum_swap"
    assert statement.declaration[:4] == ("theorem", "sum_swap", "(", "a")
    assert statement.declaration[-5:] == ("b", "=", "b", "+", "a")
    assert statement.context.opened == {"Real", "Nat"}
    assert statement.comments == ("/-- A docstring with := by in it. -/",)


@pytest.mark.parametrize("ending", [":= by sorry", ":= by", ":= by\n  sorry\n", ":=\n sorry", ":="])
def test_any_open_ending_of_a_statement(ending):
    statement = f"theorem t (n : ℕ := 5) : let x := n; x = n {ending}"
    assert Statement.parse(statement).declaration[-3:] == ("x", "=", "n")
    assert accepted("theorem t (n : ℕ := 5) : let x := n; x = n := rfl", statement)


def test_a_text_without_a_theorem_is_no_statement():
    with pytest.raises(UserError, match="no theorem"):
        Statement.parse("import Mathlib\n-- theorem t : True\n")


def test_the_last_theorem_is_the_one_asked():
    assert Statement.parse("lemma a : True := trivial\ntheorem b : True := by sorry").name == "b"


def test_a_statement_inside_a_namespace():
    statement = "namespace Box\ntheorem t : 1 = 1 := by sorry\nend Box"
    assert Statement.parse(statement).name == "Box.t"
    assert accepted("namespace Box\ntheorem t : 1 = 1 := rfl\nend Box", statement)
    assert not accepted("theorem t : 1 = 1 := rfl", statement)


@pytest.mark.parametrize(
    "before",
    [
        "lemma helper : 1 = 1 := rfl",
        "theorem helper : 1 = 1 := by\n  rfl",
        "def double (n : ℕ) : ℕ := n + n",
        "def h₀ : ℕ := 5",  # a name that the statement binds itself
        "namespace Draft\ntheorem sum_swap : True := trivial\nend Draft",
        "namespace A.B\nend A.B",
        "section\nvariable [Fact False]\nlemma l : True := trivial\nend",
        "variable (unused : ℕ)",
        "variable [Fact False] in\nlemma l : True := trivial",
        "namespace «a.b»\nend «a.b»",
        "set_option maxHeartbeats 400000",
        "set_option maxHeartbeats 400000 in",
        "open Finset",
        "noncomputable section",
        "@[simp]",
        "private def f := 1",
        "/- theorem sum_swap : True := trivial -/",
        '#eval "x"',
    ],
)
def test_what_may_stand_before_the_theorem(before):
    assert accepted(PROOF.replace("/-- A docstring", f"{before}\n/-- A docstring"))


@pytest.mark.parametrize(
    "code",
    [
        PROOF.replace("(a b : ℕ)", "( a   b:ℕ )"),
        PROOF.replace("a + b = b + a", "a +\n    b = -- swapped\n    b + a"),
        PROOF.replace("/-- A docstring with := by in it. -/\n", ""),
        PROOF.replace(":= by", ":=\n  by"),
        PROOF.replace(":= by \n  omega", ":=\n  Nat.add_comm a b"),
        PROOF.replace("open Real Nat\n", ""),
        PROOF + "\ntheorem extra : 1 = 1 := rfl\n",
        PROOF.replace("\n", "\r\n"),
        PROOF.replace("a + b", "a\u00a0+ b"),
    ],
)
def test_free_forms(code):
    assert accepted(code)


def test_equations_are_a_proof():
    statement = "theorem t : ∀ n : ℕ, n = n := by sorry"
    assert accepted("theorem t : ∀ n : ℕ, n = n\n  | 0 => rfl\n  | _ + 1 => rfl", statement)
    assert not accepted("theorem t : ∀ n : ℕ, n = n |f| := rfl", statement)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a + b = b + a", "a + b = a + b"),
        ("0 < a", "0 ≤ a"),
        (" (h₀ : 0 < a)", ""),
        ("(h₀ : 0 < a)", "(h₀ : 0 < a) (h₁ : False)"),
        ("h₀", "h₁"),
        ("(a b : ℕ)", "(b a : ℕ)"),
        ("(a b : ℕ)", "{a b : ℕ}"),
        ("theorem sum_swap", "theorem sum_swap'"),
        ("theorem sum_swap", "lemma sum_swap"),
        ("theorem sum_swap", "def sum_swap"),
        ("theorem sum_swap", "example"),
        ("theorem sum_swap", "theo\u200brem sum_swap"),
        ("= b + a", "= b + a ∨ True"),
        ("open Real Nat", "open Finset"),
    ],
)
def test_a_changed_statement(old, new):
    assert old in PROOF
    assert not accepted(PROOF.replace(old, new, 1))


THEOREM = "theorem sum_swap (a b : ℕ) (h₀ : 0 < a) : a + b = b + a := by omega"


@pytest.mark.parametrize(
    "code",
    [
        f"/- {THEOREM} -/\ntheorem other : True := trivial",
        f"/- /- -/ {THEOREM} -/",
        f"-- {THEOREM}",
        f'def s := "{THEOREM}"',
        f"def s := `({THEOREM})",
        f"namespace Box\n{THEOREM}\nend Box",
        f"namespace Box\n{THEOREM}\nend Box\ntheorem sum_swap : True := trivial",
        f"namespace Box\ntheorem _root_.sum_swap : True := trivial\n{THEOREM}\nend Box",
        f"{THEOREM}\ntheorem sum_swap : True := trivial",
        f"def sum_swap := 1\n{THEOREM}",
        f"{THEOREM}\n{THEOREM}",
        f"variable (h : False)\ninclude h\n{THEOREM}",
        f"variable (h : False)\ninclude h in\n{THEOREM}",
        f"variable [Fact False]\n{THEOREM}",
        f"section\nvariable [Fact False]\n{THEOREM}\nend",
        f"variable [Fact False] in\n{THEOREM}",
        f"theorem «sum_swap» : True := trivial\n{THEOREM}",
        f"namespace «Box»\n{THEOREM}\nend «Box»",
        f"namespace Box\ndef q := `(command| end Box)\n{THEOREM}\nend Box",
        "",
        "theorem",
        "namespace",
    ],
)
def test_a_statement_that_is_not_the_one_declared(code):
    assert not accepted(code, THEOREM.replace("omega", "sorry"))


DEFINED = "def f (n : ℕ) : ℕ := n + 1\nlocal notation \"ƒ\" => f\n\ntheorem t : f 0 = 1 := by sorry"


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        (DEFINED.replace("sorry", "rfl"), True),
        (DEFINED.replace("sorry", "rfl").replace("theorem", "#eval f 1\n@[simp] theorem"), True),
        (DEFINED.replace("sorry", "rfl").replace("def f", "@[simp] noncomputable def f"), True),
        (DEFINED.replace("sorry", "rfl").replace("n + 1", "1"), False),
        (DEFINED.replace("sorry", "rfl").replace("n + 1", "n + 1 * 1"), False),
        (DEFINED.replace("sorry", "rfl").replace("=> f", "=> g"), False),
        (DEFINED.replace("sorry", "rfl").replace("def f (n : ℕ) : ℕ := n + 1\n", ""), False),
        ("theorem t : f 0 = 1 := by rfl\ndef f (n : ℕ) : ℕ := n + 1\nlocal notation \"ƒ\" => f", False),
    ],
)
def test_definitions_of_the_statement_come_first_and_unchanged(code, answer):
    assert accepted(code, DEFINED) is answer


def test_a_definition_left_open_is_filled_in():
    statement = "abbrev answer : ℕ := sorry\ntheorem t : 1 + 1 = answer := by sorry"
    assert accepted("abbrev answer : ℕ := 2\ntheorem t : 1 + 1 = answer := rfl", statement)
    assert not accepted("abbrev answer : ℤ := 2\ntheorem t : 1 + 1 = answer := rfl", statement)


@pytest.mark.parametrize(
    "before",
    ["def sqrt (n : ℕ) := 2", "namespace M\ndef sqrt := 2\nend M\nopen M", "abbrev ℕ := Bool", "export Nat (sqrt)"],
)
def test_a_helper_that_redefines_a_word_of_the_statement(before):
    statement = "open NNReal\ntheorem root : sqrt (4 : ℕ) = 2 := by sorry"
    proof = "theorem root : sqrt (4 : ℕ) = 2 := by rfl"
    assert accepted(f"open NNReal\n{proof}", statement)
    assert not accepted(f"{before}\n{proof}", statement)


@given(st.text(max_size=200))
def test_any_code_gets_an_answer(code):
    assert statement_matches(STATEMENT, code).matches in (True, False)


@given(st.text(alphabet=" \n\t", min_size=1, max_size=5), st.sampled_from(["", "-- c\n", "/- := by -/"]))
def test_white_space_and_comments_are_free(blank, comment):
    between = blank + comment + blank
    assert accepted(between.join(Statement.parse(STATEMENT).declaration) + between + ":= by omega")


@pytest.mark.parametrize(
    ("opened", "answer"),
    [
        ("open NNReal", True),
        ("open NNReal Nat", True),
        ("open scoped NNReal", True),
        ("open NNReal in", True),
        ("open NNReal in\nopen Nat in\nset_option maxHeartbeats 0 in", True),
        ("open «NNReal»", True),
        ("", True),
        ("open Nat", False),
        ("open NNReal in lemma l : True := trivial\nopen Nat", False),
        ("open NNReal in #check 1\nopen Nat", False),
        ("section\nopen NNReal\nend\nopen Nat", False),
    ],
)
def test_an_opened_namespace_is_not_swapped_for_another(opened, answer):
    statement = "open NNReal\ntheorem root : sqrt 4 = 2 := by sorry"
    assert accepted(f"{opened}\ntheorem root : sqrt 4 = 2 := by rfl", statement) is answer
