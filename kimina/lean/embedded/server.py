"""The fork server: imports the core library once and checks each text in a forked child of its own.

Run as ``python -S -m kimina.lean.embedded.server LIBRARY FOLDER MODULE HEADER``. One JSON object a line on standard
input is one check; one JSON object a line on standard output answers it, in order. The process loads nothing beyond
Lean and the standard library, and ends when its standard input closes, so it can't outlive its owner.
"""

import gc
import json
import os
import resource
import select
import signal
import sys
import threading
import time
from dataclasses import asdict

from kimina.lean.embedded.elaborator import Elaborator
from kimina.lean.embedded.objects import LeanError
from kimina.lean.embedded.sandbox import confine, die_with_parent

_MB = 1024 * 1024
_ANSWER_LIMIT = 8 * _MB
_STACK_MB = 256


def main(library: str, folder: str, module: str, header: str) -> None:
    """Serve until standard input closes."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    try:
        elaborator = Elaborator(library, folder, module, header)
    except (LeanError, OSError, AttributeError) as error:
        # No such library, a function that it lacks (AttributeError), or an objection of Lean's.
        _answer(answers, {"failed": f"{type(error).__name__}: {error}"})
        return
    requests = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    # Collecting garbage in a child would copy every page that it shares with this process.
    gc.freeze()
    gc.disable()
    _answer(answers, {"ready": os.getpid()})
    for line in requests:
        _answer(answers, _check(elaborator, json.loads(line), requests.fileno()))


def _answer(answers, value: dict) -> None:
    answers.write(json.dumps(value) + "\n")
    answers.flush()


def _check(elaborator: Elaborator, request: dict, owner: int) -> dict:
    started = time.monotonic()
    server = os.getpid()
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    child = os.fork()
    if child == 0:
        _in_child(elaborator, request, server, out_write, err_write)
    os.close(out_write)
    os.close(err_write)
    try:
        output, complaint, ended = _collect(child, out_read, err_read, owner, started + request["wall_s"])
    finally:
        os.close(out_read)
        os.close(err_read)
    _, status, usage = os.wait4(child, 0)
    return {
        "output": output.decode("utf-8", "replace"),
        "complaint": complaint.decode("utf-8", "replace")[-2000:],
        "ended": ended,
        "status": os.waitstatus_to_exitcode(status),
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "seconds": time.monotonic() - started,
    }


def _in_child(elaborator: Elaborator, request: dict, server: int, out: int, err: int) -> None:
    """Elaborate, write the result, and end; never returns."""
    code = 70
    try:
        die_with_parent(server)
        os.dup2(err, 2)
        os.closerange(3, out)
        os.closerange(out + 1, max(out, err) + 64)
        _limit(request["cpu_s"], request["memory_mb"])
        confine()
        # A stack of known size, so that the depth which Lean can handle does not depend on the machine's settings.
        threading.stack_size(_STACK_MB * _MB)
        work = threading.Thread(target=_elaborate, args=(elaborator, request, out))
        work.start()
        work.join()
    finally:
        os._exit(code)


def _elaborate(elaborator: Elaborator, request: dict, out: int) -> None:
    """Write the result and end the process; a failure ends it with Python's report on standard error."""
    code = 70
    try:
        elaborator.enter_thread()
        result = elaborator.elaborate(request["text"], request["theorem"])
        data = json.dumps(asdict(result)).encode("ascii")
        while data:
            data = data[os.write(out, data) :]
        code = 0
    except BaseException as error:
        # The end of a process whose only channel is its standard error.
        os.write(2, f"{type(error).__name__}: {error}\n".encode("utf-8", "replace"))
        raise
    finally:
        os._exit(code)


def _limit(cpu_s: float, memory_mb: int) -> None:
    if sys.platform == "linux":
        with open("/proc/self/statm") as statm:
            mapped = int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        limit = mapped + (memory_mb + _STACK_MB) * _MB
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.setitimer(signal.ITIMER_PROF, cpu_s)


def _collect(child: int, out: int, err: int, owner: int, deadline: float) -> tuple[bytes, bytes, str]:
    """Read the child's output until it ends, it runs out of time, or the owner of this server goes away."""
    received: dict[int, bytearray] = {out: bytearray(), err: bytearray()}
    open_handles = [out, err]
    while open_handles:
        left = deadline - time.monotonic()
        ready = select.select([*open_handles, owner], [], [], left)[0] if left > 0 else []
        if owner in ready:
            # The owner sends one request at a time: whatever arrives now can only be the end of the stream.
            os.kill(child, signal.SIGKILL)
            os._exit(0)
        if not ready:
            os.kill(child, signal.SIGKILL)
            return bytes(received[out]), bytes(received[err]), "wall"
        for handle in ready:
            block = os.read(handle, 1 << 16)
            if not block:
                open_handles.remove(handle)
            received[handle] += block
            if len(received[handle]) > _ANSWER_LIMIT:
                os.kill(child, signal.SIGKILL)
                return b"", b"", "output"
    return bytes(received[out]), bytes(received[err]), "exit"


if __name__ == "__main__":
    main(*sys.argv[1:])
