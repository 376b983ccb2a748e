"""The stages of an experiment and the graph that they form."""

from kimina.experiment.stages.run import run_stages

__all__ = ["run_stages"]
