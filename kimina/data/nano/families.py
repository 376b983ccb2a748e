"""The twelve families of the nano task.

A family draws a theorem at a level from 1 to 5. The level is the number of decisions that its reference proof
asks for, as nearly as the family allows: which hypothesis, which side, which lemma, which direction. Hypotheses
that aren't needed stand among the others, so that every decision can go wrong.
"""

import random
from collections.abc import Callable, Sequence

from kimina.data.nano.problem import Choice, Draft, Line

LEVELS = (1, 2, 3, 4, 5)


class Hypotheses:
    """The hypotheses of a draft under construction; keys are drawn in order, types are kept distinct."""

    def __init__(self) -> None:
        self.items: list[tuple[str, str]] = []

    def add(self, type_: str) -> str:
        """Add a hypothesis and return its reference, e.g. ``$k3``."""
        self.items.append((f"k{len(self.items)}", type_))
        return f"${self.items[-1][0]}"

    def has(self, type_: str) -> bool:
        return any(type_ == existing for _, existing in self.items)

    @property
    def references(self) -> tuple[str, ...]:
        return tuple(f"${key}" for key, _ in self.items)

    def choose(self, right: str, suffix: str = "") -> Choice:
        """A decision among all hypotheses."""
        return Choice(right + suffix, tuple(r + suffix for r in self.references if r != right))


def _distract(hyps: Hypotheses, rng: random.Random, candidates: Sequence[str], count: int) -> None:
    pool = [c for c in dict.fromkeys(candidates) if not hyps.has(c)]
    rng.shuffle(pool)
    for type_ in pool[:count]:
        hyps.add(type_)


def _shuffled(rng: random.Random, letters: str) -> list[str]:
    return rng.sample(letters, len(letters))


def _bullets(lines: Sequence[Line]) -> list[Line]:
    return [("· ", *line) for line in lines]


def _prop_noise(spare: Sequence[str], used: Sequence[str]) -> list[str]:
    """Hypotheses over ``used`` and ``spare`` propositions that don't prove anything by themselves."""
    noise = [f"{s}" for s in spare[:1]] + [f"¬{s}" for s in spare[1:2]]
    noise += [f"{s} → {u}" for s in spare[1:] for u in used] + [f"{u} → {s}" for s in spare for u in used]
    return noise


def chain(rng: random.Random, level: int) -> Draft:
    """Follow implications backwards from the goal to a known fact."""
    x = _shuffled(rng, "pqrstu")
    hyps = Hypotheses()
    fact = hyps.add(x[0])
    steps = [hyps.add(f"{x[i]} → {x[i + 1]}") for i in range(level - 1)]
    _distract(hyps, rng, _prop_noise(x[level:], x[:level]), rng.choice((2, 3) if level < 3 else (1, 2)))
    lines: list[Line] = [("apply ", hyps.choose(step)) for step in reversed(steps)]
    lines.append(("exact ", hyps.choose(fact)))
    return Draft(hyps.items, x[level - 1], lines, f"Derive from what is given: {x[level - 1]}.")


def conj(rng: random.Random, level: int) -> Draft:
    """Prove a conjunction, part by part; at level 1, take one part out of a conjunction."""
    x = _shuffled(rng, "pqrstu")
    hyps = Hypotheses()
    if level == 1:
        side = rng.randrange(2)
        pair = hyps.add(f"{x[0]} ∧ {x[1]}")
        _distract(hyps, rng, _prop_noise(x[2:4], x[:2]) + [f"{x[2]} ∧ {x[3]}", f"{x[2]} ∧ {x[1 - side]}"], rng.choice((1, 2)))
        line = ("exact ", pair, Choice((".1", ".2")[side], (".2", ".1")))
        return Draft(hyps.items, x[side], [line], f"Take one part out of the conjunction: {x[side]}.")
    facts = [hyps.add(v) for v in x[:level]]
    _distract(hyps, rng, _prop_noise(x[level:], x[:level]) + [f"{x[0]} → {x[1]}", f"{x[1]} → {x[0]}"], rng.choice((1, 2)))
    parts = [("exact ", hyps.choose(fact)) for fact in rng.sample(facts, level)]
    goal = " ∧ ".join(dict(hyps.items)[part[1].right[1:]] for part in parts)
    holes = ", ".join(["?_"] * level)
    lines: list[Line] = [("constructor",) if level == 2 else (f"refine ⟨{holes}⟩",), *_bullets(parts)]
    return Draft(hyps.items, goal, lines, "Prove every part of the conjunction.")


def disj(rng: random.Random, level: int) -> Draft:
    """Pick the part of a disjunction that is known."""
    x = _shuffled(rng, "pqrstu")
    count = max(2, level)
    pick = rng.choice((0, 1)) if level == 1 else rng.choice((count - 2, count - 1))
    hyps = Hypotheses()
    fact = hyps.add(x[pick])
    spare = x[count:]
    noise = [f"¬{v}" for v in x[:count] if v != x[pick]] + [f"{v} → {w}" for v in x[:count] for w in spare] + spare[:1]
    _distract(hyps, rng, noise, rng.choice((1, 2)) + (level > 1))
    lines: list[Line] = [(Choice("right", ("left",)),) for _ in range(pick)]
    if pick < count - 1:
        lines.append((Choice("left", ("right",)),))
    lines.append(("exact ", hyps.choose(fact) if level > 1 else fact))
    return Draft(hyps.items, " ∨ ".join(x[:count]), lines, "Prove one part of the disjunction.")


def cases(rng: random.Random, level: int) -> Draft:
    """Split a disjunction and close every branch."""
    x = _shuffled(rng, "pqrstu")
    width = 3 if level >= 4 else 2
    branches, targets = x[:width], x[width : width + 2]
    hyps = Hypotheses()
    split = hyps.add(" ∨ ".join(branches))
    names = [f"h{i + 1}" for i in range(width)]
    lines: list[Line] = [(f"rcases {split} with {' | '.join(names)}",)]
    if level == 1:
        step = hyps.add(f"{branches[1]} → {branches[0]}")
        _distract(hyps, rng, _prop_noise(x[2:], branches), rng.choice((1, 2)))
        lines += [("· exact h1",), ("· exact ", hyps.choose(step), " h2")]
        return Draft(hyps.items, branches[0], lines, f"Prove in both cases: {branches[0]}.")
    sided = level in (3, 5)
    sides = [rng.randrange(2) for _ in branches] if sided else [0] * width
    if sided and len(set(sides)) == 1:
        sides[rng.randrange(width)] ^= 1
    steps = [hyps.add(f"{b} → {targets[s]}") for b, s in zip(branches, sides, strict=True)]
    spare = x[width + (2 if sided else 1) :]
    noise = [f"{b} → {c}" for b in branches for c in branches if b != c]
    noise += [f"{t} → {s}" for t in targets[:1] for s in spare] + [f"{s} → {targets[0]}" for s in spare] + [f"¬{s}" for s in spare]
    _distract(hyps, rng, noise, rng.choice((1, 2)) + (level == 2))
    for name, step, side in zip(names, steps, sides, strict=True):
        if sided:
            injection = Choice(("Or.inl", "Or.inr")[side], ("Or.inl", "Or.inr"))
            lines.append(("· exact ", injection, " (", hyps.choose(step), f" {name})"))
        else:
            lines.append(("· exact ", hyps.choose(step), f" {name}"))
    goal = " ∨ ".join(targets) if sided else targets[0]
    return Draft(hyps.items, goal, lines, "Treat every case of the disjunction.")


def neg(rng: random.Random, level: int) -> Draft:
    """Refute a proposition by following implications to a contradiction."""
    x = _shuffled(rng, "pqrstu")
    hyps = Hypotheses()
    steps = [hyps.add(f"{x[i]} → {x[i + 1]}") for i in range(level - 1)]
    refuted = hyps.add(f"¬{x[level - 1]}")
    noise = [f"¬{v}" for v in x[level:]] + [f"{u} → {v}" for v in x[level:] for u in x[:level]] + x[level:][:1]
    _distract(hyps, rng, noise, rng.choice((2, 3) if level < 3 else (1, 2)))
    lines: list[Line] = [("intro h",), ("apply ", hyps.choose(refuted))]
    lines += [("apply ", hyps.choose(step)) for step in reversed(steps)]
    lines.append(("exact h",))
    return Draft(hyps.items, f"¬{x[0]}", lines, f"Refute: {x[0]}.")


def rewrite(rng: random.Random, level: int) -> Draft:
    """Turn one side of an equation into the other with given equations."""
    x = _shuffled(rng, "abcde")
    steps = min(level, 4)
    hyps = Hypotheses()
    lines: list[Line] = []
    directed = []
    for i in range(steps):
        forward = rng.random() < 0.5
        left, right = (x[i], x[i + 1]) if forward else (x[i + 1], x[i])
        directed.append((hyps.add(f"{left} = {right}"), forward))
    if steps < 4:
        spare = x[steps + 1 :]
        _distract(hyps, rng, [f"{s} = {u}" for s in spare for u in x[:steps]] + [f"{u} = {s}" for s in spare for u in x[:steps]], rng.choice((1, 2)))
    directions = tuple(arrow + reference for reference in hyps.references for arrow in ("", "← "))
    for reference, forward in directed:
        lines.append(("rw [", Choice(("" if forward else "← ") + reference, directions), "]"))
    start, end = x[0], x[steps]
    context = rng.choice(("{}", "{} + 1", "2 * {}", "{} + {}", "{} * 3", "5 + {}", "{} * {}"))
    return Draft(hyps.items, f"{context.format(start, start)} = {context.format(end, end)}", lines, f"Rewrite to: {end}.")


_TRANS = {
    ("≤", "≤"): "Nat.le_trans",
    ("<", "<"): "Nat.lt_trans",
    ("<", "≤"): "Nat.lt_of_lt_of_le",
    ("≤", "<"): "Nat.lt_of_le_of_lt",
}


def _joined(relations: Sequence[str]) -> str:
    return "<" if "<" in relations else "≤"


def order(rng: random.Random, level: int) -> Draft:
    """Chain inequalities, with the lemma that fits their strictness."""
    x = _shuffled(rng, "abcde")
    steps = {1: 1, 2: 2, 3: 2, 4: 3, 5: 3}[level]
    relations = [rng.choice("≤<") for _ in range(steps)]
    if level == 2:
        relations = [relations[0]] * 2
    if level in (3, 5) and len(set(relations)) == 1:
        relations[rng.randrange(steps)] = "<" if relations[0] == "≤" else "≤"
    hyps = Hypotheses()
    links = [hyps.add(f"{x[i]} {relations[i]} {x[i + 1]}") for i in range(steps)]
    spare = x[steps + 1 :]
    _distract(hyps, rng, [f"{u} {r} {s}" for s in spare for u in x[:steps] for r in "≤<"] + [f"{s} {r} {x[steps]}" for s in spare for r in "≤<"], rng.choice((1, 2)) + (level < 3))
    lemmas = tuple(_TRANS.values())
    lines: list[Line] = []
    goal_relation = _joined(relations)
    if level == 1:
        weaken = relations[0] == "<" and rng.random() < 0.5
        goal_relation = "≤" if weaken else relations[0]
        lines.append(("apply ", Choice("Nat.le_of_lt", lemmas)) if weaken else ("show ", f"{x[0]} {relations[0]} {x[1]}"))
    for i in range(steps - 1):
        lemma = _TRANS[relations[i], _joined(relations[i + 1 :])]
        lines.append(("apply ", Choice(lemma, lemmas), " ", hyps.choose(links[i])))
    lines.append(("exact ", hyps.choose(links[-1])))
    return Draft(hyps.items, f"{x[0]} {goal_relation} {x[steps]}", lines, f"Compare with: {x[steps]}.")


_TRIVIAL = ("{} + 0", "0 + {}", "{} * 1", "1 * {}")


def simplify(rng: random.Random, level: int) -> Draft:
    """Simplify, with the equations that are needed."""
    x = _shuffled(rng, "abcde")
    hyps = Hypotheses()
    wrap = rng.choice(_TRIVIAL)
    other_tactics = ("rfl", "assumption", "decide")
    if level == 1:
        inner = rng.choice((x[0], f"({x[0]} + {x[1]})", f"({x[0]} * {x[1]})"))
        _distract(hyps, rng, [f"{x[2]} = {x[3]}", f"{x[2]} = {x[0]}", f"{x[0]} < {x[2]}", f"{x[2]} ≤ {x[1]}", f"{x[1]} = {x[3]}", f"{x[3]} < {x[2]}"], rng.choice((1, 2)))
        outer = rng.choice(_TRIVIAL)
        expression = outer.format("(" + wrap.format(inner) + ")") if rng.random() < 0.6 else wrap.format(inner)
        return Draft(hyps.items, f"{expression} = {inner.strip('()') if inner[0] == '(' else inner}", [(Choice("simp", other_tactics),)], "Simplify.")
    if level == 2 and rng.random() < 0.5:
        rest = rng.choice((x[1], f"{x[1]} + {x[2]}", f"{x[1]} * {x[2]}"))
        known = hyps.add(f"{wrap.format(x[0])} = {rest}")
        _distract(hyps, rng, [f"{wrap.format(x[3])} = {x[4]}", f"{wrap.format(x[3])} = {rest}", f"{x[3]} = {rest}", f"{x[3]} = {x[1]}"], rng.choice((1, 2)))
        lines: list[Line] = [("simp at ", hyps.choose(known)), ("exact ", known)]
        return Draft(hyps.items, f"{x[0]} = {rest}", lines, "Simplify what is given.")
    steps = level - 1
    # Both ends are rewritten to the variable where the equations meet, since simp uses them from left to right.
    meet = rng.randrange(1, steps + 1)
    equations = [hyps.add(f"{x[i]} = {x[i + 1]}" if i < meet else f"{x[i + 1]} = {x[i]}") for i in range(steps)]
    spare = x[steps + 1 :]
    _distract(hyps, rng, [f"{s} = {u}" for s in spare for u in x[: steps + 1]] + [f"{s} < {u}" for s in spare for u in x[: steps + 1]] + [f"{x[0]} ≤ {x[steps]}"], rng.choice((1, 2)))
    parts: list[str | Choice] = ["simp ["]
    for i, equation in enumerate(equations):
        parts += [", "] * (i > 0) + [hyps.choose(equation)]
    context = rng.choice(("{}", "{} + 2", "3 * {}"))
    goal = f"{context.format('(' + wrap.format(x[0]) + ')') if context != '{}' else wrap.format(x[0])} = {context.format(x[steps])}"
    return Draft(hyps.items, goal, [(*parts, "]")], "Simplify with the equations.")


def induction(rng: random.Random, level: int) -> Draft:
    """Prove a property of all numbers by induction."""
    f, g, r = rng.sample("PQR", 3)
    n = "a"
    hyps = Hypotheses()
    zero = hyps.add(f"{f} 0")
    step = hyps.add(f"∀ x, {f} x → {f} (x + 1)")
    bridges = []
    if level >= 4:
        bridges.append(hyps.add(f"∀ x, {f} x → {g} x"))
    if level == 5:
        bridges.append(hyps.add(f"∀ x, {g} x → {r} x"))
    noise = [f"{g} 0", f"{r} 0", f"{r} 1", f"{g} 1", f"{f} 2", f"{f} 1", f"∀ x, {g} x → {g} (x + 1)", f"∀ x, {r} x → {r} (x + 1)", f"∀ x, {r} x → {f} x", f"∀ x, {g} x → {r} x"]
    _distract(hyps, rng, noise, {1: rng.choice((1, 2)), 2: rng.choice((2, 3)), 3: rng.choice((3, 4)), 4: rng.choice((1, 2)), 5: rng.choice((1, 2))}[level])
    lines: list[Line] = [("apply ", hyps.choose(bridge)) for bridge in reversed(bridges)]
    lines += [(f"induction {n} with",), ("| zero => exact ", hyps.choose(zero)), ("| succ k ih => exact ", hyps.choose(step), " k ih")]
    goal = f"{(f, f, f, g, r)[level - 1]} {n}"
    return Draft(hyps.items, goal, lines, f"Prove by induction: {goal}.")


def function(rng: random.Random, level: int) -> Draft:
    """Evaluate nested function applications from the inside out."""
    x = _shuffled(rng, "abcde")
    steps = min(level, 4)
    symbols = [rng.choice("fg") for _ in range(steps)]
    hyps = Hypotheses()
    values = [hyps.add(f"{symbols[i]} {x[i]} = {x[i + 1]}") for i in range(steps)]
    flip = {"f": "g", "g": "f"}
    noise = [f"{flip[symbols[i]]} {x[i]} = {x[j]}" for i in range(steps) for j in range(5) if j != i + 1]
    noise += [f"{s} {x[steps]} = {x[j]}" for s in "fg" for j in range(steps)]
    noise += [f"{s} {v} = {u}" for s in "fg" for v in x[steps + 1 :] for u in x[: steps + 1]]
    _distract(hyps, rng, noise, rng.choice((1, 2)) + (level in (1, 5)))
    expression = x[0]
    for symbol in symbols:
        expression = f"{symbol} {expression}" if len(expression) == 1 else f"{symbol} ({expression})"
    lines: list[Line] = [("rw [", hyps.choose(value), "]") for value in values]
    return Draft(hyps.items, f"{expression} = {x[steps]}", lines, f"Evaluate to: {x[steps]}.")


def forall(rng: random.Random, level: int) -> Draft:
    """Use universally quantified implications at a given number."""
    x = rng.sample("PQRS", 4)
    steps = min(level - 1, 3)
    number, other = rng.sample(range(10), 2)
    hyps = Hypotheses()
    fact = hyps.add(f"{x[0]} {number}")
    rules = [hyps.add(f"∀ x, {x[i]} x → {x[i + 1]} x") for i in range(steps)]
    noise = [f"{x[0]} {other}", f"{x[1]} {other}"] + [f"∀ x, {v} x → {u} x" for v in x[steps + 1 :] for u in x[: steps + 1]]
    noise += [f"∀ x, {u} x → {v} x" for v in x[steps + 1 :] for u in x[: steps + 1]]
    _distract(hyps, rng, noise, {1: rng.choice((2, 3)), 2: 2, 3: 2, 4: 1, 5: 2}[level])
    lines: list[Line] = [("apply ", hyps.choose(rule)) for rule in reversed(rules)]
    lines.append(("exact ", hyps.choose(fact)))
    return Draft(hyps.items, f"{x[steps]} {number}", lines, f"Show for a number: {x[steps]} {number}.")


def exists(rng: random.Random, level: int) -> Draft:
    """Give a number with the wanted properties."""
    x = rng.sample("PQRS", 4)
    number, other = rng.sample(range(10), 2)
    width = {1: 1, 2: 1, 3: 2, 4: 2, 5: 3}[level]
    hyps = Hypotheses()
    facts = [hyps.add(f"{x[i]} {number}") for i in range(width)]
    rules = []
    goal_heads = list(x[:width])
    if level in (2, 4):
        rules.append(hyps.add(f"∀ x, {x[width - 1]} x → {x[width]} x"))
        goal_heads[-1] = x[width]
    noise = [f"{x[3]} {other}", f"{x[0]} {other}" if width > 1 else f"{x[2]} {other}", f"∀ x, {x[0]} x → {x[3]} x" if width < 3 else f"{x[1]} {other}"]
    _distract(hyps, rng, noise, rng.choice((1, 2)))
    holes = ", ".join(["?_"] * width)
    lines: list[Line] = [("refine ⟨", Choice(str(number), (str(other), "0", "1")), f", {holes}⟩")]
    ends: list[Line] = []
    for i, fact in enumerate(facts):
        if rules and i == width - 1:
            ends.append(("exact ", hyps.choose(rules[0]), f" {number} ", hyps.choose(fact)))
        else:
            ends.append(("exact ", hyps.choose(fact)))
    lines += _bullets(ends) if width > 1 else ends
    goal = "∃ x, " + " ∧ ".join(f"{head} x" for head in goal_heads)
    return Draft(hyps.items, goal, lines, "Find such a number.")


FAMILIES: dict[str, Callable[[random.Random, int], Draft]] = {
    "chain": chain,
    "conj": conj,
    "disj": disj,
    "cases": cases,
    "neg": neg,
    "rewrite": rewrite,
    "order": order,
    "simplify": simplify,
    "induction": induction,
    "function": function,
    "forall": forall,
    "exists": exists,
}
