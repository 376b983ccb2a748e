"""Reinforcement learning of Lean 4 theorem provers, declared in configuration files."""
