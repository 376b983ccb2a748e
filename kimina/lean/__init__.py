"""Lean 4: source text, statements, verdicts, and the verifiers that reach them."""
