"""Finds commands with which a text would change Lean itself instead of proving something.

Lean's syntax, elaborators and compiled code can be replaced from within a file. A text that does so can print any
report it likes at any place, so no verifier that reads reports can trust the rest of it. Proofs have no need of these
commands; ``notation`` and its kin stay allowed. (Embedded Lean does not depend on this: it asks the kernel and runs
confined.)
"""

from dataclasses import dataclass

from kimina.lean.snippet import position
from kimina.lean.tokenizer import TokenKind, iter_tokens, significant

COMMANDS = frozenset(
    {"macro", "macro_rules", "elab", "elab_rules", "initialize", "builtin_initialize", "run_cmd", "run_tac", "run_elab",
     "run_meta", "by_elab", "simproc", "dsimproc", "simproc_decl", "dsimproc_decl", "unsafe", "debug.skipKernelTC"}
)  # fmt: skip
ATTRIBUTES = frozenset(
    {"extern", "implemented_by", "csimp", "init", "builtin_init", "macro", "command_elab", "term_elab", "tactic",
     "builtin_command_elab", "builtin_term_elab", "builtin_tactic", "builtin_macro", "command_parser", "term_parser",
     "tactic_parser", "app_unexpander", "delab", "simproc", "export"}
)  # fmt: skip
# Name components that only programs over Lean's own environment use.
COMPONENTS = frozenset({"Elab", "CommandElabM", "TermElabM", "TacticM", "MetaM", "CoreM", "modifyEnv", "skipKernelTC"})


@dataclass(frozen=True)
class Metaprogram:
    """The word that gives it away, with its line (from 1) and column (from 0)."""

    word: str
    line: int
    column: int


def find_metaprogramming(code: str) -> Metaprogram | None:
    """The first such command, attribute or name in live code (not in comments or strings), or ``None``."""
    depth = 0
    previous = before = ""
    for token in significant(iter_tokens(code)):
        if token.kind is TokenKind.SYMBOL:
            if token.text == "[":
                starts = previous in ("@", "attribute") and depth == 0
                depth = depth + 1 if starts or depth else 0
            elif token.text == "]" and depth:
                depth -= 1
        elif token.kind is TokenKind.NAME:
            name = token.text.replace("«", "").replace("»", "")
            first = previous in ("[", ",") or (before in ("[", ",") and previous in ("local", "scoped"))
            in_attribute = depth == 1 and first and name in ATTRIBUTES
            if in_attribute or name in COMMANDS or not COMPONENTS.isdisjoint(name.split(".")):
                return Metaprogram(name, *position(code, token.start))
        before, previous = previous, token.text
    return None
