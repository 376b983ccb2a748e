"""Keeps TRL out of verl's training workers (``actor_rollout_ref.model.external_lib``).

When TRL is installed, verl 0.9.1 adapts a class of TRL's value-head models that newer TRL releases no longer have, and
fails to build any model. Training workers don't use TRL; where it cannot be found, verl leaves that step out. Our own
processes that do use TRL (warm start, preference training) never import this module.
"""

import os
import sys

if "RANK" in os.environ and os.environ.get("WG_BACKEND") == "ray":
    sys.modules.setdefault("trl", None)
