import io
import logging
import os
import subprocess
import sys
import textwrap

import pytest

from kimina.experiment.chatter import QuietTerminal
from kimina.experiment.progress import Progress, duration


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def _lines(stream):
    return stream.getvalue().splitlines()


def test_plain_output_is_about_a_line_each_tenth():
    stream, clock = io.StringIO(), Clock()
    with Progress(stream, clock=clock) as progress, progress.stage("RL", total=50, unit="steps") as stage:
        for step in range(50):
            clock.now += 1.0
            stage.advance(note=f"reward {step / 50:.2f}")
    lines = _lines(stream)
    assert lines[0] == "RL: started, 50 steps"
    assert lines[1] == "RL:  5/50 steps  10 %  ~45 s left  reward 0.08"
    assert lines[-1] == "RL: done after 50 s  50/50 steps  reward 0.98"
    assert len(lines) == 11


def test_plain_output_of_a_slow_stage_is_a_line_each_15_seconds():
    stream, clock = io.StringIO(), Clock()
    with Progress(stream, clock=clock) as progress, progress.stage("RL", total=1000, unit="steps") as stage:
        for _ in range(12):
            clock.now += 5.0
            stage.advance()
    assert [line for line in _lines(stream) if "left" in line] == [
        "RL:  3/1000 steps  0 %  ~1:23:05 h left",
        "RL:  6/1000 steps  1 %  ~1:22:50 h left",
        "RL:  9/1000 steps  1 %  ~1:22:35 h left",
        "RL:  12/1000 steps  1 %  ~1:22:20 h left",
    ]


def test_resumed_units_do_not_shorten_the_time_that_is_left():
    stream, clock = io.StringIO(), Clock()
    with Progress(stream, clock=clock) as progress, progress.stage("RL", total=100) as stage:
        stage.resume_at(60)
        clock.now = 10.0
        stage.advance(10)
        assert stage.seconds_left() == 30.0
    assert _lines(stream)[1] == "RL: 60/100 were done before"


def test_a_quick_stage_does_not_flood_the_output():
    stream, clock = io.StringIO(), Clock()
    with Progress(stream, clock=clock) as progress, progress.stage("data", total=1000) as stage:
        for _ in range(1000):
            clock.now += 0.001
            stage.advance()
    assert len(_lines(stream)) == 2


def test_a_stage_without_a_known_total():
    stream, clock = io.StringIO(), Clock()
    with Progress(stream, clock=clock) as progress, progress.stage("data", unit="theorems") as stage:
        stage.advance(3)
        clock.now = 20.0
        stage.advance(3)
        assert stage.seconds_left() is None
        stage.set_total(6)
    assert _lines(stream) == ["data: started", "data:  6 theorems", "data: done after 20 s  6/6 theorems"]


def test_a_stage_that_fails_says_stopped():
    stream = io.StringIO()
    with Progress(stream) as progress, pytest.raises(RuntimeError), progress.stage("SFT", total=4) as stage:
        stage.advance()
        raise RuntimeError
    assert "SFT: stopped after" in _lines(stream)[-1]


def test_bars_show_title_amount_and_note_without_reading_them_as_markup():
    stream = io.StringIO()
    with Progress(stream, interactive=True) as progress:
        progress.say("log: [x].txt")
        with progress.stage("evaluation", total=4, unit="theorems") as stage:
            stage.advance(4, note="[bold]0.5[/]")
    shown = stream.getvalue()
    for text in ("log: [x].txt", "evaluation", "4/4", "[bold]0.5[/]"):
        assert text in shown, text


def test_duration():
    assert [duration(value) for value in (0.4, 8, 185, 7800)] == ["0 s", "8 s", "3:05 min", "2:10:00 h"]


CHATTER = """
    import ctypes, logging, os, subprocess, sys
    from kimina.experiment.chatter import QuietTerminal
    from kimina.experiment.progress import Progress

    print("before")
    with QuietTerminal(sys.argv[1]) as quiet, Progress(quiet.stream) as progress:
        progress.say("shown")
        print("python chatter")
        print("error chatter", file=sys.stderr)
        os.write(1, b"descriptor chatter\\n")
        ctypes.CDLL(None).puts(b"compiled chatter")
        subprocess.run(["sh", "-c", "echo child chatter; echo child error >&2"])
        logging.warning("logged chatter")
    logging.warning("late")
    print("after")
"""


def test_only_our_own_words_reach_the_terminal(tmp_path):
    log = tmp_path / "logs" / "run.log"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHATTER), str(log)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["before", "shown", "after"]
    text = log.read_text()
    for words in ("python", "error", "descriptor", "compiled", "child", "logged"):
        assert f"{words} chatter" in text, words
    assert "child error" in text
    assert "before" not in text


def test_the_terminal_comes_back_after_an_error(tmp_path):
    streams, log = (sys.stdout, sys.stderr), tmp_path / "run.log"
    quiet = QuietTerminal(log)
    with pytest.raises(RuntimeError), quiet:
        print("last words")
        assert quiet.tail() == "last words"
        raise RuntimeError
    assert (sys.stdout, sys.stderr) == streams
    assert quiet.tail(1) == "last words"
    with quiet:
        os.write(1, b"second time\n")
        logging.getLogger("x").debug("nothing")
    assert log.read_text() == "last words\nsecond time\n"


def test_units_that_turn_out_to_be_needed_are_added():
    stream = io.StringIO()
    with Progress(stream, clock=Clock()) as progress, progress.stage("eval", total=4, unit="answers") as stage:
        stage.advance(4)
        stage.add_to_total(2)
        stage.advance(2)
    assert _lines(stream)[-1] == "eval: done after 0 s  6/6 answers"
