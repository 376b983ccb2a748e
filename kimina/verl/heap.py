"""Python's garbage collector in processes that have imported torch, transformers and verl."""

import gc


def keep_what_lives() -> None:
    """Take everything that is alive now out of later collections.

    That is half a million objects of imported modules, which stay until the process ends. Each full collection would look
    at all of them, a tenth of a second several times a step.
    """
    gc.collect()
    gc.freeze()
