"""The interface of every Lean verifier, and the one place that chooses among them."""

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from kimina.errors import UserError, nearest
from kimina.lean.remembering import CheckCounts
from kimina.lean.verdict import CheckRequest, CheckResult


class Verifier(Protocol):
    """Judges proofs. Usable from any thread and from asyncio; identical proofs are checked once."""

    header: str
    """The text that stands before every proof: the same for all, never blank."""
    lean_version: str
    """Version of the Lean that judges, for example ``4.35.0``."""
    counts: CheckCounts
    """How the requests so far were answered."""

    def check(
        self, requests: Sequence[CheckRequest], on_result: Callable[[CheckResult], None] | None = None
    ) -> list[CheckResult]:
        """Judge all requests and return the results in the same order.

        ``on_result`` is called in the calling thread, once a request, as results arrive. Infrastructure failures do not
        raise: they are ``Verdict.UNVERIFIED``.
        """
        ...

    async def check_one(self, request: CheckRequest) -> CheckResult:
        """Judge one request; many callers may wait at the same time."""
        ...

    def close(self) -> None:
        """Stop every process and thread of this verifier. Open checks end as ``UNVERIFIED``. May be called twice."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


#: What the ``verifier`` node says to the plan and to the trainer.
FOR_OTHERS = ("proofs_per_second", "max_unverified_share")


def make_verifier(settings: Mapping[str, Any]) -> Verifier:
    """Make the verifier that ``settings["name"]`` names, with the other entries as its options.

    The entries in ``FOR_OTHERS`` belong to the composed ``verifier`` node too, but plan and trainer read them.
    Raises ``UserError`` for an unknown name or option, and when this machine cannot offer the verifier.
    """
    # Each verifier is imported only when it is asked for: the Kimina client alone costs half a second.
    options = {key: value for key, value in settings.items() if key not in FOR_OTHERS}
    name = options.pop("name", None)
    match name:
        case "embedded":
            from kimina.lean.embedded.pool import EmbeddedVerifier as chosen
        case "local":
            from kimina.lean.local import LocalVerifier as chosen
        case "kimina":
            from kimina.lean.kimina_server import KiminaServerVerifier as chosen
        case _:
            known = ["embedded", "kimina", "local"]
            first = (nearest(str(name), known) or known)[0]
            raise UserError(f"There is no verifier {name!r}. There are: {', '.join(known)}. Type: verifier={first}")
    accepted = chosen.OPTIONS
    unknown = [key for key in options if key not in accepted]
    if unknown:
        close = nearest(unknown[0], accepted)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UserError(
            f"verifier={name} has no option {unknown[0]!r}.{hint} It has: {', '.join(accepted)}."
            f" Type: verifier.{(close or sorted(accepted))[0]}=..."
        )
    return chosen(**options)
