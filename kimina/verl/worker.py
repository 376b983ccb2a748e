"""verl's training worker with what our losses ask of it."""

from verl.single_controller.base.decorator import Dispatch, register
from verl.workers.engine_workers import ActorRolloutRefWorker


class KiminaWorker(ActorRolloutRefWorker):
    """``ActorRolloutRefWorker`` whose optimiser can be set back."""

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def reset_optimizer(self) -> None:
        """Forget the optimiser's moments and step counts; parameters and learning rate stay (Kimi k1.5, section 2.3.2)."""
        self.actor.engine.optimizer.state.clear()
