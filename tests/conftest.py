"""One embedded verifier and one Kimina Lean Server for all tests, over a library compiled into a temporary cache."""

import os
import shutil

import pytest

from kimina.lean.embedded.pool import EmbeddedVerifier
from kimina.lean.real_server.package import ensure_package
from kimina.lean.real_server.server import RealServer
from kimina.lean.verdict import CheckRequest, CheckResult


@pytest.fixture(scope="session", autouse=True)
def library_cache(tmp_path_factory):
    """Compile the core library where the tests leave no trace."""
    before = os.environ.get("KIMINA_CACHE")
    os.environ["KIMINA_CACHE"] = str(tmp_path_factory.mktemp("lean-cache"))
    yield os.environ["KIMINA_CACHE"]
    if before is None:
        del os.environ["KIMINA_CACHE"]
    else:
        os.environ["KIMINA_CACHE"] = before


@pytest.fixture(scope="session")
def embedded(library_cache):
    with EmbeddedVerifier(workers=1, timeout_s=5.0, memory_mb=1024, max_heartbeats=1000) as verifier:
        yield verifier


@pytest.fixture(scope="session")
def check(embedded):
    """Check one text, asking for the theorem ``t`` unless another name is given."""

    def check_text(code: str, theorem: str = "t") -> CheckResult:
        return embedded.check([CheckRequest("one", code, theorem)])[0]

    return check_text


@pytest.fixture(scope="session")
def server_package(library_cache):
    """The Kimina Lean Server, installed by pip (15 s). Without a package index these tests fail, and say so."""
    folder = ensure_package()
    yield folder
    # 65 MB: pytest keeps the folders of its last runs.
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def real_server(server_package, tmp_path_factory):
    """The real Kimina Lean Server over the embedded Lean."""
    with RealServer(tmp_path_factory.mktemp("server") / "server.log") as server:
        yield server
