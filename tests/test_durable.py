import json
import os
import signal
import subprocess
import sys
import textwrap
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimina.durable import (
    JsonLines,
    read_json,
    remove_temporary_files,
    to_json,
    write_bytes,
    write_json,
    write_text,
)
from kimina.errors import InfrastructureError


def _run(code, *arguments):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)], capture_output=True, text=True, check=False
    )


def test_a_written_file_is_there_and_nothing_else(tmp_path):
    path = write_text(tmp_path / "new" / "folder" / "note.txt", "∀ x")
    assert path.read_text(encoding="utf-8") == "∀ x"
    assert write_bytes(path, b"second").read_bytes() == b"second"
    assert [entry.name for entry in path.parent.iterdir()] == ["note.txt"]


def test_a_file_is_as_readable_as_the_user_mask_allows(tmp_path):
    code = """
        import os, sys
        os.umask(0o027)
        from kimina.durable import write_text
        write_text(sys.argv[1], "x")
    """
    assert _run(code, tmp_path / "x").returncode == 0
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


def test_a_full_disk_leaves_the_old_file(tmp_path):
    # A limit on the size of files makes write() fail in the middle, as a full disk does.
    code = """
        import resource, sys
        from kimina.durable import write_text
        from kimina.errors import InfrastructureError
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            write_text(sys.argv[1], "new" * 10000)
        except InfrastructureError as error:
            print(error)
    """
    path = write_text(tmp_path / "result.json", "old")
    done = _run(code, path)
    assert done.returncode == 0, done.stderr
    assert "the earlier file is unchanged" in done.stdout
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


def test_a_writer_killed_before_the_rename_leaves_the_old_file(tmp_path):
    code = """
        import os, signal, sys
        from kimina import durable
        def die(*_): os.kill(os.getpid(), signal.SIGKILL)
        durable.os.replace = die
        durable.write_text(sys.argv[1], "new")
    """
    path = write_text(tmp_path / "result.json", "old")
    assert _run(code, path).returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2
    remove_temporary_files(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


def test_a_folder_that_cannot_be_made_is_an_infrastructure_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InfrastructureError, match="cannot write"):
        write_text(tmp_path / "file" / "below", "x")


def test_json_is_strict_and_takes_numpy(tmp_path):
    value = {"a": np.float32(0.5), "b": np.int64(3), "c": float("nan"), "d": np.array([1.0, np.inf]), "e": tmp_path}
    assert json.loads(to_json(value)) == {"a": 0.5, "b": 3, "c": None, "d": [1.0, None], "e": str(tmp_path)}
    assert json.loads(to_json({"x": True, "y": {"b", "a"}})) == {"x": True, "y": ["a", "b"]}
    assert json.loads(to_json(Fraction(1, 2))) == 0.5
    with pytest.raises(TypeError):
        to_json({"a": object()})


def test_json_files_round_trip_and_damage_is_named(tmp_path):
    path = write_json(tmp_path / "x.json", {"k": [1, "∧"]})
    assert read_json(path) == {"k": [1, "∧"]}
    path.write_text('{"k":')
    with pytest.raises(InfrastructureError, match=r"x\.json is not valid JSON"):
        read_json(path)
    with pytest.raises(InfrastructureError, match="cannot read"):
        read_json(tmp_path / "none.json")


@given(data=st.data())
def test_lines_survive_a_kill_at_any_byte(data):
    import tempfile

    rows = [{"step": i, "text": data.draw(st.text(max_size=5))} for i in range(3)]
    with tempfile.TemporaryDirectory() as folder:
        lines = JsonLines(Path(folder) / "rows.jsonl")
        lines.append(rows)
        content = lines.path.read_bytes()
        cut = data.draw(st.integers(0, len(content)))
        lines.path.write_bytes(content[:cut])
        whole = content[:cut].count(b"\n")
        assert lines.read() == rows[:whole]
        lines.append([{"step": 99}])
        assert lines.read() == [*rows[:whole], {"step": 99}]


def test_a_long_torn_line_is_cut_off(tmp_path):
    lines = JsonLines(tmp_path / "rows.jsonl")
    lines.append([{"step": 1}])
    with lines.path.open("ab") as file:
        file.write(b'{"response": "' + b"x" * 200_000)
    lines.append([{"step": 2}])
    assert lines.read() == [{"step": 1}, {"step": 2}]


def test_damage_in_the_middle_is_not_passed_over(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"step": 1}\n{"st\n{"step": 3}\n')
    with pytest.raises(InfrastructureError, match="line 2"):
        JsonLines(path).read()
    path.write_text("[1]\n")
    with pytest.raises(InfrastructureError, match="object"):
        JsonLines(path).read()


def test_a_full_disk_keeps_the_earlier_lines(tmp_path):
    code = """
        import resource, sys
        from kimina.durable import JsonLines
        from kimina.errors import InfrastructureError
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        try:
            JsonLines(sys.argv[1]).append([{"step": 2, "text": "x" * 1000}])
        except InfrastructureError as error:
            print(error)
    """
    lines = JsonLines(tmp_path / "rows.jsonl")
    lines.append([{"step": 1}])
    done = _run(code, lines.path)
    assert "cannot append" in done.stdout, done.stderr
    assert lines.read() == [{"step": 1}]
    lines.append([{"step": 2}])
    assert lines.read() == [{"step": 1}, {"step": 2}]


def test_a_missing_file_has_no_lines(tmp_path):
    lines = JsonLines(tmp_path / "none.jsonl")
    lines.append([])
    assert lines.read() == []
    assert not os.path.exists(lines.path)
