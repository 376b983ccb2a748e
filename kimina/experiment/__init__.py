"""Experiments: composed configuration, stages, artifacts, and the command line."""
