"""The losses once more, in NumPy and float64, written from the papers' formulas with loops over responses and tokens.

Nothing here is shared with ``kimina.losses``. Responses are lists of live tokens only: masked ones don't exist.
"""

from dataclasses import dataclass

import numpy as np


@dataclass
class Response:
    """Live tokens of one response: log-probabilities now and when it was drawn, and its advantage."""

    new: np.ndarray
    old: np.ndarray
    advantage: float


def mean_and_std(rewards):
    mean = sum(rewards) / len(rewards)
    return mean, np.sqrt(sum((r - mean) ** 2 for r in rewards) / (len(rewards) - 1))


def ppo_token(rho, advantage, low, high, dual):
    value = min(rho * advantage, min(max(rho, 1 - low), 1 + high) * advantage)
    return max(value, dual * advantage) if advantage < 0 else value


def token_terms(response, low, high, dual):
    return [
        ppo_token(float(np.exp(new - old)), response.advantage, low, high, dual)
        for new, old in zip(response.new, response.old, strict=True)
    ]


def grpo(responses, low, high, dual):
    means = [np.mean(terms) if (terms := token_terms(r, low, high, dual)) else 0.0 for r in responses]
    return -sum(means) / len(responses)


def drgpo(responses, low, high, dual, budget):
    return -sum(sum(token_terms(r, low, high, dual)) for r in responses) / (len(responses) * budget)


def dapo(responses, low, high, dual):
    terms = [term for r in responses for term in token_terms(r, low, high, dual)]
    return -sum(terms) / len(terms)


def gspo(responses, low, high):
    total = 0.0
    for r in responses:
        if len(r.new):
            s = float(np.exp(np.sum(r.new - r.old) / len(r.new)))
            total += min(s * r.advantage, min(max(s, 1 - low), 1 + high) * r.advantage)
    return -total / len(responses)


def mirror_descent(responses, tau, constant):
    total = 0.0
    for r in responses:
        d = float(np.sum(r.new) - np.sum(r.old))
        total += -r.advantage * d + tau / 2 * d**2
    return total / (len(responses) * constant)


def policy_gradient(responses, constant):
    return -sum(r.advantage * float(np.sum(r.new)) for r in responses) / (len(responses) * constant)
