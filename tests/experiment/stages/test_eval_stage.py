"""stage=eval with the shipped warm start and the embedded Lean: any model and prompts, kills, outages, canaries, fix turns."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from support.processes import RUN

from kimina.data.prompts import read_rows
from kimina.durable import read_json, write_json
from kimina.errors import InfrastructureError, LimitError, UserError
from kimina.evaluation import EvalResult, read_outcomes, sample_rows
from kimina.experiment.compose import compose
from kimina.experiment.stages import evaluate, run_stages, sample_judge
from kimina.lean.embedded.pool import EmbeddedVerifier
from kimina.lean.verdict import Verdict

MODEL = Path(__file__).parents[3] / "assets" / "warm_start" / "model"
PROBLEMS = {
    "chain": (
        "theorem nano_chain (p q : Prop) (hqp : q → p) (hq : q) (hpq : p → q) : q := by",
        "Derive from what is given: q.",
    ),
    "conj": (
        "theorem nano_conj (p q r : Prop) (hpq : p ∧ q) (hrp : r → p) : p := by",
        "Take one part out of the conjunction: p.",
    ),
    "disj": (
        "theorem nano_disj (p q r : Prop) (hnq : ¬q) (hr : r) (hqp : q → p) : r ∨ q := by",
        "Prove one part of the disjunction.",
    ),
    "exists": (
        "theorem nano_exists (P Q : Nat → Prop) (hP2 : P 2) (hPQ : ∀ x, P x → Q x) : ∃ x, P x := by",
        "Find such a number.",
    ),
}
SAMPLES = 4


def words(folder, *more):
    return [
        "stage=eval", f"evaluation.model={MODEL}", f"evaluation.prompts={folder}/in.jsonl", f"evaluation.samples={SAMPLES}",
        "evaluation.ks=[1,2]", "evaluation.canaries=2", f"output_dir={folder}/outputs", "verifier.workers=1", *more,
    ]  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    rows = [{"id": name, "statement": text, "informal": informal} for name, (text, informal) in PROBLEMS.items()]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


@pytest.fixture
def evaluated(folder):
    """Run the stage on the four problems; returns the artifact's folder."""

    def run(*more):
        typed = words(folder, *more)
        assert run_stages(compose(typed), typed) == 0
        return only(folder)

    return run


def only(folder):
    [found] = (folder / "outputs" / "eval").iterdir()
    return found


def timeless(outcomes):
    """The records without times, each once, in a fixed order; times and the order of judging are no one's to fix."""
    latest = {(o.canary, o.problem_id, o.sample, o.turn): replace(o, generation_s=None, lean_s=None) for o in outcomes}
    return [latest[key] for key in sorted(latest)]


class Interrupted(KeyboardInterrupt):
    """A stop by hand."""


def test_a_model_folder_on_a_file_of_problems(evaluated, capfd):
    made = evaluated("evaluation.fix_turns=1")
    outcomes = read_outcomes(made)
    first = [o for o in outcomes if o.turn == 1 and not o.canary]
    assert {(o.problem_id, o.sample) for o in first} == {(name, s) for name in PROBLEMS for s in range(SAMPLES)}
    assert sum(o.canary and o.turn == 1 for o in outcomes) == 2 * SAMPLES
    assert not any(o.proof for o in outcomes if o.canary)
    assert all(o.generation_s > 0 for o in outcomes)
    assert all((o.lean_s is None) == (o.verdict is None) for o in outcomes)
    failed = {(o.canary, o.problem_id, o.sample) for o in outcomes if o.turn == 1 and o.feedback is not None}
    fixes = [(o.canary, o.problem_id, o.sample) for o in outcomes if o.turn == 2]
    assert failed and sorted(fixes) == sorted(failed)
    assert all((o.feedback is None) == (o.no_fix is not None) for o in outcomes if o.turn == 1)
    assert all(o.no_fix == "solved" for o in first if o.success) and any(o.success for o in first)
    wrong = next(o for o in first if o.verdict == "lean_error" and o.feedback)
    assert wrong.message and wrong.messages[0].severity == "error" and "Lean" in wrong.feedback

    manifest = read_json(made / "manifest.json")
    result = manifest["result"]
    assert (manifest["lean"]["version"], manifest["prompt_set"]["problems"]) == ("4.35.0", 4)
    assert (result["problems"], result["samples"], result["problems_without_samples"]) == (4, 16, 0)
    assert len(result["pass_at_every_k"]) == SAMPLES
    assert result["error_fixing"]["fix_turns"] == sum(not canary for canary, *_ in fixes)
    assert result["error_fixing"]["not_made"] == 0
    assert result["pass_at_k"]["1"]["value"] == EvalResult.read("x", made).pass_at_k(1).value
    assert [row["extra_info"]["problem_id"] for row in read_rows(made / "prompts.parquet")] == list(PROBLEMS)
    assert sample_rows(made, "SELECT count(*) FROM samples WHERE NOT canary AND turn = 1") == [(16,)]
    assert evaluated("evaluation.fix_turns=1") == made and "reusing" in capfd.readouterr().out


@pytest.mark.timeout(600)
def test_a_killed_evaluation_ends_as_one_that_was_not(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "in.jsonl").write_bytes((folder / "in.jsonl").read_bytes())
    # Enough of them for several parts: one is written every two seconds.
    more = ["evaluation.fix_turns=1", "evaluation.samples=48"]
    first = subprocess.Popen(
        [sys.executable, str(RUN), *words(folder, *more)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while not list((folder / "outputs").glob("eval/*/samples/part-*")):
        assert first.poll() is None
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.wait()
    interrupted = len(read_outcomes(only(folder)))
    second = subprocess.run([sys.executable, str(RUN), *words(folder, *more)], capture_output=True, text=True, check=True)
    assert "the last attempt was interrupted" in second.stdout and "were done before" in second.stdout
    typed = words(other, *more)
    assert run_stages(compose(typed), typed) == 0
    whole = timeless(read_outcomes(only(other)))
    assert 0 < interrupted < len(whole)
    assert timeless(read_outcomes(only(folder))) == whole


def test_an_interrupted_portion_goes_on_with_what_is_missing(evaluated, folder, monkeypatch):
    """Stopped between two parts: the answers on disk are not judged again, and the others come out the same."""
    append = sample_judge.append_outcomes

    def stop_after_half(target, outcomes):
        append(target, [o for o in outcomes if o.problem_id not in ("disj", "exists")])
        if any(not o.canary for o in outcomes):
            raise Interrupted

    monkeypatch.setattr(sample_judge, "append_outcomes", stop_after_half)
    with pytest.raises(Interrupted):
        evaluated()
    half = read_outcomes(only(folder))
    assert {o.problem_id for o in half if not o.canary} == {"chain", "conj"}
    monkeypatch.setattr(sample_judge, "append_outcomes", append)
    rest = read_outcomes(evaluated())[len(half) :]
    assert {(o.problem_id, o.sample) for o in rest} == {(name, s) for name in ("disj", "exists") for s in range(SAMPLES)}


class Outage(EmbeddedVerifier):
    """Lean, but nobody judges the theorems named ``lost``; ``asked`` are the names that came."""

    lost = ()
    asked = None

    def check(self, requests, on_result=None):
        type(self).asked = [*(self.asked or []), *(request.theorem for request in requests)]
        return [
            replace(result, verdict=Verdict.UNVERIFIED, messages=(), detail="none") if asked.theorem in self.lost else result
            for asked, result in zip(requests, super().check(requests, on_result), strict=True)
        ]


def test_an_outage_ends_with_a_limit_and_is_asked_again(evaluated, folder, monkeypatch):
    class Down(Outage):
        lost = ("nano_conj",)

    class Up(Outage):
        pass

    monkeypatch.setattr(evaluate, "make_verifier", lambda settings: Down(workers=1, max_heartbeats=20000))
    with pytest.raises(LimitError, match=r"evaluation.max_unverified_share=0\.01(?s:.*)asks about them again") as caught:
        evaluated()
    assert caught.value.exit_code == 4
    made = only(folder)
    result = read_json(made / "manifest.json")["result"]
    assert result["unverified"] > 0 and result["problems"] == 4 and result["verdicts"]["unverified"] == result["unverified"]
    answers = {(o.problem_id, o.sample): o.response for o in read_outcomes(made)}

    monkeypatch.setattr(evaluate, "make_verifier", lambda settings: Up(workers=1, max_heartbeats=20000))
    monkeypatch.setattr(evaluate, "make_generator", lambda *_: pytest.fail("nothing is left to generate"))
    evaluated()
    assert set(Up.asked) == {"nano_conj"}
    result = read_json(made / "manifest.json")["result"]
    assert result["unverified"] == 0 and result["problems_without_verdict"] == 0
    assert {(o.problem_id, o.sample): o.response for o in read_outcomes(made)} == answers


def test_an_allowed_share_of_unverified_answers_is_shown(evaluated, monkeypatch):
    class Down(Outage):
        lost = ("nano_conj",)

    monkeypatch.setattr(evaluate, "make_verifier", lambda settings: Down(workers=1, max_heartbeats=20000))
    made = evaluated("evaluation.max_unverified_share=0.9")
    manifest = read_json(made / "manifest.json")
    assert manifest["status"] == "done" and 0 < manifest["result"]["unverified_share"] < 0.9


def test_a_verifier_that_judges_nothing_for_long_stops_the_stage(evaluated, monkeypatch):
    class Down(Outage):
        lost = tuple(f"nano_{name}" for name in (*PROBLEMS, "cases"))

    monkeypatch.setattr(evaluate, "make_verifier", lambda settings: Down(workers=1, max_heartbeats=20000))
    monkeypatch.setattr(sample_judge, "MOST_LOST", 2)
    with pytest.raises(InfrastructureError, match="in a row could not be verified"):
        evaluated()


class Gullible(EmbeddedVerifier):
    """An unsound verifier: it accepts everything."""

    def check(self, requests, on_result=None):
        return [replace(r, verdict=Verdict.PROVED, messages=()) for r in super().check(requests, on_result)]


def test_a_proved_canary_ends_the_evaluation_and_nothing_is_reported(evaluated, folder, monkeypatch):
    monkeypatch.setattr(evaluate, "make_verifier", lambda settings: Gullible(workers=1, max_heartbeats=20000))
    with pytest.raises(InfrastructureError, match=r"false statement canary-nano_\w+ was proved(?s:.*)verification is unsound"):
        evaluated("evaluation.samples=16")
    made = only(folder)
    assert any(o.canary and o.proof for o in read_outcomes(made))
    assert "result" not in read_json(made / "manifest.json")
    # Lean has become honest, but the records are what they are.
    monkeypatch.undo()
    with pytest.raises(InfrastructureError, match="verification is unsound"):
        evaluated("evaluation.samples=16")


def test_records_of_another_lean_are_not_gone_on_with(evaluated, folder):
    made = evaluated()
    others = (("lean_version", "4.34.0", "Lean: 4.34.0 then, 4.35.0 now"), ("model_files", "x", "the model's files"))
    for key, value, named in others:
        write_json(made / "manifest.json", {**read_json(made / "manifest.json"), "status": "running"})
        kept = read_json(made / "conditions.json")
        write_json(made / "conditions.json", {**kept, key: value})
        with pytest.raises(UserError, match=f"other conditions \\({named}(?s:.*)rm -r"):
            evaluated()
        write_json(made / "conditions.json", kept)


def test_too_long_a_fix_prompt_gets_no_fix_turn_and_is_counted(evaluated):
    made = evaluated("evaluation.fix_turns=1", "evaluation.fix_history=with_think", "evaluation.max_new_tokens=400")
    fixing = read_json(made / "manifest.json")["result"]["error_fixing"]
    assert fixing["no_fix_turn"]["context"] > 0
    assert fixing["fix_turns"] + sum(fixing["no_fix_turn"].values()) == 16


def test_an_artifact_is_named_by_what_it_holds(evaluated, folder):
    from shutil import copytree

    artifact = folder / "outputs" / "sft" / "mine-0123456789ab"
    copytree(MODEL, artifact / "model")
    manifest = {"stage": "sft", "name": "mine", "hash": "0123456789ab", "status": "running"}
    write_json(artifact / "manifest.json", manifest)
    with pytest.raises(UserError, match="not finished"):
        evaluated(f"evaluation.model={artifact}")
    write_json(artifact / "manifest.json", {**manifest, "status": "done"})
    made = evaluated(f"evaluation.model={artifact}", "evaluation.samples=2", "evaluation.canaries=0")
    assert made.name.startswith("mine-start-")
    assert evaluated(f"evaluation.model={artifact}/model", "evaluation.samples=2", "evaluation.canaries=0") == made
    write_json(artifact / "manifest.json", {**manifest, "stage": "data", "status": "done"})
    with pytest.raises(UserError, match="holds no model"):
        evaluated(f"evaluation.model={artifact}")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "no rows"),
        ("{", "line 1: not JSON"),
        ("[1]", "line 1: one JSON object"),
        ('\n{"statement": "theorem t : True := by"}', "line 2: 'id' is missing"),
        ('{"id": "a"}', "line 1: 'statement' is missing"),
        ('{"id": "a", "statement": "def x := 1"}', "line 1: the statement has no theorem"),
        ('{"id": "a", "statement": "theorem t : True := by", "problem": 3}', "line 1: 'informal'"),
        ('{"id": "\\ud800", "statement": "theorem t : True := by"}', "half a surrogate"),
        ('{"id": 1, "statement": "theorem t : True := by"}\n{"id": "1", "statement": "theorem u : True := by"}', "occurs twice"),
    ],
)
def test_a_bad_file_of_problems_is_a_users_error(evaluated, folder, lines, message):
    (folder / "in.jsonl").write_text(lines)
    with pytest.raises(UserError, match=message):
        evaluated()


def test_what_cannot_be_evaluated_is_said_before_anything_is_started(folder):
    for more, message in (
        (["evaluation.model=no/such/folder"], "there is no such folder"),
        ([f"evaluation.prompts={folder}/none.jsonl"], "there is no such file"),
        ([f"evaluation.prompts={folder}"], "a prompt set is a .parquet file"),
        (["stage=table"], "a named model is evaluated by itself"),
        (["evaluation.canaries=99"], "out of range"),
        (["evaluation.fix_turns=2"], "out of range"),
        (["evaluation.fix_history=all"], "code_only"),
    ):
        with pytest.raises(UserError, match=message):
            compose(words(folder, *more))
    typed = words(folder, f"evaluation.model={folder}")
    with pytest.raises(UserError, match="holds no model"):
        run_stages(compose(typed), typed)
