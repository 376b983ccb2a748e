"""Constructs are found in live code, as whole tokens, and nowhere else."""

import pytest

from kimina.lean.constructs import CONSTRUCT_NAMES, find_constructs
from kimina.lean.source import LeanSource

EXPLOITS = {
    "axiom": ["axiom cheat : False", "@[simp] axiom\n cheat : False", 'def o := "--" axiom c : False', "1axiom c : False"],
    "local_instance": ["local instance : A := b", "local\ninstance : A := b", "local /- -/ instance : A := b",
                       "attribute [local instance] foo"],
    "sorry": ["by sorry", "exact (sorry)", "/- a /- b -/ c -/ sorry", "f sorry"],
    "sorry_ax": ["@sorryAx _ true", "_root_.sorryAx _", "«sorryAx» _ true"],
    "admit": ["admit", "constructor <;> admit"],
    "stop": ["stop\n  omega"],
    "native_decide": ["native_decide", "decide +native", "decide (config := { native := true })", "Lean.ofReduceBool a b h"],
    "unsafe": ["unsafe def f := 1"],
    "implemented_by": ["@[implemented_by g] def f := 1", "@[csimp] theorem a : f = g := h"],
    "extern": ['@[extern "c"] def f := 1'],
    "skip_kernel": ["set_option debug.skipKernelTC true", "set_option debug.«skipKernelTC» true in", "set_option debug.byAsSorry true"],
    "run_cmd": ["run_cmd Lean.logInfo m!\"\"", "run_elab x", "run_meta x"],
    "run_tac": ["run_tac do\n  return", "by_elab x"],
    "elab": ['elab "w" : tactic => do return', "elab_rules : tactic", "@[term_elab foo] def x := 1"],
    "macro": ['local macro "zz" : term => `(True)', "macro_rules | `(a) => `(b)"],
    "syntax": ['syntax "x" : term', "declare_syntax_cat c"],
    "notation": ['local notation "ℕ" => Bool', 'scoped notation "R" => N', 'notation3 "x" => y'],
    "infix": ['infixl:65 " ≤ " => f', 'prefix:max "-" => f', 'postfix:max "!" => f'],
    "initialize": ["initialize c : Nat ← pure 0"],
    "instance": ["instance : LE ℕ := ⟨f⟩", "attribute [instance] le3", "@[instance] def x := y", "scoped instance : A := b"],
    "eval": ["#eval 1", "#eval! f", "#exit"],
    "search_tactics": ["apply?", "exact?", "rw?", "· apply?", "simp?", "hint", "aesop?"],
}  # fmt: skip

HARMLESS = [
    "-- sorry", "/- axiom -/", "/-- native_decide -/ lemma", '"sorryAx"', 'r#"axiom "x""#', "sorry_free", "admitted",
    "native_decide_ok", "axiom_of_h", "local_instance_aux", "macroscopic", "elaborate", "notation_count", "decide",
    "norm_num (config := { decide := true })", "letI : Inhabited ℕ := ⟨0⟩", "infer_instance", "inferInstance",
    "Classical.choice h", "l.head?.getD 0", "l.find? p", "#print axioms foo", "#check 1", "local attribute", "x.stop",
    "set_option maxRecDepth 4000 in", "native", "eval f", "h.sorry", "«sorry»",
]  # fmt: skip


def found(text):
    return {construct for construct, _ in find_constructs(LeanSource(text))}


@pytest.mark.parametrize(("construct", "code"), [(name, code) for name, codes in EXPLOITS.items() for code in codes])
def test_found(construct, code):
    assert construct in found(code)


@pytest.mark.parametrize("code", HARMLESS)
def test_not_found(code):
    assert found(code) == set()


def test_every_construct_has_an_exploit_here():
    assert set(EXPLOITS) == CONSTRUCT_NAMES
