"""A small Qwen3 model, initialised so that it learns to copy within minutes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase, Qwen3ForCausalLM


def build_model(architecture: Mapping, tokenizer: "PreTrainedTokenizerBase", seed: int) -> "Qwen3ForCausalLM":
    """Return a randomly initialised Qwen3 model.

    ``architecture`` holds ``hidden_size``, ``layers``, ``heads``, ``kv_heads``, ``head_dim``, ``intermediate_size``,
    ``max_positions``, ``rope_theta``, ``init_std``, ``qk_norm`` (the initial weight of the query and key norms; above 1
    it sharpens attention from the start) and ``copy_strength`` (above 0 the model starts with an induction circuit
    whose outputs are scaled by it).

    Raises:
        UserError: the model is too small for the circuit.
    """
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    from kimina.sft.induction_circuit import install_induction_circuit

    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=architecture["hidden_size"],
        intermediate_size=architecture["intermediate_size"],
        num_hidden_layers=architecture["layers"],
        num_attention_heads=architecture["heads"],
        num_key_value_heads=architecture["kv_heads"],
        head_dim=architecture["head_dim"],
        max_position_embeddings=architecture["max_positions"],
        rope_parameters={"rope_type": "default", "rope_theta": architecture["rope_theta"]},
        initializer_range=architecture["init_std"],
        tie_word_embeddings=True,
        attention_dropout=0.0,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        attn_implementation="sdpa",
    )
    model = Qwen3ForCausalLM(config)
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.q_norm.weight.fill_(architecture["qk_norm"])
            layer.self_attn.k_norm.weight.fill_(architecture["qk_norm"])
    if architecture["copy_strength"]:
        install_induction_circuit(model, architecture["copy_strength"], seed)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model
