"""The words of Lean that questions about a file turn on: commands, and constructs that a proof may be denied."""

THEOREMS = frozenset({"theorem", "lemma"})
DECLARATIONS = frozenset(
    {"theorem", "lemma", "def", "abbrev", "instance", "axiom", "example", "structure", "inductive", "class", "opaque",
     "alias"}
)  # fmt: skip
# Commands that change how text behind them is read.
GRAMMAR = frozenset(
    {"notation", "notation3", "infix", "infixl", "infixr", "prefix", "postfix", "macro", "macro_rules", "syntax",
     "elab", "elab_rules"}
)  # fmt: skip
# Commands that add hypotheses to the declarations behind them in the same scope.
HYPOTHESES = frozenset({"variable", "include", "omit"})
OPENS = frozenset({"open", "export"})
SCOPES = frozenset({"namespace", "section", "mutual"})
COMMANDS = DECLARATIONS | GRAMMAR | HYPOTHESES | OPENS | SCOPES | {"end"}

# Words that a command can begin with, modifiers included: no declared name, and the end of the command before.
COMMAND_STARTS = COMMANDS | frozenset(
    {"universe", "set_option", "attribute", "declare_syntax_cat", "initialize", "builtin_initialize", "run_cmd",
     "import", "local", "scoped", "private", "protected", "noncomputable", "partial", "unsafe", "nonrec", "public",
     "meta"}
)  # fmt: skip

# The words of each construct that is recognised by a word. All are tokens of their own: ``sorry_free`` is none.
CONSTRUCTS: dict[str, frozenset[str]] = {
    "axiom": frozenset({"axiom"}),
    "sorry": frozenset({"sorry"}),
    "sorry_ax": frozenset({"sorryAx", "_root_.sorryAx", "Lean.sorryAx"}),
    "admit": frozenset({"admit"}),
    "stop": frozenset({"stop"}),
    "native_decide": frozenset(
        {"native_decide", "Lean.ofReduceBool", "Lean.ofReduceNat", "Lean.trustCompiler", "Lean.reduceBool",
         "Lean.reduceNat", "ofReduceBool", "ofReduceNat", "trustCompiler", "reduceBool", "reduceNat"}
    ),
    "unsafe": frozenset({"unsafe"}),
    "implemented_by": frozenset({"implemented_by", "csimp"}),
    "extern": frozenset({"extern"}),
    "skip_kernel": frozenset(
        {"debug.skipKernelTC", "debug.byAsSorry", "debug.proofAsSorry", "debug.terminalTacticsAsSorry"}
    ),
    "run_cmd": frozenset({"run_cmd", "run_elab", "run_meta"}),
    "run_tac": frozenset({"run_tac", "run_conv", "by_elab"}),
    "elab": frozenset(
        {"elab", "elab_rules", "term_elab", "command_elab", "term_parser", "tactic_parser", "command_parser"}
    ),
    "macro": frozenset({"macro", "macro_rules"}),
    "syntax": frozenset({"syntax", "declare_syntax_cat"}),
    "notation": frozenset({"notation", "notation3", "binder_predicate", "unif_hint", "unification_hint"}),
    "infix": frozenset({"infix", "infixl", "infixr", "prefix", "postfix"}),
    "initialize": frozenset({"initialize", "builtin_initialize"}),
    "instance": frozenset({"instance", "default_instance"}),
    "search_tactics": frozenset(
        {"apply?", "exact?", "exact?!", "rw?", "rewrite?", "rewrites?", "simp?", "simp?!", "simp!?", "simp_all?",
         "simpa?", "dsimp?", "aesop?", "norm_num?", "decide?", "try?", "have?", "have?!", "have!?", "observe?",
         "observe?!", "propose", "propose?", "propose!", "solve_by_elim?", "hint", "show_term", "library_search",
         "suggest", "polyrith", "hammer"}
    ),
}  # fmt: skip
# Words of constructs that are recognised by more than the word, see ``kimina.lean.constructs``.
CONSTRUCT_HINTS = frozenset({"local", "native", "eval", "eval!", "exit"})

WATCHED = COMMANDS | CONSTRUCT_HINTS | frozenset().union(*CONSTRUCTS.values())
