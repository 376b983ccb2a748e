"""stage=verify: bare proofs in, verdicts out, whatever the rows hold and whenever it is killed."""

import json
import subprocess
import sys

import pytest
from support.processes import RUN, run_killed_and_again

from kimina.errors import InfrastructureError
from kimina.experiment.compose import compose
from kimina.experiment.stages import run_stages
from kimina.experiment.stages import verify as stage
from kimina.lean.remembering import CheckCounts
from kimina.lean.verdict import CheckResult, Message, Verdict

GOOD = "theorem t (a b : Nat) : a + b = b + a := by\n  rw [Nat.add_comm]"
WRONG = "theorem t : False := by\n  trivial"
FIELDS = ["id", "verdict", "theorem", "detail", "axioms", "messages", "seconds", "lean_version", "error"]


@pytest.fixture
def verify(tmp_path, capfd):
    """Verify rows (or raw bytes) and return the output rows."""

    def run(rows, *overrides, verifier="embedded"):
        raw = rows if isinstance(rows, bytes) else "".join(json.dumps(row) + "\n" for row in rows).encode()
        (tmp_path / "in.jsonl").write_bytes(raw)
        words = [
            "stage=verify", f"verify.input={tmp_path}/in.jsonl", f"verify.output={tmp_path}/out.jsonl",
            f"verifier={verifier}", f"output_dir={tmp_path}/outputs", *overrides,
        ]  # fmt: skip
        assert run_stages(compose(words), words) == 0
        return written(tmp_path)

    run.printed = lambda: capfd.readouterr().out
    return run


def written(folder):
    return [json.loads(line) for line in (folder / "out.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]


def test_every_kind_of_row(verify):
    rows = verify(
        [
            {"id": 1, "code": GOOD, "theorem": "t"},
            {"id": "wrong", "code": WRONG},
            {"id": 2.5, "code": GOOD.replace("rw [Nat.add_comm]", "sorry")},
            {"id": "axiom", "code": "axiom a : False\ntheorem t : False := a"},
            {"id": "other", "code": GOOD, "theorem": "u"},
            {"id": "last", "code": f"{WRONG}\nnamespace A\ntheorem u : True := trivial\nend A\ndef v := 1"},
            {"id": "named", "code": "theorem A.u : True := trivial\ntheorem v : False := sorry", "theorem": "_root_.A.u"},
            {"id": "null", "code": GOOD, "theorem": None, "statement": None},
            {"id": "again", "code": GOOD, "theorem": "t"},
        ]
    )
    assert [(row["id"], row["verdict"], row["theorem"]) for row in rows] == [
        (1, "proved", "t"),
        ("wrong", "lean_error", "t"),
        (2.5, "sorry", "t"),
        ("axiom", "axiom_violation", "t"),
        ("other", "lean_error", "u"),
        ("last", "lean_error", "A.u"),
        ("named", "sorry", "A.u"),
        ("null", "proved", "t"),
        ("again", "proved", "t"),
    ]
    assert all(list(row) == FIELDS and row["error"] is None and row["lean_version"] == "4.35.0" for row in rows)
    assert rows[0]["axioms"] == ["propext"] or rows[0]["axioms"] == []
    assert rows[3]["axioms"] == ["a"] and "rests on a" in rows[3]["detail"]
    (message,) = rows[1]["messages"]
    assert (message["severity"], message["line"], message["column"]) == ("error", 2, 2) and "assumption" in message["text"]
    printed = verify.printed()
    assert "proofs a second" in printed and "known already" in printed
    assert printed.rstrip().splitlines()[-1].startswith("verdicts: ")


def test_of_a_statement_only_the_name_is_taken(verify):
    statement = "theorem easier (a b : Nat) : a * b = b * a := by"
    proof = GOOD.replace("theorem t", "theorem easier")
    rows = verify([{"id": 1, "code": f"{proof}\ntheorem later : True := trivial", "statement": statement}])
    assert [(row["verdict"], row["theorem"]) for row in rows] == [("proved", "easier")]


def test_another_field_may_hold_the_code(verify):
    rows = verify([{"id": 1, "proof": GOOD}, {"id": 2, "code": GOOD}], "verify.code_field=proof")
    assert [(row["verdict"], row["error"]) for row in rows] == [("proved", None), (None, "bad_row")]
    assert "no field 'proof'; it has 'code', 'id'" in rows[1]["message"]


def test_bad_rows_become_error_rows_and_the_run_goes_on(verify):
    lines = [
        {"id": 1, "code": GOOD},
        b"not json",
        b"\xff\xfe",
        b"[1, 2]",
        b"[" * 100_000,
        {"code": GOOD},
        {"id": 6},
        {"id": 7, "code": 5},
        {"id": 8, "code": GOOD, "theorem": "t\n#eval 1"},
        {"id": 9, "code": GOOD, "theorem": ""},
        {"id": 10, "code": GOOD, "theorem": 3},
        {"id": 11, "code": GOOD, "statement": "def f := 1"},
        {"id": 12, "code": "example : True := trivial"},
        {"id": {"a": 1}, "code": GOOD},
        b"",
        {"id": 15, "code": GOOD},
    ]
    raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    rows = verify(b"\xef\xbb\xbf" + b"\r\n".join(raw) + b"\r\n")
    assert len(rows) == 15 and [rows[0]["verdict"], rows[-1]["verdict"]] == ["proved", "proved"]
    for number, bad in enumerate(rows[1:-1], start=2):
        assert (bad["error"], bad["verdict"], bad["messages"]) == ("bad_row", None, [])
        assert bad["message"].startswith(f"line {number}: ")
    assert [bad["id"] for bad in rows[1:-1]] == [None] * 5 + [6, 7, 8, 9, 10, 11, 12, None]


def test_any_text_is_judged(verify):
    texts = ["\ud800 lone \udfff", "nul \0 nul", "/-" * 50_000, "\u2028\x85\x0b", GOOD.replace("\n", "\r\n")]
    rows = verify([{"id": index, "code": text, "theorem": "t"} for index, text in enumerate(texts)])
    assert [row["verdict"] for row in rows] == ["lean_error"] * 4 + ["proved"]


def test_an_empty_file_gives_an_empty_file(verify, tmp_path):
    assert verify([]) == [] and (tmp_path / "out.jsonl").read_bytes() == b""


class Verifier:
    """Leaves the proofs whose numbers are in ``lost`` unverified."""

    header, lean_version = "header", "0"

    def __init__(self, lost=()):
        self.lost, self.asked, self.counts = set(lost), [], CheckCounts()

    def check(self, requests, on_result):
        self.asked += [request.id for request in requests]
        results = [
            CheckResult(r.id, Verdict.UNVERIFIED if r.id in self.lost else Verdict.PROVED, (), 0.0, "down", None, "0")
            for r in requests
        ]
        for result in results:
            on_result(result)
        return results

    def close(self):
        """Nothing to stop."""


@pytest.fixture
def verifiers(monkeypatch):
    """Have the stage use the verifiers of a list, one a run."""
    made = []
    monkeypatch.setattr(stage, "check_verifier", lambda settings: None)
    monkeypatch.setattr(stage, "make_verifier", lambda settings: made.pop(0))
    monkeypatch.setattr(stage, "PORTION_ROWS", 2)
    monkeypatch.setattr(stage, "PORTIONS_UNDER_WAY", 1)
    return made


def numbered(count):
    return [{"id": index, "code": f"{GOOD} -- {index}"} for index in range(1, count + 1)]


def test_an_outage_is_asked_again_by_the_same_command(verify, verifiers, tmp_path):
    up = Verifier()
    verifiers += [Verifier(lost={"2", "3"}), up]
    with pytest.raises(
        InfrastructureError, match=r"2 of 4 proofs could not be verified(?s:.*)max_unverified_share=0.01"
    ) as raised:
        verify(numbered(4))
    assert raised.value.exit_code == 3
    assert [row["verdict"] for row in written(tmp_path)] == ["proved", "unverified", "unverified", "proved"]
    assert [row["verdict"] for row in verify(numbered(4))] == ["proved"] * 4
    assert up.asked == ["2", "3"]
    assert [row["verdict"] for row in verify(numbered(4))] == ["proved"] * 4 and not verifiers
    verifiers += [Verifier(lost={"1"})]
    rows = verify(numbered(5), "+verifier.max_unverified_share=0.5")
    assert [row["verdict"] for row in rows] == ["unverified"] + ["proved"] * 4


def test_an_interrupted_run_goes_on_where_it_was(verify, verifiers):
    class Stopped(Verifier):
        def check(self, requests, on_result):
            if len(self.asked) == 4:
                raise KeyboardInterrupt
            return super().check(requests, on_result)

    later = Verifier()
    verifiers += [Stopped(), later]
    with pytest.raises(KeyboardInterrupt):
        verify(numbered(7))
    assert [row["id"] for row in verify(numbered(7))] == list(range(1, 8))
    assert later.asked == ["5", "6", "7"]


def test_an_error_of_the_verifier_ends_the_run(verify, verifiers):
    class Broken(Verifier):
        def check(self, requests, on_result):
            raise ZeroDivisionError

    verifiers += [Broken()]
    with pytest.raises(ZeroDivisionError):
        verify(numbered(3))


def test_messages_are_written_as_lean_gave_them(verify, verifiers):
    class Warns(Verifier):
        def check(self, requests, on_result):
            message = Message("warning", 1, 8, 1, 9, "unused 'ℕ'\nsecond line", ("goal",))
            return [CheckResult(r.id, Verdict.PROVED, (message,), 1.5, "proved", ("propext",), "4.9.0") for r in requests]

    verifiers += [Warns()]
    assert verify(numbered(1)) == [
        {
            "id": 1, "verdict": "proved", "theorem": "t", "detail": "proved", "axioms": ["propext"],
            "messages": [{"severity": "warning", "line": 1, "column": 8, "text": "unused 'ℕ'\nsecond line"}],
            "seconds": 1.5, "lean_version": "4.9.0", "error": None,
        }
    ]  # fmt: skip


def test_rows_of_several_portions_under_way_keep_their_order(verify, monkeypatch):
    monkeypatch.setattr(stage, "PORTION_ROWS", 3)
    rows = verify(numbered(50))
    assert [row["id"] for row in rows] == list(range(1, 51)) and {row["verdict"] for row in rows} == {"proved"}


def test_the_cached_share_is_told(verify, tmp_path):
    rows = [{"id": index, "code": GOOD} for index in range(4)]
    verify(rows, f"verifier.cache={tmp_path}/v.sqlite")
    (manifest,) = (tmp_path / "outputs" / "verify").glob("*/manifest.json")
    first = json.loads(manifest.read_text())["verify"]["last_command"]
    assert (first["proofs"], first["cached_share"]) == (4, 0.75)
    assert "75.0 %" in verify.printed()
    verify([*rows, {"id": 5, "code": GOOD + "\n"}], f"verifier.cache={tmp_path}/v.sqlite")
    assert "100.0 %" in verify.printed()


def test_a_killed_run_loses_nothing(tmp_path):
    rows = [{"id": index, "code": f"{GOOD} -- {index}"} for index in range(2500)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run_killed_and_again(["verifier=embedded"], tmp_path, "verify")
    rows = written(tmp_path)
    assert [row["id"] for row in rows] == list(range(2500)) and {row["verdict"] for row in rows} == {"proved"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["stage=verify"], "verify.input is not set"),
        (["stage=verify", "verify.input={in}"], "verify.output is not set"),
        (["stage=verify", "verify.input=nowhere.jsonl", "verify.output=o"], "there is no such file"),
        (["stage=verify", "verify.input={in}", "verify.output={in}"], "is the input"),
        (["stage=verify", "verify.input={in}", "verify.output=."], "is a folder"),
        (["stage=verify", "verify.input={in}", "verify.output=o", "verify.code_field=null"], "verify.code_field"),
        (["stage=verify", "verify.input={in}", "verify.output=o", "verifier=none"], "verifier=none with stage=verify"),
    ],
)
def test_mistakes_are_told_before_anything_starts(tmp_path, words, told):
    (tmp_path / "in.jsonl").write_text("")
    words = [word.replace("{in}", str(tmp_path / "in.jsonl")) for word in words]
    done = subprocess.run([sys.executable, str(RUN), *words], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2 and told in done.stderr and "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
