"""Files of rows that a verifier judges: read in portions, stored as they are judged, written in order at the end.

Judged rows go to ``rows.jsonl`` of the stage's own folder, a portion at a time. An interrupted stage goes on behind the
last portion, and one in which proofs could not be verified asks about those again. The output file is written at the
end, in one step.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from kimina.durable import JsonLines, to_json, write_chunks
from kimina.errors import InfrastructureError
from kimina.experiment.artifact import Artifact, stage_hash
from kimina.experiment.complaint import command_line
from kimina.experiment.stages.graph import PLACE_OF_CHECKING
from kimina.experiment.stages.run_context import RunContext
from kimina.lean.verdict import Verdict

ROWS = "rows.jsonl"
INPUT = "input.jsonl"
_CHUNK = 1 << 20
PORTION_BYTES = 1 << 24


class Summary(Protocol):
    """Counts over the written rows."""

    def add(self, row: Mapping[str, Any]) -> None:
        """Count one output row."""


def judge_file(
    context: RunContext, stage: str, name: str, identity: Mapping[str, Any], judge: Callable[[Artifact, Path, int], None]
) -> tuple["JudgedRows", Path]:
    """Have the rows of ``<stage>.input`` judged, or reuse what is known of them.

    Args:
        identity: the part of the configuration that decides what comes out, the input apart.
        judge: called with the artifact, a copy of the input that nobody changes, and its number of rows.

    Returns:
        (the judged rows, where they are to be written: ``<stage>.output``).
    """
    source = Path(context.resolved[stage]["input"]).expanduser()
    digest, lines = _digest_of_rows(source)
    artifact_hash = stage_hash(identity, {"input": digest}, excluded=PLACE_OF_CHECKING)
    artifact = Artifact(context.resolved["output_dir"], stage, name, artifact_hash)

    def work(_: RunContext, made: Artifact) -> None:
        copy = _snapshot(source, digest, made)
        judge(made, copy, lines)
        copy.unlink()

    context.produce(artifact, work, {"input": digest}, identity)
    return JudgedRows(artifact), output_of(context, stage)


def output_of(context: RunContext, stage: str) -> Path:
    """Return the file that the stage writes; behind a link it is the link's target."""
    return Path(context.resolved[stage]["output"]).expanduser().resolve()


class JudgedRows:
    """The output rows that are stored in a stage's folder. A row that was asked again is there twice; the last counts."""

    def __init__(self, artifact: Artifact) -> None:
        self.folder = artifact.folder
        self._path = artifact.file(ROWS)

    def append(self, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> None:
        """Store (number of the input line, output row) for each of ``rows``."""
        JsonLines(self._path).append({"row": number, "result": row} for number, row in rows)

    def finished(self) -> set[int]:
        """The numbers of the lines that need no judging any more."""
        return {number for _, number, row in self._stored() if row["verdict"] != Verdict.UNVERIFIED}

    def write(self, target: Path, summary: Summary) -> None:
        """Write the output file in the order of the input, in one step; ``summary`` counts every row."""
        latest = {number: offset for offset, number, _ in self._stored()}

        def chunks() -> Iterator[bytes]:
            with open(self._path, "rb") as file:
                for number in sorted(latest):
                    file.seek(latest[number])
                    row = json.loads(file.readline())["result"]
                    summary.add(row)
                    yield (to_json(row) + "\n").encode()

        write_chunks(target, chunks() if latest else ())

    def _stored(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Yield (offset, number, output row)."""
        if not self._path.exists():
            return
        offset = 0
        with open(self._path, "rb") as file:
            for line in file:
                if line.endswith(b"\n"):  # else a kill tore it
                    stored = json.loads(line)
                    yield offset, stored["row"], stored["result"]
                offset += len(line)


def numbered_lines(source: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (number from 1, line) of every line that is not blank.

    Raises:
        InfrastructureError: the file can't be read.
    """
    try:
        with open(source, "rb") as file:
            for number, line in enumerate(file, start=1):
                text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if text.strip():
                    yield number, text.rstrip(b"\r\n")
    except OSError as error:
        raise InfrastructureError(f"cannot read {source}: {error.strerror or error}") from error


def portions(source: Path, finished: set[int], most_rows: int) -> Iterator[list[tuple[int, bytes]]]:
    """Yield the lines that are not ``finished``, up to ``most_rows`` and about `PORTION_BYTES` at a time."""
    portion: list[tuple[int, bytes]] = []
    size = 0
    for number, line in numbered_lines(source):
        if number in finished:
            continue
        portion.append((number, line))
        size += len(line)
        if len(portion) == most_rows or size > PORTION_BYTES:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def _digest_of_rows(source: Path) -> tuple[str, int]:
    """Return the SHA-256 of the file and how many rows it has."""
    digest, rows = hashlib.sha256(), 0
    for number, line in numbered_lines(source):
        digest.update(b"%d:%d:" % (number, len(line)))
        digest.update(line)
        rows += 1
    return digest.hexdigest(), rows


def _snapshot(source: Path, digest: str, artifact: Artifact) -> Path:
    """Copy the input into the stage's folder and return the copy, which nobody changes while the stage reads it.

    Raises:
        InfrastructureError: the file is no longer the one whose rows have this digest.
    """
    copy = artifact.file(INPUT)

    def chunks() -> Iterator[bytes]:
        try:
            with open(source, "rb") as file:
                while chunk := file.read(_CHUNK):
                    yield chunk
        except OSError as error:
            raise InfrastructureError(f"cannot read {source}: {error.strerror or error}") from error

    if not copy.exists():
        write_chunks(copy, chunks())
    if _digest_of_rows(copy)[0] != digest:
        copy.unlink()
        raise InfrastructureError(f"{source} was changed while it was read; run the same command again.")
    return copy


def too_many_unverified(context: RunContext, unverified: int, asked: int, consequence: str) -> InfrastructureError | None:
    """Return the error to raise when more of the ``asked`` proofs remained unverified than the limit allows.

    Stricter than in training, where a few samples more or less don't matter: unless a share is set, none may be missing.
    """
    limit = context.resolved["verifier"].get("max_unverified_share", 0)
    if not asked or unverified / asked <= limit:
        return None
    return InfrastructureError(
        f"{unverified} of {asked} proofs could not be verified. {consequence}; the same "
        "command asks about them again, and with a share that you accept it goes on without.\n"
        f"  type: {command_line(context.overrides)}\n"
        f"  type: {command_line([*context.overrides, '+verifier.max_unverified_share=0.01'])}"
    )
