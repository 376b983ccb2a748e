"""The core library as text: what it may assume, and that it compiles without a complaint."""

import re
import subprocess

from kimina.lean.embedded.build import library_source, server_environment, server_python
from kimina.lean.embedded.installation import find_installation
from kimina.lean.tokenizer import TokenKind, tokenize

LOGICAL = {"propext", "Quot.sound", "Classical.choice"}
TRUST = {"Lean.trustCompiler", "Lean.ofReduceBool", "Lean.ofReduceNat", "sorryAx"}
OPAQUE_TYPES = {"Substring.Raw", "Lean.SourceInfo", "Lean.Macro.Context", "Lean.Macro.State"}
COMPILER = {"lcErased", "lcAny", "lcVoid", "lcProof", "lcUnreachable", "lcCast"}


def code() -> str:
    return "".join(
        token.text
        for token in tokenize(library_source())
        if "comment" not in token.kind and token.kind != TokenKind.STRING
    )


def test_library_assumes_nothing_else():
    declared = re.findall(r"(unsafe )?axiom ([\w.]+)", code())
    assert {name for unsafe, name in declared if not unsafe} == LOGICAL | TRUST | OPAQUE_TYPES
    assert {name for unsafe, name in declared if unsafe} == COMPILER


def test_library_has_no_holes():
    assert not re.search(r"(?<![\w.«])(sorry|admit|native_decide|implemented_by\b(?! Lean\.Name\.))(?!\w)", code())


def test_library_compiles_without_a_message(tmp_path):
    (tmp_path / "Init.lean").write_text(library_source(), encoding="utf-8")
    command = [*server_python(), "-m", "kimina.lean.embedded.lean_program", str(find_installation().library)]
    done = subprocess.run(
        [*command, "Init.lean"], cwd=tmp_path, env=server_environment(), capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
