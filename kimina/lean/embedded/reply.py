"""What one check sends to a fork server, and how its answer becomes a verdict."""

import json
import re
import signal
from typing import Any

from kimina.lean.embedded.child import exceeded_limit
from kimina.lean.judge import judge
from kimina.lean.report import read_message, refuse_text
from kimina.lean.snippet import split_imports
from kimina.lean.verdict import CheckRequest, CheckResult, Message, Verdict

HEADER = """\
set_option autoImplicit false
set_option relaxedAutoImplicit false
set_option maxHeartbeats {max_heartbeats}
set_option maxRecDepth 512
set_option linter.all false
"""

OFFERED_MODULES = ("Init",)
OFFER = (
    "The embedded Lean has its core library only (module Init: logic, natural numbers, lists, and the core tactics)."
    " For Mathlib use a Kimina Lean server: verifier=kimina"
)
_FAULTS = frozenset({signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP})
_NAME_PART = re.compile(r"«([^»]*)»|([^.]+)")


def compose_check(request: CheckRequest) -> dict[str, Any]:
    """The part of a server's request that depends on the proof. The header is the server's, and nothing is appended."""
    parts = [quoted or plain for quoted, plain in _NAME_PART.findall(request.theorem)]
    return {"text": split_imports(request.code)[0], "theorem": parts}


def refuse_before_lean(request: CheckRequest, lean_version: str) -> CheckResult | None:
    """The verdict on a text that needs no Lean; see ``kimina.lean.report.refuse_text``."""
    return refuse_text(request, OFFERED_MODULES, OFFER, lean_version)


def judge_reply(request: CheckRequest, reply: dict[str, Any], lean_version: str) -> CheckResult:
    """Judge a server's answer on ``request``."""

    def result(
        verdict: Verdict, detail: str, messages: list[Message], axioms: tuple[str, ...] | None = None
    ) -> CheckResult:
        return CheckResult(request.id, verdict, tuple(messages), reply["seconds"], detail, axioms, lean_version)

    if reply["ended"] == "exit" and reply["status"] == 0:
        # A child that ends with 0 has written its whole answer.
        answer = json.loads(reply["output"])
        messages = [read_message(json.loads(text), first_line=1) for text in answer["messages"]]
        # Where Lean objects itself, its objection is the reason, and these would only follow from it.
        if not any(message.severity == "error" for message in messages):
            if answer["kind"] is None:
                messages.append(_about_text(request, f"the text does not declare {request.theorem}"))
            elif answer["kernel"] is not None:
                messages.append(_about_text(request, f"the kernel refuses the text: {answer['kernel']}"))
        axioms = None if answer["axioms"] is None else tuple(answer["axioms"])
        judgement = judge(messages, request.theorem, axioms)
        return result(judgement.verdict, judgement.detail, messages, axioms)
    if reply["status"] == -signal.SIGPROF:
        return result(Verdict.TIMEOUT, f"the check used up its processor time ({reply['cpu_s']:.1f} s)", [])
    if refusal := exceeded_limit(reply["ended"], reply["complaint"]):
        return result(Verdict.LEAN_ERROR, refusal, [_about_text(request, refusal)])
    how = f"{reply['ended']}, status {reply['status']}"
    return result(Verdict.UNVERIFIED, f"the check ended abnormally ({how}): {reply['complaint'].strip()[-200:]}", [])


def crashed(reply: dict[str, Any]) -> bool:
    """Whether the child ended by a fault of its own (not by a limit, nor killed from outside)."""
    return reply["ended"] == "exit" and -reply["status"] in _FAULTS


def refuse(request: CheckRequest, lean_version: str, text: str) -> CheckResult:
    """``lean_error`` for a reason that lies in the text as a whole."""
    message = _about_text(request, text)
    return CheckResult(request.id, Verdict.LEAN_ERROR, (message,), 0.0, text, None, lean_version)


def _about_text(request: CheckRequest, text: str) -> Message:
    return Message("error", request.code.count("\n") + 1, 0, None, None, text)
