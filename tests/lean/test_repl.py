"""The REPL's protocol: environments, positions, sorries, errors, isolation, limits, and how it ends."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from support.processes import gone, wait_until

from kimina.lean.embedded import build
from kimina.lean.goals import GoalsBefore
from kimina.lean.repl.command import repl_command
from kimina.lean.repl.environments import Environment, Environments
from kimina.lean.repl.protocol import ProtocolError, read_blocks, read_command

GOOD = "theorem t (a b : Nat) : a + b = b + a := by\n  rw [Nat.add_comm]"
LOOP = "set_option maxHeartbeats 0\ntheorem t : True := by\n  repeat (have := trivial)"


class Session:
    """A REPL process and the two ends of its conversation."""

    def __init__(self, **options) -> None:
        command, environment = repl_command()
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
        )

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *error) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=30)
        for pipe in (self.process.stdout, self.process.stderr):
            pipe.close()

    def send(self, command: dict | str | bytes) -> None:
        text = command if isinstance(command, (str, bytes)) else json.dumps(command)
        self.process.stdin.write((text if isinstance(text, bytes) else text.encode()) + b"\n\n")
        self.process.stdin.flush()

    def receive(self) -> dict:
        line = self.process.stdout.readline()
        assert self.process.stdout.readline() == b"\n"
        return json.loads(line)

    def ask(self, command: dict | str | bytes) -> dict:
        self.send(command)
        return self.receive()

    def run(self, text: str, env: int | None = None, **options) -> dict:
        return self.ask({"cmd": text, "env": env} | options)


@pytest.fixture(scope="module")
def repl(library_cache):
    with Session() as session:
        yield session


@pytest.fixture(scope="module")
def library(repl) -> int:
    """The environment of a header, as a Kimina server sends it."""
    reply = repl.run("import Mathlib\nimport Aesop")
    assert reply.keys() == {"env"}
    return reply["env"]


def severities(reply: dict) -> list[str]:
    return [message["severity"] for message in reply.get("messages", [])]


def children(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


# Environments


def test_a_command_that_names_no_environment_starts_a_new_one(repl):
    first = repl.run("theorem only_here : True := trivial")
    second = repl.run("theorem only_here : True := trivial")
    assert second == {"env": first["env"] + 1}
    assert severities(repl.run("#check only_here")) == ["error"]


def test_commands_in_one_environment_do_not_see_each_other(repl, library):
    assert repl.run("theorem helper : 1 = 1 := rfl\nattribute [-simp] Nat.add_zero", library).keys() == {"env"}
    assert severities(repl.run("theorem t : 1 = 1 := helper", library)) == ["error"]
    assert repl.run("theorem t (n : Nat) : n + 0 = n := by simp", library).keys() == {"env"}


def test_environments_extend_each_other_and_branch(repl, library):
    base = repl.run("theorem helper : 1 = 1 := rfl", library)["env"]
    left = repl.run("theorem more : 2 = 2 := rfl", base)["env"]
    right = repl.run("theorem more : 3 = 3 := rfl", base)["env"]
    assert repl.run("theorem t : 1 = 1 ∧ 2 = 2 := ⟨helper, more⟩", left).keys() == {"env"}
    assert repl.run("theorem t : 1 = 1 ∧ 3 = 3 := ⟨helper, more⟩", right).keys() == {"env"}
    assert severities(repl.run("theorem t : 2 = 2 := more", right)) == ["error"]
    assert severities(repl.run("theorem helper : True := trivial", base)) == ["error"]


def test_scopes_carry_over(repl, library):
    opened = repl.run("set_option autoImplicit false\nnamespace A\ndef one := 1\nvariable (n : Nat)", library)["env"]
    (message,) = repl.run("theorem t : one = 1 ∧ n = n := ⟨rfl, rfl⟩\nend A\n#check A.t", opened)["messages"]
    assert message["data"] == "A.t (n : Nat) : A.one = 1 ∧ n = n"
    assert severities(repl.run("theorem u (x : α) : x = x := rfl", opened)) == ["error"]


def test_a_text_that_ends_within_a_command_does_not_run_on_into_the_next(repl, library):
    broken = repl.run("theorem t : 1 = 1 := by", library)
    assert severities(broken) == ["error"]
    assert severities(repl.run("  rfl", broken["env"])) == ["error"]
    comment = repl.run("/- open", library)
    assert repl.run("theorem t : True := trivial", comment["env"]).keys() == {"env"}


@pytest.mark.parametrize("header", ["import Init", "import Mathlib.Tactic", "import Aesop\n\n-- note\nimport Mathlib", ""])
def test_accepted_headers(repl, header):
    env = repl.run(header)
    assert env.keys() == {"env"}
    assert repl.run(GOOD, env["env"]).keys() == {"env"}


def test_header_and_text_in_one_command_keep_their_lines(repl):
    reply = repl.run("import Mathlib\n\ntheorem t : 1 = 2 := by\n  rfl")
    assert reply["messages"][0]["pos"] == {"line": 4, "column": 2}


def test_nothing_can_be_proved_where_an_import_failed(repl):
    reply = repl.run("import Mathlib\n import Lean.Elab\ntheorem t : True := trivial")
    (message,) = reply["messages"]
    assert (message["severity"], message["pos"]) == ("error", {"line": 2, "column": 1})
    assert "unknown module prefix 'Lean.Elab'" in message["data"]
    later = repl.run("theorem t : True := trivial", reply["env"])
    assert severities(later) == ["error"] and later["env"] == reply["env"] + 1
    assert severities(repl.run("theorem t : True := trivial", later["env"])) == ["error"]


def test_import_in_an_environment_is_leans_own_error(repl, library):
    (message,) = repl.run("import Init\ntheorem t : True := trivial", library)["messages"]
    assert "must be used in the beginning" in message["data"]


def test_there_is_no_stand_in_for_mathlib(repl, library):
    assert severities(repl.run("theorem t (a b : Nat) : a * b = b * a := by ring", library)) == ["error"]
    strict = repl.run("set_option autoImplicit false", library)["env"]
    assert severities(repl.run("theorem t (x : ℝ) : x = x := rfl", strict)) == ["error"]


def test_old_environments_are_forgotten_and_used_ones_kept():
    kept = Environments(count=3, characters=10)
    first = kept.add(Environment(("a",)))
    numbers = [kept.add(Environment((text,))) for text in "bc"]
    assert kept.find(first) == Environment(("a",))
    assert kept.add(Environment(("d",))) == 3
    assert [kept.find(number) is not None for number in (first, *numbers)] == [True, False, True]
    large = kept.add(Environment(("x" * 50,)))
    assert kept.find(large) is not None and kept.find(first) is None
    assert kept.find(kept.add(Environment())) is not None and kept.find(large) is None
    assert kept.find(-1) is None


# Messages


def test_errors_have_positions_in_code_points(repl, library):
    reply = repl.run("-- ∀\ntheorem t (p : Prop) : p ∧ p := by\n  exact 𝔸", library)
    (message,) = reply["messages"]
    assert message["severity"] == "error" and "𝔸" in message["data"]
    assert (message["pos"], message["endPos"]) == ({"line": 3, "column": 8}, {"line": 3, "column": 9})


def test_axiom_report_stands_at_its_own_line(repl, library):
    reply = repl.run("axiom c : False\ntheorem t : 1 = 2 := c.elim\n#print axioms t", library)
    (message,) = reply["messages"]
    assert (message["severity"], message["pos"]) == ("info", {"line": 3, "column": 0})
    assert message["data"] == "'t' depends on axioms: [c]"


def test_sorries_have_places_and_goals(repl, library):
    text = (
        "theorem t (a b : Nat) (h : a = b) : b = a ∧ True := by\n"
        "  have k : a = b := sorry\n  constructor\n  · -- sorry\n    sorry\n  · trivial\n"
        "theorem u : 1 = 2 := sorry"
    )
    reply = repl.run(text, library)
    assert severities(reply) == ["warning", "warning"]
    assert [(found["pos"], found["endPos"], found["goal"]) for found in reply["sorries"]] == [
        ({"line": 2, "column": 20}, {"line": 2, "column": 25}, "a b : Nat\nh : a = b\n⊢ a = b"),
        ({"line": 5, "column": 4}, {"line": 5, "column": 9}, "case left\na b : Nat\nh k : a = b\n⊢ b = a"),
        ({"line": 7, "column": 21}, {"line": 7, "column": 26}, "⊢ 1 = 2"),
    ]


def test_sorry_without_its_warning_is_listed(repl, library):
    reply = repl.run("set_option warn.sorry false\ntheorem t : 1 = 2 := by\n  sorry", library)
    assert severities(reply) == [] and [found["goal"] for found in reply["sorries"]] == ["⊢ 1 = 2"]


def test_sorry_in_an_earlier_environment_is_not_listed_again(repl, library):
    earlier = repl.run("theorem t : 1 = 2 := sorry", library)
    assert len(earlier["sorries"]) == 1
    reply = repl.run("theorem u : 1 = 2 := t\n#print axioms u", earlier["env"])
    assert "sorries" not in reply and "sorryAx" in reply["messages"][0]["data"]


def test_windows_line_ends_move_no_position(repl, library):
    reply = repl.run("-- a\r\n-- b\r\ntheorem t : 1 = 2 := by\r\n  sorry", library, infotree="tactics")
    assert reply["sorries"][0]["pos"] == {"line": 4, "column": 2}
    assert GoalsBefore(reply["infotree"]).at(4, 2) == ("⊢ 1 = 2",)


def test_tactics_tree_gives_the_goals_before_an_error(repl, library):
    text = "theorem t (p q : Prop) (h : p) : p ∧ q := by\n  constructor\n  · exact h\n  · exact h"
    reply = repl.run(text, library, infotree="tactics")
    (error,) = reply["messages"]
    goals = GoalsBefore(reply["infotree"])
    assert goals.at(error["pos"]["line"], error["pos"]["column"]) == ("case right\np q : Prop\nh : p\n⊢ q",)
    assert goals.at(2, 2) == ("p q : Prop\nh : p\n⊢ p ∧ q",)
    assert goals.at(1, 0) == ()


@pytest.mark.parametrize("asked", ["full", "original", "substantive", "nonsense", None, 7])
def test_other_trees_are_left_out(repl, library, asked):
    reply = repl.run(GOOD, library, infotree=asked, allTactics=True, rootGoals=True, gc=True)
    assert reply.keys() == {"env"}


def test_deep_tree_is_still_json(repl, library):
    depth = 100
    text = "theorem t : True := by\n" + "".join(f"{'  ' * i}  · skip\n" for i in range(depth)) + f"{'  ' * depth}  trivial"
    reply = repl.run(text, library, infotree="tactics")
    assert severities(reply) == []
    assert GoalsBefore(reply["infotree"]).at(depth + 2, 2 * depth + 2) == ("⊢ True",)


def test_tree_that_is_too_long_is_left_out_and_the_verdict_is_not(repl, library):
    text = f"theorem t ({'h' * 20_000} : True) : True := by\n" + "  skip\n" * 150 + "  exact 3"
    reply = repl.run(text, library, infotree="tactics")
    assert severities(reply) == ["error"] and "infotree" not in reply


# The protocol


@pytest.mark.parametrize(
    ("block", "mentions"),
    [
        ("{nope", "Could not parse JSON:\n"),
        ("[" * 100_000, "Could not parse JSON:\n"),
        (b"\xff", "Could not parse JSON:\n"),
        ("[1]", "valid JSON command"),
        ("{}", "valid JSON command"),
        ('{"cmd": 3}', "valid JSON command"),
        ('{"cmd": "x", "env": "0"}', "must be a number"),
        ('{"cmd": "x", "env": true}', "must be a number"),
        ('{"cmd": "x", "env": 100000}', "Unknown environment."),
        ('{"cmd": "x", "env": -1}', "Unknown environment."),
        ('{"cmd": "theorem t : True := trivial -- \\ud800"}', "no Unicode text"),
        ('{"tactic": "rfl", "proofState": 0, "cmd": ""}', "'tactic' is not supported"),
        ('{"env": 0, "pickleTo": "x", "cmd": ""}', "'pickleTo' is not supported"),
        ('{"path": "/no/such/file.lean"}', "/no/such/file.lean"),
    ],
)
def test_what_is_no_command_gets_a_message_and_the_next_command_an_answer(repl, library, block, mentions):
    reply = repl.ask(block)
    assert reply.keys() == {"message"} and mentions in reply["message"]
    assert repl.run(GOOD, library).keys() == {"env"}


def test_file(repl, library, tmp_path):
    (tmp_path / "a.lean").write_text("import Mathlib\ntheorem t : 1 = 2 := by\n  rfl", encoding="utf-8")
    reply = repl.ask({"path": str(tmp_path / "a.lean"), "allTactics": True})
    assert reply["messages"][0]["pos"] == {"line": 3, "column": 2}
    (tmp_path / "b.lean").write_bytes(b"\xff")
    assert "b.lean" in repl.ask({"path": str(tmp_path / "b.lean")})["message"]


def test_command_over_several_lines_and_several_blank_lines_between(repl, library):
    repl.send(f'{{"cmd": "theorem t : True := trivial",\n "env": {library}}}\n\n  \n\n\n{{"cmd": "#check t",\n"env": {library}}}')
    assert repl.receive().keys() == {"env"}
    assert severities(repl.receive()) == ["error"]


def test_blocks():
    assert list(read_blocks([b"\n", b"a\n", b"b\n", b" \r\n", b"\n", b"c"])) == [b"a\nb\n", b"c"]
    assert list(read_blocks([])) == []
    assert read_command(b'{"cmd": "a", "env": null, "infotree": "tactics", "unknown": 1}').tactics
    with pytest.raises(ProtocolError):
        read_command(b'{"path": null}')


def test_all_commands_of_a_closed_input_are_answered(library_cache):
    command, environment = repl_command()
    text = "\n\n".join(json.dumps({"cmd": f"theorem t : {index} = {index} := rfl"}) for index in range(5))
    done = subprocess.run(command, env=environment, input=text.encode(), capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert [json.loads(block) for block in done.stdout.split(b"\n\n")[:-1]] == [{"env": index} for index in range(5)]


def test_a_megabyte_in_and_several_out(repl, library):
    assert repl.run(GOOD + "\n" + "-- comment ∀\n" * 80_000, library).keys() == {"env"}
    statement = f"theorem t ({'h' * 20_000} : True) : True := trivial\n"
    reply = repl.run(statement + "#check t\n" * 200, library)
    assert severities(reply).count("info") == 200 and len(json.dumps(reply)) > 4_000_000
    reply = repl.run(statement + "#check t\n" * 420, library)
    assert "more than 8 MB" in reply["message"]
    assert repl.run(GOOD, library).keys() == {"env"}


# Isolation, limits and the end


WRITING = """
import os
from kimina.lean.embedded.child import Limits, run_in_child
replies = os.dup(1)
nothing = os.open(os.devnull, os.O_RDWR)
os.dup2(nothing, 1)
def work():
    for handle in range(1, 200):
        try:
            os.write(handle, b"forged")
        except OSError:
            pass
    return b"result"
outcome = run_in_child(work, Limits(), (replies, 0))
os.write(replies, b"reply")
"""


def test_child_cannot_write_to_the_protocol():
    done = subprocess.run(
        [*build.server_python(), "-c", WRITING], env=build.server_environment(), capture_output=True, pass_fds=[]
    )
    assert (done.stdout, done.stderr) == (b"reply", b"")


def test_killed_child_is_reported_and_its_environment_is_not_made(library_cache):
    with Session() as repl:
        env = repl.run("import Mathlib")["env"]
        repl.send({"cmd": LOOP, "env": env})
        assert wait_until(lambda: children(repl.process.pid))
        for child in children(repl.process.pid):
            child.kill()
        assert "signal 9" in repl.receive()["message"]
        assert repl.run(GOOD, env) == {"env": env + 1}


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


def test_memory_limit_of_the_driver_holds(library_cache):
    sums = "def g : Nat → Nat\n  | 0 => 0\n  | n + 1 => Nat.add (g n) (Nat.pow 2 (8388000 + n))\n"
    with Session(preexec_fn=limit_memory) as repl:
        env = repl.run("import Mathlib")["env"]
        reply = repl.run(f"{sums}theorem t : g 3000 = 0 := by decide +kernel", env)
        assert "memory" in reply["message"]
        assert repl.run(GOOD, env) == {"env": env + 1}


@pytest.mark.parametrize("end", ["kill", "close"])
def test_process_ends_with_its_driver_in_the_middle_of_a_command(library_cache, end):
    with Session() as repl:
        repl.send({"cmd": LOOP})
        assert wait_until(lambda: children(repl.process.pid))
        family = [psutil.Process(repl.process.pid), *children(repl.process.pid)]
        if end == "kill":
            repl.process.send_signal(signal.SIGKILL)
        else:
            repl.process.stdout.close()
        assert wait_until(lambda: all(gone(process) for process in family))


def test_many_commands_leave_nothing_behind(repl, library):
    process = psutil.Process(repl.process.pid)
    for index in range(50):
        repl.run(f"{GOOD} -- {index}", library)
    before = (process.num_fds(), process.num_threads(), process.children())
    memory = process.memory_info().rss
    for index in range(300):
        repl.run(f"{GOOD} -- {index}" if index % 2 else "theorem t : False := by trivial", library, gc=True)
    assert (process.num_fds(), process.num_threads(), process.children()) == before
    assert process.memory_info().rss - memory < 4 << 20


def test_nothing_heavy_is_loaded(repl):
    maps = Path(f"/proc/{repl.process.pid}/maps").read_text()
    assert "libleanshared" in maps and "site-packages/ray" not in maps and "torch" not in maps and "numpy" not in maps
    code = "import sys, kimina.lean.repl.__main__; print(sorted(module for module in sys.modules if '.' not in module))"
    done = subprocess.run([*build.server_python(), "-c", code], env=build.server_environment(), capture_output=True, text=True)
    assert not {"torch", "ray", "verl", "transformers", "numpy", "asyncio", "subprocess"} & set(eval(done.stdout)), done


def test_the_command_that_a_user_types(library_cache, tmp_path):
    environment = os.environ | {"PYTHONPATH": str(Path(build.__file__).resolve().parents[3])}
    command = [sys.executable, "-m", "kimina.lean.repl"]
    done = subprocess.run(command, input=b'{"cmd": "#version"}', capture_output=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0 and "Lean 4.35.0" in json.loads(done.stdout)["messages"][0]["data"]
    told = subprocess.run([*command, "--help"], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert told.returncode == 0 and "There is no Mathlib" in told.stdout
    wrong = subprocess.run([*command, "header"], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert (wrong.returncode, wrong.stdout) == (2, "") and "python -m kimina.lean.repl" in wrong.stderr


def test_library_that_cannot_be_loaded_is_named(library_cache, tmp_path):
    command, environment = repl_command()
    command[-3] = str(tmp_path / "lean.so")
    done = subprocess.run(command, env=environment, input="", capture_output=True, text=True)
    assert done.returncode == 3 and f"Lean cannot be loaded from {tmp_path}" in done.stderr
