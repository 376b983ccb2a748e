"""Prompt sets: recipes, difficulty, decontamination and the nano task."""
