"""Supervised warm start: tokenizer, model and TRL training on worked answers."""
