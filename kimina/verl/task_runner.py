"""Where the trainer runs: verl's task runner with our trainer class, in a Ray actor or in the driver itself."""

import ray
import transfer_queue as tq
from omegaconf import OmegaConf
from verl.trainer.main_ppo import TaskRunnerV1
from verl.utils.logging_utils import configure_verl_logging

from kimina.verl.heap import keep_what_lives

_Base = TaskRunnerV1.__ray_metadata__.modified_class


class KiminaTaskRunner(_Base):
    """verl's ``TaskRunnerV1`` with our trainers; verl 0.9.1 has no setting for the trainer's class."""

    def run(self, config) -> None:
        """Train until the last step."""
        from kimina.verl.trainer_modes import TRAINERS

        configure_verl_logging()
        config.transfer_queue.enable = True
        OmegaConf.resolve(config)
        self.config = config
        tq.init(config.transfer_queue)
        succeeded = False
        try:
            self.trainer = TRAINERS[config.trainer.v1.trainer_mode](config=config)
            self.trainer.init(on_started=self.init_agent_loop_manager)
            keep_what_lives()
            self.trainer.fit(self.agent_loop_manager)
            succeeded = True
        finally:
            try:
                if self.trainer is not None and "logger" in vars(self.trainer):
                    self.trainer.logger.finish(exit_code=0 if succeeded else 1)
            finally:
                tq.close()


RemoteTaskRunner = ray.remote(KiminaTaskRunner)


class LocalTaskRunner:
    """Stands where verl expects a Ray actor class, and runs the trainer in the driver's own process.

    On a small machine this saves a process, and with it ten seconds of imports and half a gigabyte.
    """

    @classmethod
    def remote(cls) -> "LocalTaskRunner":
        return cls()

    @property
    def run(self) -> "LocalTaskRunner.Method":
        return self.Method()

    class Method:
        """Like an actor's method: ``remote`` returns a reference to the result."""

        def remote(self, config) -> ray.ObjectRef:
            KiminaTaskRunner().run(config)
            return ray.put(None)
