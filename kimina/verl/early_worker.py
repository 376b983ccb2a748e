"""verl's training worker, built without making the trainer wait.

verl starts its actors one after the other and waits for the first one's model, which on two cores leaves one core idle
for ten seconds. Here the trainer goes on to start the others.
"""

import traceback

from verl.single_controller.base.decorator import Dispatch, register

from kimina.verl.worker import KiminaWorker


class EarlyWorker(KiminaWorker):
    """``KiminaWorker`` whose ``init_model`` returns at once to its caller.

    An actor with asynchronous methods may start two calls in another order than they were made in. So the two methods
    that the trainer calls first build the model where ``init_model`` has not done so yet.
    """

    _is_built = False

    @register(dispatch_mode=Dispatch.ONE_TO_ALL, blocking=False)
    def init_model(self):
        if self._is_built:
            return
        try:
            super().init_model()
        except BaseException:
            # nobody waits for this call's result: the log must have the reason
            traceback.print_exc()
            raise
        self._is_built = True

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def load_checkpoint(self, *args, **kwargs):
        self.init_model()
        return super().load_checkpoint(*args, **kwargs)

    @register(dispatch_mode=Dispatch.ONE_TO_ALL, blocking=False)
    async def update_weights(self, *args, **kwargs):
        self.init_model()
        return await super().update_weights(*args, **kwargs)
