"""The fused decoder against the Hugging Face module, and the decode loop's behaviour."""

import random

import pytest
import torch

from kimina.errors import UserError
from kimina.generation import make_generator
from kimina.generation.checkpoint import read_config
from kimina.generation.decode import decode
from kimina.generation.qwen3 import is_supported
from kimina.generation.qwen3_cpu import Qwen3Generator, plan_batches
from kimina.generation.sampling import choose_tokens, mix_seed, uniform_rows


def random_prompts(count, longest=14, seed=0):
    rng = random.Random(seed)
    return [[rng.randrange(3, 61) for _ in range(rng.randrange(1, longest))] for _ in range(count)]


def reference_log_probs(model, prompt, tokens, temperature=1.0):
    with torch.inference_mode():
        logits = model(torch.tensor([[*prompt, *tokens]])).logits[0, len(prompt) - 1 : -1]
    return (logits / temperature).log_softmax(-1).gather(-1, torch.tensor(tokens)[:, None])[:, 0]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tie_word_embeddings": False},
        {"num_key_value_heads": 4},
        {"num_key_value_heads": 1, "rope_theta": 1_000_000.0},
        {"attention_bias": True},
        {"head_dim": 12},
    ],
    ids=["tied", "untied", "no_gqa", "multi_query", "bias", "other_head_dim"],
)
def test_log_probs_equal_the_hugging_face_forward(tmp_path, save_tiny_qwen3, changes):
    model = save_tiny_qwen3(tmp_path, **changes)
    generator = make_generator({}, tmp_path)
    assert isinstance(generator, Qwen3Generator)
    prompts = random_prompts(6)
    for prompt, samples in zip(prompts, generator.generate(prompts, 5, max_new_tokens=70, seed=1), strict=True):
        for sample in samples:
            expected = reference_log_probs(model, prompt, sample.token_ids)
            assert torch.allclose(torch.tensor(sample.log_probs), expected, atol=1e-4)
            assert sample.finished == (sample.token_ids[-1] == 2)
            assert sample.finished or len(sample.token_ids) == 70
            assert 2 not in sample.token_ids[:-1]


def test_greedy_takes_the_most_probable_token(tiny_qwen3):
    model, folder = tiny_qwen3
    prompts = random_prompts(5)
    results = make_generator({}, folder).generate(prompts, 1, max_new_tokens=30, temperature=0)
    for prompt, [sample] in zip(prompts, results, strict=True):
        with torch.inference_mode():
            logits = model(torch.tensor([prompt + sample.token_ids])).logits[0, len(prompt) - 1 : -1]
        assert logits.argmax(-1).tolist() == sample.token_ids


def test_temperature_scales_the_reported_log_probs(tiny_qwen3):
    model, folder = tiny_qwen3
    [[sample]] = make_generator({}, folder).generate([[5, 6, 7]], 1, max_new_tokens=20, temperature=0.6)
    expected = reference_log_probs(model, [5, 6, 7], sample.token_ids, temperature=0.6)
    assert torch.allclose(torch.tensor(sample.log_probs), expected, atol=1e-4)


def test_a_sample_depends_neither_on_its_batch_nor_on_compaction(tiny_qwen3):
    _, folder = tiny_qwen3
    prompts = random_prompts(9)
    together = make_generator({"batch_rows": 1000}, folder).generate(prompts, 7, max_new_tokens=60, seed=5)
    apart = make_generator({"batch_rows": 4}, folder).generate(prompts, 7, max_new_tokens=60, seed=5)
    lengths = {len(sample.token_ids) for samples in together for sample in samples}
    assert len(lengths) > 5, "samples must end at different steps for this test to mean something"
    assert [[s.token_ids for s in row] for row in together] == [[s.token_ids for s in row] for row in apart]


def test_other_seed_other_samples(tiny_qwen3):
    _, folder = tiny_qwen3
    generator = make_generator({}, folder)
    first, again, other = (generator.generate([[5, 6]], 4, max_new_tokens=12, seed=seed) for seed in (1, 1, 2))
    assert first == again != other


def test_prompts_may_have_different_numbers_of_samples(tiny_qwen3):
    _, folder = tiny_qwen3
    generator = Qwen3Generator.from_checkpoint(folder)
    uniforms = [uniform_rows(1, 3, 20), uniform_rows(2, 1, 20)]
    options = dict(max_new_tokens=20, temperature=1.0, top_p=1.0, stop_ids={2})
    completions = decode(generator.model, [[4, 5], [6]], uniforms, **options)
    assert [len(samples) for samples in completions] == [3, 1]
    [[alone]] = decode(generator.model, [[6]], uniforms[1:], **options)
    assert completions[1][0].token_ids == alone.token_ids


def test_callbacks_see_every_sample_once(tiny_qwen3):
    _, folder = tiny_qwen3
    progress, seen = [], {}
    results = make_generator({"batch_rows": 5}, folder).generate(
        random_prompts(4),
        3,
        max_new_tokens=5,
        on_progress=lambda done, total: progress.append((done, total)),
        on_result=lambda index, samples: seen.setdefault(index, samples),
    )
    assert progress[-1] == (12, 12) and progress == sorted(progress)
    assert [seen[index] for index in range(4)] == results


def test_sampled_frequencies_follow_the_distribution():
    logits = torch.log(torch.tensor([0.5, 0.0, 0.3, 0.2]))
    tokens, _ = choose_tokens(logits.expand(20_000, 4), torch.rand(20_000), 1.0, 1.0)
    shares = tokens.bincount(minlength=4) / 20_000
    assert torch.allclose(shares, torch.tensor([0.5, 0.0, 0.3, 0.2]), atol=0.02)


def test_top_p_keeps_the_smallest_sufficient_set():
    logits = torch.log(torch.tensor([0.1, 0.5, 0.25, 0.15]))
    tokens, log_probs = choose_tokens(logits.expand(5_000, 4), torch.rand(5_000), 1.0, 0.7)
    assert set(tokens.tolist()) == {1, 2}
    assert torch.allclose(log_probs[tokens == 1].exp(), torch.tensor(0.5)), "log-probabilities are before truncation"
    only, _ = choose_tokens(logits.expand(100, 4), torch.rand(100), 1.0, 0.01)
    assert set(only.tolist()) == {1}


def test_uniform_numbers_at_the_edges_choose_possible_tokens():
    logits = torch.tensor([[float("-inf"), 1.0, 2.0, float("-inf")]]).expand(2, 4)
    tokens, _ = choose_tokens(logits, torch.tensor([0.0, 1.0 - 2**-24]), 1.0, 1.0)
    assert tokens.tolist() == [1, 2]


@pytest.mark.parametrize("rows", [1, 4, 7, 100])
def test_batches_cover_every_sample_once(rows):
    prompts = random_prompts(6)
    covered = [
        (piece.index, sample)
        for batch in plan_batches(prompts, 5, rows, range(len(prompts)))
        for piece in batch
        for sample in range(piece.first, piece.last)
    ]
    assert sorted(covered) == [(index, sample) for index in range(6) for sample in range(5)]
    sizes = [sum(piece.last - piece.first for piece in batch) for batch in plan_batches(prompts, 5, rows, range(len(prompts)))]
    assert max(sizes) <= rows


def test_models_that_the_decoder_does_not_compute_are_recognised(tiny_qwen3):
    config = read_config(tiny_qwen3[1])
    assert is_supported(config)
    assert not is_supported(config | {"model_type": "llama"})
    assert not is_supported(config | {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4}})
    assert not is_supported(config | {"use_sliding_window": True})


def test_impossible_requests_and_settings_are_explained(tiny_qwen3, tmp_path):
    _, folder = tiny_qwen3
    generator = make_generator({}, folder)
    with pytest.raises(UserError, match="prompt number 1"):
        generator.generate([[3], []], 1, max_new_tokens=4)
    with pytest.raises(UserError, match="top_p"):
        generator.generate([[3]], 1, max_new_tokens=4, top_p=0.0)
    with pytest.raises(UserError, match="processes"):
        make_generator({"proceses": 2}, folder)
    with pytest.raises(UserError, match="no model folder"):
        make_generator({}, tmp_path / "missing")
    with pytest.raises(UserError, match="cpu, vllm"):
        make_generator({"engine": "sglang"}, folder)


def test_with_a_seed_of_its_own_a_prompt_draws_the_same_samples_alone(tiny_qwen3):
    _, folder = tiny_qwen3
    generator = make_generator({}, folder)
    prompts, seeds = [[5, 6, 7], [8], [9, 10]], [11, 12, 13]
    together = generator.generate(prompts, 3, max_new_tokens=20, seeds=seeds)
    for prompt, seed, samples in zip(prompts, seeds, together, strict=True):
        [alone] = generator.generate([prompt], 3, max_new_tokens=20, seed=99, seeds=[seed])
        assert [s.token_ids for s in alone] == [s.token_ids for s in samples]
    drawn = generator.generate(prompts, 3, max_new_tokens=20, seed=4)
    assert drawn == generator.generate(prompts, 3, max_new_tokens=20, seeds=[mix_seed(4, i) for i in range(3)])
    with pytest.raises(UserError, match="2 seeds"):
        generator.generate(prompts, 3, max_new_tokens=20, seeds=[1, 2])
