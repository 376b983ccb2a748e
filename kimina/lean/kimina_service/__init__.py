"""How batches of proofs reach Kimina Lean servers and come back: wire, health of each server, dispatch, Lean version."""
