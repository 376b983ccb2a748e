import os
import signal
import subprocess
import sys
import textwrap

import pytest

from kimina.metrics_log import MetricsLog


def test_the_later_row_of_a_step_counts(tmp_path):
    log = MetricsLog(tmp_path / "metrics.jsonl")
    for step, reward in ((1, 0.1), (2, 0.2), (3, 0.3), (2, 0.25), (3, 0.35)):
        log.append({"step": step, "reward/mean": reward})
    assert log.read() == [
        {"step": 1, "reward/mean": 0.1},
        {"step": 2, "reward/mean": 0.25},
        {"step": 3, "reward/mean": 0.35},
    ]
    assert log.last_step() == 3


def test_an_interrupted_run_leaves_the_same_file_as_one_that_was_not(tmp_path):
    whole, broken = MetricsLog(tmp_path / "whole.jsonl"), MetricsLog(tmp_path / "broken.jsonl")
    for step in range(1, 9):
        whole.append({"step": step, "loss": step / 8})
    for step in range(1, 6):
        broken.append({"step": step, "loss": step / 8})
    with broken.path.open("a") as file:
        file.write('{"step": 6, "lo')
    broken.rewind(4)
    for step in range(5, 9):
        broken.append({"step": step, "loss": step / 8})
    broken.compact()
    whole.compact()
    assert broken.path.read_bytes() == whole.path.read_bytes()


def test_rewind_drops_later_steps_only(tmp_path):
    log = MetricsLog(tmp_path / "metrics.jsonl")
    for step in (1, 2, 3):
        log.append({"step": step})
    log.rewind(5)
    assert log.last_step() == 3
    log.rewind(0)
    assert log.read() == []
    assert log.last_step() is None


@pytest.mark.parametrize("row", [{}, {"step": None}, {"step": 1.5}, {"step": True}])
def test_a_row_without_a_step_is_refused(tmp_path, row):
    with pytest.raises(ValueError, match="step"):
        MetricsLog(tmp_path / "metrics.jsonl").append(row)


def test_numbers_that_are_not_finite_become_null(tmp_path):
    log = MetricsLog(tmp_path / "metrics.jsonl")
    log.append({"step": 1, "grad_norm": float("inf"), "loss": float("nan")})
    assert log.read() == [{"step": 1, "grad_norm": None, "loss": None}]


def test_rows_outlive_a_killed_writer(tmp_path):
    code = textwrap.dedent(
        """
        import sys
        from kimina.metrics_log import MetricsLog
        log = MetricsLog(sys.argv[1])
        step = 0
        while True:
            step += 1
            log.append({"step": step, "text": "x" * 2000})
            print(step, flush=True)
        """
    )
    path = tmp_path / "metrics.jsonl"
    writer = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        seen = 0
        while seen < 20:
            seen = int(writer.stdout.readline())
    finally:
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate()
    steps = [row["step"] for row in MetricsLog(path).read()]
    assert len(steps) >= 20
    assert steps == list(range(1, len(steps) + 1))
