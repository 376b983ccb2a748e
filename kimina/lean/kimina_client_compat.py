"""Imports kimina-client where pydantic refuses it.

kimina-client 0.2.1 takes ``TypedDict`` from ``typing``. On Python 3.11 pydantic refuses such classes in its models and
asks for those of ``typing_extensions``, because ``typing.TypedDict`` of that version forgets which keys are optional;
the package can't be imported at all there. Python 3.10 and 3.12 are fine. The remedy: while the package is imported,
and only then, ``typing`` offers the classes of ``typing_extensions`` under these names. Other modules find ``typing``
unchanged afterwards, and all this can go when a release of kimina-client supports 3.11.
"""

import sys
import threading
import typing

import typing_extensions

from kimina.errors import UserError

_lock = threading.Lock()


def import_kimina_client():
    """Import and return the package ``kimina_client``. Raises ``UserError`` when it is not installed."""
    with _lock:
        if "kimina_client" in sys.modules:
            return sys.modules["kimina_client"]
        kept = (typing.TypedDict, typing.NotRequired)
        if sys.version_info[:2] == (3, 11):
            typing.TypedDict, typing.NotRequired = typing_extensions.TypedDict, typing_extensions.NotRequired
        try:
            import kimina_client
            import kimina_client.models
        except ModuleNotFoundError as error:
            raise UserError(
                f"verifier=kimina needs the package kimina-client ({error.name} is missing)."
                " Type: pip install kimina-client"
            ) from error
        finally:
            typing.TypedDict, typing.NotRequired = kept
        return kimina_client
