"""The early worker's calls may start in another order than they were made in."""

import asyncio

import pytest

from kimina.verl import early_worker
from kimina.verl.early_worker import EarlyWorker


@pytest.fixture
def calls(monkeypatch):
    """An early worker over a stand-in for verl's worker, and what was asked of that."""
    asked = []

    def init_model(self):
        asked.append("init_model")

    def load_checkpoint(self, path):
        asked.append(f"load_checkpoint {path}")

    async def update_weights(self, global_steps=None):
        asked.append(f"update_weights {global_steps}")

    for method in (init_model, load_checkpoint, update_weights):
        monkeypatch.setattr(early_worker.KiminaWorker, method.__name__, method)
    return object.__new__(EarlyWorker), asked


def test_whichever_call_comes_first_builds_the_model_once(calls):
    worker, asked = calls
    asyncio.run(worker.update_weights(global_steps=0))
    worker.load_checkpoint("here")
    worker.init_model()
    assert asked == ["init_model", "update_weights 0", "load_checkpoint here"]


def test_a_model_that_cannot_be_built_is_told_by_every_call(calls, monkeypatch, capsys):
    worker, asked = calls

    def fail(self):
        raise ValueError("no such weights")

    monkeypatch.setattr(early_worker.KiminaWorker, "init_model", fail)
    for _ in range(2):
        with pytest.raises(ValueError, match="no such weights"):
            asyncio.run(worker.update_weights(global_steps=0))
    assert asked == [] and "no such weights" in capsys.readouterr().err
