"""The REPL's process: Lean loaded once, every command in a forked child."""

import gc
import json
import os
import signal
from collections.abc import Iterable
from typing import BinaryIO

from kimina.lean.embedded.child import Limits, Outcome, exceeded_limit, run_in_child
from kimina.lean.embedded.elaborator import Elaborator
from kimina.lean.repl.environments import Environment, Environments
from kimina.lean.repl.protocol import (
    Command,
    ProtocolError,
    convert_message,
    make_message,
    make_reply,
    read_blocks,
    read_command,
    write_reply,
)
from kimina.lean.snippet import split_imports

ACCEPTED_MODULES = ("Init", "Mathlib", "Aesop")
"""Modules, with what lies below them, that an import gives the embedded core library for."""
_TREE_LIMIT = 4 * 1024 * 1024
"""Bytes; a longer tree is left out."""


def serve(library: str, folder: str, module: str) -> None:
    """Answer the commands on standard input until it closes.

    ``library`` is Lean's shared library, ``folder`` holds the compiled core library ``module``. Raises ``LeanError``, ``OSError``
    or ``AttributeError`` (a function that the library lacks) when Lean cannot be loaded.
    """
    # As with any other filter: Ctrl-C and a reader that goes away end the process without a word.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # The protocol gets descriptors of its own: whatever else prints, prints to nowhere.
    commands, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    repl = Repl(Elaborator(library, folder, module, ""), owner=replies.fileno())
    # Collecting garbage in a child would copy every page that it shares with this process.
    gc.freeze()
    gc.disable()
    try:
        answer_all(repl, commands, replies)
    except BrokenPipeError:
        # Python would try to write the rest once more at its end.
        os._exit(0)


def answer_all(repl: "Repl", commands: Iterable[bytes], replies: BinaryIO) -> None:
    """Write the reply to each command in ``commands`` (lines) as soon as it is known."""
    for block in read_blocks(commands):
        try:
            reply = repl.run(read_command(block))
        except ProtocolError as error:
            reply = {"message": str(error)}
        replies.write(write_reply(reply))
        replies.flush()


class Repl:
    """Runs commands over a loaded Lean. ``owner`` is the descriptor that the replies go to: when its reader goes away,
    the running command and this process end."""

    def __init__(self, elaborator: Elaborator, owner: int) -> None:
        self._elaborator = elaborator
        self._owner = owner
        self._environments = Environments()

    def run(self, command: Command) -> dict:
        """The reply to ``command``. Raises ``ProtocolError`` when there is none of Lean's."""
        if command.env is not None:
            start, text = self._environments.find(command.env), command.text
            if start is None:
                raise ProtocolError("Unknown environment.")
            line, column = 1, 0
        else:
            text, imports = split_imports(command.text)
            unknown = [found for found in imports if found.module.split(".")[0] not in ACCEPTED_MODULES]
            start = Environment(failure=_no_module(unknown[0].module) if unknown else None)
            line, column = (unknown[0].line, unknown[0].column) if unknown else (1, 0)
        if start.failure:
            messages = [make_message("error", line, column, start.failure)]
            return make_reply(self._environments.add(start), messages)
        answer = self._elaborate(start.texts, text, command.tactics)
        texts = (*start.texts, text) if text.strip() else start.texts
        return make_reply(self._environments.add(Environment(texts)), **answer)

    def _elaborate(self, before: tuple[str, ...], text: str, tactics: bool) -> dict:
        def work() -> bytes:
            self._elaborator.enter_thread()
            found = self._elaborator.continue_from(before, text, with_tactics=tactics)
            messages = [convert_message(raw) for raw in found.messages]
            # Lean's parser asks for a command where a text starts. One of comments alone, or whose imports were all
            # that it had, has none, and that is no mistake.
            if [message["data"] for message in messages] == ["unexpected end of input"]:
                messages = []
            answer = {"messages": messages, "sorries": found.sorries}
            tree = json.dumps(found.tactics or [], ensure_ascii=False)
            rest = json.dumps(answer, ensure_ascii=False)
            kept = tree if len(tree) < _TREE_LIMIT else "[]"
            return f'{{"infotree": {kept}, {rest[1:]}'.encode()

        try:
            # Memory is limited by whoever starts this process (a Kimina server does), time by whoever waits for it.
            outcome = run_in_child(work, Limits(), (self._owner, 0))
        except OSError as error:
            raise ProtocolError(f"The command could not be started: {error}") from error
        if outcome.ended == "exit" and outcome.status == 0:
            return json.loads(outcome.output)
        raise ProtocolError(_abnormal_end(outcome))


def _no_module(module: str) -> str:
    return (
        f"unknown module prefix '{module}': the embedded Lean has its core library only,"
        f" which is what {', '.join(ACCEPTED_MODULES)} stand for"
    )


def _abnormal_end(outcome: Outcome) -> str:
    if reason := exceeded_limit(outcome.ended, outcome.complaint):
        return f"Lean ended before it had answered: {reason}"
    how = f"signal {-outcome.status}" if outcome.status < 0 else f"status {outcome.status}"
    return f"Lean ended before it had answered ({how}): {outcome.complaint.strip()[-200:]}"
