"""From token losses to one number, independently of how a mini-batch is cut into micro-batches and over workers.

A mini-batch holds N responses with mask m_it (1 where token t of response i counts) and token losses l_it:

- ``token-mean``: Σ_it m_it l_it / Σ_it m_it, the mean over all tokens;
- ``seq-mean-token-sum``: (1/N) Σ_i Σ_t m_it l_it;
- ``seq-mean-token-sum-norm``: the same divided by a constant c, the generation budget (Dr. GRPO's code);
- ``seq-mean-token-mean``: (1/N) Σ_i (Σ_t m_it l_it / Σ_t m_it), each response averaged over its own length (GRPO).

N and the number of tokens are those of the whole mini-batch, so the parts of a cut mini-batch add up to the whole. A
response without live tokens counts as zero and stays in N.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

Mode = Literal["token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm", "seq-mean-token-mean"]
MODES: Sequence[str] = get_args(Mode)


@dataclass(frozen=True)
class Scope:
    """What the tensors at hand are a part of.

    Attributes:
        mode: one of ``MODES``.
        sequences: N, the responses of the whole mini-batch, over all workers.
        tokens: live tokens of the whole mini-batch, over all workers.
        constant: c, in tokens; read by ``seq-mean-token-sum-norm`` alone.
        workers: data-parallel workers. Their gradients are averaged, so each worker's loss is multiplied by it.
    """

    mode: str
    sequences: int
    tokens: int
    constant: float | None = None
    workers: int = 1

    def __post_init__(self) -> None:
        """Refuse what has no defined value.

        Raises:
            ValueError: an unknown mode, or ``seq-mean-token-sum-norm`` without a positive constant.
        """
        if self.mode not in MODES:
            raise ValueError(f"loss_agg_mode={self.mode} is none of {', '.join(MODES)}")
        if self.mode == "seq-mean-token-sum-norm" and not (self.constant is not None and self.constant > 0):
            raise ValueError(f"{self.mode} needs a positive constant to divide by, not {self.constant}")

    @classmethod
    def of(cls, mode: str, mask_BT: Tensor, constant: float | None = None) -> "Scope":
        """Return the scope of tensors that are a whole mini-batch, on one worker."""
        return cls(mode, sequences=mask_BT.shape[0], tokens=int(mask_BT.sum()), constant=constant)

    def of_tokens(self, losses_BT: Tensor, mask_BT: Tensor) -> Tensor:
        """Return this part's share of the aggregated token losses (a scalar).

        Args:
            losses_BT: token losses, responses × positions.
            mask_BT: 1 where a token counts; what stands elsewhere in ``losses_BT`` is ignored, NaN too.
        """
        live_BT = torch.where(mask_BT.bool(), losses_BT, 0.0)
        if self.mode == "token-mean":
            # without live tokens there is nothing to divide
            return live_BT.sum() * (self.workers / max(self.tokens, 1))
        sums_B = live_BT.sum(dim=-1)
        if self.mode == "seq-mean-token-mean":
            sums_B = sums_B / mask_BT.sum(dim=-1).clamp(min=1)
        return self.of_sequences(sums_B)

    def of_sequences(self, losses_B: Tensor) -> Tensor:
        """Return this part's share of the mean over responses, divided by the constant where the mode has one."""
        divisor = self.sequences * (self.constant if self.mode == "seq-mean-token-sum-norm" else 1.0)
        return losses_B.sum() * (self.workers / divisor)
