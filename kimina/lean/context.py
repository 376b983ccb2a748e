"""What stands around a theorem and can change what it states: variables, opened namespaces, earlier names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise

from kimina.lean.source import Command, LeanSource, Scope, command_tokens, depth_behind
from kimina.lean.tokenizer import Token, TokenKind, name_parts
from kimina.lean.words import DECLARATIONS, HYPOTHESES, OPENS

# Signs behind which names are bound, and what ends their binders.
_QUANTIFIERS = frozenset({"∀", "∃", "∃!", "λ", "fun", "∑", "∏", "∑'", "∏'", "⋃", "⋂", "⨆", "⨅", "∫", "Σ", "Π"})
_BINDERS_END = frozenset({",", "=>", "↦", "∈", ":", "|", "//", "<", ">", "≤", "≥", "≠", ")", "}", "⦄"})
_BINDER_BRACKETS = frozenset("({⦃")
# What follows a namespace that is opened in part.
PARTIAL = ("(", "hiding", "renaming")
# Commands whose parts are declarations too: constructors, fields.
_WITH_PARTS = frozenset({"structure", "inductive", "class", "alias"})
_BEFORE_PARTS = frozenset({"where", "|", ":=", "(", "{", "[", "⟨", "::", ","})
_OF_INTEREST = HYPOTHESES | OPENS
# No honest proof nests namespaces deeper; what does is refused rather than searched.
_DEEPEST_NAMESPACE = 64


@dataclass(frozen=True)
class Context:
    """The context of a theorem.

    ``hypotheses`` are the tokens of each command that adds hypotheses to it, in order; ``opened`` the namespaces that
    are open where it stands.
    """

    hypotheses: tuple[tuple[str, ...], ...]
    opened: frozenset[str]


def context_of(source: LeanSource, theorem: Command) -> Context:
    """Collect what the commands before a theorem, in scopes still open there, mean for it.

    A command that ends in ``in`` holds for the next command only.
    """
    around: set[Scope | None] = {None, *(theorem.scope.outward() if theorem.scope else ())}
    hypotheses: list[tuple[str, ...]] = []
    opened: set[str] = set()
    once_hypotheses: list[tuple[str, ...]] = []
    once_opened: set[str] = set()
    for command in source.commands:
        if command.start >= theorem.start:
            break
        if command.word not in _OF_INTEREST:
            once_hypotheses, once_opened = [], set()
            continue
        if command.depth or command.scope not in around:
            continue
        tokens = [token.text for token in command_tokens(source, command)]
        ending = _ending_in(tokens)
        if ending is not None and tokens[ending + 1 :]:
            continue  # it holds for a command such as #check, and not for the theorem
        once = ending is not None
        if command.word in HYPOTHESES:
            (once_hypotheses if once else hypotheses).append(tuple(tokens))
        else:
            (once_opened if once else opened).update(_opened_by(tokens))
    return Context((*hypotheses, *once_hypotheses), frozenset(opened | once_opened))


def _ending_in(tokens: list[str]) -> int | None:
    """Where the ``in`` stands that makes a command hold for the next one only; None where there is none.

    It is the command's last token, or a command with ``#`` follows. An ``in`` elsewhere belongs to a term.
    """
    if tokens[-1] == "in":
        return len(tokens) - 1
    depth = 0
    for index, text in enumerate(tokens):
        depth += (text in ("(", "[", "{", "⟨")) - (text in (")", "]", "}", "⟩"))
        if text == "in" and depth == 0:
            return index if tokens[index + 1] == "#" else None
    return None


def _opened_by(tokens: list[str]) -> Iterator[str]:
    """The namespaces that an ``open`` command with these tokens opens; one that is opened in part stands with that part.

    ``open X hiding v`` and ``open X (v)`` are other than ``open X``: names mean something else behind them.
    """
    tokens = tokens[:-1] if tokens[-1] == "in" else tokens
    for index, text in enumerate(tokens[1:], start=1):
        if tokens[index + 1 : index + 2] and tokens[index + 1] in PARTIAL:
            yield " ".join(tokens[index:])
            return
        if text != "scoped":
            yield ".".join(name_parts(text))


def free_names(signature: list[Token]) -> frozenset[str]:
    """The names of a signature that nothing in it binds before they first occur.

    ``signature`` begins with the declaration's word and name, which are not counted. Bound are the names of binders
    ``(a b : T)`` before the signature's colon and behind a quantifier, and the bare names behind one. Fields behind a
    dot are no names.
    """
    free: set[str] = set()
    bound: set[str] = set()
    depth = 0
    before_colon = True  # in front of the signature's own colon
    quantifier_depth: int | None = None  # the depth of a quantifier whose binders are not over
    binding = False
    previous = ""
    for index, token in enumerate(signature[2:], start=2):
        if token.text in _QUANTIFIERS:
            quantifier_depth, binding = depth, True
        elif token.kind is TokenKind.NAME:
            head = token.text.partition(".")[0]
            if binding:
                bound.add(head)
            elif previous != "." and head not in bound:
                free.add(token.text)
        elif token.text in _BINDER_BRACKETS:
            if depth == quantifier_depth:
                binding = _sign_behind_names(signature, index + 1) in (":", ")", "}", "⦄", "|", "//", "∈")
            else:
                binders = (before_colon and depth == 0) or token.text == "{"
                binding = binders and _sign_behind_names(signature, index + 1) in (":", "|", "//", "∈")
        elif token.text in _BINDERS_END:
            binding = False
            if depth == quantifier_depth:
                quantifier_depth = None
            elif depth == 0 and token.text == ":":
                before_colon = False
        depth = depth_behind(token, depth)
        previous = token.text
    return frozenset(free)


def _sign_behind_names(tokens: list[Token], index: int) -> str:
    """The first token from ``index`` on that is no name, or an empty text."""
    while index < len(tokens) and tokens[index].kind is TokenKind.NAME:
        index += 1
    return tokens[index].text if index < len(tokens) else ""


def adds_nothing(hypothesis: tuple[str, ...], mentioned: frozenset[str]) -> bool:
    """Whether a command that adds hypotheses adds none to a theorem that mentions these free names.

    Lean adds a variable when the theorem mentions it or ``include`` asks for it, and an instance argument in any case.
    """
    word, *rest = hypothesis
    if word != "variable" or "[" in rest:
        return False
    heads = {name.partition(".")[0] for name in mentioned}
    in_binder = False
    for text in rest:
        if text in _BINDER_BRACKETS:
            in_binder = True
        elif text == ":":
            in_binder = False
        elif in_binder and text in heads:
            return False
    return True


def shadowed_name(
    source: LeanSource,
    theorem: Command,
    opened: frozenset[str],
    mentioned: frozenset[str],
    kept: frozenset[str],
    defining: frozenset[str] = frozenset(),
) -> str | None:
    """A free name of the theorem that a declaration before it may give another meaning, or None.

    A declaration does so when it can be seen under that name: at the root, in a namespace around the theorem, or in
    an opened one. ``kept`` are the full names of declarations that belong to the statement, ``defining`` the names that
    those mention: of these no other declaration may be, wherever it stands. Constructors, fields and what stands behind
    ``where`` are declared too, under names that only Lean knows in full; their last part decides.
    """
    last_parts = _last_parts(mentioned, defining)
    # A name with dots opens its own namespace too.
    has_where = "where" in source.text
    namespace = (source.full_name(theorem) or "").rpartition(".")[0]
    for command in source.commands:
        if command.start >= theorem.start:
            break
        written = source.written_name(command) if command.word in DECLARATIONS else None
        if command.word in DECLARATIONS and (part := _declared_part(source, command, last_parts, kept, has_where)):
            return part
        if written is None or written.rpartition(".")[2] not in last_parts:
            continue
        outer = list(islice(command.namespace_parts(), _DEEPEST_NAMESPACE + 1))
        if len(outer) > _DEEPEST_NAMESPACE:
            return written
        full_name = source.full_name(command)
        for name in defining if full_name not in kept else ():
            if full_name == name or full_name.endswith(f".{name}"):
                return name
        for name in mentioned if full_name not in kept else ():
            if full_name == name or full_name.endswith(f".{name}"):
                prefix = full_name.removesuffix(name).rstrip(".")
                if not prefix or prefix in opened or f"{namespace}.".startswith(f"{prefix}."):
                    return name
    return None


@lru_cache(maxsize=4096)
def _last_parts(mentioned: frozenset[str], defining: frozenset[str]) -> Mapping[str, str]:
    """Names by their last part. They are those of a statement, to which many proofs come."""
    return {name.rpartition(".")[2]: name for name in mentioned | defining}


def _declared_part(
    source: LeanSource, command: Command, last_parts: Mapping[str, str], kept: frozenset[str], has_where: bool
) -> str | None:
    """A part of a declaration (constructor, field, ``where``) with one of these last parts, or None."""
    text = source.text
    if command.word not in _WITH_PARTS and not has_where:
        return None
    tokens = list(command_tokens(source, command))
    if command.word not in _WITH_PARTS:
        places = [index for index, token in enumerate(tokens) if token.text == "where"]
        tokens = tokens[places[0] :] if places else []
    for before, token in pairwise(tokens):
        first_on_line = "\n" in text[before.start + len(before.text) : token.start]
        declares = first_on_line or before.text in _BEFORE_PARTS
        if declares and token.kind is TokenKind.NAME and (name := last_parts.get(token.text.rpartition(".")[2])):
            belongs = source.written_name(command) is not None and source.full_name(command) in kept
            return None if belongs else name
    return None
