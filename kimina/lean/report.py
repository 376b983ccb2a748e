"""Reads what a Lean program or a Kimina server prints about a composed text, and judges it.

Here the axioms come from the answer of ``#print axioms`` at our own query's position. (The embedded Lean asks the
environment itself.) Because a text that changes Lean's syntax or elaborators could forge even that, such texts are
refused beforehand: see ``refuse_text``.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kimina.lean.goals import GoalsBefore
from kimina.lean.judge import Judgement, judge, read_report
from kimina.lean.metaprogramming import find_metaprogramming
from kimina.lean.snippet import Snippet, compose, split_imports
from kimina.lean.source import LeanSource
from kimina.lean.tokenizer import second_reading
from kimina.lean.verdict import CheckRequest, CheckResult, Message, Verdict
from kimina.lean.words import DECLARATIONS

_SEVERITIES = {"error": "error", "warning": "warning", "info": "info", "information": "info", "trace": "info"}


def compose_with_query(header: str, request: CheckRequest) -> Snippet:
    """The text to check, with the query about the theorem's axioms as its last line."""
    return compose(header, request.code, f"#print axioms _root_.{request.theorem}")


def refuse_text(
    request: CheckRequest, modules: Collection[str] | None, offer: str, lean_version: str
) -> CheckResult | None:
    """The verdict on a text that needs no Lean, or ``None``.

    Refused are: what is no Unicode text, imports outside ``modules`` (top-level names; ``None`` allows all), with
    ``offer`` saying what there is, and metaprogramming.
    """

    def refused(line: int, column: int, text: str) -> CheckResult:
        message = Message("error", line, column, None, None, text)
        detail = f"line {line}: {text}"
        return CheckResult(request.id, Verdict.LEAN_ERROR, (message,), 0.0, detail, None, lean_version)

    try:
        request.code.encode("utf-8")
    except UnicodeEncodeError as error:
        return refused(request.code.count("\n", 0, error.start) + 1, 0, f"no Unicode text: {error.reason}")
    for found in split_imports(request.code)[1]:
        if modules is not None and found.module.split(".")[0] not in modules:
            return refused(found.line, found.column, f"unknown module '{found.module}'. {offer}")
    if doubt := second_reading(request.code):
        return refused(1, 0, f"{doubt} can be read in two ways and is not accepted in a proof")
    if meta := find_metaprogramming(request.code):
        text = f"'{meta.word}' changes Lean itself and is not accepted in a proof"
        return refused(meta.line, meta.column, text)
    return None


def judge_messages(
    raw: Sequence[Mapping[str, Any]],
    request: CheckRequest,
    *,
    first_line: int,
    query_line: int | None,
    seconds: float,
    lean_version: str,
    sorries: int = 0,
    tree: Any = None,
) -> CheckResult:
    """Judge Lean's messages (JSON objects with ``severity``, ``pos``, ``endPos``, ``data``) about a composed text.

    Lines of ``pos`` are counted as in ``first_line`` (where the model's text starts) and ``query_line`` (where our
    query stands; ``None``: nothing was asked, and a missing report is no objection). ``sorries`` is the number of holes
    that the server listed, ``tree`` its info tree, if there is one: it gives errors their goals. A message that cannot
    be read makes the answer ``UNVERIFIED``.
    """
    messages: list[Message] = []
    axioms: tuple[str, ...] | None = None
    undeclared = False
    goals_before = GoalsBefore(tree)
    for entry in raw:
        message = read_message(entry, first_line, goals_before)
        if message is None:
            return unverified(request, f"a message that cannot be read: {entry!r}"[:300], seconds, lean_version)
        at_query = query_line is not None and message.line == query_line - first_line + 1 and message.column == 0
        if at_query and message.severity == "info":
            axioms = read_report(message.text, request.theorem)
        elif query_line is not None and message.line > query_line - first_line and message.severity == "error":
            undeclared = True
            messages.append(message)
        elif message.line < 1 and message.severity == "error":
            return unverified(request, f"Lean refuses the header: {message.text}"[:300], seconds, lean_version)
        else:
            messages.append(message)
    last = request.code.count("\n") + 1
    errors = [message for message in messages if message.severity == "error"]
    if undeclared:
        # What Lean says about our own line. Where it objects to the text too, this would only follow from that.
        messages = [message for message in messages if message.line <= last]
        if all(message.line > last for message in errors):
            text = f"the text does not declare {request.theorem}, or its end is open: {errors[-1].text}"
            messages.append(Message("error", last, 0, None, None, text))
    if sorries and not errors:
        axioms = (*(axioms or ()), "sorryAx") if "sorryAx" not in (axioms or ()) else axioms
    judgement = judge(messages, request.theorem, axioms, queried=query_line is not None)
    if judgement.verdict is Verdict.PROVED and query_line is not None and not _declares(request):
        # The library has a theorem of that name, and the report is about that one.
        judgement = Judgement(Verdict.LEAN_ERROR, f"the text does not declare {request.theorem}", axioms)
        messages.append(Message("error", last, 0, None, None, judgement.detail))
    return CheckResult(request.id, judgement.verdict, tuple(messages), seconds, judgement.detail, axioms, lean_version)


def judge_reply(
    reply: Mapping[str, Any],
    reply_id: str,
    request: CheckRequest,
    *,
    first_line: int,
    query_line: int | None,
    lean_version: str,
) -> CheckResult:
    """Judge one result object of a Kimina Lean server: ``{id, time, error | response}``.

    ``reply_id`` is the id under which the snippet was sent. Only a complete answer of Lean's is judged, and the time
    limit of a command is the proof's; everything else is the server's trouble and ``UNVERIFIED``.
    """
    seconds = float(reply.get("time") or 0.0)

    def lost(detail: str) -> CheckResult:
        return unverified(request, detail, seconds, lean_version)

    if reply.get("id") != reply_id:
        return lost(f"an answer under the id {reply.get('id')!r}")
    error, response = reply.get("error"), reply.get("response")
    if error is not None:
        if response is None and "timed out" in error and "header" not in error:
            return CheckResult(request.id, Verdict.TIMEOUT, (), seconds, error, None, lean_version)
        return lost(f"server error: {error}")
    # A REPL that discards what it has checked may leave the environment's number out, and then says something at least.
    if not isinstance(response, Mapping) or "message" in response or not (
        response.get("messages") or response.get("env") is not None
    ):
        return lost(f"incomplete answer: {response!r}"[:300])
    return judge_messages(
        response.get("messages") or [],
        request,
        first_line=first_line,
        query_line=query_line,
        seconds=seconds,
        lean_version=lean_version,
        sorries=len(response.get("sorries") or []),
        tree=response.get("infotree"),
    )


def read_message(
    raw: Mapping[str, Any], first_line: int, goals_before: GoalsBefore | None = None
) -> Message | None:
    """A message with lines counted in the model's own text; ``None`` when it is not one of Lean's."""
    severity, position, text = _SEVERITIES.get(str(raw.get("severity"))), raw.get("pos"), raw.get("data")
    if severity is None or not isinstance(position, Mapping) or not isinstance(text, str):
        return None
    end = raw.get("endPos") or {}
    shift = first_line - 1
    end_line = end["line"] - shift if "line" in end else None
    goals = goals_before.at(position["line"], position["column"]) if goals_before and severity == "error" else ()
    return Message(severity, position["line"] - shift, position["column"], end_line, end.get("column"), text, goals)


def unverified(request: CheckRequest, detail: str, seconds: float, lean_version: str) -> CheckResult:
    """Nobody judged ``request``, for the reason ``detail``."""
    return CheckResult(request.id, Verdict.UNVERIFIED, (), seconds, detail, None, lean_version)


def _declares(request: CheckRequest) -> bool:
    source = LeanSource(request.code)
    return any(
        command.word in DECLARATIONS and source.declares(command, request.theorem) for command in source.commands
    )
