"""``verifier=kimina``: judges on one or several Kimina Lean servers, through kimina-client.

Requests are sent in batches and answers joined by id. Whatever goes wrong between us and Lean (unreachable, overloaded,
malformed, missing) is retried with growing pauses, on the next server where there are several, and ends as
``UNVERIFIED``: an outage is never scored as a wrong proof.
"""

import asyncio
import logging
import math
import os
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

import httpx
from pydantic import ValidationError

from kimina.errors import UserError
from kimina.lean.kimina_client_compat import import_kimina_client
from kimina.lean.remembering import RememberingVerifier
from kimina.lean.report import compose_with_query, judge_reply, refuse_text
from kimina.lean.snippet import position
from kimina.lean.threaded import positive
from kimina.lean.verdict import CheckRequest, CheckResult, Message, Verdict

HEADER = """\
import Mathlib
import Aesop
set_option maxHeartbeats 400000
set_option autoImplicit false
set_option relaxedAutoImplicit false
"""
MODULES = frozenset(
    {"Init", "Lean", "Std", "Mathlib", "Aesop", "Batteries", "Qq", "ProofWidgets", "Plausible", "ImportGraph",
     "LeanSearchClient"}
)  # fmt: skip
OFFER = "The Kimina Lean server has Mathlib and what Mathlib depends on."
_ATTEMPTS = 4
_FIRST_PAUSE_S = 0.5
_HTTP_SLACK_S = 60
_GATHER_S = 0.005
_OTHER_LINE_ENDS = re.compile("[\v\f\x1c-\x1e\x85\u2028\u2029]|\r(?!\n)")
"""Where Python ends a line and Lean does not."""


class KiminaServerVerifier(RememberingVerifier):
    """Judges proofs on Kimina Lean servers; see ``kimina.lean.verifier.Verifier`` for the interface.

    ``urls`` are asked in turn. ``timeout_s`` is Lean's time for one proof, ``batch_size`` the largest number of
    proofs in a request, ``concurrency`` the number of requests under way. The key, if the server wants one, is read
    from the environment variable ``api_key_env``. ``lean_version`` is what the servers are said
    to run (for the cache and the record); ``proofs_per_second`` is for planning only. With ``goals`` the servers are
    asked for info trees, which give an error message the goals before it; that costs them time and the network bytes.

    Raises ``UserError`` for settings that cannot work. A server that cannot be reached is no error here.
    """

    OPTIONS = (
        "urls", "timeout_s", "batch_size", "concurrency", "api_key_env", "lean_version", "proofs_per_second",
        "cache_size", "cache", "goals",
    )  # fmt: skip

    def __init__(
        self,
        urls: Sequence[str],
        timeout_s: float = 60.0,
        batch_size: int = 8,
        concurrency: int = 8,
        api_key_env: str = "LEAN_SERVER_API_KEY",
        lean_version: str | None = None,
        proofs_per_second: float | None = None,
        cache_size: int = 50_000,
        cache: str | None = None,
        goals: bool = False,
        first_pause_s: float = _FIRST_PAUSE_S,
    ) -> None:
        positive(timeout_s=timeout_s, batch_size=batch_size, concurrency=concurrency)
        if isinstance(urls, str) or not urls or not all(url.startswith(("http://", "https://")) for url in urls):
            raise UserError(
                f"verifier.urls must be a list of addresses, not {urls!r}. Type: verifier.urls=[http://HOST:8000]"
            )
        super().__init__(cache_size, cache, limits={"timeout_s": timeout_s}, goals=goals)
        self.header = HEADER
        self.lean_version = lean_version or "unknown"
        self._timeout_s = timeout_s
        self._batch_size = batch_size
        self._first_pause_s = first_pause_s
        self._tree = "tactics" if goals else None
        self._client = import_kimina_client()
        # It logs every failed try as an error; what became of a proof is said once, in its result.
        logging.getLogger("kimina-client").setLevel(logging.CRITICAL)
        self._key = os.environ.get(api_key_env)
        self._urls = list(urls)
        self._loop = asyncio.new_event_loop()
        self._waiting: asyncio.Queue[CheckRequest] = asyncio.Queue()
        self._under_way: set[CheckRequest] = set()
        self._thread = threading.Thread(target=self._run, args=(concurrency,), name="kimina-server", daemon=True)
        self._thread.start()

    def _refuse(self, request: CheckRequest) -> CheckResult | None:
        if refusal := refuse_text(request, MODULES, OFFER, self.lean_version):
            return refusal
        # The server reads a text line by line with Python and joins the lines with line feeds. What stands behind such
        # a character in a comment would be live code there, unseen by everything that has examined the text.
        if found := _OTHER_LINE_ENDS.search(request.code):
            text = f"the character U+{ord(found[0]):04X} ends a line for the server, and not for Lean"
            line, column = position(request.code, found.start())
            message = Message("error", line, column, None, None, text)
            detail = f"line {line}: {text}"
            return CheckResult(request.id, Verdict.LEAN_ERROR, (message,), 0.0, detail, None, self.lean_version)
        return None

    def _enqueue(self, request: CheckRequest) -> None:
        self._loop.call_soon_threadsafe(self._waiting.put_nowait, request)

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self, concurrency: int) -> None:
        asyncio.set_event_loop(self._loop)
        clients = [
            self._client.AsyncKiminaClient(
                api_url=url,
                api_key=self._key,
                http_timeout=int(self._timeout_s * self._batch_size + _HTTP_SLACK_S),
                n_retries=1,
            )
            for url in self._urls
        ]
        senders = [self._loop.create_task(self._send_batches(clients, index)) for index in range(concurrency)]
        self._loop.run_forever()
        for sender in senders:
            sender.cancel()
        self._loop.run_until_complete(asyncio.gather(*senders, return_exceptions=True))
        self._loop.run_until_complete(asyncio.gather(*(client.close() for client in clients)))
        self._loop.close()
        while not self._waiting.empty():
            self._under_way.add(self._waiting.get_nowait())
        for request in self._under_way:
            self._finish(request, self._unverified(request, "the verifier was closed"))

    async def _send_batches(self, clients: list, number: int) -> None:
        while True:
            batch = [await self._waiting.get()]
            # Proofs come in bursts, and the rest of a burst is a moment away.
            await asyncio.sleep(_GATHER_S)
            while len(batch) < self._batch_size and not self._waiting.empty():
                batch.append(self._waiting.get_nowait())
            self._under_way.update(batch)
            try:
                results = await self._judge(batch, clients, number)
            except Exception as error:
                # Nobody waits for this task, but somebody waits for each answer, and gets the error.
                self._under_way.difference_update(batch)
                for request in batch:
                    self._fail(request, error)
                continue
            for request, result in zip(batch, results, strict=True):
                self._under_way.discard(request)
                self._finish(request, result)

    async def _judge(self, batch: list[CheckRequest], clients: list, number: int) -> list[CheckResult]:
        results = [self._unverified(request, "not tried") for request in batch]
        for attempt in range(_ATTEMPTS):
            left = [index for index, result in enumerate(results) if result.verdict is Verdict.UNVERIFIED]
            if not left:
                break
            if attempt:
                await asyncio.sleep(self._first_pause_s * 2 ** (attempt - 1))
            asked = [batch[index] for index in left]
            answers = await self._ask(clients[(number + attempt) % len(clients)], asked)
            for index, answer in zip(left, answers, strict=True):
                results[index] = answer
        return results

    async def _ask(self, client, batch: list[CheckRequest]) -> list[CheckResult]:
        snippets = [compose_with_query(self.header, request) for request in batch]
        ids = [uuid4().hex for _ in batch]
        # The server takes the imports at the top for its own header and counts lines from behind them.
        imports = sum(line.startswith("import ") for line in self.header.splitlines())
        sent = [self._client.Snippet(id=id_, code=snippet.text) for id_, snippet in zip(ids, snippets, strict=True)]
        try:
            response = await client.api_check(sent, timeout=math.ceil(self._timeout_s), infotree=self._tree)
        except (httpx.HTTPError, RuntimeError, ValueError, ValidationError) as error:
            # RuntimeError is how the client reports that its tries are used up, ValueError that the answer is no JSON.
            return [self._unverified(request, f"{client.api_url}: {error}"[:300]) for request in batch]
        replies = join_replies((reply.model_dump() for reply in response.results), ids)
        return [
            judge_reply(
                reply, id_, request,
                first_line=snippet.first_line - imports,
                # The server breaks lines at every character that Unicode calls a line break, and so must we.
                query_line=len(snippet.text.splitlines()) - imports,
                lean_version=self.lean_version,
            )
            if (reply := replies[id_]) is not None
            else self._unverified(request, f"{client.api_url}: no usable answer for this proof")
            for request, snippet, id_ in zip(batch, snippets, ids, strict=True)
        ]  # fmt: skip


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
