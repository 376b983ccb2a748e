"""The ordinary ``lean`` command out of the shared library.

Type: ``python -m kimina.lean.embedded.lean_program LIBRARY ARGUMENTS…``. Used to compile the core library, and as the
fresh-process peer in the benchmark.
"""

import ctypes
import sys


def run_lean(library: str, arguments: list[str]) -> int:
    """Run Lean's command line in this process and return its exit code; to be called once in a process."""
    lean = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    argv = [b"lean", *(argument.encode() for argument in arguments)]
    return lean.lean_main(len(argv), (ctypes.c_char_p * (len(argv) + 1))(*argv, None))


if __name__ == "__main__":
    sys.exit(run_lean(sys.argv[1], sys.argv[2:]))
