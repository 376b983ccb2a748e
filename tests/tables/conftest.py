import random

import pytest

from kimina.evaluation import EvalResult, LeanMessage, Outcome
from kimina.tables import compare

HOSTILE = '</pre><script>alert("x")</script><img src="https://evil.invalid/x.png" onerror=alert(1)> & {{x}} \u202e'


def outcomes(rates, samples, seed, tokens=100):
    generator = random.Random(seed)
    result = []
    for name, (family, level, rate) in rates.items():
        for sample in range(samples):
            solved = generator.random() < rate
            broken = not solved and generator.random() < 0.2
            result.append(
                Outcome(
                    problem_id=name,
                    family=family,
                    level=level,
                    sample=sample,
                    verdict="proved" if solved else (None if broken else "lean_error"),
                    violations=("statement_changed",) if broken else (),
                    reward=float(solved),
                    response_tokens=tokens + sample,
                    finished=True,
                    response=f"<think>\n{name} {HOSTILE}\n</think>\n```lean4\ntheorem {name} : True := by\n  trivial\n```",
                    messages=() if solved or broken else (LeanMessage("error", 1, 0, f"unsolved goals\n⊢ False {HOSTILE}"),),
                )
            )
    return result


@pytest.fixture(scope="session")
def hostile():
    """Text that every response and message of `runs` holds, and that must never act as markup."""
    return HOSTILE


@pytest.fixture(scope="session")
def runs():
    """Two evaluations of 40 problems with 16 samples, the second clearly better in one family only."""
    before, after = {}, {}
    for index in range(40):
        family = "conj" if index % 2 else "<b>iff</b>"
        level = 1 + index % 4
        rate = 0.5 / level
        before[f"p{index:02d}"] = (family, level, rate)
        after[f"p{index:02d}"] = (family, level, rate + 0.3 if family == "conj" else rate)
    before["p00"], after["p00"] = ("<b>iff</b>", 1, 0.0), ("<b>iff</b>", 1, 0.0)
    before["p01"] = ("conj", 2, 0.0)
    return EvalResult.of("before", outcomes(before, 16, 1)), EvalResult.of("after", outcomes(after, 16, 2, tokens=120))


@pytest.fixture(scope="session")
def table(runs):
    """The comparison of `runs` at k = 1, 8, 64, where 64 is more than there are samples."""
    return compare(*runs, ks=(1, 8, 64))


@pytest.fixture(scope="session")
def metrics():
    """Rows of a short training run."""
    return [
        {
            "step": step,
            "reward": 0.3 + 0.01 * step,
            "proof_rate": 0.35 + 0.01 * step,
            "response_tokens": 100.0 + step,
            "samples": 200,
            "violations": {"statement_changed": 20 - step} if step < 20 else {},
            "grad_norm": None,
        }
        for step in range(1, 21)
    ]
