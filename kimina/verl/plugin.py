"""What verl imports in every process of a CPU run (``VERL_USE_EXTERNAL_MODULES``): the platform, and nothing heavy."""

from kimina.verl import platform  # noqa: F401  (registers the platform "cpu")
