"""The failures that wait for their fix turn: ``correction=replay`` and ``correction=batched_failure_replay``."""

from abc import abstractmethod
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from pydantic import Field

from kimina.data.option_settings import chosen_option
from kimina.data.repair_entry import FixTurnSettings, RepairEntry
from kimina.data.spacing import spaced
from kimina.errors import UserError

DUPLICATE = "duplicate"


class RepairSettings(FixTurnSettings):
    """The keys that both options have.

    ``capacity``: entries that are kept, the oldest is pushed out. ``max_age``: steps after which an entry expires, null for
    never. ``remove_drawn``: a drawn entry leaves the buffer; else it stays until it is pushed out, as in the recipe.
    """

    capacity: int = Field(default=5000, ge=1)
    max_age: int | None = Field(default=None, ge=1)
    remove_drawn: bool = False

    @abstractmethod
    def places(self, rng: np.random.Generator, before: int, count: int) -> list[bool]:
        """Return which of ``count`` places of a batch are for fix turns; ``before`` places of the step are filled already."""


class ReplaySettings(RepairSettings):
    """Kimina-Prover-RL: a FIFO of 5,000, and each place of a batch is a fix turn with ``probability`` 0.5."""

    probability: float = Field(default=0.5, gt=0, le=1)

    def places(self, rng: np.random.Generator, before: int, count: int) -> list[bool]:
        return (rng.random(count) < self.probability).tolist()


class BatchedFailureReplaySettings(RepairSettings):
    """Kimina-Prover (July 2025): failures of iteration N and fresh problems make up iteration N + 1, for example 500 of each.

    ``share`` of a batch's places, evenly spaced, are fix turns; ``max_age`` 1 keeps the failures of the last step alone.
    """

    max_age: int | None = Field(default=1, ge=1)
    share: float = Field(default=0.5, gt=0, le=1)

    def places(self, rng: np.random.Generator, before: int, count: int) -> list[bool]:
        return [spaced(place, self.share) for place in range(before, before + count)]


CORRECTIONS: dict[str, type[RepairSettings]] = {
    "batched_failure_replay": BatchedFailureReplaySettings,
    "replay": ReplaySettings,
}


def make_repair_buffer(settings: Mapping[str, Any], seed: int) -> "RepairBuffer":
    """Make the buffer of the composed ``correction`` node, a plain mapping.

    Raises:
        UserError: the option has no buffer, an unknown key, or a value out of range.
    """
    return RepairBuffer(chosen_option("correction", settings, CORRECTIONS).parse(settings), seed)


class RepairBuffer:
    """Fix turns in the order in which their first turns failed; see :class:`ReplaySettings` for what is drawn when.

    Which entry a place gets is drawn uniformly among those that the step hasn't drawn yet; a place for which there is none
    gets a fresh prompt. (The recipe takes entry ``item mod size`` for a shuffled item, and may take one twice.) All
    chance is a function of seed, step and the number of draws so far, which the state holds.
    """

    def __init__(self, settings: RepairSettings, seed: int) -> None:
        self.settings = settings
        self.seed = seed
        self._entries: OrderedDict[str, RepairEntry] = OrderedDict()
        self._calls = 0
        self._step = 0
        self._places = 0  # of this step
        self._drawn_now: set[str] = set()  # keys drawn by this step
        self._ages_now: list[int] = []  # in steps, of this step's draws
        self._counts: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._entries)

    def offer(self, outcome: RepairEntry | str) -> None:
        """Take what :func:`~kimina.data.repair_entry.entry_or_reason` returned."""
        if isinstance(outcome, str):
            self.note_dropped(outcome)
        else:
            self.add([outcome])

    def add(self, entries: Iterable[RepairEntry]) -> None:
        """Append entries, oldest first; a key that is held already is dropped, the oldest entry makes room."""
        for entry in entries:
            if entry.key in self._entries:
                self.note_dropped(DUPLICATE)
                continue
            self._entries[entry.key] = entry
            self._counts["added"] += 1
            if len(self._entries) > self.settings.capacity:
                self._entries.popitem(last=False)
                self._counts["pushed_out"] += 1

    def note_dropped(self, reason: str) -> None:
        """Count a rollout that gets no fix turn."""
        self._dropped[reason] += 1

    def draw(self, step: int, number_of_places: int) -> list[RepairEntry | None]:
        """Return what stands in each place of the batch of ``step``: a fix turn, or None for a fresh prompt.

        A step that fills up its batch draws several times; no entry comes twice in a step.
        """
        if number_of_places < 0:
            raise ValueError(f"number_of_places must not be negative: {number_of_places}")
        if step != self._step:
            self._step, self._places, self._drawn_now, self._ages_now = step, 0, set(), []
        self._expire()
        rng = np.random.default_rng([self.seed, step, self._calls])
        self._calls += 1
        wanted = self.settings.places(rng, self._places, number_of_places)
        self._places += number_of_places
        possible = [entry for key, entry in self._entries.items() if key not in self._drawn_now]
        chosen = rng.choice(len(possible), size=min(sum(wanted), len(possible)), replace=False).tolist() if possible else []
        entries = iter([possible[index] for index in chosen])
        batch = [next(entries, None) if is_fix else None for is_fix in wanted]
        self._note_drawn([entry for entry in batch if entry is not None])
        return batch

    def _expire(self) -> None:
        if self.settings.max_age is None:
            return
        old = [key for key, entry in self._entries.items() if self._step - entry.first_step > self.settings.max_age]
        for key in old:
            del self._entries[key]
        self._counts["expired"] += len(old)

    def _note_drawn(self, entries: list[RepairEntry]) -> None:
        self._counts["drawn"] += len(entries)
        self._ages_now += [self._step - entry.first_step for entry in entries]
        self._drawn_now |= {entry.key for entry in entries}
        if self.settings.remove_drawn:
            for entry in entries:
                del self._entries[entry.key]

    def metrics(self) -> dict[str, float]:
        """Return counts since the start of the run, and ages in steps at the last draw; what is undefined is left out.

        ``size`` entries are held. ``added``, ``drawn``, ``pushed_out`` and ``expired`` count entries, ``dropped`` and
        ``dropped/<reason>`` rollouts without a fix turn. ``age_mean`` and ``age_max`` are of the held entries,
        ``drawn_age_mean`` of those that the last step drew.
        """
        figures = {"size": len(self._entries)} | {
            name: self._counts[name] for name in ("added", "drawn", "pushed_out", "expired")
        }
        figures["dropped"] = self._dropped.total()
        figures |= {f"dropped/{reason}": count for reason, count in sorted(self._dropped.items())}
        found = {name: float(value) for name, value in figures.items()}
        ages = [max(0, self._step - entry.first_step) for entry in self._entries.values()]
        if ages:
            found |= {"age_mean": sum(ages) / len(ages), "age_max": float(max(ages))}
        if self._ages_now:
            found["drawn_age_mean"] = sum(self._ages_now) / len(self._ages_now)
        return found

    def state(self) -> dict[str, Any]:
        """Return everything that later draws and metrics depend on, as JSON can hold it."""
        return {
            "settings": self.settings.model_dump(),
            "seed": self.seed,
            "entries": [asdict(entry) for entry in self._entries.values()],
            "calls": self._calls,
            "step": self._step,
            "places": self._places,
            "drawn_now": sorted(self._drawn_now),
            "ages_now": list(self._ages_now),
            "counts": dict(self._counts),
            "dropped": dict(self._dropped),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from a state of the same settings and seed.

        Raises:
            UserError: the state is another one's; nothing is changed.
        """
        for key, value in (("settings", self.settings.model_dump()), ("seed", self.seed)):
            if state.get(key) != value:
                raise UserError(f"the saved repair buffer is of another run (its {key} differs).")
        entries = [RepairEntry(**entry) for entry in state["entries"]]
        self._entries = OrderedDict((entry.key, entry) for entry in entries)
        self._calls, self._step, self._places = state["calls"], state["step"], state["places"]
        self._drawn_now, self._ages_now = set(state["drawn_now"]), list(state["ages_now"])
        self._counts, self._dropped = Counter(state["counts"]), Counter(state["dropped"])
