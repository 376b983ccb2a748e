"""The verifiers that read what Lean prints: composition, judging, the local program, and Kimina servers."""

import asyncio
import itertools
import json
import os
import shlex
import socket
import subprocess
import sys
import threading
import typing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kimina.errors import UserError
from kimina.lean.embedded.build import ensure_library, server_environment
from kimina.lean.embedded.installation import find_installation
from kimina.lean.kimina_client_compat import import_kimina_client
from kimina.lean.kimina_server import HEADER, KiminaServerVerifier
from kimina.lean.kimina_service.wire import join_replies
from kimina.lean.metaprogramming import find_metaprogramming
from kimina.lean.report import judge_reply
from kimina.lean.snippet import compose, split_imports
from kimina.lean.verdict import CheckRequest, Verdict
from kimina.lean.verifier import make_verifier

CASES = Path(__file__).resolve().parents[2].parent / "shared" / "cases" / "server_replies.jsonl"
GOOD = "theorem t (a b : Nat) : a + b = b + a := by\n  rw [Nat.add_comm]"


# Composition


def test_imports_at_the_top_are_blanked_and_everything_else_keeps_its_place():
    code = "/- a -/ import Mathlib\nimport Aesop -- b\n\nopen Nat\ntheorem t : import := 1\nimport Late"
    text, imports = split_imports(code)
    assert [(found.module, found.line, found.column) for found in imports] == [("Mathlib", 1, 8), ("Aesop", 2, 0)]
    assert len(text) == len(code) and text.splitlines()[3:] == code.splitlines()[3:]
    assert text.startswith("/- a -/" + " " * 15 + "\n" + " " * 12 + " -- b")


@pytest.mark.parametrize(
    "code", ["", "importx", "import", "theorem t := 1", "-- import A", '"import A"', "/- import A"]
)
def test_what_is_no_import_stays(code):
    assert split_imports(code) == (code, ())


def test_header_and_query_stand_on_lines_of_their_own():
    snippet = compose("set_option a true", "line one\nline two -- open end", "#print axioms t")
    lines = snippet.text.splitlines()
    assert lines[snippet.first_line - 1] == "line one"
    assert lines[snippet.query_line - 1] == "#print axioms t"


@pytest.mark.parametrize(
    ("code", "word"),
    [
        ('macro "a" : tactic => `(tactic| rfl)', "macro"),
        ('@[simp, extern "x"] def a := 1', "extern"),
        ("attribute [local csimp] a", "csimp"),
        ("open Lean Elab Command in\n#eval 1", "Elab"),
        ("set_option «debug».skipKernelTC true", "debug.skipKernelTC"),
        ('local elab "x" : term => return default', "elab"),
        ("theorem t : True := by run_tac pure ()", "run_tac"),
        ("initialize pure ()", "initialize"),
        ("theorem t : True := by_elab return default", "by_elab"),
        ('-- macro\n/- elab -/ def s := "run_cmd"', None),
        ("theorem t (init export : Nat) : init = [init, export].length := by simp", None),
        ("@[simp] theorem macro_like (csimp : Nat) : csimp = csimp := rfl", None),
        ('notation "x" => 1\nlocal infixl:65 " + " => f', None),
    ],
)
def test_metaprogramming_is_found_in_live_code_only(code, word):
    found = find_metaprogramming(code)
    assert (found and found.word) == word


# Answers of a Kimina server


def case_verdict(case: dict) -> Verdict:
    """Judge one conformance case; the query's line is the last one that the reply mentions."""
    if "http" in case:
        with Server(case["http"]) as server:
            return server.verdict(case)
    messages = (case["reply"].get("response") or {}).get("messages", [])
    last = max((message["pos"]["line"] for message in messages), default=8)
    request = CheckRequest("r", f"theorem {case['theorem']} : True := trivial", case["theorem"])
    query_line = last if case["axiom_query"] else None
    return judge_reply(
        case["reply"], case["snippet_id"], request, first_line=1, query_line=query_line, lean_version="4"
    ).verdict


def test_conformance_cases():
    if not CASES.is_file():
        pytest.skip(f"the conformance cases are not part of the repository ({CASES.name} is missing)")
    wrong = []
    for line in CASES.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        verdict = case_verdict(case)
        if verdict != case["verdict"] and verdict not in case["also_acceptable"]:
            wrong.append((case["id"], verdict, case["verdict"], case["note"]))
    assert not wrong, wrong


def report(name: str, axioms: str = "does not depend on any axioms") -> str:
    return f"'{name}' {axioms}"


def reply(*messages: tuple[str, int, int, str], **other) -> dict:
    return {"id": "s", "time": 0.5, "response": {"env": 0, "messages": [
        {"severity": severity, "pos": {"line": line, "column": column}, "endPos": None, "data": data}
        for severity, line, column, data in messages
    ]} | other}  # fmt: skip


REPLIES = {
    "clean": (reply(("info", 9, 0, report("t"))), Verdict.PROVED),
    "report_elsewhere": (reply(("info", 5, 0, report("t"))), Verdict.UNVERIFIED),
    "report_in_another_column": (reply(("info", 9, 2, report("t"))), Verdict.UNVERIFIED),
    "report_as_warning": (reply(("warning", 9, 0, report("t"))), Verdict.UNVERIFIED),
    "forged_first": (reply(("info", 5, 0, report("t")), ("info", 9, 0, report("t", "depends on axioms: [c]"))),
                     Verdict.AXIOM_VIOLATION),
    "report_with_a_tail": (reply(("info", 9, 0, report("t") + "\n'u' depends on axioms: [c]")), Verdict.UNVERIFIED),
    "quoted_name": (reply(("info", 9, 0, report("«t»"))), Verdict.PROVED),
    "old_sorry": (reply(("warning", 5, 0, "declaration uses 'sorry'"), ("info", 9, 0, report("t"))), Verdict.SORRY),
    "new_sorry": (reply(("warning", 5, 0, "declaration uses `sorry`"), ("info", 9, 0, report("t"))), Verdict.SORRY),
    "only_listed": (reply(("info", 9, 0, report("t")), sorries=[{"pos": {}, "goal": ""}]), Verdict.SORRY),
    "undeclared": (reply(("error", 9, 14, "unknown constant '_root_.t'")), Verdict.LEAN_ERROR),
    "swallowed": (reply(("error", 10, 0, "unterminated comment")), Verdict.LEAN_ERROR),
    "header": (reply(("error", 1, 0, "unknown option")), Verdict.UNVERIFIED),
    "heartbeats": (reply(("error", 5, 0, "(deterministic) timeout at `whnf`, maximum number of heartbeats")),
                   Verdict.HEARTBEAT_LIMIT),
    "undeclared_after_heartbeats": (
        reply(("error", 5, 0, "(deterministic) timeout at `whnf`"), ("error", 9, 0, "unknown")),
        Verdict.HEARTBEAT_LIMIT,
    ),
    "nothing": (reply(), Verdict.UNVERIFIED),
    "no_env_but_a_report": (
        {"id": "s", "response": {"messages": reply(("info", 9, 0, report("t")))["response"]["messages"]}}, Verdict.PROVED,
    ),
    "no_env": ({"id": "s", "response": {"messages": []}}, Verdict.UNVERIFIED),
    "repl_error": ({"id": "s", "response": {"message": "Unknown environment."}}, Verdict.UNVERIFIED),
    "exit": (reply(("warning", 5, 0, "using 'exit' to interrupt Lean")), Verdict.LEAN_ERROR),
}  # fmt: skip


@pytest.mark.parametrize("name", REPLIES)
def test_reply(name):
    answer, verdict = REPLIES[name]
    request = CheckRequest("r", "theorem t : True := by\n  trivial\n-- end\n", "t")
    result = judge_reply(answer, "s", request, first_line=5, query_line=9, lean_version="4")
    assert result.verdict is verdict, result
    assert all(message.line >= 1 for message in result.messages)


def test_replies_are_joined_by_id():
    first, second = {"id": "0", "error": "a"}, {"id": "1", "error": "b"}
    assert join_replies([second, first], ["0", "1"]) == {"0": first, "1": second}
    assert join_replies([first, first], ["0"]) == {"0": first}
    assert join_replies([first, first | {"error": "c"}], ["0", "1"]) == {"0": None, "1": None}


# A small server that speaks the same JSON


class Server:
    """Answers ``POST /api/check`` over embedded Lean's program, or with what ``canned`` says."""

    def __init__(self, canned: dict | None = None, failures: int = 0, answer=None) -> None:
        self.canned, self.failures, self.answer = canned, failures, answer
        self.seen: list[dict] = []
        self.probes = 0
        self.headers: list[dict] = []

    def __enter__(self) -> "Server":
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if "#version" in body["snippets"][0]["code"]:
                    owner.probes += 1
                else:
                    owner.seen.append(body)
                owner.headers.append(dict(self.headers))
                canned = owner.canned or {}
                if canned.get("event") in ("timeout", "connection_reset", "connection_refused", "dns_failure"):
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                status, text = canned.get("status", 200), canned.get("body")
                if owner.failures > 0:
                    owner.failures -= 1
                    status, text = 503, "overloaded"
                elif text is None:
                    text = json.dumps({"results": [owner.answer(snippet) for snippet in body["snippets"]]})
                else:
                    for name, snippet in itertools.product(canned.get("request_ids", ["s1"]), body["snippets"]):
                        if f" : {name}\n" in snippet["code"]:
                            text = text.replace(f'"id": "{name}"', f'"id": "{snippet["id"]}"')
                self.send_response(status)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *arguments) -> None:
                """Keep the test's output clean."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()
        return self

    def __exit__(self, *error) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

    def verdict(self, case: dict) -> Verdict:
        """The verdict on the case's snippet, sent in one batch with its fellows.

        The texts are as long as the canned answers say: the query stands on the server's line 8.
        """
        ids = self.canned.get("request_ids", [case["snippet_id"]])
        with KiminaServerVerifier([self.url], concurrency=1, batch_size=len(ids), first_pause_s=0.001) as verifier:
            verifier.header = "import Mathlib\n"
            requests = [
                CheckRequest(id_, f"theorem {case['theorem']} : {id_}" + "\n" * 6, case["theorem"]) for id_ in ids
            ]
            results = verifier.check(requests)
        return results[ids.index(case["snippet_id"])].verdict


def lean_answer(snippet: dict) -> dict:
    """What a server would answer: its header split off, the rest checked by embedded Lean's command line."""
    lines = snippet["code"].splitlines()
    body = "\n".join(line for line in lines if not line.startswith("import "))
    done = run_lean(body)
    messages = [
        {"severity": {"information": "info"}.get(raw["severity"], raw["severity"]), "pos": raw["pos"],
         "endPos": raw["endPos"], "data": raw["data"]}
        for raw in map(json.loads, done.splitlines())
    ]  # fmt: skip
    return {"id": snippet["id"], "time": 0.1, "response": {"env": 0, "messages": messages}}


def run_lean(text: str) -> str:
    found = find_installation()
    command = [sys.executable, "-m", "kimina.lean.embedded.lean_program", str(found.library), "--json", "--stdin"]
    environment = server_environment() | {"LEAN_PATH": str(ensure_library(found))}
    return subprocess.run(command, input=text, capture_output=True, text=True, env=environment).stdout


TEXTS = {
    GOOD: Verdict.PROVED,
    "import Mathlib\nopen Nat\n" + GOOD: Verdict.PROVED,
    "theorem t : False := by trivial": Verdict.LEAN_ERROR,
    "theorem t : False := sorry": Verdict.SORRY,
    "axiom c : False\ntheorem t : False := c": Verdict.AXIOM_VIOLATION,
    "theorem t : True := trivial /-": Verdict.LEAN_ERROR,
    "namespace X\ntheorem t : True := trivial": Verdict.LEAN_ERROR,
    "theorem u : True := trivial": Verdict.LEAN_ERROR,
    "open Nat in\ntheorem A.t : True := trivial": Verdict.LEAN_ERROR,
    "theorem t : True := trivial\nnamespace X": Verdict.PROVED,
    "theorem t : True := trivial -- \u2028 line": Verdict.LEAN_ERROR,
    'elab "x" : tactic => pure ()': Verdict.LEAN_ERROR,
}


def test_server_verifier_end_to_end(library_cache):
    with Server(answer=lean_answer) as server, KiminaServerVerifier([server.url], batch_size=4) as verifier:
        results = verifier.check([CheckRequest(str(index), text, "t") for index, text in enumerate(TEXTS)])
        assert {text: result.verdict for text, result in zip(TEXTS, results, strict=True)} == TEXTS
        assert results[2].messages[0].line == 1
        assert results[0].lean_version == verifier.lean_version == "4.35.0"
        assert all(snippet["code"].startswith(HEADER) for body in server.seen for snippet in body["snippets"])
        assert asyncio.run(verifier.check_one(CheckRequest("x", GOOD, "t"))).verdict is Verdict.PROVED


def test_theorem_of_the_library_is_not_the_texts(library_cache):
    with Server(answer=lean_answer) as server, KiminaServerVerifier([server.url]) as verifier:
        result = verifier.check([CheckRequest("a", "-- nothing", "Nat.add_comm")])[0]
        assert result.verdict is Verdict.LEAN_ERROR and "does not declare Nat.add_comm" in result.detail


def proved(snippet: dict) -> dict:
    line = len(snippet["code"].splitlines()) - 2
    return {"id": snippet["id"], "time": 0.1, "response": {"env": 0, "messages": [
        {"severity": "info", "pos": {"line": line, "column": 0}, "endPos": None, "data": report("t")}]}}  # fmt: skip


def test_outage_is_retried_then_unverified():
    with Server(answer=proved, failures=2) as server:
        with KiminaServerVerifier([server.url], concurrency=1, first_pause_s=0.001, deadline_s=5) as verifier:
            assert verifier.check([CheckRequest("x", GOOD, "t")])[0].verdict is Verdict.PROVED
            assert server.probes == 3 and len(server.seen) == 1
        server.failures = 10**9
        with KiminaServerVerifier([server.url], concurrency=1, first_pause_s=0.001, deadline_s=5) as verifier:
            assert verifier.check([CheckRequest("x", GOOD, "t")])[0].verdict is Verdict.UNVERIFIED


def test_another_server_takes_over():
    with Server(failures=1000) as broken, Server(answer=proved) as good:
        with KiminaServerVerifier([broken.url, good.url], concurrency=1, first_pause_s=0.001) as verifier:
            assert verifier.check([CheckRequest("x", GOOD, "t")])[0].verdict is Verdict.PROVED


def test_unreachable_server_is_unverified_and_close_ends_open_checks():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with KiminaServerVerifier([url], first_pause_s=0.001) as verifier:
            result = verifier.check([CheckRequest("x", GOOD, "t")])[0]
            assert result.verdict is Verdict.UNVERIFIED and url in result.detail
        verifier = KiminaServerVerifier([url], concurrency=1, first_pause_s=60)
        results: list = []
        asking = threading.Thread(target=lambda: results.extend(verifier.check([CheckRequest("x", GOOD, "t")])))
        asking.start()
        while not verifier._dispatcher.servers[0].health.rests:
            threading.Event().wait(0.01)
        verifier.close()
        asking.join()
        assert results[0].verdict is Verdict.UNVERIFIED


def test_key_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret")
    with Server(answer=proved) as server:
        settings = {"name": "kimina", "urls": [server.url], "api_key_env": "MY_KEY", "proofs_per_second": 40.0}
        with make_verifier(settings) as verifier:
            verifier.check([CheckRequest("x", GOOD, "t")])
        assert server.headers[0]["Authorization"] == "Bearer secret"


def test_proofs_are_sent_in_batches():
    with Server(answer=proved) as server:
        with KiminaServerVerifier([server.url], batch_size=5, concurrency=1) as verifier:
            verifier.check([CheckRequest(str(index), f"{GOOD} -- {index}", "t") for index in range(20)])
        sizes = [len(body["snippets"]) for body in server.seen]
        assert sum(sizes) == 20 and max(sizes) == 5


@pytest.mark.parametrize(("goals", "asked"), [(True, "tactics"), (False, None)])
def test_the_server_is_asked_for_the_tree_when_goals_are_wanted(goals, asked):
    with Server(answer=proved) as server:
        with KiminaServerVerifier([server.url], goals=goals) as verifier:
            verifier.check([CheckRequest("x", GOOD, "t")])
        assert [body["infotree"] for body in server.seen] == [asked]


@pytest.mark.parametrize("urls", [[], "http://a", ["a:8000"]])
def test_wrong_addresses_are_explained(urls):
    with pytest.raises(UserError, match="verifier.urls="):
        KiminaServerVerifier(urls)


# kimina-client


def test_kimina_client_is_importable_and_typing_is_left_alone():
    code = (
        "import typing; before = (typing.TypedDict, typing.NotRequired)\n"
        "from kimina.lean.kimina_client_compat import import_kimina_client as load\n"
        "client = load(); assert load() is client\n"
        "assert (typing.TypedDict, typing.NotRequired) == before\n"
        "reply = client.models.ReplResponse(id='a', response={'env': 0})\n"
        "print(reply.model_dump()['response'], client.AsyncKiminaClient.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.stdout == "{'env': 0} AsyncKiminaClient\n", done.stderr


def test_the_remedy_is_still_needed_on_python_3_11_only():
    done = subprocess.run([sys.executable, "-c", "import kimina_client"], capture_output=True, text=True)
    assert (done.returncode != 0) == (sys.version_info[:2] == (3, 11)), done.stderr
    assert typing.TypedDict.__module__ == "typing"
    assert import_kimina_client().Snippet(id="a", code="b").code == "b"


# The user's own Lean


@pytest.fixture(scope="module")
def programs(library_cache, tmp_path_factory):
    """A folder with programs `lean` and `lake` that stand in for an installation."""
    found = find_installation()
    folder = tmp_path_factory.mktemp("programs")
    environment = server_environment() | {"LEAN_PATH": str(ensure_library(found))}
    assignments = " ".join(f"{key}={shlex.quote(environment[key])}" for key in ("PYTHONPATH", "LEAN_PATH"))
    program = f"{shlex.quote(sys.executable)} -m kimina.lean.embedded.lean_program {shlex.quote(str(found.library))}"
    (folder / "lean").write_text(f'#!/bin/sh\nexec env {assignments} {program} "$@"\n')
    (folder / "lake").write_text('#!/bin/sh\n[ "$1" = env ] && shift && "$@"\n')
    for name in ("lean", "lake"):
        (folder / name).chmod(0o755)
    return folder


def test_local_verifier_end_to_end(programs):
    with make_verifier({"name": "local", "lean": str(programs / "lean"), "project_dir": None}) as verifier:
        assert verifier.lean_version.startswith("4.35")
        texts = {text: verdict for text, verdict in TEXTS.items() if "Mathlib" not in text and "\u2028" not in text}
        results = verifier.check([CheckRequest(text, text, "t") for text in texts])
        assert {result.id: result.verdict for result in results} == texts
        missing, init = verifier.check(
            [CheckRequest("m", "\nimport Mathlib\n" + GOOD, "t"), CheckRequest("i", "import Init\n" + GOOD, "t")]
        )
        assert missing.verdict is Verdict.LEAN_ERROR and missing.messages[0].line == 2
        assert init.verdict is Verdict.PROVED
        error = verifier.check([CheckRequest("e", "import Init\n\ntheorem t : True := by\n  exact 3", "t")])[0]
        assert error.messages[0].line == 4


def test_local_lake_project(programs, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "lakefile.toml").write_text('name = "mine"\n')
    with make_verifier({"name": "local", "project_dir": str(tmp_path), "workers": 2}) as verifier:
        results = verifier.check([CheckRequest("a", GOOD, "t"), CheckRequest("b", "theorem t : False := sorry", "t")])
        assert [result.verdict for result in results] == [Verdict.PROVED, Verdict.SORRY]
    (tmp_path / "lake-manifest.json").write_text('{"packages": [{"name": "mathlib"}]}')
    with make_verifier({"name": "local", "project_dir": str(tmp_path)}) as verifier:
        assert verifier.header.startswith("import Mathlib\n")
        # The stand-in has no Mathlib: our header fails, and nobody has judged the proof.
        assert verifier.check([CheckRequest("a", GOOD, "t")])[0].verdict is Verdict.UNVERIFIED


def test_local_time_limit_and_close(programs):
    loop = "set_option maxHeartbeats 0\ntheorem t : True := by\n  repeat (have := trivial)"
    with make_verifier({"name": "local", "lean": str(programs / "lean"), "timeout_s": 1.0}) as verifier:
        assert verifier.check([CheckRequest("a", loop, "t")])[0].verdict is Verdict.TIMEOUT
        results: list = []
        asking = threading.Thread(target=lambda: results.extend(verifier.check([CheckRequest("a", loop + " ", "t")])))
        asking.start()
        while verifier._workers[0]._process is None or verifier._workers[0]._process.returncode is not None:
            threading.Event().wait(0.01)
        verifier.close()
        asking.join()
        assert results[0].verdict in (Verdict.UNVERIFIED, Verdict.TIMEOUT)


@pytest.mark.parametrize(
    ("settings", "mentions"),
    [
        ({"lean": "no-such-lean"}, "elan.*verifier=embedded"),
        ({"project_dir": "/nowhere"}, "no Lake project"),
        ({"lean": "false"}, "no Lean version"),
    ],
)
def test_local_installation_that_is_not_there_is_explained(settings, mentions):
    with pytest.raises(UserError, match=mentions):
        make_verifier({"name": "local", **settings})
