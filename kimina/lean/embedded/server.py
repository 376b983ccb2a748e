"""The fork server: imports the core library once and checks each text in a forked child of its own.

Run as ``python -S -m kimina.lean.embedded.server LIBRARY FOLDER MODULE HEADER``. One JSON object a line on standard
input is one check; one JSON object a line on standard output answers it, in order. The process loads nothing beyond
Lean and the standard library, and ends when its standard input closes, so it can't outlive its owner.
"""

import gc
import json
import os
import select
import sys
from dataclasses import asdict

from kimina.lean.embedded.child import Limits, run_in_child
from kimina.lean.embedded.elaborator import Elaborator
from kimina.lean.embedded.objects import LeanError


def main(library: str, folder: str, module: str, header: str) -> None:
    """Serve until standard input closes."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    try:
        elaborator = Elaborator(library, folder, module, header)
    except (LeanError, OSError, AttributeError) as error:
        # No such library, a function that it lacks (AttributeError), or an objection of Lean's.
        _answer(answers, {"failed": f"{type(error).__name__}: {error}"})
        return
    requests = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    # Collecting garbage in a child would copy every page that it shares with this process.
    gc.freeze()
    gc.disable()
    _answer(answers, {"ready": os.getpid()})
    for line in requests:
        _answer(answers, _check(elaborator, json.loads(line), requests.fileno()))


def _answer(answers, value: dict) -> None:
    answers.write(json.dumps(value) + "\n")
    answers.flush()


def _check(elaborator: Elaborator, request: dict, owner: int) -> dict:
    def elaborate() -> bytes:
        elaborator.enter_thread()
        return json.dumps(asdict(elaborator.elaborate(request["text"], request["theorem"]))).encode("ascii")

    limits = Limits(request["cpu_s"], request["wall_s"], request["memory_mb"])
    # The owner sends one request at a time: whatever arrives before the answer can only be the end of the stream.
    outcome = run_in_child(elaborate, limits, (owner, select.POLLIN))
    return asdict(outcome) | {"output": outcome.output.decode("utf-8", "replace")}


if __name__ == "__main__":
    main(*sys.argv[1:])
