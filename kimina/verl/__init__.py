"""Everything that touches verl: CPU platform, CPU rollout, reward entry, trainer, and the run's process.

Modules that verl's worker processes import early stay free of heavy imports; ``launch`` and ``emit`` import verl in no
case, so that a stage can prepare and watch a run without loading torch.
"""
