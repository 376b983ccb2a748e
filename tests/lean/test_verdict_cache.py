"""The verification cache: what is kept and found again, and what happens to its file."""

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from kimina.errors import UserError
from kimina.lean import cache_thread, remembering
from kimina.lean.embedded.pool import EmbeddedVerifier
from kimina.lean.kimina_server import KiminaServerVerifier
from kimina.lean.local import _fingerprint
from kimina.lean.remembering import RememberingVerifier
from kimina.lean.verdict import CheckRequest, CheckResult, Message, Verdict
from kimina.lean.verdict_cache import MAX_ROW_BYTES, TIMEOUT_HOLDS_S, Conditions, VerdictCache, cache_file, normalised

ROOT = Path(__file__).resolve().parents[2]
HEADER = "import Mathlib\nset_option maxHeartbeats 4000\n"
HERE = Conditions("4.35.0", HEADER, "library-1", {"timeout_s": 10.0, "memory_mb": 1024.0})
CODE = "theorem t : True := by\n  trivial"


def request(code: str = CODE, theorem: str = "t", id_: str = "one") -> CheckRequest:
    return CheckRequest(id_, code, theorem)


def result(verdict: Verdict = Verdict.PROVED, *messages: Message, **fields) -> CheckResult:
    return replace(CheckResult("one", verdict, messages, 1.5, "detail", ("propext",), "4.35.0"), **fields)


def error(line: int, column: int, text: str = "no") -> Message:
    return Message("error", line, column, line, column + 1, text, ("⊢ False", "h : p\n⊢ q"))


@pytest.fixture
def said():
    return []


@pytest.fixture
def make(tmp_path, said):
    """Open the cache in a file of this test; what it says goes to ``said``."""
    opened = []

    def open_cache(**options) -> VerdictCache:
        opened.append(VerdictCache(tmp_path / "v.sqlite", say=said.append, **options))
        return opened[-1]

    yield open_cache
    for cache in opened:
        cache.close()


def keep(cache: VerdictCache, kept: CheckResult, code: str = CODE, conditions: Conditions = HERE) -> None:
    assert cache.put([(request(code), conditions, kept)])


# What is kept


@pytest.mark.parametrize("verdict", [verdict for verdict in Verdict if verdict is not Verdict.UNVERIFIED])
def test_the_whole_result_returns(make, said, verdict):
    messages = [] if verdict is Verdict.PROVED else [error(2, 2, "ℕ \ud800 " + "long " * 1000)]
    for kept in (result(verdict, *messages), result(verdict, axioms=None, seconds=0.25), result(verdict, axioms=())):
        keep(make(), kept)
        assert make().get(request(id_="two"), HERE) == replace(kept, id="two")
    assert not said


def test_what_nobody_judged_is_never_kept(make, tmp_path):
    cache = make()
    keep(cache, result(Verdict.UNVERIFIED))
    keep(cache, result(lean_version="unknown"), conditions=replace(HERE, lean_version="unknown"))
    keep(cache, result(lean_version="4.9.0"))
    assert not (tmp_path / "v.sqlite").exists()
    assert cache.get(request(), replace(HERE, lean_version="unknown")) is None


def test_long_messages_are_compressed_and_endless_ones_left_out(make, tmp_path):
    keep(make(), result(Verdict.SORRY, error(1, 0, "the same " * 50_000)))
    with sqlite3.connect(tmp_path / "v.sqlite") as connection:
        assert connection.execute("SELECT max(length(row)) FROM verdicts").fetchone()[0] < 10_000
    connection.close()
    keep(make(), result(Verdict.SORRY, error(1, 0, os.urandom(MAX_ROW_BYTES).hex())), "other")
    assert make().get(request("other"), HERE) is None


# What a verdict stands on


@pytest.mark.parametrize("verdict", [Verdict.PROVED, Verdict.LEAN_ERROR])
def test_another_text_name_version_header_or_environment_is_another_question(make, verdict):
    cache = make()
    keep(cache, result(verdict))
    assert cache.get(request(), HERE) is not None
    assert cache.get(request(CODE + " -- c"), HERE) is None
    assert cache.get(request(theorem="u"), HERE) is None
    assert cache.get(request(" " + CODE), HERE) is None
    for change in ({"lean_version": "4.9.0"}, {"header": HEADER + "open Nat\n"}, {"environment": "library-2"}):
        assert cache.get(request(), replace(HERE, **change)) is None
    # No two lists of parts are one text.
    assert cache.get(CheckRequest("one", CODE[1:], "t" + CODE[0]), HERE) is None


def wider(timeout_s=10.0, memory_mb=1024.0, heartbeats=4000, **fields) -> Conditions:
    limits = {"timeout_s": timeout_s, "memory_mb": memory_mb}
    return replace(HERE, limits=limits, header=HEADER.replace("4000", str(heartbeats)), **fields)


def test_a_proof_holds_under_wider_limits_and_not_under_narrower_ones(make):
    cache = make()
    keep(cache, result())
    for same in (
        wider(),
        wider(timeout_s=60),
        wider(memory_mb=2048),
        wider(heartbeats=8000),
        wider(60, 2048, 8000),
        wider(goals=True),
    ):
        assert cache.get(request(), same).verdict is Verdict.PROVED
    for narrower in (wider(timeout_s=5), wider(memory_mb=512), wider(heartbeats=1000), wider(60, 2048, 3999)):
        assert cache.get(request(), narrower) is None
    assert cache.get(request(), replace(HERE, limits={"timeout_s": 10.0})) is None
    # The proof was found within less: that is what is known from then on.
    keep(cache, result(), conditions=wider(timeout_s=5))
    assert cache.get(request(), wider(timeout_s=5)) is not None and cache.get(request(), wider()) is not None


@pytest.mark.parametrize("verdict", [Verdict.TIMEOUT, Verdict.HEARTBEAT_LIMIT, Verdict.LEAN_ERROR])
def test_any_other_verdict_holds_under_the_same_limits_alone(make, verdict):
    cache = make()
    keep(cache, result(verdict))
    assert cache.get(request(), wider()).verdict is verdict
    for other in (wider(timeout_s=60), wider(memory_mb=2048), wider(heartbeats=8000), wider(timeout_s=5), wider(goals=True)):
        assert cache.get(request(), other) is None


def test_a_timeout_is_asked_again_another_day(make):
    now = [1e9]
    cache = make(clock=lambda: now[0])
    keep(cache, result(Verdict.TIMEOUT))
    keep(cache, result(Verdict.HEARTBEAT_LIMIT), "other")
    now[0] += TIMEOUT_HOLDS_S - 1
    assert cache.get(request(), HERE) is not None
    now[0] += 2
    assert cache.get(request(), HERE) is None and cache.get(request("other"), HERE) is not None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (CODE, CODE + " \n\n ", True),
        (CODE, CODE.replace("\n", "\r\n"), True),
        (CODE, CODE + "\t", False),  # Lean refuses tabs
        (CODE, CODE + "\r", False),
        (CODE, "\n" + CODE, False),
        (CODE, CODE.replace("\n", "\r\r\n"), False),
        ('def s := "a\nb"', 'def s := "a\r\nb"', False),  # a theorem can speak of the string's length
        ("def c := '\n'", "def c := '\r\n'", False),
    ],
)
def test_texts_that_are_one_proof(make, one, other, same):
    assert (normalised(one) == normalised(other)) is same
    cache = make()
    keep(cache, result(Verdict.PROVED, Message("warning", 1, 0, 1, 5, "unused")), one)
    assert (cache.get(request(other), HERE) is not None) is same


def test_blanks_at_the_end_are_the_same_proof_to_lean(check):
    for text in (CODE + " \n\n ", CODE.replace("\n", "\r\n"), CODE + " -- c \n"):
        found = check(text)
        assert (found.verdict, found.messages) == (Verdict.PROVED, ())
    assert check(CODE + "\t").verdict is Verdict.LEAN_ERROR


def test_a_complaint_about_the_end_is_of_the_very_text(make):
    cache = make()
    keep(cache, result(Verdict.LEAN_ERROR, error(2, 9)))
    assert cache.get(request(CODE + "\n\n"), HERE) is None
    # A proof with a message behind its normalised text is not found under it.
    keep(cache, result(Verdict.PROVED, Message("info", 4, 0, None, None, "here")), CODE + "\n\n")
    assert cache.get(request(CODE + "\n"), HERE) is None
    assert cache.get(request(CODE + "\n\n"), HERE).messages[0].line == 4


def test_a_changed_project_is_another_environment(tmp_path):
    (tmp_path / "lakefile.toml").write_text('name = "p"')
    compiled = tmp_path / ".lake" / "build" / "lib"
    compiled.mkdir(parents=True)
    seen = [_fingerprint(tmp_path), _fingerprint(tmp_path)]
    (compiled / "P.olean").write_bytes(b"1")
    seen.append(_fingerprint(tmp_path))
    (tmp_path / "lake-manifest.json").write_text("{}")
    seen.append(_fingerprint(tmp_path))
    assert seen[0] == seen[1] and len(set(seen)) == 3


def test_auto_is_one_file_a_machine_in_the_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("KIMINA_CACHE", str(tmp_path))
    assert cache_file("auto").parent == tmp_path and cache_file("auto").suffix == ".sqlite"
    assert cache_file("~/v.sqlite") == Path.home() / "v.sqlite"
    with pytest.raises(UserError, match=r"is a folder; .*Type: verifier.cache="):
        cache_file(str(tmp_path))


# Bounded


def rows_of(path: Path) -> int:
    with sqlite3.connect(path) as connection:
        (count,) = connection.execute("SELECT count(*) FROM verdicts").fetchone()
    connection.close()
    return count


def test_what_was_used_longest_ago_goes_first(make, tmp_path):
    now = [1e9]
    cache = make(max_bytes=1 << 20, clock=lambda: now[0])
    noise = os.urandom(1000).hex()
    for batch in range(40):
        now[0] += 10_000
        sorry = result(Verdict.SORRY, error(1, 0, f"{noise}{batch}"))
        assert cache.put([(request(f"{batch} {row}"), HERE, sorry) for row in range(100)])
        assert cache.get(request("0 7"), HERE) is not None
    assert cache.get(request("39 99"), HERE) is not None
    assert cache.get(request("0 8"), HERE) is None and cache.get(request("10 0"), HERE) is None
    cache.close()
    assert 100 <= rows_of(tmp_path / "v.sqlite") < 1000
    assert (tmp_path / "v.sqlite").stat().st_size < 2 << 20


# The file


def test_a_file_of_another_schema_is_left_alone(make, said, tmp_path):
    cache = make()
    keep(cache, result())
    cache.close()
    connection = sqlite3.connect(tmp_path / "v.sqlite")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert make().get(request(), HERE) is None
    assert len(said) == 1 and "has schema 99" in said[0] and "v.sqlite.2 is used" in said[0]
    keep(make(), result())
    assert make().get(request(), HERE) is not None and len(said) == 1
    # The program of that schema finds its own again.
    assert rows_of(tmp_path / "v.sqlite") == rows_of(tmp_path / "v.sqlite.2") == 1


def test_another_programs_database_is_left_alone(make, said, tmp_path):
    connection = sqlite3.connect(tmp_path / "v.sqlite")
    with connection:
        connection.execute("CREATE TABLE verdicts (mine)")
    connection.close()
    keep(make(), result())
    assert "is no verification cache" in said[0]
    assert rows_of(tmp_path / "v.sqlite") == 0


@pytest.mark.parametrize("damage", ["text", "empty", "cut", "zeros_at_the_start", "noise_inside", "logs_alone"])
def test_a_damaged_file_is_never_fatal_and_never_trusted(make, said, tmp_path, damage):
    path = tmp_path / "v.sqlite"
    cache = make()
    assert cache.put([(request(f"{CODE} -- {n}"), HERE, result(detail=f"{n}")) for n in range(500)])
    cache.close()
    content = bytearray(path.read_bytes())
    match damage:
        case "text":
            content[:] = b"this is no database at all\n" * 100
        case "empty":
            content[:] = b""
        case "cut":
            del content[len(content) // 2 :]
        case "zeros_at_the_start":
            content[:4096] = bytes(4096)
        case "noise_inside":
            content[8192:] = os.urandom(len(content) - 8192)
        case "logs_alone":
            path.with_name("v.sqlite-wal").write_bytes(os.urandom(5000))
    path.write_bytes(content)
    if damage == "logs_alone":
        path.unlink()
    cache = make()
    for n in range(500):
        found = cache.get(request(f"{CODE} -- {n}"), HERE)
        assert found is None or found.detail == f"{n}"
    for _ in range(2):  # the first may be what finds the damage
        cache.put([(request(f"{CODE} -- {n}"), HERE, result(detail=f"{n}")) for n in range(500)])
    assert {cache.get(request(f"{CODE} -- {n}"), HERE).detail for n in range(500)} == {str(n) for n in range(500)}
    assert len(said) == (0 if damage in ("empty", "logs_alone") else 1)
    cache.close()
    assert make().get(request(f"{CODE} -- 0"), HERE).detail == "0"
    assert len(said) < 2


def test_damage_while_others_have_the_file_open(make, said, tmp_path):
    path = tmp_path / "v.sqlite"
    caches = [make() for _ in range(3)]
    for cache in caches:
        keep(cache, result(), "first")
    with open(path, "r+b") as file:
        file.write(os.urandom(path.stat().st_size))
    with open(path.with_name("v.sqlite-wal"), "r+b") as file:
        file.write(bytes(path.with_name("v.sqlite-wal").stat().st_size))
    caches.append(make())
    for n in range(20):
        for cache in caches:
            for _ in range(2):  # the first may be what finds the damage
                cache.put([(request(f"{n}"), HERE, result())])
    caches[0].close()
    caches[1].close()
    assert all(make().get(request(f"{n}"), HERE) for n in range(20))
    assert all(cache.get(request("19"), HERE) for cache in caches)
    assert sorted(p.name for p in tmp_path.glob("*.[0-9]")) == ["v.sqlite.2"]


def test_a_row_that_was_changed_counts_as_missing(make, tmp_path):
    keep(make(), result(Verdict.SORRY))
    connection = sqlite3.connect(tmp_path / "v.sqlite")
    with connection:
        (row,) = connection.execute("SELECT row FROM verdicts").fetchone()
        connection.execute("UPDATE verdicts SET row = ?", (row.replace(b"sorry", b"prove"),))
    connection.close()
    assert make().get(request(), HERE) is None
    keep(make(), result(Verdict.SORRY))
    assert make().get(request(), HERE).verdict is Verdict.SORRY


def test_processes_that_find_the_damage_at_the_same_time_make_one_new_file(make, said, tmp_path):
    (tmp_path / "v.sqlite").write_bytes(b"no database" * 1000)
    caches = [make() for _ in range(8)]
    threads = [threading.Thread(target=keep, args=(cache, result(), f"{n}")) for n, cache in enumerate(caches)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said) == 1
    assert all(make().get(request(f"{n}"), HERE) for n in range(8))


def test_a_place_that_cannot_be_written_is_said_once(said, tmp_path):
    (tmp_path / "file").write_text("")
    cache = VerdictCache(tmp_path / "file" / "v.sqlite", say=said.append)
    for _ in range(3):
        assert cache.put([(request(), HERE, result())])
        assert cache.get(request(), HERE) is None
    cache.close()
    assert len(said) == 1 and "work goes on without it" in said[0]


# Helpers for tests in other processes: {path} is the file.
PROLOGUE = f"""
import os, resource, sys, threading
sys.path.insert(0, {str(ROOT)!r})
from kimina.lean.verdict import *
from kimina.lean.verdict_cache import *
here = Conditions("4.35.0", {HEADER!r}, "library-1", {{"timeout_s": 10.0, "memory_mb": 1024.0}})
said = []
cache = VerdictCache(sys.argv[1], say=said.append)
def kept(n, text=""):
    message = Message("error", 1, 0, None, None, text)
    return CheckRequest("one", f"text {{n}}", "t"), here, CheckResult("one", Verdict.SORRY, (message,), 1.0, str(n), None, "4.35.0")
"""


def python(script: str, *arguments: object, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", PROLOGUE + script, *map(str, arguments)], capture_output=True, text=True, check=False, **options
    )


FULL = """
cache.put([kept(n) for n in range(50)])
resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(sys.argv[1]) + 200_000, resource.RLIM_INFINITY))
for n in range(50, 4000):
    assert cache.put([kept(n, os.urandom(500).hex())])
assert all(cache.get(kept(n)[0], here).detail == str(n) for n in range(50))
cache.close()
assert len(said) == 1, said
print(said[0])
"""


def test_on_a_full_disk_work_goes_on_and_what_is_there_is_used(make, tmp_path):
    done = python(FULL, tmp_path / "v.sqlite")
    assert done.returncode == 0, done.stderr
    assert "new verdicts are not kept" in done.stdout
    assert make().get(request("text 0"), HERE).detail == "0"


NO_ROOM = """
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
assert cache.put([kept(1)]) and cache.get(kept(1)[0], here) is None
cache.close()
assert len(said) == 1 and "goes on without" in said[0], said
"""


def test_on_a_disk_that_was_full_before_work_goes_on(tmp_path):
    done = python(NO_ROOM, tmp_path / "v.sqlite")
    assert done.returncode == 0, done.stderr


READ_ONLY = """
import pathlib
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
found = cache.get(CheckRequest("one", "text 1", "t"), here)
assert found is None or found.detail == "1"
for n in range(3):
    assert cache.put([kept(n)])
cache.close()
assert len(said) == 1 and ("not kept" in said[0] or "without it" in said[0]), said
"""


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_file_or_folder_that_is_read_only_is_said_once(what):
    # pytest's own temporary folder is closed to other users, and root may write anywhere.
    folder = Path(tempfile.mkdtemp())
    try:
        cache = VerdictCache(folder / "v.sqlite")
        cache.put([(request("text 1"), HERE, result(Verdict.SORRY, detail="1"))])
        cache.close()
        folder.chmod(0o777 if what == "file" else 0o555)
        (folder / ".v.sqlite.lock").chmod(0o666)
        (folder / "v.sqlite").chmod(0o444)
        done = python(READ_ONLY, folder / "v.sqlite")
        assert done.returncode == 0, done.stderr
    finally:
        folder.chmod(0o700)
        shutil.rmtree(folder)


# Many processes, and processes that are killed

WRITER = """
first = int(sys.argv[2])
print("ready", flush=True)
for n in range(first, first + 20_000, 5):
    if cache.put([kept(m) for m in range(n, n + 5)]):
        print(n, flush=True)
    if n == first + int(sys.argv[3]):
        cache.close()
        break
assert not said, said
"""


def start_writer(path: Path, first: int, count: int) -> subprocess.Popen:
    command = [sys.executable, "-c", PROLOGUE + WRITER, str(path), str(first), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_several_processes_write_at_the_same_time(make, said, tmp_path):
    writers = [start_writer(tmp_path / "v.sqlite", 1000 * n, 495) for n in range(4)]
    outputs = [writer.communicate()[0].split()[1:] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 4
    cache = make()
    for output in outputs:
        # A batch that met another writer for too long is not told as written.
        assert len(output) > 50
        for n in map(int, output):
            assert all(cache.get(request(f"text {m}"), HERE).detail == str(m) for m in range(n, n + 5))
    assert not said


def test_killed_at_any_moment_it_keeps_what_was_written(make, said, tmp_path):
    path = tmp_path / "v.sqlite"
    told = []
    for round_ in range(12):
        writer = start_writer(path, 100_000 * round_, 10**6)
        lines = iter(writer.stdout.readline, "")
        assert next(lines) == "ready\n"
        # Kills in the making of the file, and later and later in the writing.
        for _ in range(round_ * 3):
            told.append(int(next(lines)))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        cache = make()
        for n in told:
            assert cache.get(request(f"text {n}"), HERE).detail == str(n)
        keep(cache, result(), f"alive {round_}")
        assert cache.get(request(f"alive {round_}"), HERE) is not None
        cache.close()
    assert told and not said
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_while_another_process_writes_reading_goes_on_and_writing_is_tried_again(make, said, tmp_path):
    cache = make()
    keep(cache, result())
    other = sqlite3.connect(tmp_path / "v.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert not cache.put([(request("new"), HERE, result())])
    assert cache.get(request(), HERE) is not None and cache.get(request("new"), HERE) is None
    with Scripted(tmp_path / "v.sqlite") as verifier:
        assert verifier.check([request("by a verifier")])[0].verdict is Verdict.PROVED
        other.execute("ROLLBACK")
        conditions = verifier._conditions
    other.close()
    assert cache.put([(request("new"), HERE, result())]) and not said
    assert cache.get(request("by a verifier"), conditions) is not None


# Behind a verifier


class Scripted(RememberingVerifier):
    """Answers when it is told to."""

    header, lean_version = HEADER, "4.35.0"

    def __init__(self, cache: Path | None, verdict: Verdict = Verdict.PROVED, **options):
        super().__init__(options.pop("cache_size", 100), None if cache is None else str(cache), limits={"timeout_s": 1.0})
        self.verdict, self.asked, self.queued = verdict, [], threading.Semaphore(0)
        self.answer_at_once = True

    def _enqueue(self, request):
        self.asked.append(request)
        if self.answer_at_once:
            threading.Thread(target=self.answer, args=(request,)).start()
        self.queued.release()

    def answer(self, request):
        self._finish(request, CheckResult(request.id, self.verdict, (), 2.0, "", None, self.lean_version))

    def _refuse(self, request):
        if request.code == "refused":
            return CheckResult(request.id, Verdict.LEAN_ERROR, (), 0.0, "refused", None, self.lean_version)
        return None

    def _stop(self):
        for request in self.asked if not self.answer_at_once else []:
            self._finish(request, self._unverified(request, "closed"))


def test_a_later_verifier_knows_what_an_earlier_one_found(tmp_path):
    with Scripted(tmp_path / "v.sqlite") as first:
        assert first.check([request()])[0].seconds == 2.0
        first.check([request("refused")])
    with Scripted(tmp_path / "v.sqlite", verdict=Verdict.SORRY) as second:
        results = second.check([request(id_="a"), request(CODE + "\n", id_="b"), request("new", id_="c")])
        assert [(found.id, found.verdict, found.seconds) for found in results] == [
            ("a", Verdict.PROVED, 0.0), ("b", Verdict.PROVED, 0.0), ("c", Verdict.SORRY, 2.0),
        ]  # fmt: skip
        assert [asked.code for asked in second.asked] == ["new"]
        second.check([request(), request("refused")])
        counts = second.counts
        assert (counts.asked, counts.from_cache, counts.from_memory, counts.refused, counts.reused) == (5, 2, 1, 1, 3)
    assert rows_of(tmp_path / "v.sqlite") == 2


def test_unverified_and_an_unknown_version_never_reach_the_disk(tmp_path):
    path = tmp_path / "v.sqlite"
    with Scripted(path, verdict=Verdict.UNVERIFIED) as verifier:
        verifier.check([request()])
    with Scripted(path) as verifier:
        verifier.lean_version = "unknown"
        verifier.check([request()])
        # Discovered at the first answer, say: from then on the disk is asked.
        verifier.lean_version = "4.35.0"
        verifier.check([request("later")])
    assert rows_of(path) == 1
    with Scripted(path) as verifier:
        verifier.lean_version = "unknown"
        verifier.check([request("later")])
        assert len(verifier.asked) == 1


def test_identical_proofs_under_way_are_still_checked_once(tmp_path):
    with Scripted(tmp_path / "v.sqlite") as verifier:
        verifier.answer_at_once = False
        results = []
        threads = [threading.Thread(target=lambda: results.extend(verifier.check([request()] * 5))) for _ in range(4)]
        for thread in threads:
            thread.start()
        verifier.queued.acquire()
        while verifier.counts.asked < 20:
            threading.Event().wait(0.001)
        assert verifier.asked == [request()]
        verifier.answer_at_once = True
        verifier.answer(request())
        for thread in threads:
            thread.join()
        assert len(results) == 20 and verifier.counts.joined == 19


def test_a_slow_disk_does_not_hold_up_the_event_loop(tmp_path, monkeypatch):
    reading, free = threading.Event(), threading.Event()
    real = VerdictCache.get

    def slow(self, *arguments):
        reading.set()
        assert free.wait(60)
        return real(self, *arguments)

    monkeypatch.setattr(VerdictCache, "get", slow)

    async def ask(verifier):
        asked = [asyncio.create_task(verifier.check_one(request(f"{n}"))) for n in range(10)]
        while not reading.is_set():
            await asyncio.sleep(0)
        for _ in range(100):  # the loop turns while the disk is stuck
            await asyncio.sleep(0)
        assert not any(task.done() for task in asked)
        free.set()
        return await asyncio.gather(*asked)

    with Scripted(tmp_path / "v.sqlite") as verifier:
        assert {found.verdict for found in asyncio.run(ask(verifier))} == {Verdict.PROVED}


def test_closing_answers_what_is_still_looked_up(tmp_path, monkeypatch):
    reading, free = threading.Event(), threading.Event()

    def slow(self, *arguments):
        reading.set()
        assert free.wait(60)

    monkeypatch.setattr(VerdictCache, "get", slow)
    before = threading.active_count()
    verifier = Scripted(tmp_path / "v.sqlite")
    results = []
    asking = threading.Thread(target=lambda: results.extend(verifier.check([request("a"), request("b")])))
    asking.start()
    reading.wait()
    real = Scripted._stop
    monkeypatch.setattr(Scripted, "_stop", lambda self: (real(self), free.set()))
    verifier.close()
    asking.join()
    assert [found.verdict for found in results] == [Verdict.UNVERIFIED] * 2 and verifier.asked == []
    assert threading.active_count() == before


def test_an_error_in_the_cache_is_raised_where_the_answer_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(VerdictCache, "get", lambda self, *arguments: 1 / 0)
    with Scripted(tmp_path / "v.sqlite") as verifier, pytest.raises(ZeroDivisionError):
        verifier.check([request()])
    monkeypatch.undo()
    monkeypatch.setattr(VerdictCache, "put", lambda self, results: 1 / 0)
    monkeypatch.setattr(cache_thread, "FLUSH_S", 0.0)
    with Scripted(tmp_path / "v.sqlite") as verifier:
        # It is the writing that fails, soon after the first answer; whoever asks from then on gets the error.
        raised = None
        while raised is None:
            try:
                verifier.check([request(f"{len(verifier.asked)}")])
            except ZeroDivisionError as error:
                raised = error


def test_verdicts_are_written_while_the_verifier_is_open(tmp_path, make):
    with Scripted(tmp_path / "v.sqlite") as verifier:
        verifier.check([request()])
        conditions = verifier._conditions
        while make().get(request(), conditions) is None:
            threading.Event().wait(0.01)


def test_a_trouble_of_the_file_is_told_once_and_the_verdicts_are_right(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    with Scripted(tmp_path / "file" / "v.sqlite") as verifier:
        assert {found.verdict for found in verifier.check([request(f"{n}") for n in range(20)])} == {Verdict.PROVED}
    assert len([record for record in caplog.records if "work goes on without it" in record.message]) == 1


def test_without_the_option_there_is_no_file_and_no_thread(tmp_path, monkeypatch):
    monkeypatch.setattr(remembering, "CacheThread", None)
    with Scripted(None) as verifier:
        assert verifier.check([request()])[0].verdict is Verdict.PROVED


def test_a_kimina_server_is_not_asked_about_what_is_known(tmp_path):
    path = str(tmp_path / "v.sqlite")
    nowhere = ["http://127.0.0.1:9"]
    with KiminaServerVerifier(nowhere, lean_version="4.15.0", cache=path) as verifier:
        # As after an answer of the server.
        conditions = verifier._conditions_of("4.15.0")
        verifier._cache_thread.keep(request(), conditions, result(lean_version="4.15.0"))
    with KiminaServerVerifier(nowhere, lean_version="4.15.0", cache=path, timeout_s=90.0, goals=True) as verifier:
        found = verifier.check([request()])[0]
        assert (found.verdict, found.lean_version, verifier.counts.from_cache) == (Verdict.PROVED, "4.15.0", 1)
    assert conditions.all_limits == {"timeout_s": 60.0, "heartbeats": 400_000.0}


def test_the_embedded_lean_uses_it(library_cache, tmp_path):
    texts = [f"theorem t (a b : Nat) : a + b = {right} := by\n  rw [Nat.add_comm]" for right in ("b + a", "a + a")]
    path = str(tmp_path / "v.sqlite")
    with EmbeddedVerifier(cache=path) as verifier:
        first = verifier.check([request(text) for text in texts])
    with EmbeddedVerifier(cache=path) as verifier:
        again = verifier.check([request(text) for text in texts])
        assert verifier.counts.from_cache == 2
        assert again == [replace(found, seconds=0.0) for found in first]
        assert [found.verdict for found in again] == [Verdict.PROVED, Verdict.LEAN_ERROR]
    with EmbeddedVerifier(cache=path, max_heartbeats=5000, timeout_s=20.0) as verifier:
        verifier.check([request(text) for text in texts])
        assert verifier.counts.from_cache == 1
