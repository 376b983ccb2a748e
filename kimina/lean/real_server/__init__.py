"""The Kimina Lean Server from PyPI over the embedded Lean: ``make lean-server``, and what the tests talk to.

``package`` installs the server in a virtual environment of its own (its FastAPI is older than what this project may
use), ``launch`` is what runs there, ``server`` starts and stops it as a context manager. The server drives Lean through
``python -m kimina.lean.repl``: the whole chain of a production set-up, with the core library in Mathlib's place.
"""
