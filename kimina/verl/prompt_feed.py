"""Which prompts a training step asks: rows of the training set by the sampler, fix turns from the repair buffer.

What is drawn depends on seed and history alone, and the state that a checkpoint holds is all of the history, so that a
resumed run asks what the interrupted one would have asked.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Protocol

from kimina.data.repair_buffer import CORRECTIONS, RepairBuffer, make_repair_buffer
from kimina.data.repair_entry import FixMaterial, RepairEntry, Rollout, entry_or_reason
from kimina.data.sampling import Outcome, Problem, PromptSampler, make_sampler
from kimina.errors import UserError
from kimina.reward.fix_turn import fix_prompt
from kimina.reward.length import LengthControl, make_length_control

#: More than a chat template writes around the messages of a prompt.
_TEMPLATE_BYTES = 256


class Rows(Protocol):
    """A training set: verl's data set of dictionaries, with the chat of each row in ``raw_prompt``."""

    def __len__(self) -> int: ...

    def __getitem__(self, row: int) -> dict[str, Any]: ...


class PromptFeed:
    """Makes the prompts of each step and learns from what became of them.

    Each prompt's ``extra_info`` says what the rollout must know of it: ``turn`` (1, or 2 for a fix turn), ``fix`` (what a
    fix prompt says behind the chat), ``budget`` (tokens that length control asked for) and ``limit`` (generation limit).
    """

    def __init__(
        self,
        rows: Rows,
        tokenizer: Any,
        *,
        sampling: Mapping[str, Any],
        correction: Mapping[str, Any],
        length: Mapping[str, Any],
        seed: int,
        max_prompt_tokens: int,
    ):
        self.rows = rows
        self.tokenizer = tokenizer
        self.seed = seed
        self.max_prompt_tokens = max_prompt_tokens
        self.in_rollout = correction["name"] == "rollout"
        self.length: LengthControl = make_length_control(length)
        self.sampler: PromptSampler = make_sampler(sampling, [problem_of(rows[row]) for row in range(len(rows))], seed)
        self.repair: RepairBuffer | None = (
            make_repair_buffer(correction, seed) if correction["name"] in CORRECTIONS else None
        )
        if self.length.largest_budget() is not None:
            self._check_instructed_prompts()
        self._step, self._drawn = 0, 0

    def _check_instructed_prompts(self) -> None:
        """Refuse rows that the instruction on length makes longer than a prompt may be: verl would cut off their beginning.

        Raises:
            UserError: names the length that they need.
        """
        longest, too_long = 0, 0
        for row in range(len(self.rows)):
            chat = self._instructed(self.rows[row]["raw_prompt"])
            if sum(len(message["content"].encode()) for message in chat) + _TEMPLATE_BYTES <= self.max_prompt_tokens:
                continue  # no tokenizer of models makes more tokens than bytes
            text = self.tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
            tokens = len(self.tokenizer.encode(text, add_special_tokens=False))
            longest, too_long = max(longest, tokens), too_long + (tokens > self.max_prompt_tokens)
        if too_long:
            raise UserError(
                f"length={self.length.name}: with what it writes into the prompt, {too_long} of {len(self.rows)} prompts have more "
                f"than data.max_prompt_length={self.max_prompt_tokens} tokens, the longest {longest}. "
                f"Type: data.max_prompt_length={longest}"
            )

    def _instructed(self, chat: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """Return the chat as a step may ask it, with the longest number."""
        return self.length.instruct(chat, self.length.largest_budget())

    def draw(self, step: int, count: int) -> list[dict[str, Any]]:
        """Return the next ``count`` prompts of a step, as items of the training set with a ``uid`` each.

        The uids sort in the order of drawing and have no underscore, at which verl cuts its keys.
        """
        if step != self._step:
            self._step, self._drawn = step, 0
        entries = self.repair.draw(step, count) if self.repair is not None else [None] * count
        fresh = iter(self.sampler.draw(step, sum(entry is None for entry in entries)))
        items = []
        for entry in entries:
            row = next(fresh) if entry is None else entry.row
            items.append(self._item(row, entry, step, self._drawn))
            self._drawn += 1
        return items

    def _item(self, row: int, entry: RepairEntry | None, step: int, number: int) -> dict[str, Any]:
        item = dict(self.rows[row])
        budget = self.length.budget(self.seed, step, number)
        item["raw_prompt"] = self.length.instruct(item["raw_prompt"], budget)
        item["extra_info"] = {
            **item["extra_info"],
            "row": row,
            "statement": item["reward_model"]["ground_truth"],
            "turn": 1 if entry is None else 2,
            "fix": None if entry is None else {"answer": entry.first_answer, "feedback": entry.feedback},
            "fix_in_rollout": self.in_rollout,
            "budget": budget,
            "limit": self.length.limit(step),
        }
        item["uid"] = f"s{step:07d}p{number:05d}"
        return item

    def prompt_tokens(self, chat: Sequence[Mapping[str, str]]) -> Callable[[FixMaterial], int]:
        """Return the function that counts the tokens of a fix prompt behind ``chat``."""
        return lambda material: len(fix_prompt_ids(self.tokenizer, chat, material))

    def offer_fix_turn(self, rollout: Rollout, material: FixMaterial | str) -> None:
        """Take a judged rollout into the repair buffer, or count why it isn't taken; without a buffer do nothing."""
        if self.repair is None:
            return
        chat = self._instructed(self.rows[rollout.row]["raw_prompt"])
        tokens = self.prompt_tokens(chat)
        self.repair.offer(entry_or_reason(rollout, material, self.repair.settings, tokens, self.max_prompt_tokens))

    def record(self, step: int, outcomes: Sequence[Outcome]) -> None:
        """Tell the sampler what became of first turns."""
        self.sampler.record(step, outcomes)

    def metrics(self) -> dict[str, dict[str, float]]:
        """Return the figures of the sampler and, where there is one, of the repair buffer."""
        figures = {"sampling": self.sampler.metrics()}
        return figures if self.repair is None else {**figures, "correction": self.repair.metrics()}

    def state(self) -> dict[str, Any]:
        """Return everything that later draws depend on, as JSON can hold it."""
        repair = None if self.repair is None else self.repair.state()
        return deepcopy({"sampler": self.sampler.state(), "repair": repair, "step": self._step, "drawn": self._drawn})

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a state.

        Raises:
            UserError: the state is of a run with other settings or another training set.
        """
        if (self.repair is None) != (state["repair"] is None):
            raise UserError("the saved repair buffer is of another run (its correction differs).")
        self.sampler.load_state(state["sampler"])
        if self.repair is not None:
            self.repair.load_state(state["repair"])
        self._step, self._drawn = state["step"], state["drawn"]


def problem_of(item: Mapping[str, Any]) -> Problem:
    """Return what a sampler knows of a row: its name and difficulty (a level above 0; 0 stands for unknown)."""
    info = item["extra_info"]
    return Problem(str(info["problem_id"]), float(info["level"]) if info.get("level") else None)


def fix_prompt_ids(tokenizer: Any, chat: Sequence[Mapping[str, str]], material: FixMaterial) -> list[int]:
    """Return the tokens of a fix prompt, with answer and feedback verbatim."""
    text = fix_prompt(tokenizer, chat, material.answer, material.feedback)
    return list(tokenizer.encode(text, add_special_tokens=False))
