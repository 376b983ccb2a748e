"""Preflight of the machine, with the machine's answers replaced."""

import shutil
from collections import namedtuple
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from kimina.errors import InfrastructureError, UserError
from kimina.experiment import machine
from kimina.experiment.compose import compose_with_warnings, resolved
from kimina.experiment.plan import make_plan
from kimina.lean.verdict import CheckResult, Verdict

Usage = namedtuple("Usage", "total used free")


def checked(*words: str) -> list[str]:
    composition = compose_with_warnings(words)
    return list(machine.check_machine(resolved(composition.config), make_plan(composition)))


def test_the_nano_experiment_asks_nothing_special(tmp_path):
    assert checked(f"output_dir={tmp_path}") == []


def test_missing_gpus_are_said_with_what_runs_instead():
    if list(Path("/dev").glob("nvidia[0-9]*")):
        wanted = "trainer.n_gpus_per_node=64"
        words = ["model=1p7b", wanted]
    else:
        words = ["model=1p7b"]
    with pytest.raises(InfrastructureError, match="GPUs") as caught:
        checked(*words)
    assert "stage=plan" in str(caught.value) and caught.value.exit_code == 3


def test_too_little_disk_is_found_before_the_first_checkpoint(monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**9, 10**9, 10**6))
    with pytest.raises(InfrastructureError, match="GB free"):
        checked(f"output_dir={tmp_path}")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**9, 10**9, 6 * 10**7))
    assert "checkpoints take" in checked(f"output_dir={tmp_path}")[0]


def test_wandb_without_a_key_is_refused_unless_offline(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    with pytest.raises(UserError, match="WANDB_MODE=offline"):
        checked("logger=wandb", f"output_dir={tmp_path}")
    monkeypatch.setenv("WANDB_MODE", "offline")
    checked("logger=wandb", f"output_dir={tmp_path}")


def test_a_lean_that_is_not_installed_is_named(tmp_path):
    with pytest.raises(UserError, match="no-such-lean"):
        checked("verifier=local", "verifier.lean=no-such-lean", f"output_dir={tmp_path}")
    with pytest.raises(UserError, match="project_dir"):
        checked("verifier=local", "verifier.lean=ls", f"verifier.project_dir={tmp_path}/no", f"output_dir={tmp_path}")


def test_a_training_file_without_the_columns_is_refused(tmp_path):
    file = tmp_path / "train.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"prompt": ["a"]}), file)
    with pytest.raises(UserError, match="data_source, reward_model, extra_info"):
        checked(f"data.train_files={file}", f"output_dir={tmp_path}")


class Answers:
    """A verifier that gives the same verdicts whatever it is asked."""

    def __init__(self, *verdicts: Verdict) -> None:
        self.verdicts = verdicts

    def check(self, requests):
        return [
            CheckResult(request.id, verdict, (), 0.0, "detail", None, "4.35.0")
            for request, verdict in zip(requests, self.verdicts, strict=True)
        ]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ((Verdict.UNVERIFIED, Verdict.LEAN_ERROR), "did not prove a true theorem"),
        ((Verdict.PROVED, Verdict.PROVED), "accepted a false theorem"),
    ],
)
def test_a_verifier_that_fails_a_canary_is_refused(monkeypatch, verdicts, said):
    monkeypatch.setattr(machine, "make_verifier", lambda _: Answers(*verdicts))
    with pytest.raises(InfrastructureError, match=said):
        machine.check_verifier({"name": "kimina"})


def test_a_verifier_that_tells_true_from_false_is_taken(monkeypatch):
    monkeypatch.setattr(machine, "make_verifier", lambda _: Answers(Verdict.PROVED, Verdict.LEAN_ERROR))
    machine.check_verifier({"name": "kimina", "proofs_per_second": 4.33})


def test_canaries_are_asked_today_and_not_remembered_from_another_day(monkeypatch):
    asked = []
    monkeypatch.setattr(machine, "make_verifier", lambda it: asked.append(it) or Answers(Verdict.PROVED, Verdict.LEAN_ERROR))
    machine.check_verifier({"name": "kimina", "cache": "auto"})
    assert asked == [{"name": "kimina", "cache": None}]
