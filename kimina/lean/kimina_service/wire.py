"""One request to one Kimina Lean server: what goes out, what comes back, and what kind of trouble there can be."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any
from uuid import uuid4

import aiohttp
from pydantic import ValidationError

from kimina.lean.kimina_client_compat import import_kimina_client

_CONNECT_S = 10.0
# Shorter than the 5 s after which uvicorn closes an idle connection: a request must not meet a closing one.
_IDLE_CONNECTION_S = 3.0
_SHOWN = 300  # characters of a server's own words that a detail repeats


class TroubleKind(Enum):
    """Why a request brought no answer to anything in it."""

    UNREACHABLE = "unreachable"
    """No connection: nothing was asked, so nothing is known about the proofs."""
    OVERLOADED = "overloaded"
    """429: the server works, and has more work than it wants."""
    SILENT = "silent"
    """No complete answer within our own time limit."""
    BROKEN = "broken"
    """Another status, a connection that broke, or an answer that can't be read."""


class Trouble(Exception):
    """A request failed as a whole. The text is one line for a person and holds no key."""

    def __init__(self, kind: TroubleKind, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Wire:
    """The connections to the server at ``url``. ``answer_s``: seconds until a request without an answer is given up.

    kimina-client's models say what is sent and check what is received. Its ``AsyncKiminaClient`` is not used: it hides the
    status (429 or 500?) behind a ``RuntimeError``, discards a whole batch for one entry that it can't read, waits a second
    between tries whatever went wrong, keeps 20 idle connections and opens a new one for every further request, and without
    a key takes another environment variable's than the one that the configuration names. Nor is httpx, on which it is
    built: its pool looks at every idle connection for every request, several ms of a core with 64 of them; aiohttp
    doesn't. Proxies and passwords of the environment (``HTTP_PROXY``, ``.netrc``) are not used.
    """

    def __init__(self, url: str, key: str | None, answer_s: float) -> None:
        self.url = url
        self._key = key
        self._answer_s = answer_s
        self._models = import_kimina_client().models
        self._session: aiohttp.ClientSession | None = None

    async def check(self, texts: Sequence[str], timeout_s: float, tree: str | None = None) -> list[Mapping[str, Any] | None]:
        """Have ``texts`` checked; each one's reply as ``{id, time, error | response}``, ``None`` where there is none.

        Raises ``Trouble`` when the server gives no answer in its protocol.
        """
        models = self._models
        ids = [uuid4().hex for _ in texts]
        snippets = [models.Snippet(id=id_, code=text) for id_, text in zip(ids, texts, strict=True)]
        # The server takes whole seconds.
        request = models.CheckRequest(snippets=snippets, timeout=math.ceil(timeout_s), infotree=tree)
        body = json.dumps(request.model_dump(mode="json")).encode()
        try:
            async with self._connections().post(f"{self.url}/api/check", data=body, allow_redirects=False) as response:
                answer = await response.read()
            if response.status != 200:
                raise self._refused(response.status, answer)
            results = json.loads(answer)["results"]
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise self._trouble(TroubleKind.UNREACHABLE, f"no connection ({error})") from error
        except TimeoutError as error:
            raise self._trouble(TroubleKind.SILENT, f"no answer within {self._answer_s:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise self._trouble(TroubleKind.BROKEN, f"{type(error).__name__}: {error}") from error
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self._trouble(TroubleKind.BROKEN, f"an answer that can't be read ({type(error).__name__})") from error
        if not isinstance(results, list):
            raise self._trouble(TroubleKind.BROKEN, "an answer whose results are no list")
        joined = join_replies((reply for reply in results if isinstance(reply, Mapping)), ids)
        return [self._readable(joined[id_]) for id_ in ids]

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    def _connections(self) -> aiohttp.ClientSession:
        # Made at the first request, since it belongs to the event loop that runs then.
        if self._session is None:
            headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {})
            self._session = aiohttp.ClientSession(
                headers=headers,
                # The number of requests is bounded by those who ask.
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_CONNECTION_S),
                timeout=aiohttp.ClientTimeout(total=self._answer_s, sock_connect=min(_CONNECT_S, self._answer_s)),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    def _readable(self, reply: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        if reply is None:
            return None
        try:
            return self._models.ReplResponse.model_validate(reply).model_dump()
        except (ValidationError, ValueError, TypeError, AttributeError):
            return None  # the last two: a check in the model meets a type that it doesn't expect

    def _refused(self, status: int, answer: bytes) -> Trouble:
        kind = TroubleKind.OVERLOADED if status == 429 else TroubleKind.BROKEN
        advice = " (a wrong or missing key: see verifier.api_key_env)" if status in (401, 403) else ""
        # Cut behind the key's removal, which would miss half a key.
        return self._trouble(kind, f"HTTP {status}{advice}: {answer.decode('utf-8', 'replace')}")

    def _trouble(self, kind: TroubleKind, text: str) -> Trouble:
        # A server may repeat the key in its complaint; ours must not.
        shown = text.replace(self._key, "…") if self._key else text
        return Trouble(kind, f"{self.url}: {' '.join(shown.split())}"[:_SHOWN])


def join_replies(replies: Iterable[Mapping[str, Any]], ids: Sequence[str]) -> dict[str, Mapping[str, Any] | None]:
    """Each id's reply; ``None`` where there is none, or several that differ."""
    joined: dict[str, Mapping[str, Any] | None] = dict.fromkeys(ids)
    seen: dict[str, list[Mapping[str, Any]]] = {}
    for reply in replies:
        seen.setdefault(str(reply.get("id")), []).append(reply)
    for id_ in ids:
        found = seen.get(id_, [])
        if found and all(other == found[0] for other in found):
            joined[id_] = found[0]
    return joined
