"""``stage=score``: rewards for outputs that lie in a file, by the checks and the verifier of training.

An interrupted scoring goes on where it was, and one in which proofs could not be verified asks about those again; see
`kimina.experiment.stages.judged_rows`.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table

from kimina.errors import UserError
from kimina.experiment.artifact import Artifact
from kimina.experiment.machine import check_verifier
from kimina.experiment.progress import Progress
from kimina.experiment.stages.judged_rows import JudgedRows, judge_file, output_of, portions, too_many_unverified
from kimina.experiment.stages.run_context import RunContext
from kimina.lean.verdict import CheckRequest, Verdict
from kimina.lean.verifier import Verifier, make_verifier
from kimina.reward.rows import BAD_ROW, BadRowError, Row, RowReport, check_row, error_row, read_row, result_row
from kimina.reward.scorer import Scorer
from kimina.reward.settings import RewardSettings

PORTION_ROWS = 256


@dataclass
class Summary:
    """Counts over the written rows. ``first`` counts rows by their error, ``violations`` every violation of a row."""

    rows: int = 0
    bad: int = 0
    scored: int = 0
    reward: float = 0.0
    accepted: int = 0
    unverified: int = 0
    first: Counter = field(default_factory=Counter)
    violations: Counter = field(default_factory=Counter)
    verdicts: Counter = field(default_factory=Counter)

    def add(self, row: Mapping[str, Any]) -> None:
        """Count one output row."""
        self.rows += 1
        if row["error"] == BAD_ROW:
            self.bad += 1
            return
        self.accepted += not row["violations"]
        self.unverified += row["verdict"] == Verdict.UNVERIFIED
        self.verdicts[row["verdict"] or "not asked"] += 1
        self.violations.update(row["violations"])
        if row["error"] is not None:
            self.first[row["error"]] += 1
        if row["reward"] is not None:
            self.scored += 1
            self.reward += row["reward"]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for the manifest; the mean reward is null where no row has one."""
        return {
            "rows": self.rows,
            "bad_rows": self.bad,
            "format_accepted": self.accepted,
            "with_reward": self.scored,
            "mean_reward": self.reward / self.scored if self.scored else None,
            "unverified": self.unverified,
            "errors": dict(self.first.most_common()),
            "violations": dict(self.violations.most_common()),
            "verdicts": dict(self.verdicts.most_common()),
        }


def score(context: RunContext) -> None:
    """Score the file that ``score.input`` names, write ``score.output`` and print a summary.

    Raises:
        InfrastructureError: a file can't be read or written, or more proofs remained unverified than the limit allows
            (none unless ``verifier.max_unverified_share`` is set); the output is written then too, and the same
            command asks about those again.
    """
    settings = context.resolved["score"]
    identity = {
        **context.part("reward", "verifier"),
        "score": {key: value for key, value in settings.items() if key not in ("input", "output")},
        "think_in_prompt": context.resolved["model"]["think_in_prompt"],
    }
    name = context.resolved["reward"]["profile"]
    rows, target = judge_file(context, "score", name, identity, partial(_judge, context))
    summary = Summary()
    rows.write(target, summary)
    _print(summary, context.progress)
    context.progress.say(f"record: {rows.folder}")
    context.progress.say(f"scores: {target}")


def _judge(context: RunContext, artifact: Artifact, source: Path, lines: int) -> None:
    settings = context.resolved["score"]
    scorer = Scorer(RewardSettings.parse(context.resolved["reward"]), _token_counter(settings["tokenizer"]))
    asks_lean = context.resolved["verifier"]["name"] != "none"
    if asks_lean:
        check_verifier(context.resolved["verifier"])
    rows = JudgedRows(artifact)
    finished = rows.finished()
    verifier = make_verifier(context.resolved["verifier"]) if asks_lean else None
    try:
        with context.progress.stage("score: judging", lines, "rows") as shown:
            shown.resume_at(len(finished))
            for portion in portions(source, finished, PORTION_ROWS):
                rows.append(_judged(context, scorer, verifier, portion, shown))
        if verifier is not None:
            artifact.update(lean={"version": verifier.lean_version, "header": verifier.header})
    finally:
        if verifier is not None:
            verifier.close()
    summary, target = Summary(), output_of(context, "score")
    rows.write(target, summary)
    artifact.update(score=summary.as_dict())
    asked = sum(count for verdict, count in summary.verdicts.items() if verdict != "not asked")
    if error := too_many_unverified(context, summary.unverified, asked, f"{target} has no reward for them"):
        _print(summary, context.progress)
        raise error


def _judged(
    context: RunContext, scorer: Scorer, verifier: Verifier | None, portion: list[tuple[int, bytes]], shown: Any
) -> list[tuple[int, dict[str, Any]]]:
    """Judge a portion of numbered lines and return their output rows, in order."""
    opens_think, proof_field = context.resolved["model"]["think_in_prompt"], context.resolved["score"]["proof_field"]
    stored: dict[int, dict[str, Any]] = {}
    open_rows: dict[str, tuple[int, Row, RowReport]] = {}
    requests = []
    for number, line in portion:
        try:
            row = read_row(line, opens_think, proof_field)
        except BadRowError as error:
            stored[number] = error_row(error, number)
            shown.advance()
            continue
        report = check_row(scorer, row)
        if verifier is not None and report.needs_lean(scorer.settings.verify_rejected):
            open_rows[str(number)] = (number, row, report)
            requests.append(CheckRequest(str(number), report.last.lean_code, report.last.theorem))
            continue
        unasked = verifier is None and report.needs_lean(False)
        stored[number] = result_row(row, report, None, open_question=unasked)
        shown.advance()
    if verifier is not None:
        for result in verifier.check(requests, on_result=lambda _: shown.advance()):
            number, row, report = open_rows[result.id]
            stored[number] = result_row(row, report, result.verdict, open_question=False)
            if result.verdict is not Verdict.PROVED:
                stored[number]["detail"] = result.detail
    return [(number, stored[number]) for number, _ in portion]


def _token_counter(tokenizer: str | None):
    if tokenizer is None:
        return None
    from transformers import AutoTokenizer

    try:
        loaded = AutoTokenizer.from_pretrained(tokenizer)
    except (OSError, ValueError) as error:
        raise UserError(f"score.tokenizer={tokenizer}: no tokenizer could be loaded: {error}") from error
    return lambda text: len(loaded.encode(text, add_special_tokens=False))


def _print(summary: Summary, progress: Progress) -> None:
    values = summary.as_dict()
    table = Table(title="Scores", title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    mean = "undefined" if values["mean_reward"] is None else f"{values['mean_reward']:.4f}"
    for label, value in (
        ("rows", summary.rows),
        ("bad rows (error rows in the output)", summary.bad),
        ("format accepted", summary.accepted),
        ("rows with a reward", summary.scored),
        ("mean reward of those", mean),
    ):
        table.add_row(label, str(value))
    for title, counts in (("verdict", summary.verdicts), ("first violation", summary.first)):
        table.add_section()
        for name, count in counts.most_common():
            table.add_row(f"{title}: {name}", str(count))
    progress.console.print(table)
