"""The eval stage: samples of a model on a prompt set, judged as in training.

Generation and verification overlap. What was judged is on disk within seconds (``kimina.evaluation.store``), and every
sample has a seed of its own, so an interrupted evaluation goes on with what is missing and ends as it would have.
Canaries come first: statements that are known to be false, none of which may be proved. With ``evaluation.fix_turns=1``
every failed first attempt gets one more turn with feedback (``kimina.reward.fix_turn``).
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kimina.data.prompts import prompt_messages, read_rows, write_rows
from kimina.data.sources import digest_of_files
from kimina.durable import read_json, write_json
from kimina.errors import InfrastructureError, LimitError, UserError
from kimina.evaluation import EvalResult, Outcome, read_outcomes
from kimina.evaluation.canaries import CANARIES
from kimina.evaluation.problem_counts import write_counts
from kimina.evaluation.records import UNVERIFIED
from kimina.evaluation.result import PROMPTS
from kimina.evaluation.store import SAMPLES
from kimina.experiment.artifact import Artifact
from kimina.experiment.environment import usable_cores
from kimina.experiment.evaluation_inputs import check_prompts, digest_of_model, named_model, read_prompts
from kimina.experiment.machine import check_verifier
from kimina.experiment.progress import StageProgress
from kimina.experiment.stages.run_context import RunContext
from kimina.experiment.stages.sample_judge import (
    Answer,
    AnswerJudge,
    ChatTokenizer,
    Judging,
    Problem,
    judging_threads,
    refuse_proved_canaries,
)
from kimina.generation import Completion, Generator, make_generator
from kimina.lean.verifier import make_verifier

# What the records in the folder were made with; a later command may only go on with the same.
CONDITIONS = "conditions.json"
# Problems that are decoded together. A fixed number, so that an evaluation that was interrupted draws the same samples.
PORTION = 61
MOST_PROCESSES = 8
# Fix turns come one by one; so many are judged in one group.
FIX_GROUP = 32


def make_before(context: RunContext, artifact: Artifact) -> None:
    """Evaluate the model that RL starts from."""
    evaluate(context, artifact, context.start_model, "eval: before RL")


def make_after(context: RunContext, artifact: Artifact) -> None:
    """Evaluate the model that RL made."""
    evaluate(context, artifact, context.graph.rl.file("hf"), "eval: after RL")


def make_asked(context: RunContext, artifact: Artifact) -> None:
    """Evaluate the model that ``evaluation.model`` names."""
    named = context.resolved["evaluation"]["model"]
    evaluate(context, artifact, named_model(named).path, f"eval: {named}")


def evaluate(context: RunContext, artifact: Artifact, model: Path | str, title: str) -> None:
    """Ask ``model`` the prompt set of the configuration and leave records and summary in ``artifact``.

    Raises:
        UserError: model or prompts can't be used, or the folder's records were made under other conditions.
        InfrastructureError: the verifier is out of order, or a known-false statement was proved.
        LimitError: more answers than ``evaluation.max_unverified_share`` have no verdict; everything is written.
    """
    settings = context.resolved["evaluation"]
    rows = _prompt_set(context, artifact)
    check_verifier(context.resolved["verifier"])
    with make_verifier(context.resolved["verifier"]) as verifier:
        tokenizer, conditions = _model_facts(model)
        conditions |= {
            "lean_version": verifier.lean_version,
            "lean_header": verifier.header,
            "prompt_set": digest_of_files([artifact.file(PROMPTS)]),
        }
        _check_conditions(artifact, conditions)
        _check_answer_length(settings["max_new_tokens"], tokenizer)
        problems = _problems(rows, context.resolved["seed"])
        artifact.update(
            lean={"version": verifier.lean_version, "header": verifier.header},
            prompt_set={"problems": len(rows), "sha256": conditions["prompt_set"]},
            model={key: conditions[key] for key in ("model_files", "chat_template")} | {"path": str(model)},
            engine=_engine(context, settings),
        )
        canaries = [
            Problem(f"canary-{canary.name}", "canary", 0, canary.statement,
                    tuple(prompt_messages(canary.informal, canary.statement)), _seed("canary", context, index), canary=True)
            for index, canary in enumerate(CANARIES[: settings["canaries"]])
        ]  # fmt: skip
        asked = [*canaries, *problems]
        for problem in asked:
            _check_prompt_length(problem, tokenizer)
        # How many fix turns there will be is known only as first attempts fail; they are added to the total then.
        unit = "answers" if settings["fix_turns"] else "samples"
        with context.progress.stage(title, len(asked) * settings["samples"], unit) as shown:
            opens_think = context.resolved["model"]["think_in_prompt"] or tokenizer.opens_think(asked[0].messages)
            judge = AnswerJudge(context.resolved, tokenizer, verifier, opens_think=opens_think)
            threads = judging_threads(context.resolved["verifier"], settings["samples"])
            with Judging(judge, artifact.folder, threads, shown) as judging:
                work = _Evaluation(context, artifact, model, tokenizer, judge, judging, shown)
                work.run([canaries] if canaries else [], problems)
        if verifier.lean_version != conditions["lean_version"]:
            raise InfrastructureError(f"the verifier's Lean became another one meanwhile ({verifier.lean_version})")
    _report(artifact, settings)


def _report(artifact: Artifact, settings: dict[str, Any]) -> None:
    """Write the summary into the manifest.

    Raises:
        InfrastructureError: a known-false statement was proved.
        LimitError: too many answers have no verdict.
    """
    refuse_proved_canaries(read_outcomes(artifact.folder, texts=False), artifact.folder)
    result = EvalResult.read(artifact.name, artifact.folder, texts=False)
    write_counts(artifact.folder, result.problems)
    artifact.update(result=result.summary(tuple(settings["ks"])))
    share, limit = result.unverified_share, settings["max_unverified_share"]
    if share is not None and share > limit:
        raise LimitError(
            f"{100 * share:.1f} % of the answers could not be verified, more than evaluation.max_unverified_share={limit:g} "
            f"allows; they are counted nowhere. Everything is written to {artifact.folder}, and the same command asks about "
            "them again."
        )


def _prompt_set(context: RunContext, artifact: Artifact) -> list[dict[str, Any]]:
    """Return the prompts, and leave them in the folder as they are asked."""
    named = context.resolved["evaluation"]["prompts"]
    if named is None:
        # The file may be the user's own (data.val_files).
        split = context.resolved["evaluation"]["split"]
        file = context.prompt_file(split)
        rows = read_rows(file)
        if not rows:
            raise UserError(f"evaluation.split={split}: this split has no problems.")
        check_prompts(rows, str(file))
    else:
        rows = read_prompts(named)
    # The columns that nobody reads may be missing in a file of the user's.
    write_rows([{key: row.get(key) for key in _COLUMNS} for row in rows], artifact.file(PROMPTS))
    return rows


_COLUMNS = ("data_source", "prompt", "ability", "reward_model", "extra_info")


def _model_facts(model: Path | str) -> tuple[ChatTokenizer, dict[str, str]]:
    """Return the model's tokenizer, and digests of its files and of its chat template.

    Raises:
        UserError: the model has no chat template, or its files are damaged.
    """
    from kimina.generation.checkpoint import check_weights, checkpoint_folder, read_config, read_tokenizer

    folder = checkpoint_folder(model)
    context = read_config(model).get("max_position_embeddings")
    check_weights(model)
    tokenizer = read_tokenizer(model)
    template = tokenizer.chat_template
    if not isinstance(template, str):
        raise UserError(f"the model {model} has no chat template (chat_template.jinja), and prompts here are chats.")
    digests = {
        "model_files": digest_of_model(folder),
        "chat_template": hashlib.sha256(template.encode("utf-8", errors="surrogatepass")).hexdigest(),
    }
    return ChatTokenizer(tokenizer, context), digests


def _check_conditions(artifact: Artifact, conditions: dict[str, str]) -> None:
    """Refuse to go on with records that were made with another Lean, model, template or prompt set."""
    path = artifact.file(CONDITIONS)
    names = {
        "lean_version": "Lean", "lean_header": "the header of the proofs", "model_files": "the model's files",
        "chat_template": "the chat template", "prompt_set": "the prompt set",
    }  # fmt: skip
    if path.exists() and any(artifact.file(SAMPLES).glob("part-*")):
        before = read_json(path)
        for key, name in names.items():
            if before[key] != conditions[key]:
                shown = f"{before[key]} then, {conditions[key]} now" if key == "lean_version" else "they differ"
                raise UserError(
                    f"{artifact.folder} holds records that were made under other conditions ({name}: {shown}); together they "
                    "would be no one's result.\n"
                    f"  type: rm -r {artifact.folder}    (to begin anew), or go back to the earlier conditions"
                )
    write_json(path, conditions)


def _problems(rows: Sequence[dict[str, Any]], seed: int) -> list[Problem]:
    from kimina.generation.sampling import mix_seed

    return [
        Problem(
            id=row["extra_info"]["problem_id"],
            family=row["extra_info"]["family"],
            level=row["extra_info"]["level"],
            statement=row["extra_info"]["statement"],
            messages=tuple(row["prompt"]),
            seed=mix_seed(seed * 1000 + index // PORTION, index % PORTION),
        )
        for index, row in enumerate(rows)
    ]


def _seed(purpose: str, context: RunContext, *parts: int | str) -> int:
    from kimina.generation.sampling import mix_seed

    return mix_seed(purpose, context.resolved["seed"], *parts)


def _check_answer_length(most: int, tokenizer: ChatTokenizer) -> None:
    """Refuse answers that no prompt leaves room for; memory for every token of them would be taken, too."""
    if tokenizer.context is not None and most >= tokenizer.context:
        raise UserError(
            f"evaluation.max_new_tokens={most}: prompt and answer share the model's context of {tokenizer.context} tokens.\n"
            f"  type: evaluation.max_new_tokens={max(1, tokenizer.context // 2)}"
        )


def _check_prompt_length(problem: Problem, tokenizer: ChatTokenizer) -> None:
    if tokenizer.context is not None and (length := len(tokenizer.prompt(problem.messages))) >= tokenizer.context:
        raise UserError(
            f"the prompt of {problem.id} has {length} tokens, and the model's context {tokenizer.context}: it can't be asked. "
            "The prompt set fixes the denominator, so it isn't left out by itself; take it out of the set."
        )


def _engine(context: RunContext, settings: dict[str, Any]) -> dict[str, Any]:
    if context.resolved["engine"]["name"] == "vllm":
        return {"engine": "vllm", "dtype": "bfloat16"}
    processes = min(usable_cores(), MOST_PROCESSES)
    return {"engine": "cpu", "processes": processes, "batch_rows": settings["batch_size"]}


_Key = tuple[tuple[bool, str], int, int]
"""A record: its problem's key, sample and turn."""


@dataclass
class _Portion:
    """Problems that are decoded together, and what becomes of them."""

    problems: list[Problem]
    futures: list[Future[list[Outcome]]] = field(default_factory=list)
    first: dict[_Key, Outcome] = field(default_factory=dict)


class _Evaluation:
    """The work of one evaluation: what is missing is generated, what has no verdict is judged again."""

    def __init__(
        self,
        context: RunContext,
        artifact: Artifact,
        model: Path | str,
        tokenizer: ChatTokenizer,
        judge: AnswerJudge,
        judging: Judging,
        shown: StageProgress,
    ) -> None:
        self._context = context
        self._shown = shown
        self._settings = context.resolved["evaluation"]
        self._folder = artifact.folder
        self._model = model
        self._tokenizer = tokenizer
        self._judge = judge
        self._judging = judging
        self._generator: Generator | None = None
        self._engine = _engine(context, self._settings)
        recorded = read_outcomes(self._folder, texts=False) if artifact.file(SAMPLES).exists() else []
        refuse_proved_canaries(recorded, self._folder)
        latest = {_key(outcome): outcome for outcome in recorded}
        self._recorded = set(latest)
        shown.add_to_total(sum(turn == 2 for _, _, turn in latest))
        # Those without a verdict are judged again, and counted then.
        shown.resume_at(sum(outcome.verdict != UNVERIFIED for outcome in latest.values()))

    def run(self, apart: Sequence[list[Problem]], problems: Sequence[Problem]) -> None:
        """Ask everything. ``apart`` are portions of their own, which are judged before anything else is asked."""
        try:
            for group in apart:
                self._fix(self._attempt(group))
            waiting: _Portion | None = None
            for start in range(0, len(problems), PORTION):
                portion = self._attempt(list(problems[start : start + PORTION]))
                # The fix turns of a portion follow when the next one's first attempts are generated: until then Lean
                # has judged it.
                if waiting is not None:
                    self._fix(waiting)
                waiting = portion
            if waiting is not None:
                self._fix(waiting)
        finally:
            if self._generator is not None:
                self._generator.close()

    def _attempt(self, problems: list[Problem]) -> _Portion:
        """Generate the first attempts that are missing and hand them to Lean."""
        portion = _Portion(problems)
        wanted = range(self._settings["samples"])
        missing = {
            problem.key: [sample for sample in wanted if (problem.key, sample, 1) not in self._recorded] for problem in problems
        }
        self._take_recorded(portion)
        unfinished = [problem for problem in problems if missing[problem.key]]
        if unfinished:
            # Rounding depends on what is decoded together; on CPUs the whole portion is, so that samples are the same to
            # the last bit. vLLM schedules as it likes.
            asked = unfinished if self._engine["engine"] == "vllm" else problems
            clock = _Clock()

            def on_result(index: int, completions: list[Completion]) -> None:
                self._judging.check()
                problem = asked[index]
                seconds = clock.share(completions)
                answers = [
                    self._answer(problem, sample, 1, completion, seconds)
                    for sample, completion in enumerate(completions)
                    if sample in missing[problem.key]
                ]
                if answers:
                    portion.futures.append(self._judging.submit(answers))

            self._generate([self._tokenizer.prompt(p.messages) for p in asked], len(wanted), [p.seed for p in asked], on_result)
        return portion

    def _fix(self, portion: _Portion) -> None:
        """Give the failed first attempts of a portion their fix turn; without error fixing only wait for canaries."""
        canaries = portion.problems[0].canary
        if not self._settings["fix_turns"]:
            if canaries:
                refuse_proved_canaries(self._judging.wait(portion.futures), self._folder)
            return
        judged = {_key(outcome): outcome for outcome in self._judging.wait(portion.futures)}
        if canaries:
            refuse_proved_canaries(list(judged.values()), self._folder)
        portion.first |= {key: outcome for key, outcome in judged.items() if outcome.turn == 1}
        by_key = {problem.key: problem for problem in portion.problems}
        due = [
            (by_key[key], outcome)
            for (key, _, _), outcome in sorted(portion.first.items(), key=lambda item: item[0])
            if outcome.feedback is not None
        ]
        missing = [(p, o) for p, o in due if (p.key, o.sample, 2) not in self._recorded]
        if not missing:
            return
        self._shown.add_to_total(len(missing))
        asked = missing if self._engine["engine"] == "vllm" else due
        wanted = {(problem.key, outcome.sample) for problem, outcome in missing}
        clock, group, futures = _Clock(), list[Answer](), list[Future[list[Outcome]]]()

        def hand_over() -> None:
            if group:
                futures.append(self._judging.submit(group))
                group.clear()

        def on_result(index: int, completions: list[Completion]) -> None:
            self._judging.check()
            problem, first = asked[index]
            seconds = clock.share(completions)
            if (problem.key, first.sample) in wanted:
                group.append(self._answer(problem, first.sample, 2, completions[0], seconds))
            if len(group) >= FIX_GROUP:
                hand_over()

        prompts = [self._judge.fix_prompt(problem, first) for problem, first in asked]
        seeds = [_seed("fix", self._context, problem.seed, first.sample) for problem, first in asked]
        self._generate(prompts, 1, seeds, on_result)
        hand_over()
        if canaries:
            refuse_proved_canaries(self._judging.wait(futures), self._folder)

    def _take_recorded(self, portion: _Portion) -> None:
        """Take what was recorded of a portion; answers without a verdict are judged again."""
        wanted = range(self._settings["samples"])
        if not any((problem.key, sample, 1) in self._recorded for problem in portion.problems for sample in wanted):
            return
        by_key = {problem.key: problem for problem in portion.problems}
        latest = {
            _key(outcome): outcome
            for outcome in read_outcomes(self._folder, problems=[problem.id for problem in portion.problems])
            if (outcome.canary, outcome.problem_id) in by_key
        }
        again: dict[tuple[bool, str], list[Answer]] = {}
        for key, outcome in latest.items():
            if outcome.verdict == UNVERIFIED:
                again.setdefault(key[0], []).append(Answer.of_record(by_key[key[0]], outcome))
            elif outcome.turn == 1:
                portion.first[key] = outcome
        portion.futures += [self._judging.submit(answers) for answers in again.values()]

    def _answer(
        self, problem: Problem, sample: int, turn: int, completion: Completion, seconds: Callable[[int], float]
    ) -> Answer:
        tokens = len(completion.token_ids)
        text = self._tokenizer.text(completion.token_ids)
        return Answer(problem, sample, turn, text, tokens, completion.finished, seconds(tokens))

    def _generate(
        self,
        prompts: list[list[int]],
        n: int,
        seeds: list[int],
        on_result: Callable[[int, list[Completion]], None],
    ) -> None:
        if self._generator is None:
            self._generator = make_generator(self._engine, self._model)
        self._generator.generate(
            prompts,
            n,
            max_new_tokens=self._settings["max_new_tokens"],
            temperature=self._settings["temperature"],
            top_p=self._settings["top_p"],
            seeds=seeds,
            on_result=on_result,
        )


class _Clock:
    """Shares the wall time of a request among its answers, by tokens."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._tokens = 0

    def share(self, completions: Iterable[Completion]) -> Callable[[int], float]:
        """Count what has arrived; returns the seconds that so many tokens have taken, at the pace so far."""
        self._tokens += sum(len(completion.token_ids) for completion in completions)
        pace = (time.monotonic() - self._started) / max(self._tokens, 1)
        return lambda tokens: pace * tokens


def _key(outcome: Outcome) -> _Key:
    return (outcome.canary, outcome.problem_id), outcome.sample, outcome.turn
