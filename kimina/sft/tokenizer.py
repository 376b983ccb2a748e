"""A byte-level tokenizer with a Qwen3-style chat template, trained on the nano corpus.

Byte pairs are merged as usual, so that any text can be encoded; besides, every unit that is frequent in the corpus
(a hypothesis with its type, a tactic with its indentation, a sentence, a fence) is one token. Statements become short
and their parts nearly unique within a prompt, which is what lets a model of this size learn to copy them.
"""

import json
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kimina.data.nano.answers import BRIDGES, OPENINGS, REMARKS
from kimina.data.prompts import SYSTEM_PROMPT, USER_MIDDLE, USER_PREFIX

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PAD, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# Fixed texts are one token each: a small model's context is spent on what varies.
PHRASES = (
    *(SYSTEM_PROMPT, USER_PREFIX, USER_MIDDLE.rstrip("\n"), "system\n", "user\n", "assistant\n"),
    *(f"\n{sentence}" for sentence in (*OPENINGS, *REMARKS, *BRIDGES)),
)
# Text is split here before byte pairs are merged: a tactic with its indentation, a binder group, an operator
# with its spaces, a sentence and a fence are units; hypothesis names and variables are the same token everywhere.
SPLIT = "|".join(
    (
        r"\n?</?think>",
        r"\n?```[a-z0-9]*",
        r"\n?theorem nano_[a-z]+",
        r" \((?:[a-zA-Z] )+: (?:Nat → Prop|Nat → Nat|Prop|Nat)\)",
        r" \(h[a-zA-Z0-9']+ : [^():]+\)",
        r"\n +\| (?:zero|succ k ih) => exact ",
        r"\n +(?:· )?[a-z]+(?: \[← | \[| ⟨| at | )?",
        r"Or\.in[lr] \(",
        r"Nat\.[a-z_]+ ?",
        r"\n?(?:I|[A-Z][a-z]{2,})(?: [a-z]+)*[.?:] ?",
        r"h[a-zA-Z]*[0-9]?'*",
        r" (?:→|∧|∨|=|≤|<|\+|\*|↔) ",
        r"\) : | : | \(| := by",
        r"[∀∃] x, ",
        r", \?_|\?_|, ",
        r"\.[12]",
        r"[PQRSfg] (?=[0-9a-ex(])",
        r" ?[A-Za-z]{2,}",
        r"[A-Za-z]",
        r"[0-9]",
        r"\s",
        r"[^\sA-Za-z0-9]",
    )
)


def train_tokenizer(texts: Iterable[str], vocab_size: int, merges: int = 64) -> "PreTrainedTokenizerFast":
    """Train on ``texts`` and return a tokenizer that encodes any text without loss.

    The vocabulary holds 256 bytes, ``merges`` merged byte pairs, and the units that occur most often, as far as
    ``vocab_size`` goes and as long as a unit occurs at least ten times.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    texts = list(texts)
    splitting = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    pairs = Tokenizer(models.BPE())
    pairs.pre_tokenizer = splitting
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=len(alphabet) + merges, initial_alphabet=alphabet, show_progress=False)
    pairs.train_from_iterator(texts, trainer)
    model = json.loads(pairs.to_str())["model"]
    vocabulary: dict[str, int] = {token: 3 + index for token, index in model["vocab"].items()}
    vocabulary |= {PAD: 0, START: 1, END: 2}
    counts = Counter(unit for text in texts for unit, _ in splitting.pre_tokenize_str(text))
    room = vocab_size - len(vocabulary) - len(PHRASES)
    frequent = [unit for unit, count in counts.most_common() if count >= 10 and unit not in vocabulary]
    for unit in frequent[:room]:
        vocabulary[unit] = len(vocabulary)

    pair_list = [tuple(pair) if isinstance(pair, list) else tuple(pair.split(" ")) for pair in model["merges"]]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=pair_list, ignore_merges=True))
    tokenizer.pre_tokenizer = splitting
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([PAD, START, END])
    tokenizer.add_tokens([AddedToken(phrase, normalized=False) for phrase in PHRASES])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PAD, eos_token=END, chat_template=CHAT_TEMPLATE, clean_up_tokenization_spaces=False
    )
