"""What the parent does around the driver: environment, failures, cleaning up."""

import os
import subprocess
import sys

import pytest
from ray.exceptions import RayTaskError

from kimina.durable import write_json
from kimina.errors import InfrastructureError, LimitError, UserError
from kimina.verl import ray_session
from kimina.verl.driver import _ours, error_from
from kimina.verl.launch import driver_environment, relevant_lines


def test_cpu_run_selects_the_cpu_platform_in_every_process():
    environment = driver_environment({"PYTHONPATH": "mine", "PATH": "p"}, True, 1, "abc")
    assert environment["VERL_PLATFORM"] == "cpu"
    assert environment["VERL_USE_EXTERNAL_MODULES"] == "kimina.verl.plugin"
    assert environment[ray_session.MARK] == "abc"
    assert environment["PYTHONPATH"].endswith("mine") and environment["PATH"] == "p"


def test_threads_share_the_cores_unless_you_say_how_many():
    assert driver_environment({"PATH": "p"}, True, 10**6, "abc")["OMP_NUM_THREADS"] == "1"
    assert driver_environment({"PATH": "p", "OMP_NUM_THREADS": "3"}, True, 1, "abc")["OMP_NUM_THREADS"] == "3"


def test_gpu_run_gets_no_cpu_hooks():
    environment = driver_environment({"PATH": "p"}, False, 8, "abc")
    assert not [name for name in environment if name.startswith(("VERL_", "OMP_", "RAY_"))]


def test_errors_cross_the_process_boundary_with_their_kind():
    for kind in (UserError, LimitError, InfrastructureError):
        assert type(error_from({"kind": kind.__name__, "message": "m"})) is kind
    assert error_from({"kind": "ValueError", "message": "m"}) is None


def test_our_error_is_found_below_rays_wrapping():
    wrapped = RayTaskError("run", "a remote traceback", LimitError("too many")).as_instanceof_cause()
    assert isinstance(wrapped, LimitError), "Ray's wrapper is an instance of the cause's class"
    assert type(_ours(wrapped)) is LimitError and str(_ours(wrapped)) == "too many"
    outer = ValueError("outer")
    outer.__cause__ = wrapped
    assert str(_ours(outer)) == "too many"
    assert _ours(ValueError("other")) is None


def test_relevant_lines_end_at_the_last_error():
    log = ["start", "Traceback (most recent call last):", '  File "x.py"', "ValueError: first", "", "chatter"]
    log += ["(WorkerDict pid=3) Traceback", "(WorkerDict pid=3) torch.OutOfMemoryError: second", "step:3", "shutting down"]
    assert relevant_lines(log)[-1] == "(WorkerDict pid=3) torch.OutOfMemoryError: second"
    assert relevant_lines(["a", "b"]) == ["a", "b"]


def test_session_folder_is_short_and_goes_with_its_processes(tmp_path):
    folder = ray_session.open_session(tmp_path)
    assert len(str(folder)) <= 40
    marked = dict(os.environ, **{ray_session.MARK: ray_session.mark_of(tmp_path)})
    other = dict(os.environ, **{ray_session.MARK: "another run"})
    command = [sys.executable, "-c", "input()"]
    mine = subprocess.Popen(command, env=marked, stdin=subprocess.PIPE)
    theirs = subprocess.Popen(command, env=other, stdin=subprocess.PIPE)
    try:
        ray_session.close_session(tmp_path)
        assert mine.poll() is not None
        assert theirs.poll() is None, "a process of another run was stopped"
        assert not folder.exists()
        ray_session.close_session(tmp_path)
    finally:
        for process in (mine, theirs):
            process.stdin.close()
            process.kill()
            process.wait()


def test_driver_ends_when_its_parent_is_gone(tmp_path):
    spec = write_json(tmp_path / "spec.json", {"out_dir": str(tmp_path), "error_file": str(tmp_path / "error.json")})
    code = (
        "import sys, threading, kimina.verl.driver as driver\n"
        "event = threading.Event()\n"
        "driver.run = lambda spec: [event.wait(0.01) for _ in range(10**6)]\n"
        "sys.exit(driver.main())"
    )
    driver = subprocess.Popen([sys.executable, "-c", code, str(spec)], stdin=subprocess.PIPE)
    driver.stdin.close()
    assert driver.wait(20) == 143


def test_unknown_failure_is_written_down_for_the_parent(tmp_path):
    spec = write_json(tmp_path / "spec.json", {"out_dir": str(tmp_path), "error_file": str(tmp_path / "error.json")})
    command = [sys.executable, "-m", "kimina.verl.driver", str(spec)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as driver:
        # its standard input stays open, so it ends by its failure alone
        assert driver.wait(60) == 1
        assert "Traceback" in driver.stderr.read()
    assert "KeyError" in (tmp_path / "error.json").read_text()


@pytest.mark.parametrize("module", ["kimina.verl.launch", "kimina.verl.emit", "kimina.verl.checkpoints"])
def test_watching_a_run_imports_nothing_heavy(module):
    code = f"import {module}, sys; print(sorted({{'torch', 'ray', 'verl', 'transformers'}} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
