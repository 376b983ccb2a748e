"""verl's checkpoint folder, made safe against a kill at any moment.

verl writes ``global_step_N/`` and then, not atomically, a tracker file with the number N. A folder counts here only when
it holds our own marker, written last; ``repair`` removes every other folder and makes the tracker agree.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from kimina.durable import sync_folder, write_json, write_text
from kimina.errors import InfrastructureError, UserError

TRACKER = "latest_checkpointed_iteration.txt"
MARKER = "complete.json"
#: What later prompts depend on; see ``kimina.verl.prompt_feed``.
FEED_STATE = "prompt_feed.json"
_PREFIX = "global_step_"


def folder_of(root: Path, step: int) -> Path:
    """Return the folder of a step's checkpoint."""
    return root / f"{_PREFIX}{step}"


def complete_steps(root: Path) -> list[int]:
    """Return the steps that have a complete checkpoint, in ascending order."""
    return sorted(step for step, folder in _folders(root) if (folder / MARKER).is_file())


def check_resumable(root: Path, step: int) -> None:
    """Refuse a checkpoint that doesn't say which prompts were drawn, before anything is started.

    Raises:
        UserError: an earlier version of this program wrote it.
    """
    folder = folder_of(root, step)
    if not (folder / FEED_STATE).is_file():
        raise UserError(
            f"{folder} can't be resumed: an earlier version of this program wrote it, and it doesn't say which prompts were "
            f"drawn ({FEED_STATE} is missing).\n  To start this run anew, remove {root.parent} and run the same command again."
        )


def mark_complete(root: Path, step: int, keep: int) -> None:
    """Declare a step's checkpoint complete and remove all but the newest ``keep`` complete ones."""
    write_json(folder_of(root, step) / MARKER, {"step": step})
    for old in complete_steps(root)[:-keep]:
        _remove(folder_of(root, old))


def repair(root: Path) -> int:
    """Remove incomplete checkpoints, point the tracker to the newest complete one, and return its step (0: none)."""
    if not root.is_dir():
        return 0
    complete = complete_steps(root)
    for step, folder in _folders(root):
        if step not in complete:
            _remove(folder)
    if not complete:
        (root / TRACKER).unlink(missing_ok=True)
        return 0
    write_text(root / TRACKER, str(complete[-1]))
    return complete[-1]


def export_model(root: Path, step: int, target: Path) -> Path:
    """Copy the step's Hugging Face model (training precision, with tokenizer) to ``target`` in one step.

    Raises:
        InfrastructureError: the checkpoint holds no Hugging Face model.
    """
    source = folder_of(root, step) / "actor" / "huggingface"
    if not any(source.glob("*.safetensors")):
        raise InfrastructureError(
            f"{source} holds no model. Add hf_model to actor_rollout_ref.actor.checkpoint.save_contents, "
            "or merge the shards with kimina.verl.checkpoints.merge_shards."
        )
    return _replace_folder(source, target)


def merge_shards(root: Path, step: int, target: Path) -> Path:
    """Merge a step's FSDP shards into a Hugging Face model with verl's own merger, which writes bfloat16.

    Raises:
        InfrastructureError: the merger failed; the message has its last lines.
    """
    actor = folder_of(root, step) / "actor"
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
        merged = Path(scratch) / "model"
        command = [sys.executable, "-m", "verl.model_merger", "merge", "--backend", "fsdp"]
        command += ["--local_dir", str(actor), "--target_dir", str(merged)]
        result = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if result.returncode != 0:
            tail = "\n".join((result.stdout + result.stderr).splitlines()[-15:])
            raise InfrastructureError(f"verl's model merger failed on {actor}:\n{tail}")
        return _replace_folder(merged, target)


def _replace_folder(source: Path, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        shutil.copytree(source, scratch / "new")
        os.chmod(scratch / "new", 0o755)
        if target.exists():
            target.rename(scratch / "old")
        (scratch / "new").rename(target)
        sync_folder(target.parent)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target


def _folders(root: Path) -> list[tuple[int, Path]]:
    found = []
    for folder in root.glob(f"{_PREFIX}*"):
        number = folder.name.removeprefix(_PREFIX)
        if number.isdigit() and folder.is_dir():
            found.append((int(number), folder))
    return found


def _remove(folder: Path) -> None:
    # without its marker first, so that a kill in between leaves no half folder that counts as complete
    (folder / MARKER).unlink(missing_ok=True)
    shutil.rmtree(folder)
