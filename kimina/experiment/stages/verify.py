"""``stage=verify``: Lean's verdicts on bare proofs that lie in a file.

An interrupted run goes on where it was, and one in which proofs could not be verified asks about those again; see
`kimina.experiment.stages.judged_rows`. Several portions are under way at a time, so that a slow proof at the end of one
keeps no worker waiting.
"""

import threading
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.table import Table

from kimina.experiment.artifact import Artifact
from kimina.experiment.machine import check_verifier
from kimina.experiment.progress import StageProgress
from kimina.experiment.stages.judged_rows import JudgedRows, judge_file, output_of, portions, too_many_unverified
from kimina.experiment.stages.proof_rows import ProofRow, bad_proof_row, read_proof_row, verdict_row
from kimina.experiment.stages.run_context import RunContext
from kimina.lean.verdict import CheckRequest, CheckResult, Verdict
from kimina.lean.verifier import Verifier, make_verifier
from kimina.reward.rows import BAD_ROW, BadRowError

# Enough proofs at a time for a cluster of servers, in portions small enough that a kill loses little.
PORTION_ROWS = 64
PORTIONS_UNDER_WAY = 16


@dataclass
class Summary:
    """Counts over the written rows."""

    rows: int = 0
    bad: int = 0
    verdicts: Counter = field(default_factory=Counter)

    def add(self, row: Mapping[str, Any]) -> None:
        """Count one output row."""
        self.rows += 1
        if row["error"] == BAD_ROW:
            self.bad += 1
        else:
            self.verdicts[row["verdict"]] += 1

    def as_dict(self) -> dict[str, Any]:
        """Plain values for the manifest."""
        return {"rows": self.rows, "bad_rows": self.bad, "verdicts": dict(self.verdicts.most_common())}


@dataclass(frozen=True)
class Speed:
    """What one command did: ``proofs`` were asked about in ``seconds``; ``reused`` of them an earlier check answered."""

    proofs: int
    seconds: float
    reused: int

    def as_dict(self) -> dict[str, Any]:
        """Plain values for the manifest; rate and share are null where nothing was asked."""
        return {
            "proofs": self.proofs,
            "seconds": self.seconds,
            "proofs_per_second": self.proofs / self.seconds if self.proofs else None,
            "cached_share": self.reused / self.proofs if self.proofs else None,
        }


def verify(context: RunContext) -> None:
    """Judge the proofs of the file that ``verify.input`` names, write ``verify.output`` and print a summary.

    Raises:
        InfrastructureError: a file can't be read or written, or more proofs remained unverified than the limit allows
            (none unless ``verifier.max_unverified_share`` is set); the output is written then too, and the same
            command asks about those again.
    """
    identity = {**context.part("verifier"), "verify": {"code_field": context.resolved["verify"]["code_field"]}}
    name = context.resolved["verifier"]["name"]
    speeds: list[Speed] = []
    rows, target = judge_file(
        context, "verify", name, identity, lambda made, source, lines: speeds.append(_judge(context, made, source, lines))
    )
    summary = Summary()
    rows.write(target, summary)
    _print(context, summary, speeds[0] if speeds else None)
    context.progress.say(f"record: {rows.folder}")
    context.progress.say(f"verdicts: {target}")


def _judge(context: RunContext, artifact: Artifact, source: Path, lines: int) -> Speed:
    check_verifier(context.resolved["verifier"])
    rows = JudgedRows(artifact)
    finished = rows.finished()
    verifier = make_verifier(context.resolved["verifier"])
    started = time.monotonic()
    pool = ThreadPoolExecutor(PORTIONS_UNDER_WAY, thread_name_prefix="verify")
    with context.progress.stage("verify", lines, "proofs") as progress:
        progress.resume_at(len(finished))
        judge = _Judge(verifier, context.resolved["verify"]["code_field"], progress)
        under_way: set[Future[list[tuple[int, dict[str, Any]]]]] = set()
        try:
            for portion in portions(source, finished, PORTION_ROWS):
                under_way.add(pool.submit(judge.judged, portion))
                if len(under_way) == PORTIONS_UNDER_WAY:
                    under_way = _store_finished(rows, under_way)
            while under_way:
                under_way = _store_finished(rows, under_way)
            speed = Speed(judge.asked, time.monotonic() - started, verifier.counts.reused)
            artifact.update(lean={"version": verifier.lean_version, "header": verifier.header})
        finally:
            # First the verifier: it ends what the threads wait for.
            verifier.close()
            pool.shutdown(cancel_futures=True)
    summary, target = Summary(), output_of(context, "verify")
    rows.write(target, summary)
    artifact.update(verify=summary.as_dict() | {"last_command": speed.as_dict()})
    unverified, asked = summary.verdicts[Verdict.UNVERIFIED], summary.verdicts.total()
    if error := too_many_unverified(context, unverified, asked, f"{target} says which"):
        _print(context, summary, speed)
        raise error
    return speed


def _store_finished(rows: JudgedRows, under_way: set[Future]) -> set[Future]:
    """Wait until a portion is judged, store it, and return the portions that are not finished yet."""
    done, left = wait(under_way, return_when=FIRST_COMPLETED)
    for portion in done:
        rows.append(portion.result())
    return left


class _Judge:
    """Judges portions of lines, from several threads."""

    def __init__(self, verifier: Verifier, code_field: str, progress: StageProgress) -> None:
        self.asked = 0
        self._verifier = verifier
        self._code_field = code_field
        self._progress = progress
        self._started = time.monotonic()
        self._lock = threading.Lock()

    def judged(self, portion: list[tuple[int, bytes]]) -> list[tuple[int, dict[str, Any]]]:
        """Return the output rows of numbered lines, in order."""
        output: dict[int, dict[str, Any]] = {}
        rows: dict[str, ProofRow] = {}
        for number, line in portion:
            try:
                rows[str(number)] = read_proof_row(line, self._code_field)
            except BadRowError as error:
                output[number] = bad_proof_row(error, number)
        self._advance(len(output), proofs=0)
        requests = [CheckRequest(number, row.code, row.theorem) for number, row in rows.items()]
        for result in self._verifier.check(requests, on_result=self._on_result):
            output[int(result.id)] = verdict_row(rows[result.id], result)
        return [(number, output[number]) for number, _ in portion]

    def _on_result(self, _: CheckResult) -> None:
        self._advance(1, proofs=1)

    def _advance(self, rows: int, *, proofs: int) -> None:
        with self._lock:
            self.asked += proofs
            rate = self.asked / max(time.monotonic() - self._started, 1e-9)
            self._progress.advance(rows, note=f"{rate:.1f} proofs/s" if self.asked else None)


def _print(context: RunContext, summary: Summary, speed: Speed | None) -> None:
    table = Table(title="Verdicts", title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_row("rows", str(summary.rows))
    table.add_row("bad rows (error rows in the output)", str(summary.bad))
    table.add_section()
    for verdict, count in summary.verdicts.most_common():
        table.add_row(verdict, f"{count} ({100 * count / summary.verdicts.total():.1f} %)")
    table.add_section()
    if speed is not None and speed.proofs:
        table.add_row("proofs asked about by this command", str(speed.proofs))
        table.add_row("proofs a second", f"{speed.proofs / speed.seconds:.1f}")
        table.add_row("known already (memory, cache, equal proofs)", f"{100 * speed.reused / speed.proofs:.1f} %")
    else:
        table.add_row("proofs asked about by this command", "0")
    context.progress.console.print(table)
