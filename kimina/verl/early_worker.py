"""verl's training worker, built without making the trainer wait.

verl starts its actors one after the other and waits for the first one's model, which on two cores leaves one core idle
for ten seconds. Here the trainer goes on to start the others; what it asks of this worker next waits its turn in the
worker's queue.
"""

import traceback

from verl.single_controller.base.decorator import Dispatch, register

from kimina.verl.worker import KiminaWorker


class EarlyWorker(KiminaWorker):
    """``KiminaWorker`` whose ``init_model`` returns at once to its caller."""

    @register(dispatch_mode=Dispatch.ONE_TO_ALL, blocking=False)
    def init_model(self):
        try:
            super().init_model()
        except BaseException:
            # nobody waits for this call's result: the log must have the reason, for the next call fails without it
            traceback.print_exc()
            raise
