"""The Qwen3 decoder with weights fused for fast decoding on a CPU.

The arithmetic is that of the Hugging Face module (grouped-query attention with q/k normalisation, rotary positions,
SwiGLU), checked against it by the tests. Three things make it fast for small models: no module or cache machinery
around the tensor operations, one matrix product for q, k and v and one for gate and up, and a prompt's keys and values
held once for all samples of that prompt.

Axes in names: P prompts, S samples (slots) a prompt, T prompt tokens, D width, K key/value heads, G query heads of a
key/value head, H all query heads, d head width, V vocabulary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F


@dataclass(frozen=True)
class Layer:
    """One decoder layer's weights; ``qkv`` and ``gate_up`` are the concatenated projections."""

    input_norm: torch.Tensor
    qkv: torch.Tensor
    qkv_bias: torch.Tensor | None
    qk_norm: torch.Tensor
    out: torch.Tensor
    out_bias: torch.Tensor | None
    post_norm: torch.Tensor
    gate_up: torch.Tensor
    down: torch.Tensor


@dataclass
class PrefixCache:
    """A prompt batch's keys and values, each of shape (P, K, T, d) a layer; ``mask_P11T`` is 0 or -inf."""

    keys: list[torch.Tensor]
    values: list[torch.Tensor]
    mask_P11T: torch.Tensor
    lengths_P: torch.Tensor


@dataclass
class SuffixCache:
    """Keys and values of the sampled tokens, each of shape (P, K, S, capacity, d) a layer."""

    keys: list[torch.Tensor]
    values: list[torch.Tensor]


def is_supported(config: Mapping[str, Any]) -> bool:
    """Whether ``Qwen3Decoder`` computes this model: plain Qwen3 with default rotary positions and full attention."""
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    return (
        config.get("model_type") == "qwen3"
        and config.get("hidden_act", "silu") == "silu"
        and rope.get("rope_type", rope.get("type", "default")) == "default"
        and not config.get("use_sliding_window", False)
        and not config.get("quantization_config")
    )


def _check_shapes(config: Mapping[str, Any], state: Mapping[str, torch.Tensor], head_dim: int) -> None:
    """Compare what ``config`` says with the weights: the arithmetic alone would accept some that don't fit."""
    width, inner = config["hidden_size"], config["intermediate_size"]
    shapes = {
        "model.embed_tokens.weight": (config["vocab_size"], width),
        "model.norm.weight": (width,),
        "model.layers.0.self_attn.q_proj.weight": (config["num_attention_heads"] * head_dim, width),
        "model.layers.0.self_attn.k_proj.weight": (config["num_key_value_heads"] * head_dim, width),
        "model.layers.0.self_attn.q_norm.weight": (head_dim,),
        "model.layers.0.mlp.down_proj.weight": (width, inner),
    }
    for name, shape in shapes.items():
        if tuple(state[name].shape) != shape:
            raise ValueError(f"{name} has shape {tuple(state[name].shape)}, and config.json says {shape}")
    layers = {name.split(".")[2] for name in state if name.startswith("model.layers.")}
    if len(layers) != config["num_hidden_layers"]:
        raise ValueError(f"the weights have {len(layers)} layers, and config.json says {config['num_hidden_layers']}")


class Qwen3Decoder:
    """A Qwen3 causal language model built from a Hugging Face config and state dict.

    Args:
        config: the content of ``config.json``; ``is_supported(config)`` must hold.
        state: Hugging Face parameter names to tensors. With tied embeddings ``lm_head.weight`` may be missing.
        dtype: the dtype of weights and activations; logits are returned as they come, in this dtype.

    Raises:
        KeyError: a parameter is missing from ``state``.
        ValueError: a parameter has another shape than ``config`` says.
    """

    def __init__(self, config: Mapping[str, Any], state: Mapping[str, torch.Tensor], dtype: torch.dtype = torch.float32):
        self.heads = config["num_attention_heads"]
        self.kv_heads = config["num_key_value_heads"]
        self.head_dim = config.get("head_dim") or config["hidden_size"] // self.heads
        self.eps = config["rms_norm_eps"]
        self.layer_count = config["num_hidden_layers"]
        self.dtype = dtype
        rope = config.get("rope_parameters") or {}
        theta = rope.get("rope_theta") or config.get("rope_theta") or 10000.0
        self.inverse_frequency = 1.0 / theta ** (torch.arange(0, self.head_dim, 2).float() / self.head_dim)
        self.tied = bool(config.get("tie_word_embeddings", False))
        _check_shapes(config, state, self.head_dim)
        self.load(state)

    def load(self, state: Mapping[str, torch.Tensor]) -> None:
        """Replace the weights. Tensors are copied where they are fused and shared where they are not."""

        def get(name: str) -> torch.Tensor:
            return state[name].detach().to("cpu", self.dtype)

        def optional_bias(prefix: str, names: Sequence[str]) -> torch.Tensor | None:
            if f"{prefix}{names[0]}.bias" not in state:
                return None
            return torch.cat([get(f"{prefix}{name}.bias") for name in names])

        self.embedding_VD = get("model.embed_tokens.weight")
        self.head_VD = self.embedding_VD if self.tied else get("lm_head.weight")
        self.final_norm = get("model.norm.weight")
        self.layers = []
        for index in range(self.layer_count):
            attention, mlp = f"model.layers.{index}.self_attn.", f"model.layers.{index}.mlp."
            projections = ("q_proj", "k_proj", "v_proj")
            qk_norm = torch.cat(
                [
                    get(f"{attention}q_norm.weight").expand(self.heads, -1),
                    get(f"{attention}k_norm.weight").expand(self.kv_heads, -1),
                ]
            )
            self.layers.append(
                Layer(
                    input_norm=get(f"model.layers.{index}.input_layernorm.weight"),
                    qkv=torch.cat([get(f"{attention}{name}.weight") for name in projections]),
                    qkv_bias=optional_bias(attention, projections),
                    qk_norm=qk_norm,
                    out=get(f"{attention}o_proj.weight"),
                    out_bias=optional_bias(attention, ["o_proj"]),
                    post_norm=get(f"model.layers.{index}.post_attention_layernorm.weight"),
                    gate_up=torch.cat([get(f"{mlp}gate_proj.weight"), get(f"{mlp}up_proj.weight")]),
                    down=get(f"{mlp}down_proj.weight"),
                )
            )

    # ---- the two passes ---------------------------------------------------------------------------------------------
    def prefill(self, prompts: Sequence[Sequence[int]]) -> tuple[torch.Tensor, PrefixCache]:
        """Compute all prompts at once; return the logits after each prompt, shape (P, V), and the prefix cache."""
        lengths = [len(prompt) for prompt in prompts]
        width = max(lengths)
        # padding stands on the right, so causal attention needs no mask for it
        ids_PT = torch.tensor([list(prompt) + [0] * (width - len(prompt)) for prompt in prompts])
        lengths_P = torch.tensor(lengths)
        cos, sin = self._rotation(torch.arange(width))
        cos, sin = cos[None, :, None], sin[None, :, None]
        x_PTD = self.embedding_VD[ids_PT]
        keys, values = [], []
        for layer in self.layers:
            q, k, v = self._project(layer, x_PTD, cos, sin)
            q, k, v = q.transpose(1, 2), k.transpose(1, 2).contiguous(), v.transpose(1, 2).contiguous()
            keys.append(k)
            values.append(v)
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.heads != self.kv_heads)
            x_PTD = self._finish(layer, x_PTD, mixed.transpose(1, 2).flatten(2))
        hidden_PD = x_PTD[torch.arange(len(prompts)), lengths_P - 1]
        mask_PT = torch.zeros(len(prompts), width, dtype=self.dtype)
        mask_PT.masked_fill_(torch.arange(width)[None] >= lengths_P[:, None], float("-inf"))
        return self._logits(hidden_PD), PrefixCache(keys, values, mask_PT[:, None, None], lengths_P)

    def step(self, tokens_PS: torch.Tensor, position: int, prefix: PrefixCache, suffix: SuffixCache) -> torch.Tensor:
        """Append one token to every slot and return the next logits, shape (P, S, V).

        ``position`` is the number of sampled tokens before this one; the caches' entry at ``position`` is written.
        """
        P, S = tokens_PS.shape
        K, G, d = self.kv_heads, self.heads // self.kv_heads, self.head_dim
        T = prefix.mask_P11T.shape[-1]
        cos, sin = self._rotation(prefix.lengths_P + position)
        cos, sin = cos[:, None, None], sin[:, None, None]
        uneven = bool((prefix.lengths_P != T).any())
        x_PSD = self.embedding_VD[tokens_PS]
        for index, layer in enumerate(self.layers):
            q, k, v = self._project(layer, x_PSD, cos, sin)
            suffix.keys[index][:, :, :, position] = k.transpose(1, 2)
            suffix.values[index][:, :, :, position] = v.transpose(1, 2)
            keys = suffix.keys[index][:, :, :, : position + 1]
            values = suffix.values[index][:, :, :, : position + 1]
            q_PKSGd = (q * d**-0.5).view(P, S, K, G, d).transpose(1, 2).contiguous()
            over_prefix = torch.matmul(q_PKSGd.view(P, K, S * G, d), prefix.keys[index].transpose(-1, -2))
            if uneven:
                over_prefix += prefix.mask_P11T
            over_suffix = torch.matmul(q_PKSGd, keys.transpose(-1, -2))
            weights = torch.cat([over_prefix.view(P, K, S, G, T), over_suffix], -1).softmax(-1)
            mixed = torch.matmul(weights[..., T:], values)
            mixed += torch.matmul(weights[..., :T].flatten(2, 3), prefix.values[index]).view(P, K, S, G, d)
            x_PSD = self._finish(layer, x_PSD, mixed.transpose(1, 2).reshape(P, S, K * G * d))
        return self._logits(x_PSD)

    def new_suffix(self, prompts: int, slots: int, capacity: int) -> SuffixCache:
        """Return an empty cache for ``capacity`` sampled tokens a slot."""
        shape = (prompts, self.kv_heads, slots, capacity, self.head_dim)

        def make() -> list[torch.Tensor]:
            return [torch.empty(shape, dtype=self.dtype) for _ in self.layers]

        return SuffixCache(make(), make())

    # ---- pieces of a layer ------------------------------------------------------------------------------------------
    def _rotation(self, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return cosine and signed sine, each (positions, d), of the rotary embedding."""
        angles = positions.float()[:, None] * self.inverse_frequency
        cos, sin = angles.cos(), angles.sin()
        # the sign of the rotated half is put into the sine, so that a rotation is two products and a roll
        return torch.cat([cos, cos], -1).to(self.dtype), torch.cat([-sin, sin], -1).to(self.dtype)

    def _project(self, layer: Layer, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor):
        """Return rotated q (…, H, d), rotated k (…, K, d) and v (…, K, d) of hidden states (a, b, D)."""
        hidden = F.rms_norm(x, x.shape[-1:], layer.input_norm, self.eps)
        qkv = F.linear(hidden, layer.qkv, layer.qkv_bias).unflatten(-1, (-1, self.head_dim))
        rotated = self.heads + self.kv_heads
        qk = F.rms_norm(qkv[:, :, :rotated], (self.head_dim,), None, self.eps) * layer.qk_norm
        qk = qk * cos + qk.roll(self.head_dim // 2, -1) * sin
        return qk[:, :, : self.heads], qk[:, :, self.heads :], qkv[:, :, rotated:]

    def _finish(self, layer: Layer, x: torch.Tensor, mixed: torch.Tensor) -> torch.Tensor:
        """Add the attention output and the feed-forward block to the residual stream."""
        x = x + F.linear(mixed, layer.out, layer.out_bias)
        hidden = F.rms_norm(x, x.shape[-1:], layer.post_norm, self.eps)
        gate, up = F.linear(hidden, layer.gate_up).chunk(2, -1)
        return x + F.linear(F.silu(gate) * up, layer.down)

    def _logits(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(F.rms_norm(x, x.shape[-1:], self.final_norm, self.eps), self.head_VD)
