"""Reading a Hugging Face checkpoint without importing transformers, which takes longer than decoding a small batch."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
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
    return json.loads(path.read_text())


def read_state(model_path: str | Path) -> dict[str, torch.Tensor]:
    """Return all parameters of a safetensors checkpoint, sharded or not."""
    folder = checkpoint_folder(model_path)
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise UserError(f"there are no .safetensors files in {folder}")
    state: dict[str, torch.Tensor] = {}
    for file in files:
        state.update(load_file(file))
    return state


def stop_tokens(model_path: str | Path, config: Mapping[str, Any]) -> frozenset[int]:
    """Return the ids that end a sample: those of ``generation_config.json`` and of ``config.json``."""
    found: set[int] = set()
    path = checkpoint_folder(model_path) / "generation_config.json"
    sources = [config, json.loads(path.read_text())] if path.is_file() else [config]
    for source in sources:
        ids = source.get("eos_token_id")
        if ids is not None:
            found.update(ids if isinstance(ids, list) else [ids])
    return frozenset(found)
