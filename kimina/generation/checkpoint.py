"""Reading a Hugging Face checkpoint without importing transformers, which takes longer than decoding a small batch."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file

from kimina.errors import InfrastructureError, UserError


def checkpoint_folder(model_path: str | Path) -> Path:
    """Return the local folder of a checkpoint; a hub name is downloaded (or found in the cache) first."""
    folder = Path(model_path)
    if folder.is_dir():
        return folder
    if folder.is_absolute() or str(model_path).count("/") != 1:
        raise UserError(f"there is no model folder {str(model_path)!r}")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    try:
        patterns = ["*.json", "*.safetensors", "*.txt", "*.jinja"]
        return Path(snapshot_download(str(model_path), allow_patterns=patterns))
    except RepositoryNotFoundError as error:
        raise UserError(f"the hub has no model {str(model_path)!r}, or it is not open to you") from error
    except (HfHubHTTPError, OSError) as error:
        raise InfrastructureError(f"the model {str(model_path)!r} could not be downloaded: {error}") from error


def read_config(model_path: str | Path) -> dict[str, Any]:
    """Return the content of ``config.json``."""
    path = checkpoint_folder(model_path) / "config.json"
    if not path.is_file():
        raise UserError(f"there is no {path}: the folder holds no model in Hugging Face format")
    return _read_object(path)


def _read_object(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise InfrastructureError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not valid JSON ({error}): the model's files are damaged") from error
    if not isinstance(content, dict):
        raise UserError(f"{path} holds no JSON object: the model's files are damaged")
    return content


def read_tokenizer(model_path: str | Path) -> Any:
    """Return the tokenizer of a checkpoint, of transformers' kind.

    Raises:
        UserError: its files are missing or damaged.
    """
    from transformers import AutoTokenizer

    folder = checkpoint_folder(model_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        # Damage is named here; what transformers says of it names no file.
        if (folder / name).is_file():
            _read_object(folder / name)
    try:
        return AutoTokenizer.from_pretrained(folder)
    except Exception as error:  # the library raises bare Exceptions, too
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"the tokenizer of the model in {folder} can't be read: {first}") from error


def check_weights(model_path: str | Path) -> None:
    """Look at the headers of a checkpoint's safetensors files, which takes milliseconds.

    Raises:
        UserError: the folder has no weights, or such a file is damaged or cut off.
    """
    folder = checkpoint_folder(model_path)
    files = sorted(folder.glob("*.safetensors"))
    if not files and not any(folder.glob("*.bin")):
        raise UserError(f"there are no weights (.safetensors files) in {folder}")
    for file in files:
        try:
            with safe_open(file, framework="pt"):
                pass
        except (SafetensorError, OSError) as error:
            raise UserError(f"{file} is damaged: {str(error).strip()}") from error


def read_state(model_path: str | Path) -> dict[str, torch.Tensor]:
    """Return all parameters of a safetensors checkpoint, sharded or not."""
    folder = checkpoint_folder(model_path)
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise UserError(f"there are no .safetensors files in {folder}")
    check_weights(model_path)
    state: dict[str, torch.Tensor] = {}
    for file in files:
        state.update(load_file(file))
    return state


def stop_tokens(model_path: str | Path, config: Mapping[str, Any]) -> frozenset[int]:
    """Return the ids that end a sample: those of ``generation_config.json`` and of ``config.json``."""
    found: set[int] = set()
    path = checkpoint_folder(model_path) / "generation_config.json"
    sources = [config, _read_object(path)] if path.is_file() else [config]
    for source in sources:
        ids = source.get("eos_token_id")
        if ids is not None:
            found.update(ids if isinstance(ids, list) else [ids])
    return frozenset(found)
