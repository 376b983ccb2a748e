"""What stands around a theorem and can change what it states: variables, opened namespaces, earlier names."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from kimina.lean.source import Command, LeanSource, Scope, command_tokens, depth_behind
from kimina.lean.tokenizer import Token, TokenKind, name_parts
from kimina.lean.words import DECLARATIONS, HYPOTHESES, OPENS

# Signs behind which names are bound, and what ends their binders.
_QUANTIFIERS = frozenset({"∀", "∃", "∃!", "λ", "fun", "∑", "∏", "∑'", "∏'", "⋃", "⋂", "⨆", "⨅", "∫", "Σ", "Π"})
_BINDERS_END = frozenset({",", "=>", "↦", "∈", ":", "|", "//", "<", ">", "≤", "≥", "≠", ")", "}", "⦄"})
_BINDER_BRACKETS = frozenset("({⦃")
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


_NOTHING_AROUND = Context((), frozenset())


def context_of(source: LeanSource, theorem: Command) -> Context:
    """Collect what the commands before a theorem, in scopes still open there, mean for it.

    A command that ends in ``in`` holds for the next command only.
    """
    if theorem is source.commands[0]:
        return _NOTHING_AROUND
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
        once = "in" in tokens
        if once and "#" in tokens[tokens.index("in") :]:
            continue  # it holds for a command such as #check, and not for the theorem
        if command.word in HYPOTHESES:
            (once_hypotheses if once else hypotheses).append(tuple(tokens))
        else:
            (once_opened if once else opened).update(_opened_by(tokens))
    return Context((*hypotheses, *once_hypotheses), frozenset(opened | once_opened))


def _opened_by(tokens: list[str]) -> Iterator[str]:
    """The namespaces that an ``open`` command with these tokens opens."""
    for text in tokens[1:]:
        if text in ("(", "in", "hiding", "renaming"):
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
    source: LeanSource, theorem: Command, opened: frozenset[str], mentioned: frozenset[str], kept: frozenset[str]
) -> str | None:
    """A free name of the theorem that a declaration before it may give another meaning, or None.

    A declaration does so when it can be seen under that name: at the root, in a namespace around the theorem, or in
    an opened one. ``kept`` are the full names of declarations that belong to the statement.
    """
    last_parts = _last_parts(mentioned)
    namespace: str | None = None
    for command in source.commands:
        if command.start >= theorem.start:
            break
        written = source.written_name(command) if command.word in DECLARATIONS else None
        if written is None or written.rpartition(".")[2] not in last_parts:
            continue
        outer = list(islice(command.namespace_parts(), _DEEPEST_NAMESPACE + 1))
        if len(outer) > _DEEPEST_NAMESPACE:
            return written
        full_name = source.full_name(command)
        if namespace is None:
            namespace = ".".join(reversed(list(theorem.namespace_parts())))
        for name in mentioned if full_name not in kept else ():
            if full_name == name or full_name.endswith(f".{name}"):
                prefix = full_name.removesuffix(name).rstrip(".")
                if not prefix or prefix in opened or f"{namespace}.".startswith(f"{prefix}."):
                    return name
    return None


@lru_cache(maxsize=4096)
def _last_parts(names: frozenset[str]) -> frozenset[str]:
    """The last part of each name. The names are those of a statement, to which many proofs come."""
    return frozenset(name.rpartition(".")[2] for name in names)
