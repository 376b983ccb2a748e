"""The tokenizer: lossless on any text, short on the corpus, with a Qwen3-style chat template."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from kimina.data.nano.answers import BRIDGES, OPENINGS, REMARKS, answer
from kimina.data.prompts import SYSTEM_PROMPT, USER_PREFIX, prompt_messages
from kimina.sft.tokenizer import END, PAD, PHRASES, START, train_tokenizer
from kimina.sft.warm_start import corpus

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def lossless(tokenizer):
    def same(text):
        return tokenizer.decode(tokenizer.encode(text, add_special_tokens=False), skip_special_tokens=False) == text

    return same


def test_any_unicode_text_survives(lossless):
    @settings(max_examples=300, deadline=None)
    @given(st.text(max_size=60))
    def check(text):
        assert lossless(text)

    check()


def test_any_bytes_survive(lossless):
    @settings(max_examples=150, deadline=None)
    @given(st.binary(max_size=60))
    def check(raw):
        assert lossless(raw.decode("latin-1")) and lossless(raw.decode("utf-8", errors="replace"))

    check()


def test_pieces_of_the_corpus_in_any_order_survive(lossless):
    pieces = [*PHRASES, PAD, START, END, "```tactics\n", " (hp : p)", "  exact h1", "∀ x, ", "⟨?_, ?_⟩", "· ", "\n\n", "  ", "\t", "🙂"]

    @settings(max_examples=150, deadline=None)
    @given(st.lists(st.sampled_from(pieces), max_size=12))
    def check(chosen):
        assert lossless("".join(chosen))

    check()


def test_answers_and_prompts_survive(lossless, problems, tokenizer):
    rng = random.Random("answers")
    lengths = []
    for problem in problems[:200]:
        text = answer(problem, problem.proof(rng, 0.3), rng)
        assert lossless(text)
        assert lossless(prompt_messages(problem.informal, problem.statement)[1]["content"])
        lengths.append(len(tokenizer.encode(text)))
    assert max(lengths) < 192, "an answer must fit into the response length of the nano experiment"


def test_fixed_phrases_are_one_token(tokenizer):
    assert len({*PHRASES}) == len(PHRASES)
    for phrase in (SYSTEM_PROMPT, USER_PREFIX, *PHRASES, *(f"\n{sentence}" for sentence in (*OPENINGS, *REMARKS, *BRIDGES))):
        assert len(tokenizer.encode(phrase, add_special_tokens=False)) == 1, phrase


def test_special_tokens_are_those_of_qwen(tokenizer):
    assert tokenizer.convert_tokens_to_ids([PAD, START, END]) == [0, 1, 2]
    assert (tokenizer.pad_token, tokenizer.eos_token) == ("<|endoftext|>", "<|im_end|>")


def test_the_chat_template_is_like_qwens(tokenizer):
    messages = [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]
    asked = "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n"
    assert tokenizer.apply_chat_template(messages, tokenize=False) == asked
    generating = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert generating == asked + "<|im_start|>assistant\n"
    turn = [*messages, {"role": "assistant", "content": "A"}]
    assert tokenizer.apply_chat_template(turn, tokenize=False) == asked + "<|im_start|>assistant\nA<|im_end|>\n"
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=True, return_dict=False)
    assert ids == tokenizer.encode(generating, add_special_tokens=False)


def test_the_vocabulary_has_the_asked_size_and_training_repeats(tokenizer, config, problems):
    assert len(tokenizer) <= config["sft"]["vocab_size"]
    assert sorted(tokenizer.get_vocab().values()) == list(range(len(tokenizer)))
    again = train_tokenizer(corpus(problems, 1), config["sft"]["vocab_size"])
    assert again.get_vocab() == tokenizer.get_vocab()


def test_a_saved_tokenizer_is_the_same(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    text = "theorem nano_chain (p q : Prop) (hp : p) : p := by\n  exact hp <|im_end|> é🙂"
    assert loaded.encode(text) == tokenizer.encode(text)
    assert loaded.chat_template == tokenizer.chat_template
    assert loaded.decode(loaded.encode(text)) == text
