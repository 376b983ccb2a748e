"""Damaged checkpoints: a sentence that names the file, before anything is generated."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kimina.errors import UserError
from kimina.generation.checkpoint import check_weights, read_config, read_tokenizer
from kimina.generation.processes import ProcessGenerator
from kimina.generation.qwen3_cpu import Qwen3Generator

MODEL = Path(__file__).parents[2] / "assets" / "warm_start" / "model"


@pytest.fixture
def model(tmp_path):
    return Path(shutil.copytree(MODEL, tmp_path / "model"))


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


@pytest.mark.parametrize(
    ("name", "read"), [("config.json", read_config), ("tokenizer.json", read_tokenizer), ("model.safetensors", check_weights)]
)
def test_a_file_that_was_cut_off_is_named(model, name, read):
    read(model)
    _cut(model / name)
    with pytest.raises(UserError, match=f"{name} is"):
        read(model)


def test_a_folder_without_weights_or_tokenizer_is_a_users_error(model):
    (model / "model.safetensors").unlink()
    with pytest.raises(UserError, match="no weights"):
        check_weights(model)
    (model / "tokenizer.json").write_text(json.dumps({"version": 1}))
    with pytest.raises(UserError, match="tokenizer of the model"):
        read_tokenizer(model)


def test_a_configuration_of_another_model_is_a_users_error(model):
    config = json.loads((model / "config.json").read_text())
    del config["num_attention_heads"]
    (model / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="don't fit each other: KeyError"):
        Qwen3Generator.from_checkpoint(model)
    generator = ProcessGenerator(model, "float32", 4, 1)
    with pytest.raises(UserError, match="don't fit each other"):
        generator.generate([[1]], 1, max_new_tokens=1)


@pytest.mark.parametrize(
    "key", ["hidden_size", "intermediate_size", "vocab_size", "head_dim", "num_attention_heads", "num_key_value_heads", "num_hidden_layers"]
)
@pytest.mark.parametrize("change", [1, -1])
def test_a_number_that_the_weights_contradict_is_a_users_error(model, key, change):
    config = json.loads((model / "config.json").read_text())
    config[key] += change
    (model / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="don't fit each other: ValueError.*config.json says"):
        Qwen3Generator.from_checkpoint(model)


def test_a_generation_process_ends_with_its_parent():
    # Its parent is this process, not the one that it is told of, as after a kill.
    code = "from kimina.generation.processes import _end_with; _end_with(1)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 1
