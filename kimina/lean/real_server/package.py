"""The virtual environment of the Kimina Lean Server, made once per machine with pip.

The folder is named after a hash of what is installed in it and of the Python below it. It appears by a rename, complete
or not at all; makers that run at the same time wait for one of them.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from kimina.errors import InfrastructureError
from kimina.lean.embedded.build import cache_root

SERVER_VERSION = "2.1.3"
_SERVER = [f"kimina-ast-server=={SERVER_VERSION}", "kimina-ast-client==0.2.2"]
"""Installed without what they require: that includes a database client which downloads programs, Google's cloud logging
and the datasets library (500 MB altogether), and none of it is used here. See ``launch``."""
_REQUIRED = [
    # A later FastAPI refuses what the server passes to it.
    "fastapi==0.116.1",
    "starlette==0.47.2",
    "colorama>=0.4.6,<1",
    "httpx>=0.28.1,<1",
    "loguru>=0.7.3,<1",
    "psutil>=7,<8",
    "pydantic>=2.11,<3",
    "pydantic-settings>=2.10,<3",
    "pygments>=2.19,<3",
    "python-dotenv>=1.1,<2",
    "rich>=14,<16",
    "tabulate>=0.9,<1",
    "tenacity>=9.1.2,<10",
    "tqdm>=4.67,<5",
    "typing_extensions>=4.14,<5",
    "uvicorn>=0.34.3,<1",
]
"""What the server imports."""
_PROGRAMS = {
    # The server runs `lake env REPL`; a Lake project would only set LEAN_PATH.
    "lake": '#!/bin/sh\nshift\nexec "$@"\n',
    # It can't give its REPL arguments, so these come in the environment.
    "repl": '#!/bin/sh\nset -f\nIFS="\t"\nexec $KIMINA_REPL_COMMAND\n',
}
PROGRAMS = "programs"
"""Folder of these in the virtual environment."""
_INSTALL_S = 900


_WHAT_FAILED = (
    "The Kimina Lean Server could not be installed in a virtual environment of its own."
    " That needs pip and a package index, or a cache that pip has filled"
)


def ensure_package(folder: Path | None = None) -> Path:
    """Return the folder of the virtual environment, making it first if it is not there (about 15 s, 65 MB).

    It lies in ``folder``, by default the cache folder. Raises ``InfrastructureError`` when it cannot be made.
    """
    root = folder or cache_root()
    made_of = [*_SERVER, *_REQUIRED, *_PROGRAMS.values(), sys.version, sys.base_prefix]
    key = hashlib.sha256("\0".join(made_of).encode()).hexdigest()[:16]
    target = root / f"kimina-ast-server-{SERVER_VERSION}-{key}"
    if target.is_dir():
        return target
    try:
        root.mkdir(parents=True, exist_ok=True)
        with open(root / f".{target.name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.is_dir():
                _make(target)
    except OSError as error:
        raise InfrastructureError(
            f"The Kimina Lean Server cannot be installed in {root}: {error}. Set KIMINA_CACHE to a folder that can be written."
        ) from error
    return target


def package_python(folder: Path) -> Path:
    """The interpreter of the virtual environment ``folder``."""
    return folder / "bin" / "python"


def _make(target: Path) -> None:
    # Only the holder of the lock is here, so other unfinished ones are those of makers that were killed.
    for left in target.parent.glob(f".{target.name}-*"):
        shutil.rmtree(left, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        _run([sys.executable, "-m", "venv", str(work)])
        install = [str(package_python(work)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
        _run([*install, *_REQUIRED])
        _run([*install, "--no-deps", *_SERVER])
        (work / PROGRAMS).mkdir()
        for name, text in _PROGRAMS.items():
            (work / PROGRAMS / name).write_text(text)
            (work / PROGRAMS / name).chmod(0o755)
        # Nothing in a virtual environment but the first lines of its scripts knows where it lies.
        os.rename(work, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _run(command: list[str]) -> None:
    # The user's settings for pip count, those for this Python do not.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=_INSTALL_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise InfrastructureError(f"{_WHAT_FAILED} (no end after {_INSTALL_S} s):\n{' '.join(command)}") from error
    if done.returncode:
        report = done.stdout.strip()[-2000:]
        raise InfrastructureError(f"{_WHAT_FAILED} (exit code {done.returncode}):\n{' '.join(command)}\n{report}")
