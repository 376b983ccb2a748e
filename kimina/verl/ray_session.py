"""Ray's temporary folder and processes belong to one run and go with it.

Every process of a run carries the run's mark in its environment. What a killed run left behind is found by that mark,
never by a name, so that nobody else's processes are touched.
"""

import hashlib
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

import psutil

from kimina.durable import read_json, write_json

MARK = "KIMINA_RL_RUN"
_RECORD = "ray_session.json"
# a socket's path may have 107 characters, and Ray appends about 65 to its folder
_LONGEST_FOLDER = 40


def mark_of(out_dir: Path) -> str:
    """Return the run's mark: the same for every start in the same folder."""
    return hashlib.sha256(str(out_dir.resolve()).encode()).hexdigest()[:16]


def open_session(out_dir: Path) -> Path:
    """Make a short temporary folder for Ray and note it in the run's folder."""
    base = tempfile.gettempdir()
    if len(base) + 10 > _LONGEST_FOLDER:
        base = "/tmp"
    folder = Path(tempfile.mkdtemp(prefix="kr", dir=base))
    write_json(out_dir / _RECORD, {"folder": str(folder)})
    return folder


def close_session(out_dir: Path) -> None:
    """Stop every process that carries the run's mark and remove Ray's folder. May be called at any time."""
    _stop_processes(mark_of(out_dir))
    record = out_dir / _RECORD
    if record.exists():
        shutil.rmtree(read_json(record)["folder"], ignore_errors=True)
        record.unlink(missing_ok=True)


def _stop_processes(mark: str, patience_s: float = 3.0) -> None:
    for how in (signal.SIGTERM, signal.SIGKILL):
        found = [process for process in _marked(mark) if process.pid != os.getpid()]
        for process in found:
            try:
                process.send_signal(how)
            except psutil.NoSuchProcess:
                continue
        deadline = time.monotonic() + patience_s
        while found and time.monotonic() < deadline:
            _, found = psutil.wait_procs(found, timeout=0.2)


def _marked(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return found
