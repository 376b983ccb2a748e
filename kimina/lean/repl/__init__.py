"""Lean's REPL over the embedded Lean: type ``python -m kimina.lean.repl``.

The process speaks the JSON protocol of the leanprover-community REPL on standard input and output, so whatever drives
that one (a Kimina Lean Server above all) can drive Lean where no Lean is installed. Commands are JSON objects separated
by blank lines:

    {"cmd": "import Mathlib\\nopen Nat"}

    {"cmd": "theorem t : 1 + 1 = 2 := rfl", "env": 0}

    {"path": "proofs/t.lean"}

and every answer is ``{"env": n, "messages": [...], "sorries": [...], "infotree": [...]}``, empty lists left out, or
``{"message": ...}`` where there is no answer of Lean's.

What is different from the original:

- **There is no Mathlib.** ``import Init``, ``import Mathlib…`` and ``import Aesop…`` all give the embedded core library
  (logic, natural numbers, lists, and Lean's own tactics). A tactic, lemma or notation of Mathlib's is unknown here, and
  nothing stands in for it. Any other import is an error, as is everything in the environment that it should have made.
- Every command runs in a forked process of its own, which can neither read nor write anything. An environment is the
  list of texts that led to it, elaborated again before the next; so environments do not see each other, cost next to
  nothing, and a command that crashes or is killed takes nothing along. The least recently used ones are forgotten.
- ``gc`` is accepted and needs nothing done. ``allTactics`` and ``rootGoals`` are accepted, and nothing is listed.
  ``infotree`` is given for ``tactics`` and left out for its other values. There are no proof states and no pickles.
"""
