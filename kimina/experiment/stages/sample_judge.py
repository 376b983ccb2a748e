"""Judging the answers of an evaluation while others are still generated.

Answers come in groups; a pool of threads checks their format and asks Lean, many groups at a time, so that a cluster of
servers is kept busy, and one thread writes what they found. The order of records says nothing.
"""

import queue
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from kimina.errors import InfrastructureError
from kimina.evaluation import LeanMessage, Outcome, append_outcomes
from kimina.experiment.progress import StageProgress
from kimina.lean.statement import Statement
from kimina.lean.verdict import CheckRequest, CheckResult, Message, Verdict
from kimina.lean.verifier import Verifier
from kimina.response import OPEN_TAG
from kimina.reward.feedback import FeedbackSettings, cut_middle
from kimina.reward.fix_turn import CONTEXT, feedback_or_reason, first_answer, fix_prompt
from kimina.reward.scorer import FormatReport, Scorer, reward_value
from kimina.reward.settings import RewardSettings

# A kill loses at most what was judged since the last part: so many records, or so long.
FLUSH_ROWS = 2000
FLUSH_S = 2.0
# What is kept of Lean's messages on one answer: a proof can print without end.
MOST_MESSAGES = 20
MOST_CHARACTERS = 4000
MOST_THREADS = 128
# So many proofs in a row without a verdict are no longer those of a few bad proofs.
MOST_LOST = 200


@dataclass(frozen=True)
class Problem:
    """What is asked: a prompt of the set, or a canary. ``seed`` is that of its first attempts."""

    id: str
    family: str
    level: int
    statement: str
    messages: tuple[Mapping[str, str], ...]
    seed: int
    canary: bool = False

    @property
    def key(self) -> tuple[bool, str]:
        """What tells it apart: an id of the prompt set may be that of a canary."""
        return self.canary, self.id


@dataclass(frozen=True)
class Answer:
    """One generated answer; see ``Outcome`` for its parts. ``seconds`` is its share of the time of generation."""

    problem: Problem
    sample: int
    turn: int
    text: str
    tokens: int
    finished: bool
    seconds: float | None

    @classmethod
    def of_record(cls, problem: Problem, outcome: Outcome) -> "Answer":
        """The answer that was recorded, to be judged again."""
        return cls(
            problem, outcome.sample, outcome.turn, outcome.response, outcome.response_tokens, outcome.finished,
            outcome.generation_s,
        )  # fmt: skip


class ChatTokenizer:
    """The model's tokenizer and chat template, usable from several threads at a time (the tokenizer alone is not)."""

    def __init__(self, tokenizer: Any, context: int | None) -> None:
        self._tokenizer = tokenizer
        self._lock = threading.Lock()
        self.context = context
        """Positions that the model has, None where its configuration doesn't say."""

    def prompt(self, messages: Sequence[Mapping[str, str]]) -> list[int]:
        """Return the tokens of a first prompt."""
        with self._lock:
            return self._tokenizer.apply_chat_template(
                list(messages), add_generation_prompt=True, tokenize=True, return_dict=False
            )

    def opens_think(self, messages: Sequence[Mapping[str, str]]) -> bool:
        """Whether the chat template ends the prompt with the opening think tag."""
        with self._lock:
            text = self._tokenizer.apply_chat_template(list(messages), add_generation_prompt=True, tokenize=False)
        return text.rstrip().endswith(OPEN_TAG)

    def fix_prompt(self, messages: Sequence[Mapping[str, str]], answer: str, feedback: str) -> list[int]:
        """Return the tokens of a fix turn's prompt."""
        with self._lock:
            text = fix_prompt(self._tokenizer, messages, answer, feedback)
            return self._tokenizer.encode(text, add_special_tokens=False)

    def count(self, text: str) -> int:
        """Return the length of a text in tokens."""
        with self._lock:
            return len(self._tokenizer.encode(text, add_special_tokens=False))

    def text(self, tokens: Sequence[int]) -> str:
        """Return the text of an answer, without the tokens that only steer."""
        with self._lock:
            return self._tokenizer.decode(tokens, skip_special_tokens=True)


class AnswerJudge:
    """Scores answers as training does; equal answers to a problem are judged once."""

    def __init__(self, config: Mapping[str, Any], tokenizer: ChatTokenizer, verifier: Verifier, *, opens_think: bool) -> None:
        self._settings = config["evaluation"]
        self._tokenizer = tokenizer
        self._verifier = verifier
        self._opens_think = opens_think
        self._reward = RewardSettings.parse(config["reward"])
        if self._settings["verify_rejected"]:
            self._reward = self._reward.model_copy(update={"verify_rejected": True})
        self._scorer = Scorer(self._reward, count_tokens=tokenizer.count)
        self._feedback = FeedbackSettings(max_tokens=self._settings["fix_feedback_tokens"], count_tokens=tokenizer.count)
        self._lost = 0
        self._lock = threading.Lock()

    def outcomes(self, answers: Sequence[Answer]) -> list[Outcome]:
        """Return one outcome an answer.

        Raises:
            InfrastructureError: the verifier is out of order: it has judged nothing for long.
        """
        reports: dict[tuple[tuple[bool, str], str], FormatReport] = {}
        for answer in answers:
            key = (answer.problem.key, answer.text)
            if key not in reports:
                statement = Statement.parse(answer.problem.statement)
                reports[key] = self._scorer.check_format(statement, answer.text, opens_think=self._opens_think)
        asked = [key for key, report in reports.items() if self._scorer.needs_lean(report)]
        checked = self._verifier.check(
            [CheckRequest(str(i), reports[key].lean_code, reports[key].theorem) for i, key in enumerate(asked)]
        )
        results = dict(zip(asked, checked, strict=True))
        self._watch(checked)
        return [
            self._outcome(answer, reports[key], results.get(key))
            for answer in answers
            for key in [(answer.problem.key, answer.text)]
        ]

    def fix_prompt(self, problem: Problem, outcome: Outcome) -> list[int]:
        """Return the prompt of the fix turn of a first attempt that has feedback."""
        assert outcome.feedback is not None
        statement = Statement.parse(problem.statement)
        code = self._scorer.check_format(statement, outcome.response, opens_think=self._opens_think).lean_code
        assert code is not None
        return self._fix_prompt(problem, outcome.response, code, outcome.feedback)

    def _fix_prompt(self, problem: Problem, response: str, code: str, feedback: str) -> list[int]:
        answer = first_answer(self._settings["fix_history"], response, code, opens_think=self._opens_think)
        return self._tokenizer.fix_prompt(problem.messages, answer, feedback)

    def _watch(self, results: Sequence[CheckResult]) -> None:
        """Stop when it is the verifier that fails, not a proof here and there."""
        lost = [result for result in results if result.verdict is Verdict.UNVERIFIED]
        with self._lock:
            self._lost = self._lost + len(lost) if len(lost) == len(results) else len(lost)
            count = self._lost
        if lost and count >= MOST_LOST:
            raise InfrastructureError(
                f"{count} answers in a row could not be verified ({lost[-1].detail}); nothing was counted as wrong"
            )

    def _outcome(self, answer: Answer, report: FormatReport, result: CheckResult | None) -> Outcome:
        verdict = result.verdict if result is not None else None
        feedback = no_fix = None
        if self._settings["fix_turns"] and answer.turn == 1:
            feedback, no_fix = feedback_or_reason(report, result, self._feedback)
            if feedback is not None and not self._fits(self._fix_prompt(answer.problem, answer.text, report.lean_code, feedback)):
                feedback, no_fix = None, CONTEXT
        return Outcome(
            problem_id=answer.problem.id,
            family=answer.problem.family,
            level=answer.problem.level,
            sample=answer.sample,
            verdict=verdict.value if verdict is not None else None,
            violations=report.violations,
            reward=reward_value(verdict, report.violations, report.length_penalty),
            response_tokens=answer.tokens,
            finished=answer.finished,
            response=answer.text,
            turn=answer.turn,
            messages=_kept(result.messages) if result is not None else (),
            generation_s=answer.seconds,
            lean_s=result.seconds if result is not None else None,
            canary=answer.problem.canary,
            feedback=feedback,
            no_fix=no_fix,
        )

    def _fits(self, prompt: Sequence[int]) -> bool:
        limit = self._tokenizer.context
        return limit is None or len(prompt) + self._settings["max_new_tokens"] <= limit


def _kept(messages: Sequence[Message]) -> tuple[LeanMessage, ...]:
    """The messages for the record, errors first where there are too many."""
    order = {"error": 0, "warning": 1}
    chosen = sorted(messages, key=lambda message: order.get(message.severity, 2))[:MOST_MESSAGES]
    chosen.sort(key=lambda message: (message.line, message.column))
    return tuple(LeanMessage(m.severity, m.line, m.column, cut_middle(m.text, MOST_CHARACTERS)) for m in chosen)


def judging_threads(verifier: Mapping[str, Any], group: int) -> int:
    """Return how many groups of ``group`` answers are judged at a time: enough for three times what the verifier takes.

    A group ends with its slowest proof, and equal or refused answers need no proof; the surplus keeps Lean busy all the
    same.
    """
    if verifier["name"] == "kimina":
        capacity = len(verifier["urls"]) * verifier["concurrency"] * verifier["batch_size"]
    else:
        capacity = verifier["workers"]
    return min(MOST_THREADS, max(2, ceil(3 * capacity / group)))


class Judging:
    """Takes groups of answers, has them judged, and writes the outcomes; a context manager.

    A failure in any thread is raised by the next call. When the block ends everything that was judged is written.
    """

    def __init__(self, judge: AnswerJudge, folder: Path, threads: int, shown: StageProgress) -> None:
        self._judge = judge
        self._folder = folder
        self._shown = shown
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="judge")
        # Groups that wait or are being judged; the one who generates waits beyond, for texts are large.
        self._room = threading.BoundedSemaphore(4 * threads)
        self._judged: queue.SimpleQueue[list[Outcome] | None] = queue.SimpleQueue()
        self._failure: BaseException | None = None
        self._writer = threading.Thread(target=self._write, name="records", daemon=True)

    def __enter__(self) -> "Judging":
        self._writer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        # What is under way is finished and kept, unless something has failed: then nobody waits for the rest.
        self._pool.shutdown(wait=True, cancel_futures=error is not None or self._failure is not None)
        self._judged.put(None)
        self._writer.join()
        if error is None:
            self.check()

    def submit(self, answers: Sequence[Answer]) -> Future[list[Outcome]]:
        """Have a group of answers judged; waits while very many are under way."""
        while not self._room.acquire(timeout=0.5):
            self.check()
        self.check()
        return self._pool.submit(self._work, list(answers))

    def wait(self, futures: Sequence[Future[list[Outcome]]]) -> list[Outcome]:
        """Return the outcomes of groups."""
        return [outcome for future in futures for outcome in future.result()]

    def check(self) -> None:
        """Raise what went wrong in a thread, if anything did."""
        if self._failure is not None:
            raise self._failure

    def _work(self, answers: list[Answer]) -> list[Outcome]:
        try:
            self.check()
            outcomes = self._judge.outcomes(answers)
            self._judged.put(outcomes)
            return outcomes
        except BaseException as error:
            self._failure = self._failure or error
            raise
        finally:
            self._room.release()

    def _write(self) -> None:
        """Gather outcomes into parts until None comes."""
        gathered: list[Outcome] = []
        since = time.monotonic()
        ended = False
        while not ended:
            try:
                item = self._judged.get(timeout=max(0.05, since + FLUSH_S - time.monotonic()) if gathered else None)
            except queue.Empty:
                item = []
            ended = item is None
            if item:
                since = since if gathered else time.monotonic()
                gathered += item
            if gathered and (ended or len(gathered) >= FLUSH_ROWS or time.monotonic() >= since + FLUSH_S):
                try:
                    append_outcomes(self._folder, gathered)
                    self._shown.advance(len(gathered))
                    refuse_proved_canaries(gathered, self._folder)
                except BaseException as error:
                    self._failure = self._failure or error
                gathered = []


def refuse_proved_canaries(outcomes: Sequence[Outcome], folder: Path) -> None:
    """Raise InfrastructureError where a known-false statement came out as proved."""
    for outcome in outcomes:
        if outcome.canary and outcome.proof:
            raise InfrastructureError(
                f"the false statement {outcome.problem_id} was proved (sample {outcome.sample}, turn {outcome.turn}): "
                f"verification is unsound here, and nothing is reported. The answer stands in {folder / 'samples'}.\n"
                "Either Lean accepts what is false, or the checks of the reward let another statement pass "
                "(reward.checks.statement_changed). When that is mended, remove the folder and run the command again."
                + (f"\nThe answer was:\n{outcome.response[:1000]}" if outcome.response else "")
            )
