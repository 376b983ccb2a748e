"""Runs the Kimina Lean Server over the embedded Lean until Ctrl-C: ``make lean-server [PORT=8000]``.

For trying ``verifier=kimina`` where there is no such server. It answers on this machine only.
"""

import argparse
import os
import signal
import sys
from pathlib import Path

from kimina.errors import InfrastructureError, KiminaError
from kimina.lean.real_server.server import RealServer


def main() -> int:
    """Serve, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m kimina.lean.real_server", description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8000, help="port on this machine (default 8000; 0: any free one)")
    parser.add_argument("--repls", type=int, default=os.cpu_count() or 1, help="Lean processes at the same time")
    parser.add_argument("--log", type=Path, default=Path("outputs/logs/lean-server.log"), help="what the server prints")
    parser.add_argument("--log-level", default="WARNING", help="detail of that; INFO holds every proof")
    options = parser.parse_args()
    # SIGINT, too: a shell starts background jobs with SIGINT ignored.
    for end in (signal.SIGINT, signal.SIGTERM):
        signal.signal(end, signal.default_int_handler)
    server = RealServer(
        options.log, options.port, options.repls, log_level=options.log_level,
        api_key=os.environ.get("LEAN_SERVER_API_KEY"),
    )  # fmt: skip
    print("Starting the Kimina Lean Server (its packages are installed the first time, about 65 MB) ...", flush=True)
    try:
        with server:
            print(
                f"Kimina Lean Server over the embedded Lean (core library, no Mathlib) at {server.url}\n"
                f"Type: python run.py verifier=kimina verifier.urls='[\"{server.url}\"]'\n"
                f"Log: {options.log}   End: Ctrl-C",
                flush=True,
            )
            server.wait()
            raise InfrastructureError(f"The Kimina Lean Server has ended; see {options.log}")
    except KeyboardInterrupt:
        return 0
    except KiminaError as error:
        print(error, file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
