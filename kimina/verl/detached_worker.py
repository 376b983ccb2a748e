"""The training worker of ``rollout=separate_async``; apart, because verl's module for it takes seconds to import."""

from verl.experimental.separation.engine_workers import DetachActorWorker

from kimina.verl.worker import KiminaWorker


class KiminaDetachedWorker(KiminaWorker, DetachActorWorker):
    """``KiminaWorker`` that can set its weights aside and take them back."""
