"""The losses of ``loss=NAME``: one module and one class each, with the paper's formula in the class's docstring.

Nothing here imports verl; ``kimina.verl.policy_losses`` registers these classes there.
"""

from kimina.losses.base import Loss, LossSettings, Scope
from kimina.losses.dapo import Dapo
from kimina.losses.drgpo import Drgpo
from kimina.losses.grpo import Grpo
from kimina.losses.gspo import Gspo
from kimina.losses.mirror_descent import MirrorDescent
from kimina.losses.rest import Rest
from kimina.losses.rloo import Rloo

LOSSES: dict[str, type[Loss]] = {
    loss.name: loss for loss in (Grpo, Drgpo, MirrorDescent, Dapo, Gspo, Rloo, Rest)
}

__all__ = ["LOSSES", "Loss", "LossSettings", "Scope"]
