"""How the vLLM engine is driven, against a stand-in that records the calls (vLLM itself needs a GPU)."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from kimina.errors import UserError
from kimina.generation import Completion, make_generator


@pytest.fixture
def recorded_vllm(monkeypatch):
    calls = []

    class LLM:
        def __init__(self, **options):
            calls.append(options)

        def generate(self, prompts, parameters, use_tqdm):
            calls.append((prompts, parameters))
            sample = SimpleNamespace(token_ids=(7, 2), logprobs=[{7: SimpleNamespace(logprob=-0.5)},
                                     {2: SimpleNamespace(logprob=-0.25)}], finish_reason="stop")
            return [SimpleNamespace(outputs=[sample] * one.n) for one in parameters]

    module = ModuleType("vllm")
    module.LLM, module.SamplingParams = LLM, lambda **options: SimpleNamespace(**options)
    monkeypatch.setitem(sys.modules, "vllm", module)
    return calls


def test_each_prompt_is_sent_once_with_its_own_seed(recorded_vllm):
    generator = make_generator({"engine": "vllm", "batch_rows": 4, "dtype": "bfloat16"}, "owner/model")
    seen = []
    results = generator.generate([[5], [6, 7], [8]], 2, max_new_tokens=9, temperature=0.6, top_p=0.95, seed=1,
                                 on_progress=lambda done, total: seen.append((done, total)))
    assert results == [[Completion([7, 2], [-0.5, -0.25], True)] * 2] * 3
    assert seen == [(4, 6), (6, 6)]
    options, (first, first_parameters), (second, second_parameters) = recorded_vllm
    assert options["model"] == "owner/model" and options["dtype"] == "bfloat16"
    assert [item["prompt_token_ids"] for item in first + second] == [[5], [6, 7], [8]]
    parameters = first_parameters + second_parameters
    assert {(one.n, one.max_tokens, one.temperature, one.top_p) for one in parameters} == {(2, 9, 0.6, 0.95)}
    assert len({one.seed for one in parameters}) == 3


def test_missing_vllm_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(UserError, match="gpu"):
        make_generator({"engine": "vllm"}, "owner/model")
