"""stage=score: rows in, rewards out, whatever the rows hold."""

import json
import os
import subprocess
import sys

import pytest
from support.processes import RUN, run_killed_and_again

from kimina.errors import InfrastructureError
from kimina.experiment.artifact import Artifact
from kimina.experiment.compose import compose
from kimina.experiment.stages import judged_rows, run_stages
from kimina.experiment.stages import score as stage
from kimina.lean.verdict import CheckResult, Verdict

STATEMENT = "theorem t (p q : Prop) (hp : p) (hq : q) : p ∧ q := by"
LEAN = STATEMENT + "\n  constructor\n  · exact hp\n  · exact hq"
WRONG = LEAN.replace("exact hq", "exact hp.1")
BLOCK = "```tactics\n  constructor\n  · exact hp\n  · exact hq\n```\n"
THOUGHT = f"Split.\n{BLOCK}Each part is known.\n{BLOCK}"


def output(lean=LEAN, thought=THOUGHT, opened="<think>\n"):
    return f"{opened}{thought}</think>\n```lean4\n{lean}\n```"


def row(number, response=None, **fields):
    return {"id": number, "statement": STATEMENT, **({} if response is None else {"response": response}), **fields}


@pytest.fixture
def score(tmp_path, capfd):
    """Score rows (or raw bytes) and return the output rows."""

    def run(rows, *overrides, reward="strict", verifier="embedded"):
        raw = rows if isinstance(rows, bytes) else "".join(json.dumps(r) + "\n" for r in rows).encode()
        (tmp_path / "in.jsonl").write_bytes(raw)
        words = [
            "stage=score", f"score.input={tmp_path}/in.jsonl", f"score.output={tmp_path}/out.jsonl", f"reward={reward}",
            f"verifier={verifier}", f"output_dir={tmp_path}/outputs", *overrides,
        ]  # fmt: skip
        assert run_stages(compose(words), words) == 0
        return [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]

    run.printed = lambda: capfd.readouterr().out
    return run


def short(rows):
    return [(r["id"], r["reward"], r["violations"], r["error"], r["verdict"]) for r in rows]


def test_every_kind_of_row(score):
    rows = score(
        [
            row("proved", output()),
            row("wrong", output(WRONG, THOUGHT.replace("exact hq", "exact hp.1"))),
            row("format", output(thought="Split.\n")),
            row("cheat", output(LEAN.replace("exact hq", "sorry"), THOUGHT.replace("exact hq", "sorry"))),
            row("nothing", ""),
            row("windows", "\ufeff" + output().replace("\n", "\r\n")),
            row("opened", output(opened=""), prompt_opens_think=True),
        ]
    )
    assert short(rows) == [
        ("proved", 1.0, [], None, "proved"),
        ("wrong", 0.0, [], None, "lean_error"),
        ("format", 0.0, ["too_few_tactic_blocks"], "too_few_tactic_blocks", None),
        ("cheat", 0.0, ["forbidden_construct"], "forbidden_construct", None),
        ("nothing", 0.0, ["no_think_block", "no_lean_block"], "no_think_block", None),
        ("windows", 1.0, [], None, "proved"),
        ("opened", 1.0, [], None, "proved"),
    ]
    assert [r["lean_source"] for r in rows[:2]] == [LEAN, WRONG] and rows[4]["lean_source"] is None
    assert rows[2]["measures"]["too_few_tactic_blocks"] == {"value": 0, "threshold": 2, "violated": True, "detail": None}
    printed = score.printed()
    assert "rows" in printed and "first violation: forbidden_construct" in printed
    assert printed.rstrip().splitlines()[-1].startswith("scores: ")


def test_bad_rows_become_error_rows_and_the_run_goes_on(score):
    lines = [
        json.dumps(row(1, output())).encode(),
        b"not json",
        b"\xff\xfe",
        b"[1, 2]",
        b"[" * 100_000,
        json.dumps({"statement": STATEMENT, "response": "x"}).encode(),
        json.dumps(row(6)).encode(),
        json.dumps(row(7, 5)).encode(),
        json.dumps(row(8, "x", statement="def f := 1")).encode(),
        json.dumps(row(9, "x", messages=[])).encode(),
        json.dumps(row(10, messages=[{"role": "user", "content": "x"}])).encode(),
        json.dumps(row(11, messages=[{"role": "assistant", "content": None}])).encode(),
        json.dumps(row(12, "x", prompt_opens_think="yes")).encode(),
        json.dumps(row({"a": 1}, "x")).encode(),
        b"",
        json.dumps(row(15, output())).encode(),
    ]
    rows = score(b"\xef\xbb\xbf" + b"\r\n".join(lines) + b"\r\n")
    assert len(rows) == 15 and [rows[0]["reward"], rows[-1]["reward"]] == [1.0, 1.0]
    for number, bad in enumerate(rows[1:-1], start=2):
        assert (bad["error"], bad["reward"], bad["verdict"], bad["violations"]) == ("bad_row", None, None, [])
        assert bad["message"].startswith(f"line {number}: ")
    assert [bad["id"] for bad in rows[1:-1]] == [None] * 5 + [6, 7, 8, 9, 10, 11, 12, None]
    assert "no field 'response'; it has 'id', 'statement'" in rows[6]["message"]
    assert "bad rows" in score.printed()


def test_any_text_is_scored(score):
    texts = ["\ud800 lone \udfff", "nul \0 nul", "x" * 10_000_000, "```lean4\n" * 1000, "/-" * 100_000, "\u2028\x85\x0b"]
    rows = score([row(index, text) for index, text in enumerate(texts)])
    assert [r["id"] for r in rows] == list(range(len(texts)))
    assert all(r["reward"] == 0.0 and r["violations"] for r in rows)
    lone = output(LEAN + "\n  -- \ud800")
    scored = score([row("lone", lone)], reward="proof_only")[0]
    assert (scored["verdict"], scored["reward"], scored["lean_source"][-1]) == ("lean_error", 0.0, "\ud800")


def test_of_several_turns_all_are_checked_and_the_last_is_judged(score):
    def chat(*turns):
        return [m for turn in turns for m in ({"role": "user", "content": "try"}, {"role": "assistant", "content": turn})]

    rows = score(
        [
            row("corrected", messages=chat(output(WRONG, THOUGHT.replace("exact hq", "exact hp.1")), output())),
            row("first bad", messages=chat(output(thought=""), output())),
            row("both bad", messages=chat("", output(thought=""))),
        ]
    )
    assert short(rows) == [
        ("corrected", 1.0, [], None, "proved"),
        ("first bad", 0.0, ["too_few_tactic_blocks"], "too_few_tactic_blocks", None),
        ("both bad", 0.0, ["no_think_block", "no_lean_block", "too_few_tactic_blocks"], "no_think_block", None),
    ]
    assert [turn["violations"] for turn in rows[1]["turns"]] == [["too_few_tactic_blocks"], []]


def test_bare_proofs(score):
    rows = score(
        [row(1, lean=LEAN), row(2, lean=LEAN.replace("exact hq", "sorry")), row(3, lean="theorem t : True := trivial"), row(4, output())],
        "score.proof_field=lean",
    )
    assert short(rows) == [
        (1, 1.0, [], None, "proved"),
        (2, 0.0, ["forbidden_construct"], "forbidden_construct", None),
        (3, 0.0, ["statement_changed"], "statement_changed", None),
        (4, None, [], "bad_row", None),
    ]


def test_without_lean_an_accepted_output_has_no_reward(score):
    rows = score([row(1, output()), row(2, output(thought="")), row(3, "no code")], verifier="none")
    assert [(r["reward"], r["verdict"], bool(r["violations"])) for r in rows] == [(None, None, False), (0.0, None, True), (0.0, None, True)]
    assert rows[0]["lean_source"] == LEAN
    rows = score([row(1, output()), row(3, "no code")], verifier="none", reward="proof_only")
    assert [r["reward"] for r in rows] == [None, 0.0]


def test_rejected_proofs_are_judged_too_where_asked(score):
    rows = score([row(1, output(thought=""))], "reward.verify_rejected=true")
    assert short(rows) == [(1, 0.0, ["too_few_tactic_blocks"], "too_few_tactic_blocks", "proved")]


def test_lengths_are_in_tokens_where_a_tokenizer_is_given(score, tmp_path):
    from kimina.sft.tokenizer import train_tokenizer

    train_tokenizer(["Split. Each part is known."], 400).save_pretrained(tmp_path / "tokenizer")
    limit = ["reward.checks.too_long.max=100000", "reward.checks.too_long.enabled=true"]
    in_characters = score([row(1, output())], *limit)[0]["measures"]["too_long"]["value"]
    in_tokens = score([row(1, output())], *limit, f"score.tokenizer={tmp_path}/tokenizer")[0]["measures"]["too_long"]["value"]
    assert in_characters == len(output()) and 0 < in_tokens < in_characters


class Verifier:
    """Leaves the proofs whose numbers are in ``lost`` unverified."""

    header, lean_version = "header", "0"

    def __init__(self, lost=()):
        self.lost, self.asked = set(lost), []

    def check(self, requests, on_result=lambda _: None):
        self.asked += [request.id for request in requests]
        verdicts = [Verdict.UNVERIFIED if request.id in self.lost else Verdict.PROVED for request in requests]
        results = [CheckResult(r.id, v, (), 0.0, "server down", None, "0") for r, v in zip(requests, verdicts, strict=True)]
        for result in results:
            on_result(result)
        return results

    def close(self):
        """Nothing to stop."""


def test_an_outage_is_no_reward_and_is_asked_again(score, monkeypatch, tmp_path):
    rows = [row(index, output(LEAN + f"\n  -- {index}")) for index in range(1, 5)]
    monkeypatch.setattr(stage, "check_verifier", lambda settings: None)
    down = Verifier(lost={"2", "3"})
    monkeypatch.setattr(stage, "make_verifier", lambda settings: down)
    with pytest.raises(InfrastructureError, match=r"2 of 4 proofs could not be verified(?s:.*)max_unverified_share=0.01"):
        score(rows)
    first = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(r["reward"], r["verdict"]) for r in first] == [(1.0, "proved"), (None, "unverified"), (None, "unverified"), (1.0, "proved")]
    up = Verifier()
    monkeypatch.setattr(stage, "make_verifier", lambda settings: up)
    assert [r["reward"] for r in score(rows)] == [1.0] * 4
    assert up.asked == ["2", "3"]
    assert [r["reward"] for r in score(rows)] == [1.0] * 4 and up.asked == ["2", "3"]
    more = Verifier(lost={"1"})
    monkeypatch.setattr(stage, "make_verifier", lambda settings: more)
    assert [r["reward"] for r in score([*rows, row(5, "")], "+verifier.max_unverified_share=0.5")][0] is None


def test_an_input_that_changes_meanwhile_changes_nothing(score, monkeypatch, tmp_path):
    rows = [row(index, output(LEAN + f"\n  -- {index}")) for index in range(1, 8)]
    monkeypatch.setattr(stage, "check_verifier", lambda settings: None)
    monkeypatch.setattr(stage, "PORTION_ROWS", 2)

    class Meddler(Verifier):
        def check(self, requests, on_result=lambda _: None):
            (tmp_path / "in.jsonl").write_text(json.dumps(row(99, "x")) + "\n")
            return super().check(requests, on_result)

    monkeypatch.setattr(stage, "make_verifier", lambda settings: Meddler())
    assert [(r["id"], r["reward"]) for r in score(rows)] == [(index, 1.0) for index in range(1, 8)]


def test_an_input_that_changed_before_it_was_copied_is_an_error(tmp_path):
    source, artifact = tmp_path / "in.jsonl", Artifact(tmp_path, "score", "strict", "0" * 12)
    source.write_text("{}\n")
    with pytest.raises(InfrastructureError, match="was changed while it was read"):
        judged_rows._snapshot(source, "another digest", artifact)
    assert not list(artifact.folder.glob("*.jsonl"))


def test_behind_a_link_its_target_is_written(score, tmp_path):
    (tmp_path / "out.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    score([row(1, output())])
    assert (tmp_path / "out.jsonl").is_symlink() and json.loads((tmp_path / "elsewhere.jsonl").read_text())["reward"] == 1.0


def test_a_null_is_like_a_missing_field(score):
    chat = [{"role": "assistant", "content": output()}]
    assert [r["reward"] for r in score([row(1, output(), messages=None), {**row(2, messages=chat), "response": None}])] == [1.0, 1.0]


def test_an_interrupted_scoring_goes_on_where_it_was(score, monkeypatch):
    rows = [row(index, output(LEAN + f"\n  -- {index}")) for index in range(1, 8)]
    monkeypatch.setattr(stage, "check_verifier", lambda settings: None)
    monkeypatch.setattr(stage, "PORTION_ROWS", 2)

    class Stopped(Verifier):
        def check(self, requests, on_result=lambda _: None):
            if len(self.asked) == 4:
                raise KeyboardInterrupt
            return super().check(requests, on_result)

    verifiers = [Stopped(), Verifier()]
    monkeypatch.setattr(stage, "make_verifier", lambda settings: verifiers[0])
    with pytest.raises(KeyboardInterrupt):
        score(rows)
    monkeypatch.setattr(stage, "make_verifier", lambda settings: verifiers[1])
    assert [r["id"] for r in score(rows)] == list(range(1, 8))
    assert verifiers[1].asked == ["5", "6", "7"]


def test_a_killed_scoring_loses_nothing(tmp_path):
    rows = [row(index, output(LEAN + f"\n  -- {index}")) for index in range(3000)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    run_killed_and_again(["reward=strict", "verifier=embedded"], tmp_path, "score")
    scored = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [r["id"] for r in scored] == list(range(3000)) and {r["reward"] for r in scored} == {1.0}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["stage=score"], "score.input is not set"),
        (["stage=score", "score.input={in}"], "score.output is not set"),
        (["stage=score", "score.input=nowhere.jsonl", "score.output=o"], "there is no such file"),
        (["stage=score", "score.input={in}", "score.output={in}"], "is the input"),
        (["stage=score", "score.input={in}", "score.output=."], "is a folder"),
        (["stage=score", "score.input={in}", "score.output={pipe}"], "no regular file"),
        (["stage=score", "score.input={in}", "score.output=o", "output_dir={in}"], "is a file; a folder is needed"),
        (["stage=score", "score.input={in}", "score.output=o", "reward.checks.too_long.unit=tokens"], "score.tokenizer="),
        (["stage=rl", "verifier=none"], "verifier=none with stage=rl"),
    ],
)
def test_mistakes_are_told_before_anything_starts(tmp_path, words, told):
    (tmp_path / "in.jsonl").write_text("")
    os.mkfifo(tmp_path / "pipe")
    words = [word.replace("{in}", str(tmp_path / "in.jsonl")).replace("{pipe}", str(tmp_path / "pipe")) for word in words]
    done = subprocess.run([sys.executable, str(RUN), *words], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2 and told in done.stderr and "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "pipe"]


def test_an_empty_file_gives_an_empty_file(score, tmp_path):
    assert score([]) == [] and (tmp_path / "out.jsonl").read_bytes() == b""
