"""The real Kimina Lean Server over the embedded Lean: same verdicts, same positions, and nothing left behind."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from support.processes import gone, wait_until

from kimina.errors import InfrastructureError, UserError
from kimina.lean.embedded.build import server_environment
from kimina.lean.kimina_server import HEADER, KiminaServerVerifier
from kimina.lean.real_server import package
from kimina.lean.real_server.server import HOST, RealServer
from kimina.lean.report import compose_with_query
from kimina.lean.verdict import CheckRequest, CheckResult, Verdict

GOOD = "theorem t (a b : Nat) : a + b = b + a := by\n  rw [Nat.add_comm]"
LOOP = "set_option maxHeartbeats 0\ntheorem t : True := by\n  repeat (have := trivial)"

# Texts on which the server's verdict must be the embedded one, message for message.
SAME = {
    "proved": GOOD,
    "windows_line_ends": GOOD.replace("\n", "\r\n"),
    "induction": "theorem t (n : Nat) : 0 + n = n := by\n  induction n with\n  | zero => rfl\n  | succ n ih => simp",
    "helper": "theorem helper : 1 = 1 := rfl\n\ntheorem t : 1 = 1 := by\n  exact helper",
    "open_namespace_at_the_end": "theorem t : True := trivial\nnamespace X",
    "false": "theorem t : False := by trivial",
    "error_far_below": "\n\n/- a\n-/\ntheorem t (p : Prop) : p := by\n  intro x\n  exact x",
    "two_errors": "theorem u : 1 = 2 := rfl\ntheorem t : 2 = 3 := rfl",
    "parse_error": "theorem t : 1 = := rfl",
    "mathlib_tactic": "theorem t (a b : Nat) : a * b = b * a := by\n  ring",
    "sorry_tactic": "theorem t : False := by\n  sorry",
    "sorry_term": "theorem t : False := sorry",
    "sorry_elsewhere": "theorem u : False := sorry\ntheorem t : 1 = 1 := rfl",
    "sorry_axiom": "theorem t : False := sorryAx _",
    "sorry_without_warning": "set_option warn.sorry false\ntheorem t : False := by\n  sorry",
    "axiom": "axiom c : False\ntheorem t : False := c",
    "unused_axiom": "axiom c : False\ntheorem t : True := trivial",
    "forged_report": (
        "axiom c : False\ntheorem t : False := c\nnamespace Y\ntheorem t : True := trivial\n#print axioms t\nend Y"
    ),
    "forged_report_of_another": "theorem u : True := trivial\n#print axioms u\naxiom c : False\ntheorem t : False := c",
    "metaprogramming": 'elab "x" : tactic => pure ()',
    "heartbeats": "set_option maxHeartbeats 200 in\ntheorem t : True := by\n  repeat (have := trivial)",
}
# Texts whose verdict is the same, and whose one message about our own line behind them is put in other words.
SAME_VERDICT = {
    "open_comment": "theorem t : True := trivial /-",
    "open_proof": "theorem t : True := by",
    "open_bracket": "theorem t : True := (trivial",
    "other_theorem": "theorem u : True := trivial",
    "wrong_namespace": "namespace X\ntheorem t : True := trivial",
}


@pytest.fixture(scope="module")
def verifier(real_server):
    with KiminaServerVerifier([real_server.url], timeout_s=5, batch_size=8, concurrency=2, first_pause_s=0.05) as made:
        yield made


def requests(texts: dict[str, str]) -> list[CheckRequest]:
    return [CheckRequest(name, text, "t") for name, text in texts.items()]


def places(result: CheckResult) -> list[tuple]:
    return [
        (message.severity, message.line, message.column, message.end_line, message.end_column, message.text.strip())
        for message in result.messages
    ]


def family(pid: int) -> list[psutil.Process]:
    return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]


def lean_processes(pid: int, age_s: float = 0.0) -> list[psutil.Process]:
    """The forked children of the server's REPLs, in which Lean has been at work for ``age_s`` seconds."""
    found: list[psutil.Process] = []
    for repl in psutil.Process(pid).children():
        # The server may have killed it since.
        with contextlib.suppress(psutil.NoSuchProcess):
            found += [worker for worker in repl.children() if time.time() - worker.create_time() >= age_s]
    return found


# Verdicts


def test_verdicts_and_messages_are_those_of_the_embedded_lean(verifier, embedded):
    asked = requests(SAME)
    for ours, theirs in zip(verifier.check(asked), embedded.check(asked), strict=True):
        assert (ours.verdict, places(ours)) == (theirs.verdict, places(theirs)), ours.id
        if ours.verdict in (Verdict.PROVED, Verdict.AXIOM_VIOLATION):
            assert ours.axioms == theirs.axioms, ours.id


def test_verdicts_on_texts_without_the_theorem_are_those_of_the_embedded_lean(verifier, embedded):
    asked = requests(SAME_VERDICT)
    for ours, theirs in zip(verifier.check(asked), embedded.check(asked), strict=True):
        assert ours.verdict is theirs.verdict is Verdict.LEAN_ERROR, ours.id


def test_verdicts_are_the_expected_ones(verifier):
    results = {result.id: result.verdict for result in verifier.check(requests(SAME))}
    proved = {"proved", "windows_line_ends", "induction", "helper", "open_namespace_at_the_end", "unused_axiom"}
    assert {name for name, verdict in results.items() if verdict is Verdict.PROVED} == proved
    assert results["sorry_without_warning"] is results["sorry_elsewhere"] is Verdict.SORRY
    assert results["forged_report"] is results["axiom"] is Verdict.AXIOM_VIOLATION
    assert results["heartbeats"] is Verdict.HEARTBEAT_LIMIT
    assert Verdict.UNVERIFIED not in results.values()


def test_imports_of_the_model_are_the_headers(verifier):
    result = verifier.check([CheckRequest("a", "import Mathlib\nimport Aesop\n\nopen Nat\n" + GOOD, "t")])[0]
    assert result.verdict is Verdict.PROVED


# Between the two lies a character at which Python ends a line and Lean does not.
HIDDEN = "-- {0}variable (h : False)\n-- {0}include h\ntheorem t : 1 = 2 := by\n  exact absurd h (fun x => x)"


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\r"])
def test_code_hidden_behind_a_line_end_of_the_server_proves_nothing(verifier, character):
    result = verifier.check([CheckRequest("a", HIDDEN.format(character), "t")])[0]
    assert result.verdict is Verdict.LEAN_ERROR
    assert result.messages[0].line == 1 and f"U+{ord(character):04X}" in result.detail


def test_time_limit_is_the_proofs_and_the_server_goes_on(real_server):
    with KiminaServerVerifier([real_server.url], timeout_s=1) as verifier:
        slow, quick = verifier.check([CheckRequest("a", LOOP, "t"), CheckRequest("b", GOOD, "t")])
        assert slow.verdict is Verdict.TIMEOUT and "timed out in 1.0 seconds" in slow.detail
        assert quick.verdict is Verdict.PROVED
        assert verifier.check([CheckRequest("c", GOOD + " ", "t")])[0].verdict is Verdict.PROVED
    assert wait_until(lambda: lean_processes(real_server.pid) == [])


def test_goals_before_an_error(real_server):
    text = "theorem t (p q : Prop) (h : p) : p ∧ q := by\n  constructor\n  · exact h\n  · exact h"
    with KiminaServerVerifier([real_server.url], goals=True) as verifier:
        result = verifier.check([CheckRequest("a", text, "t")])[0]
    (message,) = result.messages
    assert (message.line, message.goals) == (4, ("case right\np q : Prop\nh : p\n⊢ q",))


def test_killed_repl_costs_another_try(real_server, verifier):
    results: list[CheckResult] = []
    lemmas = [
        f"theorem u{index} (a b : Nat) : a + b + {index} = b + a + {index} := by simp [Nat.add_comm]" for index in range(300)
    ]
    slow = "\n".join([*lemmas, GOOD])
    asking = threading.Thread(target=lambda: results.extend(verifier.check([CheckRequest("a", slow, "t")])))
    asking.start()
    assert wait_until(lambda: lean_processes(real_server.pid))
    for worker in lean_processes(real_server.pid):
        worker.parent().kill()
    asking.join()
    assert results[0].verdict is Verdict.PROVED, results[0]


# What the server sends


def post(server: RealServer, code: str, **options) -> dict:
    connection = http.client.HTTPConnection(HOST, server.port, timeout=30)
    body = json.dumps({"snippets": [{"id": "a", "code": code}], "timeout": 10} | options)
    connection.request("POST", "/api/check", body, {"Content-Type": "application/json"})
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer["results"][0]["response"]


def test_lines_are_counted_from_behind_the_imports(real_server):
    request = CheckRequest("a", "theorem t : 1 = 1 := by\n  skip\n  rfl\n#check t", "t")
    snippet = compose_with_query(HEADER, request)
    check, report = post(real_server, snippet.text)["messages"]
    imports = HEADER.count("import ")
    assert check["pos"] == {"line": snippet.first_line - imports + 3, "column": 0}
    assert report["pos"] == {"line": snippet.query_line - imports, "column": 0}
    assert report["data"] == "'t' does not depend on any axioms"


@pytest.mark.parametrize("tree", [None, "tactics", "original", "full", "substantive"])
def test_every_kind_of_tree_may_be_asked_for(real_server, tree):
    response = post(real_server, HEADER + GOOD, infotree=tree)
    assert "env" in response and ("infotree" in response) == (tree == "tactics")


def test_version_of_lean_can_be_asked_for(real_server):
    assert "Lean 4.35.0" in post(real_server, HEADER + "#version")["messages"][0]["data"]


# Starting and stopping


def test_server_keeps_its_port_and_is_used_again_after_a_restart(server_package, tmp_path):
    server = RealServer(tmp_path / "logs" / "server.log", repls=1)
    with server, KiminaServerVerifier([server.url], first_pause_s=0.02, cache_size=0, deadline_s=3) as verifier:
        assert verifier.check([CheckRequest("a", GOOD, "t")])[0].verdict is Verdict.PROVED
        first = server.url
        server.stop()
        server.stop()
        assert server.pid is None
        assert verifier.check([CheckRequest("b", GOOD, "t")])[0].verdict is Verdict.UNVERIFIED
        server.start()
        assert server.url == first
        assert verifier.check([CheckRequest("c", GOOD, "t")])[0].verdict is Verdict.PROVED


def test_stop_in_the_middle_of_a_check_leaves_no_process_and_no_file(server_package, tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    cached = sorted(os.listdir(os.environ["KIMINA_CACHE"]))
    with RealServer(tmp_path / "server.log") as server, KiminaServerVerifier([server.url], first_pause_s=0.02, deadline_s=5) as verifier:
        asking = threading.Thread(target=verifier.check, args=([CheckRequest("a", LOOP, "t")],))
        asking.start()
        assert wait_until(lambda: lean_processes(server.pid, age_s=1.0))
        processes = family(server.pid)
        server.stop()
        assert all(gone(process) for process in processes)
        asking.join()
    assert os.listdir(tmp_path / "temporary") == []
    assert sorted(os.listdir(os.environ["KIMINA_CACHE"])) == cached
    assert sorted(os.listdir(tmp_path)) == ["server.log", "temporary"]


OWNER = """
import sys, threading
from pathlib import Path
from kimina.lean.kimina_server import KiminaServerVerifier
from kimina.lean.real_server.server import RealServer
from kimina.lean.verdict import CheckRequest
server = RealServer(Path(sys.argv[1]))
server.start()
verifier = KiminaServerVerifier([server.url])
threading.Thread(target=verifier.check, args=([CheckRequest("a", sys.argv[2], "t")],), daemon=True).start()
print(server.pid, flush=True)
sys.stdin.read()
"""


def test_killed_owner_takes_the_server_and_its_repls_along(server_package, tmp_path):
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path / "server.log"), LOOP], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": server_environment()["PYTHONPATH"]},
    )  # fmt: skip
    server = int(owner.stdout.readline())
    # The header's process is gone by then.
    assert wait_until(lambda: lean_processes(server, age_s=1.0))
    processes = family(server)
    assert len(processes) == 3
    owner.kill()
    owner.wait()
    assert wait_until(lambda: all(gone(process) for process in processes))
    owner.stdin.close()
    owner.stdout.close()


def test_key_is_asked_for(server_package, tmp_path, monkeypatch):
    with RealServer(tmp_path / "server.log", repls=1, api_key="secret") as server:
        for key, verdict in (("wrong", Verdict.UNVERIFIED), ("secret", Verdict.PROVED)):
            monkeypatch.setenv("LEAN_SERVER_API_KEY", key)
            with KiminaServerVerifier([server.url], first_pause_s=0.01, deadline_s=5) as verifier:
                assert verifier.check([CheckRequest("a", GOOD, "t")])[0].verdict is verdict
    assert "secret" not in (tmp_path / "server.log").read_text()


def test_taken_port_is_explained(real_server, tmp_path):
    with pytest.raises(UserError, match=f"Port {real_server.port}.*make lean-server PORT={real_server.port + 1}"):
        RealServer(tmp_path / "server.log", port=real_server.port).start()


def test_server_that_ends_at_once_shows_its_log(server_package, tmp_path):
    server = RealServer(tmp_path / "server.log", log_level="NONSENSE")
    with pytest.raises(InfrastructureError, match="NONSENSE"):
        server.start()
    assert server.pid is None


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_the_command_that_make_lean_server_types(server_package, tmp_path, end):
    process = subprocess.Popen(
        [sys.executable, "-m", "kimina.lean.real_server", "--port", "0", "--repls", "1"], cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": server_environment()["PYTHONPATH"]}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    lines = [process.stdout.readline() for _ in range(4)]
    url = lines[1].split()[-1]
    assert f"python run.py verifier=kimina verifier.urls='[\"{url}\"]'" in lines[2]
    with KiminaServerVerifier([url], deadline_s=5) as verifier:
        assert verifier.check([CheckRequest("a", GOOD, "t")])[0].verdict is Verdict.PROVED
    processes = family(process.pid)
    process.send_signal(end)
    assert process.wait(timeout=60) == 0
    process.stdout.close()
    assert wait_until(lambda: all(gone(left) for left in processes))
    assert (tmp_path / "outputs/logs/lean-server.log").is_file()


# Its package


def test_package_that_cannot_be_installed_is_explained(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(InfrastructureError) as raised:
        package.ensure_package(tmp_path / "cache")
    assert "package index" in str(raised.value) and "fastapi==0.116.1" in str(raised.value)
    (lock,) = (tmp_path / "cache").iterdir()
    assert lock.name.endswith(".lock")


def test_package_is_made_once_and_what_killed_makers_left_is_cleared(tmp_path, monkeypatch):
    ran: list[list[str]] = []

    def run(command: list[str]) -> None:
        ran.append(command)
        time.sleep(0.05)

    monkeypatch.setattr(package, "_run", run)
    folders: list[Path] = []
    makers = [threading.Thread(target=lambda: folders.append(package.ensure_package(tmp_path))) for _ in range(3)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    (folder,) = set(folders)
    assert len(ran) == 3
    folder.rename(tmp_path / f".{folder.name}-killed")
    assert package.ensure_package(tmp_path) == folder
    assert sorted(path.name for path in tmp_path.iterdir()) == [f".{folder.name}.lock", folder.name]
    assert os.access(folder / package.PROGRAMS / "lake", os.X_OK)


def test_folder_that_cannot_be_written_is_explained(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InfrastructureError, match="KIMINA_CACHE"):
        package.ensure_package(tmp_path / "file")
