"""Compiles the core library once per machine into a cache folder.

The folder is named after a hash of the sources and the wheel's version, so a changed source or a new Lean builds anew
and old results are never picked up. Builders may run at the same time: one builds, the others wait, and the result
appears by a rename.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from kimina.errors import InfrastructureError
from kimina.lean.embedded.installation import Installation

MODULE = "Init"
"""The library's module name: Lean imports ``Init`` into every file that does not start with ``prelude``."""


def library_source() -> str:
    """The whole core library as one Lean text: the files of ``library/`` in the order of their names."""
    folder = files("kimina.lean.embedded") / "library"
    parts = sorted((part for part in folder.iterdir() if part.name.endswith(".lean")), key=lambda part: part.name)
    return "\n".join(part.read_text(encoding="utf-8") for part in parts)


def cache_root() -> Path:
    """Folder for compiled libraries: ``$KIMINA_CACHE``, else the user's cache folder of this platform."""
    if chosen := os.environ.get("KIMINA_CACHE"):
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "kimina-lab"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kimina-lab"


def ensure_library(installation: Installation) -> Path:
    """Return the folder that holds the compiled library, compiling it first if it is not there (about 3 s).

    Raises ``InfrastructureError`` when it cannot be compiled or written.
    """
    source = library_source()
    key = hashlib.sha256(f"{installation.wheel_version}\0{source}".encode()).hexdigest()[:16]
    root = cache_root()
    target = root / f"lean-{installation.lean_version}-{key}"
    if (target / f"{MODULE}.olean").is_file():
        return target
    try:
        root.mkdir(parents=True, exist_ok=True)
        with open(root / f".{target.name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (target / f"{MODULE}.olean").is_file():
                _compile(source, installation, target)
    except OSError as error:
        raise InfrastructureError(
            f"The Lean library cannot be written to {root}: {error}. Set KIMINA_CACHE to a folder that can be written."
        ) from error
    return target


def _compile(source: str, installation: Installation, target: Path) -> None:
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        (work / f"{MODULE}.lean").write_text(source, encoding="utf-8")
        command = [*server_python(), "-m", "kimina.lean.embedded.lean_program", str(installation.library)]
        command += ["-o", f"{MODULE}.olean", f"{MODULE}.lean"]
        done = subprocess.run(command, cwd=work, env=server_environment(), capture_output=True, text=True)
        if done.returncode != 0 or not (work / f"{MODULE}.olean").is_file():
            report = (done.stdout + done.stderr).strip()[-2000:]
            raise InfrastructureError(
                f"Lean could not compile its core library (exit code {done.returncode}):\n{report}"
            )
        shutil.rmtree(target, ignore_errors=True)
        os.rename(work, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def server_python() -> list[str]:
    """The interpreter for Lean processes: without ``site``, so that nothing but this package can be imported there."""
    return [sys.executable, "-S"]


def server_environment() -> dict[str, str]:
    """The environment for Lean processes: this package on the path, no Lean settings of the user."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("LEAN", "PYTHON"))}
    package_root = Path(__file__).resolve().parents[3]
    return kept | {"PYTHONPATH": str(package_root), "PYTHONUTF8": "1"}
