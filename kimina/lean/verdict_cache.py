"""Verdicts that outlive a process: one SQLite file that all processes of a machine share.

What a verdict stands on is its key: Lean version, header, what the header imports from, the code of ``kimina.lean``
(its rules turn Lean's answer into a verdict), the theorem's name and the proof's text. Limits of time, memory and
heartbeats stand in the key of every verdict but one: ``proved``. A proof that was found within some limits is found
within any that are as wide, so it is kept without them and reused under the same or wider limits; it is kept under its
*normalised* text, see `normalised`. Every other verdict needs the same limits and the very same text, because Lean's
complaint about a text's end has its place there. A ``timeout`` depends on how busy the machine was, and holds for
`TIMEOUT_HOLDS_S` seconds. ``unverified`` is never kept.

The file is in WAL mode: readers never wait for writers, and a kill at any moment loses at most what was not yet
committed. It must lie on a disk of this machine (not on a network file system) and only saves time: whatever is wrong
with it is said once, and work goes on without it. A file that is damaged, or of another schema, is left as it is (others
may have it open, and SQLite removes logs by their names) and a new one begun beside it: ``verdicts.sqlite.2`` after
``verdicts.sqlite``, and so on. A row that doesn't have its checksum counts as missing.
"""

import fcntl
import glob
import hashlib
import json
import logging
import os
import platform
import re
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from kimina.errors import UserError
from kimina.lean.embedded.build import cache_root
from kimina.lean.verdict import CheckRequest, CheckResult, Message, Verdict

SCHEMA = 1
APPLICATION_ID = 0x4B4C5643  # "KLVC" at SQLite's place for it, so that no other program's file is taken for ours
AUTO = "auto"
UNKNOWN_VERSION = "unknown"
MAX_BYTES = 1 << 30
MAX_ROW_BYTES = 1 << 20  # compressed; a larger answer of Lean is not kept
TIMEOUT_HOLDS_S = 24 * 3600
_USED_STEP_S = 3600  # how exactly the last use is known; noting every use would make a write of every reading
_COMPRESS_FROM = 512  # bytes
_BUSY_S = 0.25
_LOCK_S = 5.0
_EVICT_ROWS = 512
_MOST_REBUILDS = 3
_MOST_SEEN = 4096
_CRLF = "\r\n"
_HEARTBEATS = re.compile(r"^set_option maxHeartbeats (\d+)$", re.MULTILINE)

_TABLE = """\
CREATE TABLE verdicts (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, used INTEGER NOT NULL, row BLOB NOT NULL);
CREATE INDEX by_use ON verdicts (used);
"""
_READ = "SELECT key, used, row FROM verdicts WHERE key IN (?, ?)"
_WRITE = "INSERT OR REPLACE INTO verdicts (key, used, row) VALUES (?, ?, ?)"
_EVICT = "DELETE FROM verdicts WHERE id IN (SELECT id FROM verdicts ORDER BY used, id LIMIT ?)"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Conditions:
    """What a verdict stands on beside the proof.

    ``environment`` names what the header imports from, where that is more than a Lean version says (a library's digest,
    a project). ``limits`` are those that a check may run into (name to number; the header's heartbeats are found
    there), ``goals`` says whether errors carry their goals.
    """

    lean_version: str
    header: str
    environment: str = ""
    limits: Mapping[str, float] = field(default_factory=dict)
    goals: bool = False

    @cached_property
    def all_limits(self) -> dict[str, float]:
        """The limits, with the heartbeats that the header allows."""
        heartbeats = {"heartbeats": float(found)} if (found := self._heartbeats) else {}
        return {name: float(value) for name, value in self.limits.items()} | heartbeats

    @property
    def _heartbeats(self) -> str | None:
        found = _HEARTBEATS.findall(self.header)
        return found[0] if len(found) == 1 else None

    @cached_property
    def _proved_start(self) -> Any:
        header = _HEARTBEATS.sub("set_option maxHeartbeats _", self.header) if self._heartbeats else self.header
        return _hash("proved", judging_code(), self.lean_version, header, self.environment)

    @cached_property
    def _exact_start(self) -> Any:
        limits = json.dumps([self.all_limits, self.goals], sort_keys=True)
        return _hash("exact", judging_code(), self.lean_version, self.header, self.environment, limits)

    def proved_key(self, request: CheckRequest) -> bytes:
        """The key of a ``proved`` verdict: 32 bytes."""
        return _continue(self._proved_start, request.theorem, normalised(request.code))

    def exact_key(self, request: CheckRequest) -> bytes:
        """The key of any other verdict: 32 bytes."""
        return _continue(self._exact_start, request.theorem, request.code)


def normalised(code: str) -> str:
    """``code`` without what can change neither whether it is a proof nor where a message about it stands.

    Blanks and line ends at the end of the text go; a tab there stays, because Lean refuses it. Line ends of Windows
    become those of Unix, but only in a text without quotation marks: inside a string literal they are characters that a
    theorem can speak about.
    """
    if _CRLF in code and '"' not in code and "'" not in code:
        code = code.replace(_CRLF, "\n")
    return code.rstrip(" \n")


@cache
def judging_code() -> str:
    """Digest of the package ``kimina.lean``: verdicts of other rules are other verdicts."""
    package = Path(__file__).parent
    files = sorted(package.rglob("*.py"))
    return _hash(*(text for file in files for text in (str(file.relative_to(package)), file.read_text("utf-8")))).hexdigest()


def cache_file(chosen: str) -> Path:
    """The file that ``verifier.cache`` names; `AUTO` is one a machine, in the folder where compiled libraries lie too.

    Raises:
        UserError: a folder is named.
    """
    if chosen == AUTO:
        # With the machine's name, because the user's cache folder may be shared by many.
        return cache_root() / f"verdicts-v{SCHEMA}-{platform.node() or 'machine'}.sqlite"
    path = Path(chosen).expanduser().absolute()
    if path.is_dir():
        raise UserError(f"verifier.cache={chosen} is a folder; a file is needed. Type: verifier.cache={path / 'verdicts.sqlite'}")
    return path


class VerdictCache:
    """The cache in one file; any number of threads and processes may use the same file at the same time.

    No method raises for what is wrong with the file: ``say`` is told in a sentence, once for each kind of trouble.
    Nothing is opened before the first use.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_bytes: int = MAX_BYTES,
        say: Callable[[str], None] = _log.warning,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.path = Path(path)
        self._max_bytes = max_bytes
        self._say = say
        self._clock = clock
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._readable = self._writable = True
        self._rebuilds = 0
        self._seen: dict[bytes, None] = {}

    def get(self, request: CheckRequest, conditions: Conditions) -> CheckResult | None:
        """The verdict on ``request``, if it is known; ``seconds`` are those of the check that found it."""
        if conditions.lean_version == UNKNOWN_VERSION:
            return None
        proved, exact = conditions.proved_key(request), conditions.exact_key(request)
        with self._lock:
            try:
                connection = self._open()
                rows = connection.execute(_READ, (proved, exact)).fetchall() if connection else []
            except (sqlite3.Error, OSError) as error:
                self._failed(error, writing=False)
                return None
            now = self._clock()
            for key, used, row in rows:
                found = _decode(key, row, request.id, conditions.lean_version)
                if found is None:
                    continue
                result, limits, stored = found
                if key == proved and not _within(limits, conditions.all_limits):
                    continue
                if result.verdict is Verdict.TIMEOUT and not 0 <= now - stored < TIMEOUT_HOLDS_S:
                    continue
                if used < now - _USED_STEP_S and len(self._seen) < _MOST_SEEN:
                    self._seen[key] = None
                return result
        return None

    def put(self, results: Sequence[tuple[CheckRequest, Conditions, CheckResult]]) -> bool:
        """Keep the results in one transaction; ``unverified`` ones and those of an unknown Lean version are left out.

        Returns whether they are dealt with; False means that another process was writing, and is worth another try.
        """
        now = int(self._clock())
        rows = [
            (key, now, row)
            for request, conditions, result in results
            if result.verdict is not Verdict.UNVERIFIED and conditions.lean_version == result.lean_version != UNKNOWN_VERSION
            for key in (_key_of(request, conditions, result),)
            if len(row := _encode(key, result, conditions.all_limits, now)) <= MAX_ROW_BYTES
        ]
        with self._lock:
            if not self._writable or not (rows or self._seen):
                return True
            try:
                connection = self._open()
                if connection is None or not self._writable:
                    return True
                with _transaction(connection):
                    connection.executemany(_WRITE, rows)
                    if self._seen:
                        uses = [(now, key) for key in self._seen]
                        connection.executemany("UPDATE verdicts SET used = ? WHERE key = ?", uses)
                    self._evict(connection, len(rows))
                self._seen.clear()
            except (sqlite3.Error, OSError) as error:
                return self._failed(error, writing=True)
        return True

    def close(self) -> None:
        """Note the last uses and close the file. May be called twice; a later call of a method opens it again."""
        if self._seen:
            self.put([])
        with self._lock:
            self._disconnect()

    def _evict(self, connection: sqlite3.Connection, added: int) -> None:
        """Take out what was used longest ago until the file's contents fit; a bounded number of rows at a time."""
        for _ in range(8):
            if _used_bytes(connection) <= self._max_bytes:
                return
            connection.execute(_EVICT, (max(_EVICT_ROWS, added),))

    def _open(self) -> sqlite3.Connection | None:
        if self._connection is None and self._readable:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Of those that find the same damage only one begins the next file.
            with _file_lock(self.path):
                self._connection = self._connect()
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        files = self._files() or [self.path]
        reasons = []
        for file in files:
            connection, reason = self._try_connect(file)
            if connection is not None:
                return connection
            reasons.append(reason)
        following = self.path.with_name(f"{self.path.name}.{_number(files[0], self.path) + 1}")
        self._say(f"verification cache {files[0]}: it {reasons[0]}; it is left as it is, and {following.name} is used.")
        connection, reason = self._try_connect(following)
        if connection is None:
            raise sqlite3.DatabaseError(f"a new file {reason}")
        return connection

    def _files(self) -> list[Path]:
        """The files of this cache that exist, the newest first."""
        beside = (path for path in self.path.parent.glob(f"{glob.escape(self.path.name)}*") if _number(path, self.path))
        return sorted(beside, key=lambda path: _number(path, self.path), reverse=True)

    def _try_connect(self, file: Path) -> tuple[sqlite3.Connection | None, str]:
        """Return a connection, or None and what is wrong with the file. One that is missing or empty is made."""
        connection = sqlite3.connect(file, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA synchronous = NORMAL")  # a power cut may lose the last verdicts, and nothing else
            connection.execute("PRAGMA journal_size_limit = 8388608")
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                connection.execute("PRAGMA journal_mode = WAL")
                with _transaction(connection):
                    for statement in _TABLE.splitlines():
                        connection.execute(statement)
                    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    connection.execute(f"PRAGMA user_version = {SCHEMA}")
            (owner,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            problem = None
            if owner != APPLICATION_ID:
                problem = "is no verification cache"
            elif version != SCHEMA:
                problem = f"has schema {version}, and this program has {SCHEMA}"
            elif self._rebuilds and (state := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
                problem = f"is damaged ({state})"
        except sqlite3.DatabaseError as error:
            connection.close()
            if _is_damage(error):
                return None, f"is damaged ({error})"
            raise
        except BaseException:
            connection.close()
            raise
        if problem:
            connection.close()
            return None, problem
        return connection, ""

    def _failed(self, error: Exception, *, writing: bool) -> bool:
        """Do what ``error`` asks for. Returns False where trying again may help."""
        code = _primary_code(error)
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return False
        if _is_damage(error) and self._rebuilds < _MOST_REBUILDS:
            # Another process may have put a good file there already: looking again decides.
            self._disconnect()
            self._rebuilds += 1
            try:
                self._open()
                return False
            except (sqlite3.Error, OSError) as second:
                error = second
        if writing and self._connection is not None and not _is_damage(error):
            self._writable = False
            self._say(f"verification cache {self.path}: {error}; new verdicts are not kept, those it has are still used.")
            return True
        self._disconnect()
        if self._readable:
            self._readable = self._writable = False
            self._say(f"verification cache {self.path}: {error}; work goes on without it.")
        return True

    def _disconnect(self) -> None:
        if self._connection is not None:
            # On a full disk the last checkpoint fails; the log holds what it would have written.
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None


def _key_of(request: CheckRequest, conditions: Conditions, result: CheckResult) -> bytes:
    if result.verdict is Verdict.PROVED and _fits(result.messages, normalised(request.code)):
        return conditions.proved_key(request)
    return conditions.exact_key(request)


def _fits(messages: Sequence[Message], code: str) -> bool:
    """Whether every message stands inside ``code``."""
    last, width = code.count("\n") + 1, len(code) - (code.rfind("\n") + 1)
    ends = [(message.end_line or message.line, message.end_column or 0) for message in messages]
    starts = [(message.line, message.column) for message in messages]
    return all(place <= (last, width) for place in starts + ends)


def _within(narrow: Mapping[str, float], wide: Mapping[str, float]) -> bool:
    return narrow.keys() == wide.keys() and all(value <= wide[name] for name, value in narrow.items())


def _hash(*parts: str) -> Any:
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass")
        # With their lengths, so that no two lists of parts are the same bytes.
        digest.update(b"%d:" % len(content))
        digest.update(content)
    return digest


def _continue(start: Any, theorem: str, code: str) -> bytes:
    digest = start.copy()
    name = theorem.encode("utf-8", "surrogatepass")
    digest.update(b"%d:" % len(name))
    digest.update(name)
    digest.update(code.encode("utf-8", "surrogatepass"))
    return digest.digest()


def _encode(key: bytes, result: CheckResult, limits: Mapping[str, float], stored: int) -> bytes:
    """Checksum (4 bytes, over key and contents), whether compressed (1 byte), contents as JSON."""
    messages = [(m.severity, m.line, m.column, m.end_line, m.end_column, m.text, m.goals) for m in result.messages]
    content = json.dumps(
        (result.verdict, result.detail, result.seconds, result.axioms, messages, limits, stored), separators=(",", ":")
    ).encode()
    body = b"\1" + zlib.compress(content, 3) if len(content) >= _COMPRESS_FROM else b"\0" + content
    return zlib.crc32(key + body).to_bytes(4, "big") + body


def _decode(key: bytes, row: bytes, request_id: str, lean_version: str) -> tuple[CheckResult, dict[str, float], int] | None:
    """Return result, limits and time of storing; None for a row that was damaged."""
    body = row[4:]
    if zlib.crc32(key + body).to_bytes(4, "big") != row[:4]:
        return None
    content = zlib.decompress(body[1:]) if body[:1] == b"\1" else body[1:]
    verdict, detail, seconds, axioms, messages, limits, stored = json.loads(content)
    read = tuple(Message(*fields, goals=tuple(goals)) for *fields, goals in messages)
    axioms = None if axioms is None else tuple(axioms)
    return CheckResult(request_id, Verdict(verdict), read, seconds, detail, axioms, lean_version), limits, stored


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk has rolled it back already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _file_lock(path: Path) -> Iterator[None]:
    """Hold the lock beside ``path``. Raises TimeoutError where somebody keeps it."""
    with open(path.with_name(f".{path.name}.lock"), "a") as file:
        deadline = time.monotonic() + _LOCK_S
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"another process has been opening it for more than {_LOCK_S:g} s") from None
                time.sleep(0.01)
        yield


def _number(path: Path, first: Path) -> int:
    """1 for ``first``, n for ``first.n``, 0 for any other file."""
    end = path.name.removeprefix(first.name)
    return 1 if not end else int(end[1:]) if re.fullmatch(r"\.[1-9][0-9]{0,5}", end) else 0


def _used_bytes(connection: sqlite3.Connection) -> int:
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def _primary_code(error: Exception) -> int | None:
    # Errors of Python's own module, not of SQLite, have no code.
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _is_damage(error: Exception) -> bool:
    return _primary_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
