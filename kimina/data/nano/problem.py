"""A nano problem: its statement, its proof with the places where a prover must choose, and its normal form."""

import itertools
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Variables by Lean type, in binder order. A statement uses the first n letters of a kind, in random roles,
# so that the binder group depends on the number of variables alone.
VARIABLES: dict[str, tuple[str, ...]] = {
    "Prop": tuple("pqrstu"),
    "Nat → Prop": tuple("PQRS"),
    "Nat → Nat": tuple("fg"),
    "Nat": tuple("abcde"),
}
KIND_OF = {letter: kind for kind, letters in VARIABLES.items() for letter in letters}
_VARIABLE = re.compile(r"(?<![\w$.])[pqrstuPQRSfgabcde](?!\w)")
_HYPOTHESIS = re.compile(r"\$(\w+)")


@dataclass(frozen=True)
class Choice:
    """A decision in a proof: the right text and the plausible wrong ones."""

    right: str
    wrong: tuple[str, ...]


Line = tuple[str | Choice, ...]


@dataclass(frozen=True)
class Draft:
    """What a family draws: hypotheses as (key, type), a goal, proof lines; ``$key`` stands for a hypothesis."""

    hypotheses: Sequence[tuple[str, str]]
    goal: str
    lines: Sequence[Line]
    informal: str


@dataclass(frozen=True)
class Problem:
    """A theorem of the nano task.

    ``statement`` ends in ``:= by``; ``lines`` is the reference proof, each line without its indentation by two.
    ``normal_form`` is equal for two problems that differ only in names and in the order of hypotheses.
    """

    family: str
    level: int
    name: str
    statement: str
    informal: str
    lines: tuple[Line, ...]
    normal_form: str

    @property
    def choices(self) -> int:
        """The number of decisions in the reference proof."""
        return sum(isinstance(part, Choice) for line in self.lines for part in line)

    def proof(self, rng: random.Random | None = None, wrong_choice_rate: float = 0.0) -> list[str]:
        """Return the proof's lines; each decision goes wrong independently with ``wrong_choice_rate``."""
        rendered = []
        for line in self.lines:
            text = ""
            for part in line:
                if isinstance(part, Choice):
                    wrong = rng is not None and part.wrong and rng.random() < wrong_choice_rate
                    text += rng.choice(part.wrong) if wrong else part.right
                else:
                    text += part
            rendered.append(text)
        return rendered

    def lean(self, proof: Sequence[str]) -> str:
        """Return the statement followed by ``proof``, as one Lean text."""
        return "\n".join([self.statement, *(f"  {line}" for line in proof)])


def hypothesis_name(type_: str) -> str:
    """Return a name that tells the type, as is the habit in Lean: hp : p, hpq : p → q, hnp : ¬p, hP3 : P 3."""
    bare = type_.replace("∀ x, ", "").replace("(x + 1)", "").replace(" x", "")
    letters = "".join(re.findall(r"(?<!\w)[a-zA-Z](?!\w)|(?<=[PQRS] )\d", bare))
    return "h" + ("n" if "¬" in type_ else "") + letters


def realise(draft: Draft, family: str, level: int, rng: random.Random) -> Problem:
    """Name the variables and hypotheses of ``draft``, shuffle the hypotheses, and return the problem."""
    text = " ".join([type_ for _, type_ in draft.hypotheses] + [draft.goal])
    renaming: dict[str, str] = {}
    binders = []
    for kind, letters in VARIABLES.items():
        used = [v for v in dict.fromkeys(_VARIABLE.findall(text)) if KIND_OF[v] == kind]
        if used:
            shuffled = list(letters[: len(used)])
            rng.shuffle(shuffled)
            renaming.update(zip(used, shuffled, strict=True))
            binders.append(f"({' '.join(letters[: len(used)])} : {kind})")

    def rename(source: str) -> str:
        return _VARIABLE.sub(lambda match: renaming.get(match[0], match[0]), source)

    hypotheses = [(key, rename(type_)) for key, type_ in draft.hypotheses]
    rng.shuffle(hypotheses)
    names: dict[str, str] = {}
    for key, type_ in hypotheses:
        name = hypothesis_name(type_)
        while name in names.values():
            name += "'"
        names[key] = name

    def finish(source: str) -> str:
        return _HYPOTHESIS.sub(lambda match: names[match[1]], rename(source))

    lines = []
    for line in draft.lines:
        parts: list[str | Choice] = []
        for part in line:
            if isinstance(part, Choice):
                right = finish(part.right)
                wrong = tuple(dict.fromkeys(w for w in map(finish, part.wrong) if w != right))
                parts.append(Choice(right, wrong) if wrong else right)
            else:
                parts.append(finish(part))
        lines.append(tuple(parts))
    goal = rename(draft.goal)
    binders += [f"({names[key]} : {type_})" for key, type_ in hypotheses]
    return Problem(
        family=family,
        level=level,
        name=f"nano_{family}",
        statement=f"theorem nano_{family} {' '.join(binders)} : {goal} := by",
        informal=rename(draft.informal),
        lines=tuple(lines),
        normal_form=normal_form([type_ for _, type_ in hypotheses], goal),
    )


def normal_form(hypotheses: Sequence[str], goal: str) -> str:
    """Return a text that is equal for exactly those statements that agree up to names and order of hypotheses.

    Variables of the goal are numbered by first use. The others are told apart by refining colours (the multiset
    of the hypotheses in which a variable occurs, seen with the colours so far); what remains tied is resolved
    by taking the least text over all orders of the tied variables.
    """
    in_goal = list(dict.fromkeys(_VARIABLE.findall(goal)))
    others = sorted(set(_VARIABLE.findall(" ".join(hypotheses))) - set(in_goal))
    colours: dict[str, str] = {v: f"<{KIND_OF[v]}{i}>" for i, v in enumerate(in_goal)}
    colours |= {v: f"<{KIND_OF[v]}>" for v in others}
    for _ in range(3):
        colours |= {v: _refined_colour(v, hypotheses, colours) for v in others}
    tied = [list(group) for _, group in itertools.groupby(sorted(others, key=colours.__getitem__), colours.get)]
    return min(
        _numbered(hypotheses, goal, in_goal + list(itertools.chain.from_iterable(order)))
        for order in itertools.product(*(itertools.permutations(group) for group in tied))
    )


def _refined_colour(variable: str, hypotheses: Sequence[str], colours: Mapping[str, str]) -> str:
    seen = sorted(
        _VARIABLE.sub(lambda match: "<*>" if match[0] == variable else colours[match[0]], hypothesis)
        for hypothesis in hypotheses
        if variable in _VARIABLE.findall(hypothesis)
    )
    return f"<{KIND_OF[variable]}:{hash_text('|'.join(seen))}>"


def hash_text(text: str) -> str:
    """Return a short stable digest of ``text``."""
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _numbered(hypotheses: Sequence[str], goal: str, order: Sequence[str]) -> str:
    number = {v: f"{KIND_OF[v][0]}{KIND_OF[v][-1]}{i}" for i, v in enumerate(order)}

    def sub(source: str) -> str:
        return _VARIABLE.sub(lambda match: number[match[0]], source)

    return " , ".join(sorted(map(sub, hypotheses))) + " ⊢ " + sub(goal)
