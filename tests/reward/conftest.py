"""An answer to build cases from, and scorers for the shipped profiles and for single checks."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from kimina.reward.scorer import FormatReport, Scorer
from kimina.reward.settings import RewardSettings

REWARD_OPTIONS = Path(__file__).parents[2] / "conf" / "reward"

STATEMENT = "import Mathlib\n\ntheorem pair (p q : Prop) (h : p ∧ q) : q ∧ p := by sorry\n"
LEAN = """import Mathlib

theorem pair (p q : Prop) (h : p ∧ q) : q ∧ p := by
  have hp : p := by
    exact h.left
  have hq : q := by
    exact h.right
  constructor
  · exact hq
  · exact hp"""
TACTICS = (
    "  have hp : p := by\n    exact h.left\n  have hq : q := by\n    exact h.right",
    "  constructor\n  · exact hq\n  · exact hp",
)


def _merged(below: dict, above: dict) -> dict:
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(below.get(key), dict)
        merged[key] = _merged(below[key], value) if both else value
    return merged


def _read_profile(name: str) -> dict:
    option = yaml.safe_load((REWARD_OPTIONS / f"{name}.yaml").read_text())
    parents = [parent for parent in option.pop("defaults") if parent not in ("_self_", "reward")]
    for parent in parents:
        option = _merged(_read_profile(parent), option)
    return option


@pytest.fixture
def profile_node() -> Callable[[str], dict]:
    """The `reward` node of a shipped profile, without verl's keys."""
    return _read_profile


@pytest.fixture
def profile_scorer() -> Callable[..., Scorer]:
    """A scorer with a shipped profile; keyword arguments are settings of ``too_long``."""

    def make(name: str, **too_long: object) -> Scorer:
        node = _merged(_read_profile(name), {"checks": {"too_long": too_long}})
        return Scorer(RewardSettings.parse(node))

    return make


@pytest.fixture
def answer() -> Callable[..., str]:
    """Builds an output; by default one that every profile accepts."""

    def build(thought: str = "Split it.", tactics: tuple[str, ...] = TACTICS, lean: str = LEAN, after: str = "") -> str:
        blocks = "\n".join(f"```tactics\n{block}\n```\nnext" for block in tactics)
        return f"<think>\n{thought}\n{blocks}\n</think>\n\n```lean4\n{lean}\n```{after}"

    return build


@pytest.fixture
def measured() -> Callable[..., dict | None]:
    """What a single check measures on an output, with the given settings; None when it does not apply."""

    def measure(name: str, output: str, statement: str = STATEMENT, opens_think: bool = False, **settings: object):
        report: FormatReport = Scorer(
            RewardSettings.parse({"checks": {name: {"enabled": True, **settings}}})
        ).check_format(statement, output, opens_think=opens_think)
        assert set(report.measures) <= {name}
        assert report.violations in ((), (name,))
        return report.measures.get(name)

    return measure
