"""Evaluation: records of samples, pass@k, intervals, and paired comparisons of two runs."""

from kimina.evaluation.comparison import (
    McNemar,
    PairedGain,
    holm,
    mcnemar,
    mcnemar_solved,
    paired_gain,
    paired_t,
    sign_flip_test,
)
from kimina.evaluation.estimators import (
    MeanPassAtK,
    best_at_k,
    exact_pass_at_k,
    mean_pass_at_k,
    pass_at_k,
    pass_values,
    percent,
    powers_of_two,
)
from kimina.evaluation.intervals import (
    Interval,
    bootstrap_hierarchical,
    bootstrap_mean,
    rate_interval,
    t_interval,
    wilson,
)
from kimina.evaluation.records import LeanMessage, Outcome, ProblemResult, group_by_problem
from kimina.evaluation.result import EvalResult, Rate, pass_curve
from kimina.evaluation.sample_size import ResolvableDifference, resolvable_difference
from kimina.evaluation.store import append_outcomes, read_outcomes, sample_rows

__all__ = [
    "EvalResult",
    "Interval",
    "LeanMessage",
    "McNemar",
    "MeanPassAtK",
    "Outcome",
    "PairedGain",
    "ProblemResult",
    "Rate",
    "ResolvableDifference",
    "append_outcomes",
    "best_at_k",
    "bootstrap_hierarchical",
    "bootstrap_mean",
    "exact_pass_at_k",
    "group_by_problem",
    "holm",
    "mcnemar",
    "mcnemar_solved",
    "mean_pass_at_k",
    "paired_gain",
    "paired_t",
    "pass_at_k",
    "pass_curve",
    "pass_values",
    "percent",
    "powers_of_two",
    "rate_interval",
    "read_outcomes",
    "resolvable_difference",
    "sample_rows",
    "sign_flip_test",
    "t_interval",
    "wilson",
]
