"""What a check may do besides computing: nothing. No files, no processes, no network.

A proof is only text, but Lean is a programming language, so the process that elaborates it is confined by the kernel
of the operating system (seccomp on Linux): every system call that is not needed to compute, to take memory and to
write the result fails with EPERM. Where the operating system offers no such thing, the limits of the server remain.
"""

import ctypes
import errno
import os
import platform
import signal
import struct
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2

_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_BITS, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_CLONE3 = 435
_CLONE_THREAD = 0x00010000

# Numbers of: read write close fstat poll mmap mprotect munmap brk rt_sigaction rt_sigprocmask rt_sigreturn mremap
# madvise sched_yield nanosleep getpid exit gettid futex sched_getaffinity clock_gettime clock_nanosleep exit_group
# set_robust_list sigaltstack getrusage gettimeofday restart_syscall getrandom rseq membarrier
#
# Per machine: its audit number, the number of clone (allowed for threads), and the numbers above.
_ALLOWED = {
    "x86_64": (
        0xC000003E,
        56,
        (0, 1, 3, 5, 7, 9, 10, 11, 12, 13, 14, 15, 25, 28, 24, 35, 39, 60, 186, 202, 204, 228, 230, 231, 273, 131)
        + (98, 96, 219, 318, 334, 324),
    ),
    # aarch64 has ppoll in place of poll.
    "aarch64": (
        0xC00000B7,
        220,
        (63, 64, 57, 80, 73, 222, 226, 215, 214, 134, 135, 139, 216, 233, 124, 101, 172, 93, 178, 98, 123, 113)
        + (115, 94, 99, 132, 165, 169, 128, 278, 293, 283),
    ),
}


def die_with_parent(parent: int, how: signal.Signals = signal.SIGKILL) -> None:
    """Have this process get the signal ``how`` when its parent ends; leave at once if ``parent`` is gone already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, how)
    if os.getppid() != parent:
        os._exit(71)


def confine() -> bool:
    """Refuse further system calls to this process as described above; return whether that was possible here."""
    if sys.platform != "linux" or platform.machine() not in _ALLOWED:
        return False
    architecture, clone, numbers = _ALLOWED[platform.machine()]
    refuse = (_RETURN, 0, 0, _FAIL | errno.EPERM)
    allow = (_RETURN, 0, 0, _ALLOW)
    # (operation, instructions to skip when true, when false, operand)
    code = [(_LOAD, 0, 0, _ARCHITECTURE_AT), (_JUMP_IF_EQUAL, 1, 0, architecture), refuse, (_LOAD, 0, 0, _NUMBER_AT)]
    for number in numbers:
        code += [(_JUMP_IF_EQUAL, 0, 1, number), allow]
    # The C library starts threads with clone3 and, where that does not exist, with clone, whose flags can be read here.
    code += [(_JUMP_IF_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _FAIL | errno.ENOSYS)]
    code += [(_JUMP_IF_EQUAL, 1, 0, clone), refuse, (_LOAD, 0, 0, _FIRST_ARGUMENT_AT)]
    code += [(_JUMP_IF_BITS, 0, 1, _CLONE_THREAD), allow, refuse]
    text = b"".join(struct.pack("HBBI", *instruction) for instruction in code)
    buffer = ctypes.create_string_buffer(text, len(text))
    program = struct.pack("HxxxxxxP", len(code), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    return libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0) == 0
