"""A tokenizer and problems of the nano task; torch computes with one thread."""

import os

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest
import torch

from kimina.data.nano.build import build_splits
from kimina.experiment.compose import compose, resolved
from kimina.sft.tokenizer import train_tokenizer
from kimina.sft.warm_start import corpus


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def config():
    """The shipped nano configuration."""
    return resolved(compose())


@pytest.fixture(scope="session")
def problems():
    """Some training problems."""
    return build_splits(11, 1000, 0, 0).train


@pytest.fixture(scope="session")
def tokenizer(config, problems):
    """A tokenizer with the shipped vocabulary size, trained on fewer problems."""
    return train_tokenizer(corpus(problems, 1), config["sft"]["vocab_size"])
