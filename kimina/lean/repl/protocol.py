"""The JSON of Lean's REPL: commands read, answers written."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SEVERITIES = {"information": "info"}
_UNSUPPORTED = ("tactic", "pickleTo", "unpickleEnvFrom", "unpickleProofStateFrom")


class ProtocolError(Exception):
    """A command that is none, or can't be answered. The text goes back as ``{"message": ...}``."""


@dataclass(frozen=True)
class Command:
    """A text to elaborate, in environment ``env`` or (``None``) in a new one; ``tactics``: with the tactics' tree."""

    text: str
    env: int | None
    tactics: bool


def read_blocks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The commands in a stream of lines: runs of lines that are not blank."""
    block: list[bytes] = []
    for line in lines:
        if line.strip():
            block.append(line)
        elif block:
            yield b"".join(block)
            block = []
    if block:
        yield b"".join(block)


def read_command(block: bytes) -> Command:
    """Read one command; a ``path`` is opened here. Raises ``ProtocolError``."""
    try:
        asked = json.loads(block.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"Could not parse JSON:\n{error}") from error
    if not isinstance(asked, dict) or not isinstance(asked.get("cmd", asked.get("path")), str):
        raise ProtocolError('Could not parse as a valid JSON command: there must be a text "cmd" or a "path".')
    if found := [key for key in _UNSUPPORTED if key in asked]:
        raise ProtocolError(f"{found[0]!r} is not supported by this REPL, which has commands and files only.")
    env = asked.get("env")
    if env is not None and (not isinstance(env, int) or isinstance(env, bool)):
        raise ProtocolError('Could not parse as a valid JSON command: "env" must be a number.')
    text = asked["cmd"] if "cmd" in asked else _read_file(asked["path"])
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ProtocolError(f"The command is no Unicode text: {error.reason}.") from error
    return Command(text, env, asked.get("infotree") == "tactics")


def write_reply(reply: dict[str, Any]) -> bytes:
    """A reply as it goes over the wire: one line, then a blank one."""
    return json.dumps(reply, ensure_ascii=False).encode("utf-8") + b"\n\n"


def make_reply(env: int, messages: Sequence[dict], sorries: Sequence[dict] = (), infotree: Sequence[dict] = ()) -> dict[str, Any]:
    """An answer of Lean's, with what is empty left out."""
    lists = {"messages": messages, "sorries": sorries, "infotree": infotree}
    return {"env": env} | {name: list(entries) for name, entries in lists.items() if entries}


def make_message(severity: str, line: int, column: int, data: str) -> dict[str, Any]:
    """A message at a position (line from 1, column from 0)."""
    return {"severity": severity, "pos": {"line": line, "column": column}, "data": data}


def convert_message(raw: str) -> dict[str, Any]:
    """The REPL's form of a message in Lean's own JSON."""
    found = json.loads(raw)
    severity = _SEVERITIES.get(found["severity"], found["severity"])
    end = {"endPos": found["endPos"]} if found["endPos"] else {}
    return {"severity": severity, "pos": found["pos"]} | end | {"data": found["data"].strip()}


def _read_file(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ProtocolError(f"{path}: {error}") from error
