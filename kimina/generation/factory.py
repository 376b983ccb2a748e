"""Choosing a generation engine from settings. Engines are imported when they are made."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from kimina.errors import UserError, nearest
from kimina.generation.interface import Generator

ENGINES = ("cpu", "vllm")


@dataclass(frozen=True)
class GenerationSettings:
    """How completions are made.

    ``engine``: "cpu" or "vllm". ``processes``: CPU worker processes with one thread each; 0 decodes in this process.
    ``batch_rows``: samples decoded together by one process. ``dtype``: a torch dtype's name. The last three are vLLM's
    own settings.
    """

    engine: str = "cpu"
    processes: int = 0
    batch_rows: int = 512
    dtype: str = "float32"
    tensor_parallel_size: int = 1
    gpu_memory_utilization: float = 0.9
    max_model_len: int | None = None


def make_generator(settings: Mapping[str, Any] | GenerationSettings, model_path: str | Path) -> Generator:
    """Return an engine that holds the model at ``model_path`` (a folder in Hugging Face format, or a hub name).

    Raises:
        UserError: an unknown setting or engine, or an engine whose package is not installed.
    """
    if not isinstance(settings, GenerationSettings):
        known = [field.name for field in fields(GenerationSettings)]
        for key in settings:
            if key not in known:
                hint = ", ".join(nearest(key, known) or known)
                raise UserError(f"generation setting {key!r} does not exist; nearest: {hint}")
        settings = GenerationSettings(**settings)
    if settings.engine == "vllm":
        from kimina.generation.vllm import VllmGenerator

        return VllmGenerator(str(model_path), settings)
    if settings.engine != "cpu":
        raise UserError(f"generation engine {settings.engine!r} does not exist; choose one of {', '.join(ENGINES)}")
    from kimina.generation.checkpoint import read_config
    from kimina.generation.qwen3 import is_supported

    if not is_supported(read_config(model_path)):
        from kimina.generation.transformers_cpu import TransformersGenerator

        return TransformersGenerator(model_path, settings.dtype, settings.batch_rows)
    if settings.processes:
        from kimina.generation.processes import ProcessGenerator

        return ProcessGenerator(model_path, settings.dtype, settings.batch_rows, settings.processes)
    from kimina.generation.qwen3_cpu import Qwen3Generator

    return Qwen3Generator.from_checkpoint(model_path, settings.dtype, settings.batch_rows)
