"""An induction circuit as initial weights: the untrained model already copies what stands in its context.

A small model that starts from noise finds copying late, at a moment that differs by thousands of steps between seeds.
The two attention heads that copying needs are known (Olsson et al. 2022, "In-context Learning and Induction Heads"),
so they are written into the weights; training keeps and refines them.

Notation: ``e(t)`` is the embedding of the token at position t, of D entries; ``b`` a unit vector that every embedding
carries with equal weight (a logit that all tokens share changes no probability); ``R`` and ``W`` are d orthonormal
directions each, orthogonal to each other and to ``b``.

1. A head of layer 0 attends to the position before: its query and key read ``b`` alone and differ by a rotation of one
   position, in the rotary pairs whose angle changes fast. It writes ``W R^T e(t - 1)``.
2. A head of layer 1 matches ``R^T e(t)`` (query) with ``W^T`` of what the first head wrote (key), in the rotary pairs
   that hardly turn over a prompt. It attends to the successor of an earlier ``e(t)`` and writes that token's
   embedding, projected on d directions, into the residual stream, where the tied head reads it as the next token.
   As many key-value heads as there are (two at most) copy d directions each.
"""

import math
from typing import TYPE_CHECKING

import torch

from kimina.sft.circuit_size import angle, check_circuit_size, rotary_pairs

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM


def install_induction_circuit(model: "Qwen3ForCausalLM", copy_strength: float, seed: int) -> None:
    """Write the circuit into a freshly initialised model with tied embeddings.

    The outputs of all other heads and of the feed-forward layers start at zero, so that nothing drowns the circuit.
    ``copy_strength`` scales what the copying heads write.

    Raises:
        UserError: the model is too small for the circuit, or its rotary angles don't suit it.
    """
    config = model.config
    hidden, head = config.hidden_size, config.head_dim
    theta = config.rope_parameters["rope_theta"]
    check_circuit_size(config.num_hidden_layers, hidden, head, theta)
    slow, fast = rotary_pairs(theta, head)
    generator = torch.Generator().manual_seed(seed)
    basis_DD = torch.linalg.qr(torch.randn(hidden, hidden, generator=generator)).Q
    shared_D, read_Dd, write_Dd = basis_DD[:, 0], basis_DD[:, 1 : 1 + head], basis_DD[:, 1 + head : 1 + 2 * head]
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        _share_direction(model.model.embed_tokens.weight, shared_D)
        first, second = (layer.self_attn for layer in model.model.layers[:2])
        query_d, key_d = _one_position_apart(fast, head, theta)
        first.q_proj.weight[:head] = torch.outer(query_d, shared_D)
        first.k_proj.weight[:head] = torch.outer(key_d, shared_D)
        first.v_proj.weight[:head] = read_Dd.T
        first.o_proj.weight[:, :head] = write_Dd
        queries_a_key = config.num_attention_heads // config.num_key_value_heads
        entries = torch.tensor([*slow, *(pair + head // 2 for pair in slow)])
        matched = (slice(0, len(entries)), slice(head - len(entries), head))
        copied_Dd = (read_Dd, basis_DD[:, hidden - head :])
        for kv in range(min(2, config.num_key_value_heads)):
            queries = slice(kv * queries_a_key * head, kv * queries_a_key * head + head)
            keys = slice(kv * head, (kv + 1) * head)
            for projection, rows, directions_Dd in ((second.q_proj, queries, read_Dd), (second.k_proj, keys, write_Dd)):
                block = torch.zeros(head, hidden)
                block[entries] = directions_Dd[:, matched[kv]].T
                projection.weight[rows] = block
            second.v_proj.weight[keys] = copied_Dd[kv].T
            second.o_proj.weight[:, queries] = copy_strength * copied_Dd[kv]


def _one_position_apart(fast: list[int], head: int, theta: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a query and a key whose rotated product is largest where the key stands one position before."""
    query_d, key_d = torch.zeros(head), torch.zeros(head)
    for pair in fast:
        turn = angle(pair, theta, head)
        key_d[pair] = 1.0
        query_d[pair], query_d[pair + head // 2] = math.cos(turn), -math.sin(turn)
    return query_d, key_d


def _share_direction(embeddings_VD: torch.Tensor, shared_D: torch.Tensor) -> None:
    """Give every embedding the same component along ``shared_D``, as long as the rest of it is on average."""
    length = embeddings_VD.std() * embeddings_VD.shape[1] ** 0.5
    embeddings_VD -= torch.outer(embeddings_VD @ shared_D, shared_D)
    embeddings_VD += length * shared_D
