"""Waiting for processes, and killing a command while it works."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

RUN = Path(__file__).parents[2] / "run.py"


def wait_until(condition: Callable[[], bool], seconds: float = 15.0) -> bool:
    """Whether the condition holds before the time is over."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def gone(process: psutil.Process) -> bool:
    """Whether a process has ended, be it that nobody has asked for its exit status yet."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def run_killed_and_again(words: Sequence[str], folder: Path, stage: str) -> str:
    """Run a command on ``<folder>/in.jsonl``, kill it when the first rows are judged, run it again; return what it says."""
    files = [f"{stage}.input={folder}/in.jsonl", f"{stage}.output={folder}/out.jsonl", f"output_dir={folder}/outputs"]
    command = [sys.executable, str(RUN), f"stage={stage}", *files, *words]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not any(path.stat().st_size for path in (folder / "outputs").glob(f"{stage}/*/rows.jsonl")):
        assert first.poll() is None
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert not (folder / "out.jsonl").exists()
    second = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "the last attempt was interrupted" in second.stdout and "were done before" in second.stdout
    return second.stdout
