"""verl's training worker with what our losses ask of it."""

from omegaconf import open_dict
from verl.single_controller.base.decorator import Dispatch, register
from verl.workers.engine_workers import ActorRolloutRefWorker

from kimina.verl.heap import keep_what_lives


class KiminaWorker(ActorRolloutRefWorker):
    """``ActorRolloutRefWorker`` whose optimiser can be set back, and whose loss has no term of weight 0."""

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def init_model(self):
        """Build what verl builds; a KL term of weight 0 only stands for the wish to have a reference model."""
        if self.config.actor.kl_loss_coef == 0:
            # verl would compute it all the same, and multiply a 0/0 by 0 where a whole mini-batch is masked
            with open_dict(self.config.actor):
                self.config.actor.use_kl_loss = False
        super().init_model()
        keep_what_lives()

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def reset_optimizer(self) -> None:
        """Forget the optimiser's moments and step counts; parameters and learning rate stay (Kimi k1.5, section 2.3.2)."""
        self.actor.engine.optimizer.state.clear()
