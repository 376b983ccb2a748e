"""One piece of work in a forked, confined child of a process that holds Lean loaded.

The child has all of Lean that its parent has loaded, and nothing of what it does outlives it. It may compute, take
memory up to a limit and hand back bytes; every file, the parent's own input and output included, is closed to it.
"""

import os
import re
import resource
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from kimina.lean.embedded.sandbox import confine, die_with_parent

_MB = 1024 * 1024
_ANSWER_LIMIT = 8 * _MB
_STACK_MB = 256
_NO_MEMORY = re.compile(r"out of memory|annot allocate memory|MemoryError|bad_alloc")


@dataclass(frozen=True)
class Limits:
    """What a child may use: seconds of processor time, seconds altogether, and megabytes beyond what its parent has
    mapped. ``None`` sets no limit; those that the parent runs under hold for the child too."""

    cpu_s: float | None = None
    wall_s: float | None = None
    memory_mb: int | None = None


@dataclass(frozen=True)
class Outcome:
    """How a child ended. ``output`` is complete if ``ended`` is ``exit`` and ``status`` (exit code, or minus the
    signal) is 0; ``ended`` is ``wall`` or ``output`` where it was killed for its time or its answer's length;
    ``complaint`` is what stood on its standard error."""

    output: bytes
    complaint: str
    ended: str
    status: int
    cpu_s: float
    seconds: float


def run_in_child(work: Callable[[], bytes], limits: Limits, owner: tuple[int, int]) -> Outcome:
    """Return what ``work`` returns in a forked child, or how the child ended instead.

    ``owner`` is a file descriptor and the events of ``poll`` (besides hang-up and error) that say that nobody waits for
    the answer any more: then the child is killed and this process ends.
    """
    started = time.monotonic()
    deadline = None if limits.wall_s is None else started + limits.wall_s
    parent = os.getpid()
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    child = os.fork()
    if child == 0:
        _in_child(work, limits, parent, out_write, err_write)
    os.close(out_write)
    os.close(err_write)
    try:
        output, complaint, ended = _collect(child, out_read, err_read, owner, deadline)
    finally:
        os.close(out_read)
        os.close(err_read)
    _, status, usage = os.wait4(child, 0)
    return Outcome(
        output=output,
        complaint=complaint.decode("utf-8", "replace")[-2000:],
        ended=ended,
        status=os.waitstatus_to_exitcode(status),
        cpu_s=usage.ru_utime + usage.ru_stime,
        seconds=time.monotonic() - started,
    )


def exceeded_limit(ended: str, complaint: str) -> str | None:
    """The limit that the work itself ran into, if that is how its child ended (fields of ``Outcome``)."""
    if ended == "output":
        return "the text makes Lean print more than 8 MB"
    if _NO_MEMORY.search(complaint):
        return "the check ran out of memory"
    if "tack overflow" in complaint:
        return "the text makes Lean overflow its stack"
    return None


def _in_child(work: Callable[[], bytes], limits: Limits, parent: int, out: int, err: int) -> None:
    """Do the work, write its result, and end; never returns."""
    code = 70
    try:
        die_with_parent(parent)
        os.dup2(err, 2)
        os.closerange(3, out)
        os.closerange(out + 1, max(out, err) + 64)
        _limit(limits)
        confine()
        # A stack of known size, so that the depth which Lean can handle does not depend on the machine's settings.
        threading.stack_size(_STACK_MB * _MB)
        thread = threading.Thread(target=_finish, args=(work, out))
        thread.start()
        thread.join()
    finally:
        os._exit(code)


def _finish(work: Callable[[], bytes], out: int) -> None:
    """Write the result and end the process; a failure ends it with Python's report on standard error."""
    code = 70
    try:
        data = work()
        while data:
            data = data[os.write(out, data) :]
        code = 0
    except BaseException as error:
        # The end of a process whose only channel is its standard error.
        os.write(2, f"{type(error).__name__}: {error}\n".encode("utf-8", "replace"))
        raise
    finally:
        os._exit(code)


def _limit(limits: Limits) -> None:
    if sys.platform == "linux" and limits.memory_mb is not None:
        with open("/proc/self/statm") as statm:
            mapped = int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        limit = mapped + (limits.memory_mb + _STACK_MB) * _MB
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if limits.cpu_s is not None:
        signal.setitimer(signal.ITIMER_PROF, limits.cpu_s)


def _collect(child: int, out: int, err: int, owner: tuple[int, int], deadline: float | None) -> tuple[bytes, bytes, str]:
    """Read the child's output until it ends, it runs out of time, or the owner of this process goes away."""
    received: dict[int, bytearray] = {out: bytearray(), err: bytearray()}
    waiting = select.poll()
    waiting.register(*owner)
    for handle in received:
        waiting.register(handle, select.POLLIN)
    still_open = len(received)
    while still_open:
        left = None if deadline is None else (deadline - time.monotonic()) * 1000
        ready = [handle for handle, _ in waiting.poll(left)] if left is None or left > 0 else []
        if owner[0] in ready:
            os.kill(child, signal.SIGKILL)
            os._exit(0)
        if not ready:
            os.kill(child, signal.SIGKILL)
            return bytes(received[out]), bytes(received[err]), "wall"
        for handle in ready:
            block = os.read(handle, 1 << 16)
            if not block:
                waiting.unregister(handle)
                still_open -= 1
            received[handle] += block
            if len(received[handle]) > _ANSWER_LIMIT:
                os.kill(child, signal.SIGKILL)
                return b"", b"", "output"
    return bytes(received[out]), bytes(received[err]), "exit"
