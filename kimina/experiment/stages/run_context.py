"""What every stage gets: the configuration, the graph, and the terminal."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from kimina.errors import UserError
from kimina.experiment.artifact import Artifact
from kimina.experiment.progress import Progress
from kimina.experiment.stages.graph import Graph, own_files


@dataclass(frozen=True)
class RunContext:
    """One command. ``resolved`` is ``config`` as plain values."""

    config: DictConfig
    resolved: dict[str, Any]
    overrides: list[str]
    graph: Graph
    progress: Progress
    log_file: Path

    def part(self, *nodes: str) -> dict[str, Any]:
        """Return these nodes of the resolved configuration."""
        return {node: self.resolved[node] for node in nodes}

    @property
    def command(self) -> str:
        """The command that makes this run again."""
        return shlex.join(["python", "run.py", *self.overrides])

    def produce(
        self,
        artifact: Artifact,
        make: Callable[["RunContext", Artifact], None],
        parents: Mapping[str, str],
        config: Mapping[str, Any],
    ) -> Artifact:
        """Make ``artifact`` with ``make``, or reuse it, and return it."""
        record = {
            "config": config,
            "overrides": self.overrides,
            "command": self.command,
            "parents": dict(parents),
            "seeds": {"seed": self.resolved["seed"]},
        }
        artifact.produce(lambda made: make(self, made), record, announce=self.progress.say)
        return artifact

    @property
    def start_model(self) -> Path | str:
        """The model that RL starts from: the warm start, or the configured path."""
        if self.graph.sft is not None:
            return self.graph.sft.file("model")
        return self.resolved["model"]["path"]

    def prompt_file(self, split: str) -> Path:
        """The parquet file of a split, or the user's own file where the configuration names one.

        Raises:
            UserError: the configuration names several.
        """
        key = "train_files" if split == "train" else "val_files"
        own = own_files(self.resolved, key)
        if len(own) > 1:
            raise UserError(f"data.{key} names {len(own)} files; one is read.\n  type: data.{key}={own[0]}")
        return own[0] if own else self.graph.data.file(f"{split}.parquet")
