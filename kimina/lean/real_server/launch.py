"""Runs in the server's virtual environment, where this project is not installed: ``python -I launch.py``.

Starts the unchanged Kimina Lean Server after three things that it can't do without help:

- On Python 3.11 pydantic refuses ``typing.TypedDict`` in models and asks for that of ``typing_extensions``, as with
  kimina-client (see ``kimina.lean.kimina_client_compat``). Nothing but the server lives in this process, so ``typing``
  is changed for good.
- It imports a database client (``prisma``) that generates itself with a downloaded program, and Google's cloud logging.
  Without a database address and without credentials it uses neither; empty modules take their place.
- It would outlive its owner. The owner holds the other end of standard input, and when that closes, this process ends,
  and with it the input of its REPLs, which end too.
"""

import os
import sys
import threading
from types import ModuleType


def _offer(name: str, **content: object) -> None:
    module = ModuleType(name)
    module.__dict__.update(content, __path__=[])
    sys.modules[name] = module


class _NoCredentials(Exception):
    """What Google's library raises where there are none; the server then logs to standard output."""


def _refuse(*arguments: object) -> None:
    raise _NoCredentials


def _end_with_owner() -> None:
    while os.read(0, 1024):
        pass
    os._exit(0)


def main() -> None:
    """Serve with the settings in the environment (``LEAN_SERVER_…``)."""
    if sys.version_info[:2] == (3, 11):
        import typing

        import typing_extensions

        typing.TypedDict, typing.NotRequired = typing_extensions.TypedDict, typing_extensions.NotRequired
    _offer("prisma", Prisma=type("Prisma", (), {}))
    for name in ("google", "google.auth", "google.cloud"):
        _offer(name)
    _offer("google.auth.exceptions", DefaultCredentialsError=_NoCredentials)
    _offer("google.cloud.logging", Client=_refuse)
    _offer("google.cloud.logging.handlers", CloudLoggingHandler=None)
    threading.Thread(target=_end_with_owner, daemon=True).start()
    from server.__main__ import run_server

    run_server()


if __name__ == "__main__":
    main()
