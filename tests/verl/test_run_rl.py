"""Reinforcement learning end to end: real verl, real Ray, real Lean, killed and resumed."""

import json
import os
import signal
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from kimina.errors import InfrastructureError
from kimina.experiment.compose import compose
from kimina.metrics_log import MetricsLog
from kimina.verl import checkpoints, launch, ray_session

STEPS = 4
OVERRIDES = [
    "reward=proof_only",
    "logger=wandb",
    "verifier.workers=1",
    "data.train_batch_size=4",
    "data.max_response_length=24",
    "actor_rollout_ref.rollout.n=4",
    "actor_rollout_ref.rollout.val_kwargs.n=2",
    "actor_rollout_ref.actor.optim.lr=1e-3",
    f"trainer.total_training_steps={STEPS}",
    "trainer.save_freq=2",
    f"trainer.test_freq={STEPS}",
]


PARTIAL = [
    "rollout=partial",
    "rollout.segment_tokens=4",
    "rollout.earlier_segments=excluded",
    "rollout.max_staleness=3",
    "data.max_prompt_length=64",
]
#: Everything that has a state: repair buffer, sampler, optimiser, order of updates.
METHODS = [
    # two updates a step, so that what is in each of them matters
    "loss=mirror_descent",
    "correction=replay",
    "correction.too_long=cut",
    "correction.max_feedback_chars=60",
    "sampling=prioritized",
    "length=k15",
    "length.start_step=2",
    "loss.start_kl_every=3",
    "rollout.repetition.stop=true",
    "rollout.repetition.check_every=4",
    "actor_rollout_ref.actor.ppo_mini_batch_size=2",
    "data.max_prompt_length=160",
]


def driver_of(out_dir):
    """The driver is the one process of the run whose command names the run's spec."""
    spec = str(out_dir / "driver.json")
    [driver] = [process for process in ray_session._marked(ray_session.mark_of(out_dir)) if spec in process.cmdline()]
    return driver


def without_seconds(row):
    return {key: value for key, value in row.items() if key != "seconds"}


def test_training_is_killed_resumed_and_exported(train, tiny_prover, tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    out_dir = tmp_path / "run"
    config = compose([*OVERRIDES, *METHODS])
    events, ray_folders = [], set()

    def watch(event):
        events.append(event)
        ray_folders.add(Path(json.loads((out_dir / "ray_session.json").read_text())["folder"]))

    def kill_after_third_step(event):
        watch(event)
        if event["event"] == "step" and event["step"] == 3:
            driver_of(out_dir).send_signal(signal.SIGKILL)

    with pytest.raises(InfrastructureError, match=r"(?s)signal 9.*rl\.log.*Run the same command again"):
        train(config, on_progress=kill_after_third_step)
    assert ray_session._marked(ray_session.mark_of(out_dir)) == [], "processes of the run are left"
    assert len(ray_folders) == 1 and not any(folder.exists() for folder in ray_folders), "a Ray folder is left"
    assert [event["step"] for event in events] == [0, 1, 2, 3]
    before = MetricsLog(out_dir / "metrics.jsonl").read()

    events.clear()
    model_folder = train(config, on_progress=watch)
    assert ray_session._marked(ray_session.mark_of(out_dir)) == []
    assert len(ray_folders) == 2 and not any(folder.exists() for folder in ray_folders)

    assert events[0] == {"event": "start", "step": 2, "total": STEPS}, "the checkpoint of step 2 is gone on from"
    assert [event["step"] for event in events[1:]] == [3, 4]
    rows = [json.loads(line) for line in (out_dir / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [1, 2, 3, 4], "one line a step, none twice"
    assert rows[:2] == before[:2]
    # the repeated step is the lost one in every figure
    assert without_seconds(rows[2]) == without_seconds(before[2])

    for row in rows:
        assert row["samples"] == 16 and row["missing"] == 0
        assert sum(row["verdicts"].values()) == 16
        assert sum(row["groups"].values()) == pytest.approx(1)
        assert row["learning_rate"] == pytest.approx(1e-3)
        assert row["sequence_log_ratio"] > 0, "the second update sees another policy"
    assert any(0 < row["proof_rate"] < 1 for row in rows), "the tiny prover should prove some and miss some"
    assert any(row["grad_norm"] > 0 for row in rows)
    sample = json.loads((out_dir / "samples" / "000004.jsonl").read_text().splitlines()[0])
    assert {"statement", "prompt", "response", "score", "verdict", "violations"} <= sample.keys()
    assert list(rows[0]["turns"]["1"]["violation_rates"]) == ["statement_changed", "forbidden_construct"]
    correction = rows[-1]["prompts"]["correction"]
    assert correction["drawn"] > 0 and correction["added"] > 0 and "2" in {**rows[2]["turns"], **rows[3]["turns"]}
    assert any(row["length_reward"] for row in rows[1:]) and rows[0]["length_reward"] == 0.0
    # in pieces of four tokens, and yet by one version of the policy
    assert all((row["rollout"]["staleness_max"], row["rollout"]["continued"]) == (0, 0) for row in rows)
    assert [row["start_kl"] is None for row in rows] == [False, True, True, False]
    assert rows[0]["start_kl"] == pytest.approx(0, abs=1e-6) and rows[-1]["start_kl"] > 0
    [validated] = MetricsLog(out_dir / "validation.jsonl").read()
    assert validated["step"] == 4 and validated["kimina/val/turn_1/violations/forbidden_construct"] == 0.0
    assert 0 <= validated["kimina/val/turn_1/proof_rate"] <= 1
    # one of the four theorems of the validation is judged against another statement than the prompt's
    assert 0.1 <= validated["kimina/val/turn_1/violations/statement_changed"] <= 0.5
    examples = [json.loads(line) for line in (out_dir / "violations" / "000004.jsonl").read_text().splitlines()]
    assert 1 <= len(examples) <= 3 and {example["violation"] for example in examples} == {"statement_changed"}
    assert all("theorem nano" in example["prompt"] for example in examples)
    [table] = tmp_path.glob("wandb/offline-run-*/files/media/table/val/violations_*.table.json")
    assert len(json.loads(table.read_text())["data"]) == len(examples)

    root = out_dir / "checkpoints"
    assert checkpoints.complete_steps(root) == [2, 4]
    trained, original = (load_file(folder / "model.safetensors") for folder in (model_folder, tiny_prover / "model"))
    assert all(tensor.dtype == torch.float32 for tensor in trained.values())
    assert any(not torch.equal(trained[name], original[name]) for name in trained)

    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(model_folder)
    assert AutoTokenizer.from_pretrained(model_folder).eos_token_id == model.config.eos_token_id

    merged = checkpoints.merge_shards(root, 4, tmp_path / "merged")
    merged_state = load_file(next(merged.glob("*.safetensors")))
    assert all(torch.equal(merged_state[name], trained[name].to(torch.bfloat16)) for name in trained)

    again = train(config, on_progress=lambda event: pytest.fail(f"a finished run trained again: {event}"))
    assert again == model_folder
    assert os.environ.get(ray_session.MARK) is None
    assert launch.MODEL == model_folder.name


def test_partial_rollouts_go_on_in_the_next_step_and_after_a_kill(train, tmp_path):
    """Responses grow by a few tokens a step; what is in flight is in the checkpoint."""
    out_dir = tmp_path / "run"
    words = [word for word in OVERRIDES if word.split("=")[0] not in {"logger", "trainer.test_freq"}]
    config = compose([*words, *PARTIAL])

    def kill_after_third_step(event):
        if event["event"] == "step" and event["step"] == 3:
            driver_of(out_dir).send_signal(signal.SIGKILL)

    with pytest.raises(InfrastructureError, match="signal 9"):
        train(config, on_progress=kill_after_third_step)
    assert list((out_dir / "checkpoints").glob("global_step_2/transfer_queue/*")), "prompts in flight are saved"
    train(config, on_progress=lambda event: None)
    rows = MetricsLog(out_dir / "metrics.jsonl").read()

    assert [row["step"] for row in rows] == [1, 2, 3, 4]
    drawn = [row["rollout"] for row in rows]
    for row in rows:
        assert row["samples"] == 16 and row["missing"] == 0
        if row["rollout"]["staleness_max"] == 0:
            # one update a step: the rollout engine's log-probabilities are the trainer's own
            assert row["log_prob_difference"] < 1e-5
    assert drawn[0]["staleness_max"] == 0
    assert any(figures["continued"] > 0 and figures["earlier_tokens"] > 0 for figures in drawn[1:]), drawn
    assert any(figures["staleness_max"] >= 1 for figures in drawn[1:])
    assert max(figures["staleness_max"] for figures in drawn) <= 3
