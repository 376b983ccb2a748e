"""Generation in several worker processes, one thread each.

For small models one thread a process beats several threads in one process by far: the tensors of a step are too small to
be split. Workers are plain subprocesses that end when the pipe to their parent closes or the parent is no more, so none
outlives a killed parent.
"""

import os
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path

import kimina
from kimina.errors import InfrastructureError, UserError
from kimina.generation.interface import Completion
from kimina.generation.qwen3_cpu import Gathering, Piece, Qwen3Generator, check_request, decode_pieces, plan_batches
from kimina.generation.sampling import prompt_seeds

# What a worker says of a request that it did not answer: its model is at fault, or something else.
_WRONG_MODEL, _FAILED = "wrong model", "failed"
# Seconds between two looks of a worker whether its parent lives.
_LOOK_FOR_PARENT_S = 0.5


class ProcessGenerator:
    """Generator for Qwen3 models on several CPU cores. Results equal those of one process."""

    def __init__(self, model_path: str | Path, dtype: str, batch_rows: int, processes: int):
        self.batch_rows = batch_rows
        self._workers: dict[Connection, subprocess.Popen] = {}
        for _ in range(processes):
            connection, worker = _start_worker()
            self._workers[connection] = worker
        for connection in self._workers:
            self._send(connection, (str(model_path), dtype))

    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        n: int,
        *,
        max_new_tokens: int,
        temperature: float = 1.0,
        top_p: float = 1.0,
        seed: int = 0,
        seeds: Sequence[int] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        on_result: Callable[[int, list[Completion]], None] | None = None,
    ) -> list[list[Completion]]:
        """See ``kimina.generation.interface.Generator.generate``.

        Raises:
            InfrastructureError: a worker process failed or died; all workers are stopped then.
        """
        check_request(prompts, n, max_new_tokens, temperature, top_p)
        gathering = Gathering(len(prompts), n, on_progress, on_result)
        options = {"max_new_tokens": max_new_tokens, "temperature": temperature, "top_p": top_p}
        batches = plan_batches(prompts, n, self.batch_rows, prompt_seeds(len(prompts), seed, seeds))
        running: dict[Connection, list[Piece]] = {}
        try:
            idle = list(self._workers)
            while True:
                while idle and (pieces := next(batches, None)):
                    connection = idle.pop()
                    self._send(connection, ([list(prompts[piece.index]) for piece in pieces], pieces, options))
                    running[connection] = pieces
                if not running:
                    return gathering.results()
                for connection in wait(list(running)):
                    gathering.add(running.pop(connection), self._receive(connection))
                    idle.append(connection)
        except BaseException:
            # workers may hold unread answers of this request: a later request must not meet them
            self.close()
            raise

    def _receive(self, connection: Connection) -> list[list[Completion]]:
        try:
            failed, answer = connection.recv()
        except (EOFError, ConnectionResetError):
            raise self._death(connection) from None
        if failed == _WRONG_MODEL:
            raise UserError(answer)
        if failed:
            raise InfrastructureError(f"a generation process failed:\n{answer}")
        return [
            [Completion(tokens, log_probs, finished) for tokens, log_probs, finished in completions]
            for completions in answer
        ]

    def _send(self, connection: Connection, message: object) -> None:
        try:
            connection.send(message)
        except (BrokenPipeError, ConnectionResetError):
            raise self._death(connection) from None

    def _death(self, connection: Connection) -> InfrastructureError:
        code = self._workers[connection].wait(timeout=10)
        return InfrastructureError(f"a generation process died (exit code {code}); is there enough memory?")

    def close(self) -> None:
        """Stop the workers."""
        for connection, worker in self._workers.items():
            connection.close()
            worker.terminate()
        for worker in self._workers.values():
            worker.wait()
        self._workers = {}


def _start_worker() -> tuple[Connection, subprocess.Popen]:
    """Start one worker; returns the parent's end of a two-way pipe and the process."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        environment = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
        package_root = str(Path(kimina.__file__).parents[1])
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [package_root, environment.get("PYTHONPATH")]))
        worker = subprocess.Popen(
            [sys.executable, "-m", "kimina.generation.processes", str(theirs.fileno()), str(os.getpid())],
            env=environment,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            # Ctrl-C goes to the parent alone, which then stops its workers
            start_new_session=True,
        )
        return Connection(ours.detach()), worker


def _end_with(parent: int) -> None:
    """End this process when its parent, which may be killed, is no more: a batch that nobody waits for can take hours."""
    while os.getppid() == parent:
        time.sleep(_LOOK_FOR_PARENT_S)
    os._exit(1)


def _serve(descriptor: int) -> None:
    """Answer requests from the parent until its end of the pipe closes."""
    import torch

    torch.set_num_threads(1)
    connection = Connection(descriptor)
    try:
        model_path, dtype = connection.recv()
        generator: Qwen3Generator | None = None
        while True:
            prompts, pieces, options = connection.recv()
            try:
                if generator is None:
                    generator = Qwen3Generator.from_checkpoint(model_path, dtype)
                batch = decode_pieces(generator.model, prompts, pieces, stop_ids=generator.stop_ids, **options)
            except UserError as error:
                connection.send((_WRONG_MODEL, str(error)))
                return
            except Exception:  # the process boundary: the parent raises it as one of ours
                connection.send((_FAILED, traceback.format_exc()))
                return
            rows = [[(item.token_ids, item.log_probs, item.finished) for item in row] for row in batch]
            connection.send(("", rows))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


if __name__ == "__main__":
    threading.Thread(target=_end_with, args=(int(sys.argv[2]),), daemon=True).start()
    _serve(int(sys.argv[1]))
