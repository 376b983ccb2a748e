"""Finds the embedded Lean and becomes the REPL's process: type ``python -m kimina.lean.repl``.

With the arguments ``LIBRARY FOLDER MODULE`` (and ``python -S``) it is that process, which needs no installed package.
"""

import os
import sys

from kimina.errors import InfrastructureError, KiminaError
from kimina.lean import repl
from kimina.lean.embedded.objects import LeanError
from kimina.lean.repl.process import serve


def main(arguments: list[str]) -> int:
    """Serve, or find Lean and start over without ``site``; return an exit code where neither is possible."""
    if len(arguments) == 3:
        try:
            serve(*arguments)
        except (LeanError, OSError, AttributeError) as error:
            # AttributeError: a function that the library lacks.
            print(f"Lean cannot be loaded from {arguments[0]}: {error}", file=sys.stderr)
            return InfrastructureError.exit_code
        return 0
    if arguments:
        asked = arguments in (["-h"], ["--help"])
        print(repl.__doc__, file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    # The process itself starts without what finds Lean, and so in half the time.
    from kimina.lean.repl.command import repl_command

    try:
        command, environment = repl_command()
    except KiminaError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    os.execve(command[0], command, environment)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
