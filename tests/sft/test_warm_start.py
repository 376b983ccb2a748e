"""The warm start: examples, schedule, and training that can be interrupted."""

import json
import shutil

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from kimina.data.prompts import prompt_messages
from kimina.errors import UserError
from kimina.reward.scorer import Scorer
from kimina.reward.settings import RewardSettings
from kimina.sft.warm_start import IGNORED, examples, learning_rate_factor, train_warm_start

ARCHITECTURE = {
    "hidden_size": 32,
    "layers": 2,
    "heads": 2,
    "kv_heads": 1,
    "head_dim": 16,
    "intermediate_size": 48,
    "max_positions": 512,
    "rope_theta": 300.0,
    "init_std": 0.08,
    "qk_norm": 1.5,
    "copy_strength": 0.0,
}


@pytest.fixture(scope="module")
def small(config):
    """40 problems in batches of 4, seven times: 70 steps, with a checkpoint behind step 40."""
    length = {"epochs": 7, "batch_size": 4, "vocab_size": 500, "max_length": 400}
    rates = {"lr": 1e-3, "muon_lr": 0.02, "warmup_steps": 5, "wrong_choice_rate": 0.2, "remark_rate": 0.4}
    return {**config["sft"], **length, **rates, "threads": 1, "compile": False}


class Killed(Exception):
    """Stands for a kill."""


def train(problems, settings, folder, kill_at=None):
    logged = {}

    def on_step(step, total, logs):
        if "loss" in logs:
            logged[step] = logs["loss"]
        if kill_at is not None and step >= kill_at:
            raise Killed

    return train_warm_start(problems[:40], ARCHITECTURE, settings, 3, folder, on_step), logged


@pytest.fixture(scope="module")
def through(problems, small, tmp_path_factory):
    """A run that nothing interrupted: its folder, summary and losses."""
    folder = tmp_path_factory.mktemp("through")
    return folder, *train(problems, small, folder)


def weights(folder):
    return AutoModelForCausalLM.from_pretrained(folder / "model").state_dict()


def test_the_schedule_by_hand():
    assert learning_rate_factor(0, 100, 10) == pytest.approx(0.1)
    assert learning_rate_factor(4, 100, 10) == pytest.approx(0.5)
    assert learning_rate_factor(9, 100, 10) == learning_rate_factor(30, 100, 10) == learning_rate_factor(50, 100, 10) == 1.0
    assert learning_rate_factor(75, 100, 10) == pytest.approx(0.5)
    assert learning_rate_factor(90, 100, 10) == pytest.approx(0.2)
    assert learning_rate_factor(99, 100, 10) == learning_rate_factor(100, 100, 10) == 0.05
    assert learning_rate_factor(0, 100, 0) == 1.0


def test_only_the_answer_carries_loss(problems, tokenizer, small, config):
    rows = examples(problems[:40], tokenizer, small, 3)
    assert len(rows) == 280
    scorer = Scorer(RewardSettings.parse(config["reward"]), count_tokens=lambda text: len(text))
    by_prompt = {
        tuple(tokenizer.apply_chat_template(prompt_messages(p.informal, p.statement), add_generation_prompt=True, return_dict=False)): p
        for p in problems[:40]
    }
    right = 0
    for row in rows:
        carried = [token for token in row["labels"] if token != IGNORED]
        start = len(row["labels"]) - len(carried)
        assert row["input_ids"][start:] == carried and carried[-1] == tokenizer.eos_token_id
        problem = by_prompt[tuple(row["input_ids"][:start])]
        report = scorer.check_format(problem.statement, tokenizer.decode(carried[:-1]))
        assert report.theorem == problem.name and report.lean_code.startswith(problem.statement)
        right += report.lean_code.strip() == problem.lean(problem.proof())
    assert 80 < right < 240
    for row in examples(problems[:40], tokenizer, {**small, "wrong_choice_rate": 0.0}, 3):
        text = tokenizer.decode([token for token in row["labels"] if token != IGNORED])
        assert any(problem.lean(problem.proof()) in text for problem in problems[:40])


def test_examples_repeat_by_seed_and_every_pass_is_new(problems, tokenizer, small):
    def drawn(seed=3, **changes):
        return examples(problems[:40], tokenizer, {**small, **changes}, seed)

    rows = drawn()
    assert rows == drawn()
    assert rows != drawn(4)
    assert len({tuple(row["input_ids"]) for row in rows}) > 200
    assert len(drawn(epochs=1.5)) == 60
    longest = max(len(row["input_ids"]) for row in rows)
    assert all(len(row["input_ids"]) < longest for row in drawn(max_length=longest - 1))


def test_a_trained_model_loads_and_has_learnt(through, problems):
    folder, summary, logged = through
    assert summary["steps"] == 70 and sorted(logged) == [20, 40, 60, 70]
    assert logged[70] < 0.8 * logged[20]
    assert summary["train_loss"] == pytest.approx((20 * (logged[20] + logged[40] + logged[60]) + 10 * logged[70]) / 70)
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder / "model"), AutoTokenizer.from_pretrained(folder / "model")
    assert model.config.model_type == "qwen3"
    assert sum(p.numel() for p in model.parameters()) == summary["parameters"]
    assert len(tokenizer) == summary["vocabulary"] == model.config.vocab_size
    messages = prompt_messages(problems[0].informal, problems[0].statement)
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=False)
    out = model.generate(ids, max_new_tokens=3, do_sample=False)
    assert tokenizer.decode(out[0, ids.shape[1] :]).startswith("<think>")


def test_an_interrupted_run_ends_like_one_that_was_not(through, problems, small, tmp_path):
    folder, summary, logged = through
    with pytest.raises(Killed):
        train(problems, small, tmp_path, kill_at=60)
    resumed_summary, resumed_logged = train(problems, small, tmp_path)
    expected, found = weights(folder), weights(tmp_path)
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    assert resumed_summary == summary
    assert resumed_logged == {60: logged[60], 70: logged[70]}


def test_a_torn_checkpoint_is_passed_over(through, problems, small, tmp_path):
    folder, summary, _ = through
    with pytest.raises(Killed):
        train(problems, small, tmp_path, kill_at=60)
    torn = tmp_path / "checkpoints" / "checkpoint-60"
    shutil.copytree(tmp_path / "checkpoints" / "checkpoint-40", torn)
    (torn / "trainer_state.json").write_text('{"global_step": 6')
    resumed_summary, _ = train(problems, small, tmp_path)
    assert resumed_summary == summary
    expected, found = weights(folder), weights(tmp_path)
    assert all(torch.equal(expected[name], found[name]) for name in expected)


def test_a_run_that_was_killed_after_its_last_step_only_writes_the_model(through, problems, small, tmp_path):
    folder, summary, _ = through
    shutil.copytree(folder / "checkpoints", tmp_path / "checkpoints")
    state = json.loads((tmp_path / "checkpoints" / "checkpoint-70" / "trainer_state.json").read_text())
    assert state["global_step"] == 70
    again, logged = train(problems, small, tmp_path)
    assert again == summary and logged == {}
    expected, found = weights(folder), weights(tmp_path)
    assert all(torch.equal(expected[name], found[name]) for name in expected)


def test_nothing_short_enough_is_a_users_error(problems, small, tmp_path):
    with pytest.raises(UserError, match=r"sft.max_length=5"):
        train(problems, {**small, "max_length": 5}, tmp_path)
