"""Progress of the stages: bars on a terminal, plain lines in a file or a pipe.

with QuietTerminal(log_path) as quiet, Progress(quiet.stream) as progress:
    with progress.stage("reinforcement learning", total=60, unit="steps") as stage:
        stage.advance(note="reward 0.41")
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TextIO

import rich.console
import rich.progress
import rich.text

LINE_EVERY_SHARE = 0.1
LINE_EVERY_S = 15.0
LINE_AT_LEAST_S = 2.0


class Progress:
    """What the terminal shows while stages run; use it as a context manager.

    Args:
        stream: where to write; the standard output when None.
        interactive: bars that move (True), lines (False), or what the stream can do (None).
        clock: seconds, monotonic; replaced in tests.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        interactive: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.stream = stream if stream is not None else sys.stdout
        self.interactive = self.stream.isatty() if interactive is None else interactive
        self.clock = clock
        self.console = rich.console.Console(file=self.stream, highlight=False, force_terminal=self.interactive or None)
        self._bars = rich.progress.Progress(
            rich.progress.SpinnerColumn(finished_text="[green]✓[/]"),
            rich.progress.TextColumn("[bold]{task.description}[/]"),
            rich.progress.BarColumn(bar_width=24),
            rich.progress.TextColumn("{task.fields[amount]}"),
            rich.progress.TimeElapsedColumn(),
            rich.progress.TextColumn("[dim]{task.fields[left]}[/]"),
            rich.progress.TextColumn("{task.fields[note]}", markup=False),
            console=self.console,
            disable=not self.interactive,
            # Output of others is the log's business; rich would otherwise put itself in the place of sys.stdout.
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> "Progress":
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def say(self, text: str) -> None:
        """Print a line, above the bars if there are any."""
        if self.interactive:
            self.console.print(rich.text.Text(text))
        else:
            print(text, file=self.stream, flush=True)

    @contextmanager
    def stage(self, title: str, total: int | None = None, unit: str = "") -> Iterator["StageProgress"]:
        """Show one stage for the time of the block.

        Args:
            title: such as "evaluation before training".
            total: units of work, None while it is not known (see `StageProgress.set_total`).
            unit: what is counted, in the plural.
        """
        shown = StageProgress(self, title, total, unit)
        shown.begin()
        try:
            yield shown
        except BaseException:
            shown.end(completed=False)
            raise
        shown.end(completed=True)


class StageProgress:
    """The bar, or the lines, of one stage."""

    def __init__(self, progress: Progress, title: str, total: int | None, unit: str) -> None:
        self.title = title
        self.total = total
        self.unit = unit
        self.done = 0
        self.note = ""
        self._progress = progress
        self._started = progress.clock()
        self._first_done = 0
        self._line_time = self._started
        self._line_done = 0

    def begin(self) -> None:
        """Show that the stage has started."""
        if self._progress.interactive:
            self._task = self._progress._bars.add_task(
                self.title, total=self.total, amount=self._amount(), left="", note=""
            )
        else:
            self._progress.say(
                f"{self.title}: started" + (f", {self.total} {self.unit}".rstrip() if self.total else "")
            )

    def set_total(self, total: int) -> None:
        """Say how much work there is, once it is known."""
        self.total = total
        self._show()

    def add_to_total(self, count: int) -> None:
        """Say that ``count`` more units turned out to be needed."""
        self.set_total((self.total or 0) + count)

    def resume_at(self, done: int) -> None:
        """Say that ``done`` units were finished by an earlier run; they do not count in the remaining time."""
        self.done = self._first_done = self._line_done = done
        if self._progress.interactive:
            self._show()
        elif done:
            self._progress.say(f"{self.title}: {self._amount()} were done before")

    def advance(self, count: int = 1, *, note: str | None = None) -> None:
        """Count ``count`` more units; ``note`` is a short text such as the current reward."""
        self.update(self.done + count, note=note)

    def update(self, done: int, *, note: str | None = None) -> None:
        """Set the number of units that are finished."""
        self.done = done
        if note is not None:
            self.note = note
        self._show()

    def end(self, *, completed: bool) -> None:
        """Show that the stage has ended."""
        bars = self._progress._bars
        if self._progress.interactive:
            if completed:
                total = self.total if self.total is not None else max(self.done, 1)
                bars.update(self._task, total=total, completed=total, left="")
            bars.stop_task(self._task)
            bars.refresh()
            return
        elapsed = duration(self._progress.clock() - self._started)
        parts = [f"{self.title}: {'done' if completed else 'stopped'} after {elapsed}", self._amount(), self.note]
        self._progress.say("  ".join(part for part in parts if part))

    def seconds_left(self) -> float | None:
        """Return the time that the rest will take at the speed so far, or None before there is one."""
        made = self.done - self._first_done
        if not self.total or made <= 0 or self.done >= self.total:
            return None
        return (self._progress.clock() - self._started) / made * (self.total - self.done)

    def _amount(self) -> str:
        if self.total is None:
            return f"{self.done} {self.unit}".rstrip() if self.done else ""
        return f"{self.done}/{self.total} {self.unit}".rstrip()

    def _show(self) -> None:
        left = self.seconds_left()
        if self._progress.interactive:
            self._progress._bars.update(
                self._task,
                total=self.total,
                completed=self.done,
                amount=self._amount(),
                left="" if left is None else f"~{duration(left)} left",
                note=self.note,
            )
            return
        now = self._progress.clock()
        enough_work = bool(self.total) and self.done - self._line_done >= LINE_EVERY_SHARE * self.total
        finished = self.total is not None and self.done >= self.total
        # The closing line follows at once, so the last unit needs no line of its own.
        wait = LINE_AT_LEAST_S if enough_work else LINE_EVERY_S
        if finished or now - self._line_time < wait:
            return
        self._line_time, self._line_done = now, self.done
        share = f"{100 * self.done / self.total:.0f} %" if self.total else ""
        rest = "" if left is None else f"~{duration(left)} left"
        parts = [f"{self.title}:", self._amount(), share, rest, self.note]
        self._progress.say("  ".join(part for part in parts if part))


def duration(seconds: float) -> str:
    """Return a length of time as it is read: ``8 s``, ``3:05 min`` or ``2:10:00 h``."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d} h"
