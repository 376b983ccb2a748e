"""A tiny prover that knows one theorem, half of the time: enough for every part of a training step to do something."""

from functools import partial

import pandas
import pytest
import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from kimina.verl.launch import run_rl

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
STATEMENT = "theorem nano (p q : Prop) (hp : p) : p ∨ q := by"
PROOFS = ("exact Or.inl hp", "exact Or.inr hp")


def response(proof):
    return f"<think>\nleft or right\n</think>\n```lean4\n{STATEMENT}\n  {proof}\n```"


def messages(number):
    return [{"role": "user", "content": f"prove {number}: {STATEMENT}"}]


def _tokenizer():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"theorem nano.*by|</?think>\n?|```(lean4)?\n?|[0-9]"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    corpus = [response(proof) for proof in PROOFS] + [messages(number)[0]["content"] for number in range(40)]
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=SPECIALS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus * 3, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=TEMPLATE
    )


def _train(model, tokenizer, steps=45):
    prompts = [tokenizer.apply_chat_template(messages(n), add_generation_prompt=True)["input_ids"] for n in range(16)]
    answers = [tokenizer.encode(response(proof)) + [tokenizer.eos_token_id] for proof in PROOFS]
    optimiser = torch.optim.AdamW(model.parameters(), lr=4e-3)
    rows = [(prompt, answers[number % 2]) for number, prompt in enumerate(prompts)]
    rows += [(prompt, answers[1 - number % 2]) for number, prompt in enumerate(prompts)]
    width = max(len(prompt) + len(answer) for prompt, answer in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    labels = torch.full_like(ids, -100)
    for row, (prompt, answer) in enumerate(rows):
        ids[row, : len(prompt) + len(answer)] = torch.tensor(prompt + answer)
        labels[row, len(prompt) : len(prompt) + len(answer)] = torch.tensor(answer)
    for _ in range(steps):
        loss = model(input_ids=ids, labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return loss.item()


OTHER_STATEMENT = "theorem nano (p q : Prop) (hq : q) : p ∨ q := by"


def _prompt_set(path, count, split, answered_wrongly=0):
    """The last ``answered_wrongly`` rows are judged against another statement than the one that the prompt shows."""
    rows = [
        {
            "data_source": "nano",
            "prompt": messages(number % 16),
            "ability": "theorem_proving",
            "reward_model": {"style": "lean", "ground_truth": STATEMENT if number < count - answered_wrongly else OTHER_STATEMENT},
            "extra_info": {"index": number, "split": split, "problem_id": f"{split}-{number}", "name": "nano"},
        }
        for number in range(count)
    ]
    pandas.DataFrame(rows).to_parquet(path)
    return path


@pytest.fixture(scope="session")
def tiny_prover(tmp_path_factory):
    """A folder with ``model/``, ``train.parquet`` and ``val.parquet``."""
    folder = tmp_path_factory.mktemp("prover")
    tokenizer = _tokenizer()
    torch.manual_seed(0)
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=32,
            max_position_embeddings=256,
            tie_word_embeddings=True,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            rope_theta=300.0,
        )
    )
    assert _train(model, tokenizer) < 0.2, "the tiny prover did not learn its two answers"
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    _prompt_set(folder / "train.parquet", 64, "train")
    _prompt_set(folder / "val.parquet", 4, "val", answered_wrongly=1)
    return folder


@pytest.fixture
def train(tiny_prover, tmp_path):
    """``train(config, on_progress=...)`` trains the tiny prover below ``tmp_path``: ``run/`` and ``rl.log``."""
    return partial(
        run_rl,
        out_dir=tmp_path / "run",
        model_path=tiny_prover / "model",
        train_file=tiny_prover / "train.parquet",
        val_file=tiny_prover / "val.parquet",
        log_file=tmp_path / "rl.log",
    )
