"""Python's garbage collector in processes that have imported torch, transformers and verl."""

import gc


def keep_what_lives() -> None:
    """Take everything that is alive now out of later collections.

    Those are mostly of imported modules and stay until the process ends. Each full collection would look at all of them,
    which took 7 % of the training worker's time at nano scale.
    """
    gc.collect()
    gc.freeze()
