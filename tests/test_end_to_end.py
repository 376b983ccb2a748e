"""The whole experiment at the smallest size: every stage for real, killed in the middle of RL and taken up again."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from huggingface_hub import ModelCard
from support.processes import gone, wait_until

ROOT = Path(__file__).parents[1]
TINY = (
    "recipe.train_count=96",
    "recipe.dev_count=12",
    "recipe.test_count=12",
    "sft.prepared=null",
    "sft.epochs=1",
    "sft.tokenizer_problems=96",
    "model.architecture.layers=1",
    "model.architecture.copy_strength=0",
    "model.architecture.hidden_size=64",
    "data.train_batch_size=4",
    "actor_rollout_ref.rollout.n=2",
    "data.max_response_length=48",
    "trainer.total_training_steps=3",
    "trainer.save_freq=1",
    "evaluation.samples=2",
    "evaluation.ks=[1,2]",
    "evaluation.max_new_tokens=48",
    "name=tiny",
)


def start(folder: Path, *words: str) -> subprocess.Popen:
    command = [sys.executable, str(ROOT / "run.py"), *TINY, f"output_dir={folder}", *words]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)


def steps(folder: Path) -> list[int]:
    rows = [line for path in folder.glob("rl/*/metrics.jsonl") for line in path.read_text().splitlines()]
    return [json.loads(row)["step"] for row in rows if row.endswith("}")]


@pytest.mark.timeout(900)
def test_a_run_killed_during_rl_ends_as_one_that_was_not(tmp_path: Path) -> None:
    folder = tmp_path / "outputs"
    first = start(folder)
    deadline = time.monotonic() + 300
    while not steps(folder) and first.poll() is None and time.monotonic() < deadline:
        time.sleep(0.2)
    assert steps(folder), first.communicate(timeout=5)[0] if first.poll() is not None else "no step within five minutes"
    os.kill(first.pid, signal.SIGKILL)
    first.wait()

    second = start(folder)
    output, _ = second.communicate(timeout=400)
    assert second.returncode == 0, output
    assert steps(folder) == [1, 2, 3]
    for stage, count in {"data": 1, "sft": 1, "rl": 1, "eval": 2, "table": 1}.items():
        manifests = [json.loads(path.read_text()) for path in folder.glob(f"{stage}/*/manifest.json")]
        assert [manifest["status"] for manifest in manifests] == ["done"] * count, stage
    rl = json.loads(next(folder.glob("rl/*/manifest.json")).read_text())
    assert len(rl["attempts"]) == 2
    result = json.loads(next(folder.glob("table/*/result.json")).read_text())
    assert result["schema"] >= 1
    page = next(folder.glob("table/*/report.html"))
    assert str(page) in output.replace("\n", "")

    third = start(folder)
    again, _ = third.communicate(timeout=60)
    assert third.returncode == 0, again
    assert steps(folder) == [1, 2, 3]
    assert again.count("reusing") == 6

    fourth = start(folder, "stage=card")
    told, _ = fourth.communicate(timeout=60)
    assert fourth.returncode == 0, told
    assert ModelCard.load(next(folder.glob("card/tiny-*/README.md"))).data.model_name == "tiny"

    assert_table_is_built_from_it(folder)


def assert_table_is_built_from_it(folder: Path) -> None:
    """The nano twins of a published table share the run; only their evaluations, with fix turns, are to be made."""
    words = ("stage=table", "table=kimina_rl_minif2f", "scale=nano")
    asked = start(folder, *words)
    told, _ = asked.communicate(timeout=120)
    assert asked.returncode == 0 and "0 of 6 rows are measured" in told and "table.build=true" in told, told
    killed = start(folder, *words, "table.build=true")
    assert wait_until(lambda: len(list(folder.glob("eval/*/manifest.json"))) > 2, 120)
    children = psutil.Process(killed.pid).children(recursive=True)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    # A table that is gone leaves no run behind.
    assert wait_until(lambda: all(gone(child) for child in children), 60)
    built = start(folder, *words, "table.build=true")
    told, _ = built.communicate(timeout=500)
    assert built.returncode == 0 and "6 of 6 rows are measured" in told, told
    path = next(folder.glob("table/kimina_rl_minif2f-*/table.json"))
    rows = {row["id"]: row for row in json.loads(path.read_text())["rows"]}
    assert rows["rl_1p7b"]["cells"]["pass32"]["published"] == "76.23 % [186]"
    measured = rows["rl_1p7b_single_turn"]["cells"]["fix32"]
    assert (measured["verdict"], measured["why"]) == ("undefined", "pass@32+fix is undefined: 32 verified samples a problem are needed")
    # the run that there was, and the one with error correction
    assert sorted(steps(folder)) == [1, 1, 2, 2, 3, 3]
    page = path.with_name("report.html").read_text()
    assert "AI-MO/Kimina-Prover-RL-1.7B" in page and 'id="problems"' in page
