"""``loss.zero_variance=resample``: groups without a difference are replaced by groups of other prompts.

The dynamic sampling of DAPO (arXiv 2503.14476, section 3.2), in rounds. As there, a group is judged by its proofs: length
rewards come later and make no difference here. verl's own version replaces groups while others are
still generating, so that what it draws depends on who finishes first; here a round is generated as a whole, which costs
the wait for its last response and makes a resumed run repeat the same prompts.
"""

from dataclasses import dataclass
from typing import Any

import transfer_queue as tq
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

#: Prefix of this buffer's metrics.
RESAMPLING = "kimina/resampling/"


@dataclass(frozen=True)
class Discarded:
    """A sample of a group that is not trained on: its key, what its reward said, and its prompt's ``extra_info``."""

    key: str
    info: dict[str, Any]
    prompt: dict[str, Any]


class ResamplingBuffer(ReplayBuffer):
    """verl's buffer of finished groups, which in training asks for more until enough of them have a difference.

    Each round draws twice the missing number of prompts, as verl does: about half of them come back equal again. When
    ``rounds`` are over, equal groups fill the batch up; the trainer takes them out of the update. Surplus groups are
    discarded in the order of drawing. Groups that nobody could judge count as having a difference: whether a run may go on
    without them is the trainer's decision.

    ``discarded`` are the samples of the last batch's groups that were left out, in an order that a repeated run repeats:
    they were asked and judged, so sampler and repair buffer learn from them as from the others.
    """

    def __init__(self, *args, rounds: int, **kwargs):
        super().__init__(*args, **kwargs)
        self.rounds = rounds
        self.discarded: list[Discarded] = []

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> tuple[KVBatchMeta, dict]:
        if partition_id == "val":
            return super().sample(global_steps, partition_id, batch_size)
        mixed, equal, drawn = set(), set(), 0
        for round_number in range(self.rounds + 1):
            self._wait_for_round(partition_id)
            mixed, equal = self._sorted_out(partition_id)
            drawn = len(mixed) + len(equal)
            missing = batch_size - len(mixed)
            if missing <= 0 or round_number == self.rounds:
                break
            self.refill_fn(2 * missing)
        chosen = [*sorted(mixed), *sorted(equal)][:batch_size]
        left_out = (mixed | equal) - set(chosen)
        self.discarded = self._samples_of(partition_id, left_out)
        self._clear_groups(partition_id, left_out)
        metrics = {
            f"{RESAMPLING}prompts": drawn,
            f"{RESAMPLING}rounds": round_number,
            f"{RESAMPLING}equal_groups": len(equal),
            f"{RESAMPLING}discarded": max(0, len(mixed) - batch_size),
        }
        return self._materialize_batch(partition_id, chosen, dict(self.partitions[partition_id])), metrics

    def _samples_of(self, partition_id: str, prompts: set[str]) -> list[Discarded]:
        keys = [key for key in self.partitions[partition_id] if key.split("_")[0] in prompts]
        if not keys:
            return []
        data = tq.kv_batch_get(keys=keys, partition_id=partition_id, select_fields=["extra_fields", "extra_info"])
        rows = zip(keys, list(data["extra_fields"]), list(data["extra_info"]), strict=True)
        # by what was drawn: which sample has which number depends on who came back first
        ordered = sorted(rows, key=lambda row: (row[0].split("_")[0], row[1].get("digest", ""), row[0]))
        return [Discarded(key, extra["reward_extra_info"], prompt) for key, extra, prompt in ordered]

    def _wait_for_round(self, partition_id: str) -> None:
        last_debug_time = 0.0
        while True:
            self._sync_metadata_from_transfer_queue()
            if not self.pending_keys[partition_id] and not self.running_keys[partition_id]:
                return
            last_debug_time = self._wait_for_next_poll(partition_id, last_debug_time)

    def _sorted_out(self, partition_id: str) -> tuple[set[str], set[str]]:
        """Return the prompts of groups with a difference, and those of groups whose judged responses all earned the same."""
        prompts = self.finished_keys[partition_id] | self.failure_keys[partition_id]
        scores: dict[str, list[float]] = {prompt: [] for prompt in prompts}
        unjudged: set[str] = set()
        keys = [key for key in self.partitions[partition_id] if key.split("_")[0] in prompts]
        data = tq.kv_batch_get(keys=keys, partition_id=partition_id, select_fields=["extra_fields"]) if keys else None
        for key, extra in zip(keys, list(data["extra_fields"]) if data is not None else [], strict=True):
            prompt, info = key.split("_")[0], extra["reward_extra_info"]
            if info["unverified"]:
                unjudged.add(prompt)
            else:
                scores[prompt].append(float(info["score"]))
        equal = {
            prompt
            for prompt, values in scores.items()
            if prompt not in unjudged and values and min(values) == max(values)
        }
        return prompts - equal, equal
