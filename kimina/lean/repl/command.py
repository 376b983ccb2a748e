"""How a REPL process is started by those who have found Lean."""

from kimina.lean.embedded.build import MODULE, ensure_library, server_environment, server_python
from kimina.lean.embedded.installation import find_installation


def repl_command() -> tuple[list[str], dict[str, str]]:
    """Command line and environment of a REPL process; compiles the core library if it isn't there yet.

    Raises ``KiminaError`` where there is no embedded Lean or no place for its library.
    """
    installation = find_installation()
    found = [str(installation.library), str(ensure_library(installation)), MODULE]
    return [*server_python(), "-m", "kimina.lean.repl", *found], server_environment()
