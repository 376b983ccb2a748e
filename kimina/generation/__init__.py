"""Generation engines for evaluation and for the CPU rollout of training.

``make_generator`` picks one: offline vLLM on GPUs, a fast decode loop for Qwen3 on CPUs (in this process or in several),
transformers' own ``generate`` for every other architecture on CPUs. Importing this package does not import torch.
"""

from kimina.generation.factory import GenerationSettings, make_generator
from kimina.generation.interface import Completion, Generator

__all__ = ["Completion", "GenerationSettings", "Generator", "make_generator"]
