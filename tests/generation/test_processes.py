"""Worker processes: the same samples as in one process, and none left behind."""

import os
import signal

import pytest

from kimina.errors import InfrastructureError, UserError
from kimina.generation import make_generator

PROMPTS = [[5, 6, 7], [8, 9], [10, 11, 12, 13], [14]]


def test_results_do_not_depend_on_the_number_of_processes(tiny_qwen3):
    _, folder = tiny_qwen3
    request = dict(n=3, max_new_tokens=25, seed=4)
    alone = make_generator({"batch_rows": 4}, folder).generate(PROMPTS, **request)
    for processes in (1, 2):
        generator = make_generator({"batch_rows": 4, "processes": processes}, folder)
        assert [[s.token_ids for s in row] for row in generator.generate(PROMPTS, **request)] == [
            [s.token_ids for s in row] for row in alone
        ]
        generator.close()
        generator.close()


def test_killed_worker_is_reported_and_no_process_stays(tiny_qwen3):
    _, folder = tiny_qwen3
    generator = make_generator({"batch_rows": 2, "processes": 2}, folder)
    workers = list(generator._workers.values())

    def kill_one(done, total):
        os.kill(workers[0].pid, signal.SIGKILL)

    with pytest.raises(InfrastructureError, match="died"):
        generator.generate(PROMPTS * 5, 4, max_new_tokens=25, on_progress=kill_one)
    assert all(worker.poll() is not None for worker in workers)


def test_interrupt_stops_the_workers(tiny_qwen3):
    _, folder = tiny_qwen3
    generator = make_generator({"batch_rows": 2, "processes": 1}, folder)
    workers = list(generator._workers.values())

    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generator.generate(PROMPTS, 4, max_new_tokens=25, on_progress=interrupt)
    assert all(worker.poll() is not None for worker in workers)


def test_failure_inside_a_worker_reaches_the_caller(tiny_qwen3, tmp_path):
    (tmp_path / "config.json").write_text((tiny_qwen3[1] / "config.json").read_text())
    generator = make_generator({"processes": 1}, tmp_path)
    with pytest.raises(UserError, match="safetensors"):
        generator.generate([[5]], 1, max_new_tokens=2)
