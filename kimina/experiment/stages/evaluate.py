"""The eval stage: samples of a model on a held-out split, judged as in training.

Generation and verification overlap: while the next answers are decoded, a thread judges those that are finished.
Finished problems are on disk, so an interrupted evaluation goes on with the next portion.
"""

import queue
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kimina.data.prompts import read_rows
from kimina.errors import InfrastructureError
from kimina.evaluation import EvalResult, Outcome, append_outcomes, read_outcomes
from kimina.experiment.artifact import Artifact
from kimina.experiment.environment import usable_cores
from kimina.experiment.progress import StageProgress
from kimina.experiment.stages.run_context import RunContext
from kimina.generation import Completion, make_generator
from kimina.lean.statement import Statement
from kimina.lean.verdict import CheckRequest, CheckResult
from kimina.lean.verifier import Verifier, make_verifier
from kimina.reward.scorer import FormatReport, Scorer, reward_value
from kimina.reward.settings import RewardSettings

SAMPLES = "samples.jsonl"
# Problems decoded with one seed. A fixed number, so that an evaluation that was interrupted draws the same samples.
PORTION = 61
MOST_PROCESSES = 8


def make_before(context: RunContext, artifact: Artifact) -> None:
    """Evaluate the model that RL starts from."""
    _evaluate(context, artifact, context.start_model, "eval: before RL")


def make_after(context: RunContext, artifact: Artifact) -> None:
    """Evaluate the model that RL made."""
    _evaluate(context, artifact, context.graph.rl.file("hf"), "eval: after RL")


def _evaluate(context: RunContext, artifact: Artifact, model: Path | str, title: str) -> None:
    settings = context.resolved["evaluation"]
    rows = read_rows(context.prompt_file(settings["split"]))
    path = artifact.file(SAMPLES)
    finished = _finished_problems(path, settings["samples"])
    portions = [
        (index, rows[start : start + PORTION])
        for index, start in enumerate(range(0, len(rows), PORTION))
    ]
    todo = [
        (index, portion)
        for index, portion in portions
        if not all(row["extra_info"]["problem_id"] in finished for row in portion)
    ]
    on_gpu = context.resolved["rollout"]["name"] == "vllm"
    on_cpu = {"engine": "cpu", "processes": min(usable_cores(), MOST_PROCESSES)}
    on_cpu["batch_rows"] = settings["batch_size"]
    engine = {"engine": "vllm", "dtype": "bfloat16"} if on_gpu else on_cpu
    with (
        context.progress.stage(title, len(rows) * settings["samples"], "samples") as shown,
        make_verifier(context.resolved["verifier"]) as verifier,
    ):
        artifact.update(lean={"version": verifier.lean_version, "header": verifier.header})
        shown.resume_at((len(rows) - sum(len(portion) for _, portion in todo)) * settings["samples"])
        if todo:
            generator = make_generator(engine, model)
            try:
                for index, portion in todo:
                    seed = context.resolved["seed"] * 1000 + index
                    _sample_portion(context, generator, verifier, model, portion, seed, path, shown)
            finally:
                generator.close()
    artifact.update(result=EvalResult.read(artifact.name, artifact.folder).summary(tuple(settings["ks"])))


def _finished_problems(path: Path, samples: int) -> set[str]:
    counts: dict[str, set[int]] = {}
    if path.exists():
        for outcome in read_outcomes(path):
            counts.setdefault(outcome.problem_id, set()).add(outcome.sample)
    return {problem for problem, seen in counts.items() if len(seen) == samples}


def _sample_portion(
    context: RunContext,
    generator: Any,
    verifier: Verifier,
    model: Path | str,
    rows: Sequence[dict],
    seed: int,
    path: Path,
    shown: StageProgress,
) -> None:
    from transformers import AutoTokenizer

    settings = context.resolved["evaluation"]
    tokenizer = AutoTokenizer.from_pretrained(model)
    prompts = [
        tokenizer.apply_chat_template(row["prompt"], add_generation_prompt=True, tokenize=True, return_dict=False)
        for row in rows
    ]
    judge = ResponseJudge(context, tokenizer, verifier)
    waiting: queue.Queue[tuple[int, list[Completion]] | None] = queue.Queue()
    failures: list[BaseException] = []

    def judge_all() -> None:
        try:
            while (item := waiting.get()) is not None:
                index, completions = item
                append_outcomes(path, judge.outcomes(rows[index]["extra_info"], completions))
                shown.advance(len(completions))
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=judge_all, name="judge", daemon=True)
    thread.start()

    def on_result(index: int, completions: list[Completion]) -> None:
        if failures:
            raise failures[0]
        waiting.put((index, completions))

    try:
        generator.generate(
            prompts,
            settings["samples"],
            max_new_tokens=settings["max_new_tokens"],
            temperature=settings["temperature"],
            top_p=settings["top_p"],
            seed=seed,
            on_result=on_result,
        )
    finally:
        waiting.put(None)
        thread.join()
    if failures:
        raise failures[0]


class ResponseJudge:
    """Scores the answers to one problem at a time; equal answers are judged once."""

    def __init__(self, context: RunContext, tokenizer: Any, verifier: Verifier) -> None:
        self._tokenizer = tokenizer
        self._verifier = verifier
        self._opens_think = context.resolved["model"]["think_in_prompt"]
        self._scorer = Scorer(
            RewardSettings.parse(context.resolved["reward"]),
            count_tokens=lambda text: len(tokenizer.encode(text, add_special_tokens=False)),
        )

    def outcomes(self, info: dict, completions: Sequence[Completion]) -> list[Outcome]:
        """Return one outcome a completion.

        Raises:
            InfrastructureError: no answer of a problem could be verified: the verifier is out of order.
        """
        statement = Statement.parse(info["statement"])
        texts = [self._tokenizer.decode(c.token_ids, skip_special_tokens=True) for c in completions]
        reports: dict[str, FormatReport] = {
            text: self._scorer.check_format(statement, text, opens_think=self._opens_think) for text in dict.fromkeys(texts)
        }
        asked = [text for text, report in reports.items() if self._scorer.needs_lean(report)]
        checked = self._verifier.check(
            [CheckRequest(str(i), reports[text].lean_code, reports[text].theorem) for i, text in enumerate(asked)]
        )
        results: dict[str, CheckResult] = dict(zip(asked, checked, strict=True))
        if asked and all(result.verdict == "unverified" for result in checked):
            raise InfrastructureError(
                f"no answer to {info['problem_id']} could be verified ({checked[0].detail}); nothing was counted as wrong"
            )
        return [
            self._outcome(info, index, text, completion, reports[text], results.get(text))
            for index, (text, completion) in enumerate(zip(texts, completions, strict=True))
        ]

    @staticmethod
    def _outcome(
        info: dict, sample: int, text: str, completion: Completion, report: FormatReport, result: CheckResult | None
    ) -> Outcome:
        verdict = result.verdict if result is not None else None
        errors = [m.text for m in result.messages if m.severity == "error"] if result is not None else []
        return Outcome(
            problem_id=info["problem_id"],
            family=info["family"],
            level=info["level"],
            sample=sample,
            verdict=verdict.value if verdict is not None else None,
            violations=report.violations,
            reward=reward_value(verdict, report.violations, report.length_penalty),
            response_tokens=len(completion.token_ids),
            finished=completion.finished,
            response=text,
            message=errors[0] if errors else None,
        )
