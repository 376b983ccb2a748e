"""The process that runs verl's trainer: ``python -m kimina.verl.driver spec.json``.

Its output and that of all Ray processes goes where its parent put it. It ends, and Ray with it, when the parent's end of
its standard input closes.
"""

import _thread
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path

from kimina.durable import read_json, write_json
from kimina.errors import InfrastructureError, KiminaError, LimitError, UserError
from kimina.verl import ray_session

_PATIENCE_S = 20.0
_KINDS: dict[str, type[KiminaError]] = {kind.__name__: kind for kind in (UserError, InfrastructureError, LimitError)}


def error_from(record: dict[str, str]) -> KiminaError | None:
    """Return the error that a driver wrote down, when it is one of ours."""
    kind = _KINDS.get(record["kind"])
    return None if kind is None else kind(record["message"])


def _ours(error: BaseException) -> KiminaError | None:
    """Find one of our errors in what Ray wrapped around it."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        # Ray's wrapper is of a class made on the spot that also derives from ours; only the error itself is wanted
        if type(current) in _KINDS.values():
            return current
        seen.add(id(current))
        # Ray keeps a task's own exception in `cause`
        current = vars(current).get("cause") or current.__cause__ or current.__context__
    return None


def _end_with_parent(out_dir: Path) -> None:
    """End this process in order when its standard input closes, and by force when that takes too long."""

    def watch() -> None:
        while os.read(0, 1):
            continue
        # not a real signal: Ray's handler for those ends the process before anything is cleaned up
        _thread.interrupt_main(signal.SIGTERM)
        time.sleep(_PATIENCE_S)
        ray_session.close_session(out_dir)
        os._exit(143)

    threading.Thread(target=watch, daemon=True, name="parent-watch").start()


def _terminate(_signal, _frame) -> None:
    raise SystemExit(143)


def run(spec: dict) -> None:
    """Start Ray and train; see ``kimina.verl.launch`` for the content of ``spec``."""
    import ray

    try:
        if spec["local_trainer"]:
            # its processes start while this one imports verl
            ray.init(**spec["config"]["ray_kwargs"]["ray_init"])
        _train(spec)
    finally:
        ray.shutdown()


def _train(spec: dict) -> None:
    from omegaconf import OmegaConf
    from verl.trainer.main_ppo import run_ppo
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    config = OmegaConf.create(spec["config"])
    try:
        validate_config(config, use_reference_policy=need_reference_policy(config), use_critic=need_critic(config))
    except (ValueError, AssertionError, NotImplementedError) as error:
        raise UserError(f"verl refuses this configuration: {error}") from error
    from kimina.verl.task_runner import LocalTaskRunner, RemoteTaskRunner

    run_ppo(config, task_runner_class=LocalTaskRunner if spec["local_trainer"] else RemoteTaskRunner)


def main() -> int:
    """Run the spec named on the command line; the error, if any, is written to the spec's ``error_file``."""
    parent = os.getppid()
    spec = read_json(sys.argv[1])
    signal.signal(signal.SIGTERM, _terminate)
    # a Ctrl-C at the terminal is the parent's to handle
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_parent(Path(spec["out_dir"]))
    try:
        run(spec)
    except Exception as error:  # the process boundary: the parent raises it as one of ours
        traceback.print_exc()
        known = _ours(error)
        kind, shown = (type(known).__name__, known) if known is not None else (type(error).__name__, error)
        write_json(Path(spec["error_file"]), {"kind": kind, "message": str(shown)})
        return 1
    finally:
        if os.getppid() != parent:
            # nobody is left to clean up after this process
            ray_session.close_session(Path(spec["out_dir"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
