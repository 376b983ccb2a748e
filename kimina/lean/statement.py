"""A data set's statement, and whether a proof answers it.

A statement is a Lean file whose last theorem is the one to prove; its proof is left out or ``sorry``. Proofs come as
whole files again. They answer the statement when that theorem is declared, live, exactly once, with the same tokens
up to the ``:=`` before its proof, in the same namespace, behind the same definitions, and under the same hypotheses.
White space and comments are free, helper declarations may stand anywhere, and the form of the proof is free. Lines
with ``import``, ``open`` and ``set_option`` are not compared, except that the statement's ``open`` may not be swapped
for another.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from kimina.errors import UserError
from kimina.lean.context import Context, adds_nothing, context_of, free_names, shadowed_name
from kimina.lean.source import Command, LeanSource, command_tokens, depth_behind
from kimina.lean.tokenizer import Token, TokenKind, comments
from kimina.lean.words import DECLARATIONS, GRAMMAR, THEOREMS

# What may follow a definition beside a command word.
_HASH_COMMANDS = frozenset({"eval", "check", "print", "reduce", "synth", "guard"})
# Commands of a statement that give its words their meaning; its other theorems do not.
_DEFINITIONS = (DECLARATIONS | GRAMMAR) - THEOREMS - {"example"}


@dataclass(frozen=True)
class Definition:
    """A definition of the statement: the tokens that must recur.

    ``name`` is the full name, None for one without a name. ``open_ended`` says that the statement leaves the body out
    (``sorry``), so that ``tokens`` end before it.
    """

    name: str | None
    tokens: tuple[str, ...]
    open_ended: bool


@dataclass(frozen=True)
class Statement:
    """The theorem that is asked, and what it stands on.

    ``name`` is its full name; ``declaration`` are the tokens from its keyword to before the ``:=`` of its proof,
    ``written`` is their text as the file has it, the ``:=`` included, and empty without one; ``free_names`` are the
    names in them that it does not bind itself, ``defining_names`` all names in the statement's definitions; ``comments``
    are the texts of all comments of the file, its docstring among them, each with single blanks.
    """

    text: str
    name: str
    declaration: tuple[str, ...]
    written: str
    free_names: frozenset[str]
    defining_names: frozenset[str]
    definitions: tuple[Definition, ...]
    context: Context
    comments: tuple[str, ...]

    @cached_property
    def kept_names(self) -> frozenset[str]:
        """The full names of its definitions."""
        return frozenset(definition.name for definition in self.definitions if definition.name)

    @staticmethod
    @lru_cache(maxsize=4096)
    def parse(text: str) -> "Statement":
        """Read a statement. Raises UserError when the text has no theorem with a name."""
        source = LeanSource(text)
        theorem = None
        for command in source.commands:
            if command.word in THEOREMS and command.depth == 0 and source.written_name(command):
                theorem = command
        if theorem is None:
            raise UserError("the statement has no theorem with a name; it must be a Lean file that states one")
        definitions = [
            command
            for command in source.commands
            if command.start < theorem.start and command.depth == 0 and command.word in _DEFINITIONS
        ]
        tokens = list(command_tokens(source, theorem))
        signature = _signature(tokens)
        proof = tokens[len(signature)].start if len(signature) < len(tokens) else theorem.start - len(":=")
        return Statement(
            text=text,
            name=source.full_name(theorem),
            declaration=tuple(token.text for token in signature),
            written=source.text[theorem.start : proof + len(":=")],
            free_names=free_names(signature),
            defining_names=frozenset(
                token.text
                for command in definitions
                for token in command_tokens(source, command)
                if token.kind is TokenKind.NAME
            ),
            definitions=tuple(_definition(source, command) for command in definitions),
            context=context_of(source, theorem),
            comments=tuple(single_spaced(text[comment.start : comment.end]) for comment in comments(text)),
        )


@dataclass(frozen=True)
class StatementMatch:
    """Whether a proof answers a statement; ``reason`` says why not, and is empty if it does."""

    matches: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.matches


_MATCH = StatementMatch(True)


def statement_matches(statement: Statement | str, code: LeanSource | str) -> StatementMatch:
    """Compare a proof with the statement that it should answer.

    Costs time linear in the length of both. Raises UserError when ``statement`` is a text without a theorem.
    """
    if isinstance(statement, str):
        statement = Statement.parse(statement)
    source = LeanSource(code) if isinstance(code, str) else code
    if doubt := source.second_reading():
        return StatementMatch(False, f"{doubt} can be read in two ways")
    name = statement.name
    named = [command for command in source.commands if command.word in DECLARATIONS and source.declares(command, name)]
    if not named:
        return StatementMatch(False, f"no declaration of {statement.name}")
    if len(named) > 1:
        return StatementMatch(False, f"{statement.name} is declared {len(named)} times")
    theorem = named[0]
    if theorem.depth:
        return StatementMatch(False, f"{statement.name} stands inside brackets")
    if not _same_declaration(statement, source, theorem):
        return StatementMatch(False, f"the statement of {statement.name} is another one")
    nothing_needed = not statement.context.hypotheses and not statement.definitions
    if nothing_needed and source.commands.begin_with(theorem):
        return _MATCH
    context = context_of(source, theorem)
    if not _same_hypotheses(statement, context):
        return StatementMatch(False, f"variables before {statement.name} change what it states")
    for definition in statement.definitions:
        if not _has_definition(source, theorem, definition):
            return StatementMatch(False, f"{definition.name or ' '.join(definition.tokens[:4])} is missing or changed")
    missing, added = statement.context.opened - context.opened, context.opened - statement.context.opened
    if missing and added:
        return StatementMatch(False, f"other namespaces are opened in place of {', '.join(sorted(missing))}")
    # Where the statement does not ask for it, a name must not be hidden or get another one.
    if partly := [name for name in added if " hiding" in name or " renaming" in name]:
        return StatementMatch(False, f"open {partly[0]} changes what names mean")
    if name := shadowed_name(
        source, theorem, context.opened, statement.free_names, statement.kept_names, statement.defining_names
    ):
        return StatementMatch(False, f"a declaration before {statement.name} redefines {name}")
    return _MATCH


def single_spaced(text: str) -> str:
    """The words of ``text`` with single blanks between them."""
    return " ".join(text.split())


def _same_hypotheses(statement: Statement, context: Context) -> bool:
    """Whether the statement's own hypotheses are all there, in order, and the others add nothing."""
    if statement.context.hypotheses == context.hypotheses:
        return True
    expected = list(statement.context.hypotheses)
    for hypothesis in context.hypotheses:
        if expected and hypothesis == expected[0]:
            expected.pop(0)
        elif not adds_nothing(hypothesis, statement.free_names):
            return False
    return not expected


def _signature(tokens: list[Token]) -> list[Token]:
    """A declaration's tokens up to its last ``:=`` outside brackets, or all when there is none."""
    depth, end = 0, len(tokens)
    for index, token in enumerate(tokens):
        if depth == 0 and token.text == ":=":
            end = index
        depth = depth_behind(token, depth)
    return tokens[:end]


def _definition(source: LeanSource, command: Command) -> Definition:
    tokens = list(command_tokens(source, command))
    # A definition that the statement leaves open is for the proof to fill in.
    open_ended = any(token.text == "sorry" for token in tokens)
    kept = _signature(tokens) if open_ended else tokens
    return Definition(source.full_name(command), tuple(token.text for token in kept), open_ended)


def _has_definition(source: LeanSource, theorem: Command, definition: Definition) -> bool:
    """Whether the definition stands before the theorem, and, when it has a name, is the only one of that name."""
    found = False
    for command in source.commands:
        if command.word not in _DEFINITIONS:
            continue
        if definition.name is None:
            if command.start > theorem.start:
                break
            candidate = command.word == definition.tokens[0] and command.depth == 0
            found = found or (candidate and _same_definition(source, command, definition))
        elif source.declares(command, definition.name):
            if found or command.depth or command.start > theorem.start:
                return False
            if not _same_definition(source, command, definition):
                return False
            found = True
    return found


def _same_definition(source: LeanSource, command: Command, definition: Definition) -> bool:
    tokens = command_tokens(source, command)
    if not _begins_with(tokens, definition.tokens):
        return False
    behind = next(tokens, None)
    if definition.open_ended:
        return behind is not None and behind.text in (":=", "|", "where")
    if behind is not None and behind.text == "#":
        behind = next(tokens, None)
        return behind is not None and behind.text in _HASH_COMMANDS
    return behind is None


def _begins_with(tokens: Iterator[Token], expected: tuple[str, ...]) -> bool:
    return all((token := next(tokens, None)) is not None and token.text == text for text in expected)


def _same_declaration(statement: Statement, source: LeanSource, theorem: Command) -> bool:
    # The same text has the same tokens, and most proofs copy it.
    if statement.written and source.text.startswith(statement.written, theorem.start):
        return True
    tokens = source.tokens_from(theorem.start)
    if not _begins_with(tokens, statement.declaration):
        return False
    behind = next(tokens, None)
    if behind is None or behind.text != "|":
        return behind is not None and behind.text == ":="
    # A proof by equations: a pattern and an arrow follow, with no := outside brackets before the arrow.
    depth = 0
    for token in tokens:
        if depth == 0 and token.text in (":=", "=>"):
            return token.text == "=>"
        depth = depth_behind(token, depth)
    return False
