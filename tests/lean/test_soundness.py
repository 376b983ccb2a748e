"""What must never be proved: false statements, holes, and attempts to talk Lean or its judge into accepting them."""

import json
import subprocess

import pytest

from kimina.lean.embedded.build import MODULE, ensure_library, server_environment, server_python
from kimina.lean.embedded.installation import find_installation
from kimina.lean.embedded.reply import judge_reply
from kimina.lean.embedded.worker import Worker
from kimina.lean.verdict import CheckRequest, Verdict

FALSE = "theorem t : False := by\n  "

REFUSED = {
    # holes
    "sorry": (FALSE + "sorry", Verdict.SORRY),
    "sorry_term": ("theorem t : False := sorry", Verdict.SORRY),
    "admit": (FALSE + "admit", Verdict.SORRY),
    "sorryAx": ("theorem t : False := sorryAx _", Verdict.SORRY),
    "sorryAx_synthetic": ("theorem t : False := @sorryAx False true", Verdict.SORRY),
    "sorry_in_lemma": ("theorem h : False := sorry\ntheorem t : False := h", Verdict.SORRY),
    "sorry_without_warning": ("set_option warn.sorry false\ntheorem t : False := sorry", Verdict.SORRY),
    "any_goals_sorry": (FALSE + "any_goals sorry", Verdict.SORRY),
    "sorry_behind_repeat": (FALSE + "repeat sorry", Verdict.SORRY),
    "try_nothing": (FALSE + "try rfl", Verdict.LEAN_ERROR),
    "skip": (FALSE + "skip", Verdict.LEAN_ERROR),
    "stop": (FALSE + "stop\n  trivial", Verdict.LEAN_ERROR),
    "empty_by": ("theorem t : False := by", Verdict.LEAN_ERROR),
    "no_body": ("theorem t : False :=", Verdict.LEAN_ERROR),
    "nothing": ("", Verdict.LEAN_ERROR),
    "other_name": ("theorem u : True := trivial", Verdict.LEAN_ERROR),
    # axioms and declarations without proof
    "axiom": ("axiom cheat : False\ntheorem t : False := cheat", Verdict.AXIOM_VIOLATION),
    "axiom_itself": ("axiom t : False", Verdict.AXIOM_VIOLATION),
    "axiom_schema": ("axiom any {p : Prop} : p\ntheorem t : False := any", Verdict.AXIOM_VIOLATION),
    "axiom_in_namespace": (
        "namespace Classical\naxiom choice2 : False\nend Classical\ntheorem t : False := Classical.choice2",
        Verdict.AXIOM_VIOLATION,
    ),
    "axiom_quoted": ("axiom «propext » : False\ntheorem t : False := «propext »", Verdict.AXIOM_VIOLATION),
    "class_axiom": (
        "@[instance] axiom i : Decidable False\n@[simp] axiom j : False = True\ntheorem t : False := by simp",
        Verdict.AXIOM_VIOLATION,
    ),
    "redeclared_axiom": ("axiom propext : False\ntheorem t : False := propext", Verdict.LEAN_ERROR),
    "trust_the_compiler": ("theorem t : Lean.reduceBool true = Lean.reduceBool true := rfl", Verdict.AXIOM_VIOLATION),
    "of_reduce_bool": (
        "theorem t (h : Lean.reduceBool false = true) : false = true := Lean.ofReduceBool false true h",
        Verdict.AXIOM_VIOLATION,
    ),
    "opaque": ("opaque t : False", Verdict.LEAN_ERROR),
    "partial": ("partial def t : False := t", Verdict.LEAN_ERROR),
    "unsafe": ("unsafe def t : False := t", Verdict.LEAN_ERROR),
    "unsafe_cast": ("unsafe def u : False := lcProof\ntheorem t : False := u", Verdict.LEAN_ERROR),
    "proof_by_itself": ("theorem t : False := t", Verdict.LEAN_ERROR),
    "mutual_proofs": ("mutual\ntheorem t : False := u\ntheorem u : False := t\nend", Verdict.LEAN_ERROR),
    "compiler_axiom": ("theorem t : False := lcProof", Verdict.LEAN_ERROR),
    # false statements, by each tactic that evaluates
    "decide_false": ("theorem t : 2 + 2 = 5 := by decide", Verdict.LEAN_ERROR),
    "rfl_false": ("theorem t : 2 + 2 = 5 := rfl", Verdict.LEAN_ERROR),
    "simp_false": ("theorem t (n : Nat) : n + 1 = n := by simp", Verdict.LEAN_ERROR),
    "native_decide": ("theorem t : 2 + 2 = 4 := by native_decide", Verdict.LEAN_ERROR),
    "decide_native": ("theorem t : 2 + 2 = 4 := by decide +native", Verdict.LEAN_ERROR),
    "decide_kernel_false": ("theorem t : 2 + 2 = 5 := by decide +kernel", Verdict.LEAN_ERROR),
    "implication": ("theorem t (p q : Prop) (h : p → q) : q → p := by\n  intro x\n  exact h x", Verdict.LEAN_ERROR),
    "exists": ("theorem t : ∃ n : Nat, n < n := by\n  exists 3", Verdict.LEAN_ERROR),
    "fake_instance": (
        "instance (priority := high) : Decidable (2 + 2 = 5) := isTrue rfl\ntheorem t : 2 + 2 = 5 := by decide",
        Verdict.LEAN_ERROR,
    ),
    "lying_instance": (
        "instance (priority := high) d : Decidable False := isFalse id\ntheorem t : decide False = true := by decide",
        Verdict.LEAN_ERROR,
    ),
    "negative_inductive": ("inductive B | mk (f : B → False) : B\ntheorem t : False := by trivial", Verdict.LEAN_ERROR),
    "large_elimination": (
        "inductive P : Prop | a | b\ndef f : P → Nat\n  | .a => 0\n  | .b => 1\ntheorem t : False := by trivial",
        Verdict.LEAN_ERROR,
    ),
    "universe_inconsistency": (
        "structure U : Type where\n  α : Type\ntheorem t : False := by trivial",
        Verdict.LEAN_ERROR,
    ),
    "nontermination": ("def f (n : Nat) : Nat := f n + 1\ntheorem t : f 0 = f 0 + 1 := by rw [f]", Verdict.LEAN_ERROR),
    # meaning of names
    "unknown_type": ("theorem t (x : Real) (h : x = x) : x = x := rfl", Verdict.LEAN_ERROR),
    "auto_bound": ("theorem t : id α := h", Verdict.LEAN_ERROR),
    "auto_bound_switched_on": ("set_option autoImplicit true\ntheorem t (x : α) : False := h", Verdict.LEAN_ERROR),
    "redeclared_False": ("inductive False : Prop | intro\ntheorem t : False := .intro", Verdict.LEAN_ERROR),
    "redeclared_Nat": ("inductive Nat | zero\ntheorem t : False := by trivial", Verdict.LEAN_ERROR),
    "redeclared_Eq": ("def Eq (a b : Nat) := True\ntheorem t : 1 = 2 := trivial", Verdict.LEAN_ERROR),
    "hidden_open": ("open Nat hiding add\ntheorem t : False := by trivial", Verdict.LEAN_ERROR),
    # Lean itself
    "macro": ('macro "win" : tactic => `(tactic| trivial)\n' + FALSE + "win", Verdict.LEAN_ERROR),
    "macro_for_the_query": (
        "macro_rules | `(command| #print axioms $x) => `(command| #print \"'t' does not depend on any axioms\")\n"
        "theorem t : False := sorry",
        Verdict.LEAN_ERROR,
    ),
    "elab": ('elab "win" : tactic => pure ()\n' + FALSE + "win", Verdict.LEAN_ERROR),
    "syntax": ('syntax "win" : tactic\n' + FALSE + "win", Verdict.LEAN_ERROR),
    "notation_for_false": ('notation "⊥" => False\ntheorem t : ⊥ := by trivial', Verdict.LEAN_ERROR),
    "run_cmd": ("run_cmd pure ()\ntheorem t : False := by trivial", Verdict.LEAN_ERROR),
    "eval": ("#eval \"'t' does not depend on any axioms\"\ntheorem t : False := by trivial", Verdict.LEAN_ERROR),
    "implemented_by": (
        "def one := 1\n@[implemented_by one] def two := 2\ntheorem t : two = 1 := by decide",
        Verdict.LEAN_ERROR,
    ),
    "extern": (
        '@[extern "lean_nat_add"] def f (a b : Nat) : Nat := a * b\ntheorem t : f 2 3 = 5 := rfl',
        Verdict.LEAN_ERROR,
    ),
    "csimp": (
        "def one := 1\ndef two := 2\n@[csimp] theorem h : one = two := sorry\ntheorem t : one = 2 := by decide",
        Verdict.LEAN_ERROR,
    ),
    "init": ("initialize x : Nat ← pure 1\ntheorem t : False := by trivial", Verdict.LEAN_ERROR),
    "without_kernel": ("set_option debug.skipKernelTC true\ntheorem t : False := by trivial", Verdict.LEAN_ERROR),
    # forged reports and swallowed endings
    "printed_report": ("#print \"'t' does not depend on any axioms\"\ntheorem t : False := sorry", Verdict.SORRY),
    "report_on_another": (
        "theorem u : True := trivial\n#print axioms u\ntheorem t : False := sorry\n#print axioms u",
        Verdict.SORRY,
    ),
    "traced_report": (FALSE + "trace \"'t' does not depend on any axioms\"\n  sorry", Verdict.SORRY),
    "open_comment": ("theorem t : False := by trivial /-", Verdict.LEAN_ERROR),
    "open_comment_alone": ("theorem u : True := trivial\n/- theorem t : False := sorry", Verdict.LEAN_ERROR),
    "open_string": ('theorem u : True := trivial\n#print "theorem t : True := trivial', Verdict.LEAN_ERROR),
    "open_quoted_name": ("theorem «t : True := trivial", Verdict.LEAN_ERROR),
    "open_doc_comment": ("/-- theorem t : True := trivial", Verdict.LEAN_ERROR),
    "exit_before": ("#exit\ntheorem t : True := trivial", Verdict.LEAN_ERROR),
    "late_import": ("theorem u : True := trivial\nimport Init\ntheorem t : True := trivial", Verdict.LEAN_ERROR),
    "wrong_namespace": ("namespace X\ntheorem t : True := trivial\nend X", Verdict.LEAN_ERROR),
    "unclosed_namespace": ("namespace X\ntheorem t : True := trivial", Verdict.LEAN_ERROR),
    "closing_what_is_not_open": ("end Foo\ntheorem t : True := trivial", Verdict.LEAN_ERROR),
    "alias_from_namespace": ("namespace X\ntheorem t : True := trivial\nend X\nexport X (t)", Verdict.LEAN_ERROR),
    "private": ("private theorem t : True := trivial", Verdict.LEAN_ERROR),
    "example": ("example : True := trivial", Verdict.LEAN_ERROR),
    "error_elsewhere": ("theorem t : True := trivial\ntheorem u : False := by trivial", Verdict.LEAN_ERROR),
    "declared_twice": ("theorem t : True := trivial\ntheorem t : False := sorry", Verdict.LEAN_ERROR),
    "nul": ("theorem t : Tr\0ue := trivial", Verdict.LEAN_ERROR),
    "lone_surrogate": ("theorem t : True := trivial -- \ud800", Verdict.LEAN_ERROR),
    "control_characters": ("theorem t : \x07\x1b[0mTrue := trivial", Verdict.LEAN_ERROR),
    "only_white_space": (" \n\t\n", Verdict.LEAN_ERROR),
    "prose": ("To prove this, we use induction.", Verdict.LEAN_ERROR),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(check, name):
    code, verdict = REFUSED[name]
    result = check(code)
    assert result.verdict is verdict, result
    assert all(1 <= message.line <= code.count("\n") + 1 for message in result.messages)


# The kernel computes each of these of literals: (name, arguments, right result, wrong result).
KERNEL = [
    ("Nat.add", "12 30", "42", "43"),
    ("Nat.sub", "30 12", "18", "19"),
    ("Nat.sub", "12 30", "0", "1"),
    ("Nat.mul", "6 7", "42", "41"),
    ("Nat.div", "100 7", "14", "15"),
    ("Nat.div", "5 0", "0", "5"),
    ("Nat.mod", "100 7", "2", "3"),
    ("Nat.mod", "5 0", "5", "0"),
    ("Nat.pow", "2 10", "1024", "1023"),
    ("Nat.pow", "0 0", "1", "0"),
    ("Nat.gcd", "12 18", "6", "7"),
    ("Nat.gcd", "0 5", "5", "0"),
    ("Nat.gcd", "5 0", "5", "0"),
    ("Nat.log2", "1000", "9", "10"),
    ("Nat.log2", "0", "0", "1"),
    ("Nat.land", "12 10", "8", "9"),
    ("Nat.lor", "12 10", "14", "15"),
    ("Nat.xor", "12 10", "6", "7"),
    ("Nat.shiftLeft", "3 4", "48", "47"),
    ("Nat.shiftRight", "100 3", "12", "13"),
    ("Nat.beq", "3 3", "true", "false"),
    ("Nat.beq", "3 4", "false", "true"),
    ("Nat.ble", "3 4", "true", "false"),
    ("Nat.ble", "4 3", "false", "true"),
    ("Nat.succ", "3", "4", "5"),
    ("Nat.pred", "3", "2", "3"),
    ("Nat.pred", "0", "0", "1"),
]


@pytest.mark.parametrize(("name", "arguments", "right", "wrong"), KERNEL)
def test_kernel_functions_are_declared_and_mean_what_the_kernel_computes(check, name, arguments, right, wrong):
    assert check(f"theorem t : {name} {arguments} = {right} := rfl").verdict is Verdict.PROVED
    assert check(f"theorem t : {name} {arguments} = {right} := by decide +kernel").verdict is Verdict.PROVED
    assert check(f"theorem t : {name} {arguments} = {wrong} := rfl").verdict is Verdict.LEAN_ERROR
    assert check(f"theorem t : {name} {arguments} = {wrong} := by decide +kernel").verdict is Verdict.LEAN_ERROR
    binders = " ".join("(_ : Nat)" for _ in arguments.split())
    kind = "Bool := true" if right in ("true", "false") else "Nat := 7"
    assert check(f"def {name} {binders} : {kind}\ntheorem t : True := trivial").verdict is Verdict.LEAN_ERROR


# The definitions themselves, computed on numerals in unary, where the kernel's shortcut does not apply.
UNFOLDED = [
    ("Nat.add (s 2) (s 3)", "s 5"),
    ("Nat.sub (s 5) (s 3)", "s 2"),
    ("Nat.mul (s 2) (s 3)", "s 6"),
    ("Nat.div (s 7) (s 2)", "s 3"),
    ("Nat.div (s 3) (s 0)", "s 0"),
    ("Nat.mod (s 7) (s 4)", "s 3"),
    ("Nat.mod (s 3) (s 0)", "s 3"),
    ("Nat.pow (s 2) (s 3)", "s 8"),
    ("Nat.gcd (s 6) (s 4)", "s 2"),
    ("Nat.gcd (s 0) (s 3)", "s 3"),
    ("Nat.log2 (s 9)", "s 3"),
    ("Nat.land (s 6) (s 3)", "s 2"),
    ("Nat.lor (s 6) (s 3)", "s 7"),
    ("Nat.xor (s 6) (s 3)", "s 5"),
    ("Nat.shiftLeft (s 3) (s 1)", "s 6"),
    ("Nat.shiftRight (s 7) (s 1)", "s 3"),
]


@pytest.mark.parametrize(("term", "value"), UNFOLDED)
def test_kernel_functions_agree_with_their_definitions(check, term, value):
    # `z` is a variable that is equal to zero, so nothing here is a literal before it is replaced in the proof.
    unary = "def s (z : Nat) : Nat → Nat\n  | 0 => z\n  | n + 1 => (s z n).succ\n"
    term, value = (text.replace("s ", "s z ") for text in (term, value))
    proof = "by\n  subst h\n  decide"
    assert check(f"{unary}theorem t (z : Nat) (h : 0 = z) : {term} = {value} := {proof}").verdict is Verdict.PROVED
    assert (
        check(f"{unary}theorem t (z : Nat) (h : 0 = z) : {term} = {value} + 1 := {proof}").verdict is Verdict.LEAN_ERROR
    )


FREE_NAMES = [
    "lcm", "sqrt", "testBit", "bitwise", "blt", "bne", "div2", "double", "modCore", "powMod", "log", "clog", "size",
    "sum", "dist", "choose", "fib", "toDigits", "isPowerOfTwo", "nextPowerOfTwo", "bit", "not", "and", "or",
    "lnot", "sign",
]  # fmt: skip


@pytest.mark.parametrize("name", FREE_NAMES)
def test_no_other_function_is_computed_by_its_name(check, name):
    """A definition under a name that the library leaves free means what it says, for the kernel too."""
    code = f"def Nat.{name} (a b : Nat) : Nat := 7\ntheorem u (a b : Nat) : Nat.{name} a b = 7 := rfl\n"
    assert check(code + f"theorem t : Nat.{name} 12 10 = 7 := by decide +kernel").verdict is Verdict.PROVED


# What would make compiled code count: two equal functions of which one runs other code.
NATIVE = """def a : Bool := false
def yes : Bool := true
@[implemented_by yes] def b : Bool := false
theorem h : a = b := rfl
theorem x : Lean.reduceBool a = false := rfl
theorem y : Lean.reduceBool b = true := rfl
theorem t : False := false_ne_true (x.symm.trans ((congrArg Lean.reduceBool h).trans y))
"""
BEHIND_THE_WORD_FILTER = {
    "native": NATIVE,
    "native_kernel": NATIVE.replace("false := rfl", "false := by decide +kernel").replace(
        "true := rfl", "true := by decide +kernel"
    ),
    "native_without_axiom": NATIVE.replace("Lean.reduceBool", "Lean.reduceNat").replace("Bool", "Nat"),
    "without_kernel": "set_option debug.skipKernelTC true\n"
    "def u : Nat → False := fun n => Nat.rec (motive := fun _ => False) (by exact trivial) (fun _ h => h) n\n"
    "theorem t : False := u 0",
    "without_kernel_inductive": "set_option debug.skipKernelTC true\ninductive B | mk (f : B → False) : B\n"
    "theorem t : False := by trivial",
    "without_kernel_decide": "set_option debug.skipKernelTC true\ntheorem t : 2 + 2 = 5 := by decide +kernel",
    "without_kernel_dsimp": "set_option debug.skipKernelTC true in\ntheorem t : False := by decide",
    "async": "set_option Elab.async true\ntheorem t : False := by trivial",
    "macro_term": "@[macro Lean.Parser.Term.app] def m : Lean.Macro := fun s _ st => .ok s st\n"
    "theorem t : False := id trivial",
    "by_as_sorry": "set_option debug.byAsSorry true\ntheorem t : False := by trivial",
    "tactics_as_sorry": "set_option debug.terminalTacticsAsSorry true\ntheorem t : False := by decide",
    "extern_theorem": '@[extern "lean_io_exit"] opaque f : Nat → Nat\ntheorem t : f 0 = 1 := rfl',
}


@pytest.fixture(scope="module")
def unfiltered(library_cache):
    """Check a text without looking at its words first: Lean, kernel and confinement alone must hold."""
    installation = find_installation()
    folder = ensure_library(installation)
    worker = Worker(installation.library, folder, "set_option autoImplicit false\n", timeout_s=5.0, memory_mb=1024)

    def check_text(code: str):
        request = CheckRequest("one", code, "t")
        return judge_reply(request, worker.run(request), installation.lean_version)

    yield check_text
    worker.stop()


@pytest.mark.parametrize("name", BEHIND_THE_WORD_FILTER)
def test_refused_without_the_word_filter(unfiltered, name):
    result = unfiltered(BEHIND_THE_WORD_FILTER[name])
    assert result.verdict in (Verdict.LEAN_ERROR, Verdict.AXIOM_VIOLATION, Verdict.SORRY), result


FORGED_ENVIRONMENT = """
import ctypes, sys
from kimina.lean.embedded.elaborator import Elaborator
from kimina.lean.embedded.objects import box, field, share

word = ctypes.c_void_p
elaborator = Elaborator(*sys.argv[1:], "set_option autoImplicit false")
lean = elaborator._lean
state, _ = elaborator._run(share(elaborator._state), "theorem u : True := trivial")
constant = lean.function("l_Lean_mkConst", word, word)
name = lean.name(["t"])
head = lean.constructor(0, share(name), box(0), constant(lean.name(["False"]), box(0)))
proof = constant(lean.name(["True", "intro"]), box(0))
theorem = lean.constructor(0, head, proof, lean.list([share(name)]))
add = lean.function("lean_elab_add_decl_without_checking", word, word)
added = add(share(field(state, 0)), lean.constructor(2, theorem))
print(elaborator._kernel_objection(field(state, 0)), elaborator._kernel_objection(field(added, 0)))
"""


def test_kernel_is_asked_again_about_what_was_added_behind_its_back(library_cache):
    """A theorem `t : False` with the proof of `True`, put into the environment without a check, is found out."""
    installation = find_installation()
    folder = ensure_library(installation)
    command = [*server_python(), "-c", FORGED_ENVIRONMENT, str(installation.library), str(folder), MODULE]
    done = subprocess.run(command, env=server_environment(), capture_output=True, text=True)
    honest, _, forged = done.stdout.partition(" ")
    assert honest == "None", done
    assert "declaration type mismatch" in forged, done


def test_theorem_of_the_library_is_not_the_texts(check):
    assert check("", "Nat.add_comm").verdict is Verdict.LEAN_ERROR
    assert check("theorem Nat.add_comm : 1 = 1 := rfl", "Nat.add_comm").verdict is Verdict.LEAN_ERROR


def test_a_proof_of_another_statement_under_the_name_is_for_the_statement_check(check):
    assert check("theorem t : True := trivial").verdict is Verdict.PROVED


def test_result_is_plain_data(check):
    result = check("theorem t : False := by trivial")
    assert json.loads(json.dumps(result.verdict)) == "lean_error"
    assert result.lean_version == "4.35.0"
