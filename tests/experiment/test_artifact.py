import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimina.errors import InfrastructureError, UserError
from kimina.experiment.artifact import Artifact, Status, artifacts_below, canonical_json, stage_hash
from kimina.experiment.lock import folder_lock, lock_holder

RECORD = {"config": {"lr": 1e-6}, "overrides": ["lr=1e-6"], "parents": {"data": "abc"}, "seeds": {"seed": 0}}


def _artifact(root):
    return Artifact(root, "rl", "nano", "0123456789ab")


def _child(code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )


# --- names -------------------------------------------------------------------------------------------------------------


def test_the_hash_does_not_depend_on_order_or_spelling_of_numbers():
    assert stage_hash({"a": 1, "b": {"x": 2, "y": [1, 2]}}) == stage_hash({"b": {"y": (1.0, 2), "x": 2.0}, "a": 1})
    assert canonical_json({"b": 1.0, "a": [True, None, "ä"]}) == '{"a":[true,null,"ä"],"b":1}'


def test_the_hash_is_stable_over_versions():
    # A change here orphans every artifact that users have: raise MANIFEST_SCHEMA and say so in the change log.
    assert stage_hash({"seed": 0, "lr": 1e-6}, {"data": "abc"}) == "fd2f057a1982"


@pytest.mark.parametrize(
    ("config", "other"),
    [
        ({"seed": 0}, {"seed": 1}),
        ({"a": None}, {}),
        ({"a": 1}, {"a": True}),
        ({"a": "1"}, {"a": 1}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
    ],
)
def test_different_configurations_have_different_hashes(config, other):
    assert stage_hash(config) != stage_hash(other)


def test_parents_are_part_of_the_hash():
    assert stage_hash({}, {"data": "a", "sft": "b"}) == stage_hash({}, {"sft": "b", "data": "a"})
    assert stage_hash({}, {"data": "a"}) != stage_hash({}, {"data": "b"})
    assert stage_hash({}, ["a"]) != stage_hash({})


def test_cluster_logger_and_paths_are_not_part_of_the_hash():
    config = {"lr": 1, "trainer": {"total_epochs": 3}}
    elsewhere = {
        "lr": 1,
        "cluster": {"name": "h100x8"},
        "logger": ["wandb"],
        "output_dir": "/big/disk",
        "trainer": {"total_epochs": 3, "logger": ["wandb"], "default_local_dir": "/x", "nnodes": 2},
    }
    assert stage_hash(config) == stage_hash(elsewhere)
    assert stage_hash(config) != stage_hash({"lr": 1, "trainer": {"total_epochs": 4}})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_any_configuration_has_a_hash(value):
    assert stage_hash({"value": value}) == stage_hash(json.loads(json.dumps({"value": value})))


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ValueError):
        stage_hash({"lr": float("nan")})
    with pytest.raises(TypeError):
        stage_hash({"model": object()})


# --- life cycle --------------------------------------------------------------------------------------------------------


def test_an_artifact_is_made_once_and_reused(tmp_path):
    artifact, calls, said = _artifact(tmp_path), [], []
    assert artifact.status is Status.NONE
    assert artifact.describe() == "not begun"

    def work(made):
        assert made.status is Status.RUNNING
        assert made.describe() == f"running in process {os.getpid()}"
        made.metrics.append({"step": 1, "loss": 0.5})
        made.update(lean={"version": "4.35.0"})
        calls.append(made)

    assert artifact.produce(work, RECORD, announce=said.append) is True
    assert artifact.produce(work, RECORD, announce=said.append) is False
    assert (len(calls), len(said), artifact.is_done, artifact.describe()) == (1, 1, True, "done")
    assert artifact.folder == tmp_path / "rl" / "nano-0123456789ab"
    assert artifact.metrics.read() == [{"step": 1, "loss": 0.5}]
    manifest = artifact.manifest()
    assert manifest["lean"] == {"version": "4.35.0"}
    for key in (
        "config",
        "overrides",
        "parents",
        "git",
        "packages",
        "python",
        "hardware",
        "created",
        "finished",
        "seconds",
    ):
        assert key in manifest, key
    assert manifest["packages"]["numpy"]
    assert repr(Artifact.at(artifact.folder)) == repr(artifact)
    assert [found.hash for found in artifacts_below(tmp_path, "rl")] == ["0123456789ab"]


def test_a_failed_artifact_says_why_and_is_taken_up_again(tmp_path):
    artifact, said = _artifact(tmp_path), []

    def fail(made):
        made.file("half").write_text("kept")
        raise InfrastructureError("the Lean server is gone")

    with pytest.raises(InfrastructureError):
        artifact.produce(fail, RECORD)
    assert artifact.status is Status.FAILED
    assert artifact.describe() == "failed: the Lean server is gone"
    assert "InfrastructureError" in artifact.manifest()["attempts"][0]["traceback"]

    def work(made):
        assert made.file("half").read_text() == "kept"

    artifact.produce(work, RECORD, announce=said.append)
    assert "the Lean server is gone" in said[0]
    assert [attempt["status"] for attempt in artifact.manifest()["attempts"]] == ["failed", "done"]
    assert artifact.failure is None


def test_a_stop_by_hand_is_no_failure(tmp_path):
    artifact = _artifact(tmp_path)

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        artifact.produce(stop, RECORD)
    assert artifact.describe() == "interrupted, will be resumed"
    artifact.produce(lambda _: None, RECORD)
    assert [attempt["status"] for attempt in artifact.manifest()["attempts"]] == ["interrupted", "done"]


KILLED_RUN = """
    import os, signal, sys
    from kimina.experiment.artifact import Artifact

    def work(artifact):
        done = artifact.metrics.last_step() or 0
        for step in range(done + 1, 31):
            artifact.metrics.append({"step": step, "value": step * step})
            print(step, flush=True)
            if step == int(sys.argv[2]):
                with open(artifact.metrics.path, "a") as torn:
                    torn.write('{"step": ' + str(step + 1))
                    torn.flush()
                    os.kill(os.getpid(), signal.SIGKILL)

    Artifact(sys.argv[1], "rl", "nano", "0123456789ab").produce(work, {"config": {}})
"""


def test_a_killed_run_ends_like_one_that_was_not_killed(tmp_path):
    for step in (7, 8, 19):
        child = _child(KILLED_RUN, tmp_path / "killed", step)
        child.communicate()
        assert child.returncode == -signal.SIGKILL
        assert _artifact(tmp_path / "killed").describe() == "interrupted, will be resumed"
    for root in ("killed", "whole"):
        child = _child(KILLED_RUN, tmp_path / root, 0)
        child.communicate()
        assert child.returncode == 0
    killed, whole = _artifact(tmp_path / "killed"), _artifact(tmp_path / "whole")
    assert killed.is_done
    assert killed.metrics.path.read_bytes() == whole.metrics.path.read_bytes()
    assert len(list((tmp_path / "killed" / "rl").iterdir())) == 1
    assert sorted(p.name for p in killed.folder.iterdir()) == sorted(p.name for p in whole.folder.iterdir())
    assert len(killed.manifest()["attempts"]) == 4


def test_a_killed_attempt_counts_until_it_last_wrote_something(tmp_path):
    child = _child(KILLED_RUN, tmp_path, 7)
    child.communicate()
    artifact = _artifact(tmp_path)
    begun = datetime.fromisoformat(artifact.manifest()["attempts"][0]["started"])
    os.utime(artifact.metrics.path, (begun.timestamp() + 100, begun.timestamp() + 100))
    child = _child(KILLED_RUN, tmp_path, 0)
    child.communicate()
    killed, last = artifact.manifest()["attempts"]
    assert (killed["status"], killed["seconds"]) == ("killed", 100)
    assert datetime.fromisoformat(killed["ended"]) - begun == timedelta(seconds=100)
    assert artifact.manifest()["seconds"] == pytest.approx(100 + last["seconds"])


def test_a_manifest_of_something_else_in_the_folder_is_not_overwritten(tmp_path):
    artifact = _artifact(tmp_path)
    artifact.produce(lambda _: None, RECORD)
    artifact.update(hash="ffffffffffff", status="running")
    with pytest.raises(InfrastructureError, match="ffffffffffff"):
        artifact.produce(lambda _: None, RECORD)


# --- lock --------------------------------------------------------------------------------------------------------------

HOLDER = """
    import sys
    from pathlib import Path
    from kimina.experiment.lock import folder_lock
    with folder_lock(Path(sys.argv[1])):
        print("held", flush=True)
        sys.stdin.read()
"""


def _holder(folder):
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOLDER), str(folder)],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline().strip() == "held"
    return child


def test_a_second_process_is_told_who_holds_the_folder(tmp_path):
    artifact = _artifact(tmp_path)
    holder = _holder(artifact.folder)
    try:
        assert lock_holder(artifact.folder)["pid"] == holder.pid
        with pytest.raises(UserError, match=f"process {holder.pid} .*kill {holder.pid}"):
            artifact.produce(lambda _: None, RECORD)
    finally:
        holder.kill()
        holder.communicate()
    # The system has released the lock of the killed process.
    assert lock_holder(artifact.folder) is None
    assert artifact.produce(lambda _: None, RECORD)


def test_a_second_process_may_wait_for_the_first(tmp_path):
    holder, said = _holder(tmp_path), []

    def let_go(sentence):
        said.append(sentence)
        holder.stdin.close()

    with folder_lock(tmp_path, wait_s=20, on_wait=let_go):
        pass
    holder.wait()
    holder.stdout.close()
    assert len(said) == 1
    assert str(holder.pid) in said[0]


def test_a_forked_child_does_not_keep_the_lock_of_a_killed_parent(tmp_path):
    code = """
        import os, signal, sys
        from pathlib import Path
        from kimina.experiment.lock import folder_lock
        with folder_lock(Path(sys.argv[1])):
            if os.fork() == 0:
                print(os.getpid(), flush=True)
                signal.pause()
            signal.pause()
    """
    parent = _child(code, tmp_path)
    child = int(parent.stdout.readline())
    try:
        assert lock_holder(tmp_path)["pid"] == parent.pid
        parent.kill()
        parent.wait()
        assert lock_holder(tmp_path) is None
    finally:
        os.kill(child, signal.SIGKILL)
        parent.communicate()


def test_a_folder_that_nobody_holds_has_no_holder(tmp_path):
    assert lock_holder(tmp_path / "none") is None
    with folder_lock(tmp_path):
        pass
    assert lock_holder(tmp_path) is None


def test_the_module_imports_no_heavy_package():
    code = "import sys, kimina.experiment.artifact, kimina.experiment.chatter; print('torch' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("content", ["[]", "null", '{"status": "weird"}', "{", "[" * 100_000])
def test_a_manifest_that_is_none_is_explained(tmp_path, content):
    artifact = Artifact(tmp_path, "eval", "x", "0123456789ab")
    artifact.folder.mkdir(parents=True)
    artifact.file("manifest.json").write_text(content)
    with pytest.raises(InfrastructureError, match="remove it and run the same command again"):
        _ = artifact.status


def test_a_lock_is_held_on_a_full_disk(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with folder_lock(tmp_path), pytest.raises(UserError, match="in use by process"), folder_lock(tmp_path):
        pass
