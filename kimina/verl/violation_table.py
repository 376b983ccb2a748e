"""A few examples of every violation in a validation, as rows of a table. Knows neither verl nor torch."""

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

EACH = 3
COLUMNS = ("step", "violation", "turn", "verdict", "prompt", "response", "measure")


def violation_examples(
    step: int, prompts: Sequence[str], responses: Sequence[str], infos: Mapping[str, Sequence[Any]], each: int = EACH
) -> list[dict[str, Any]]:
    """Return up to ``each`` examples of every code that occurs, ordered by code.

    ``infos`` holds what ``kimina.verl.reward.Judge.judge`` returned, one list a key; a sample that violates several
    checks may stand under each. Which ones are shown depends on the step alone. ``measure`` is the check's value,
    threshold and detail.
    """
    by_code: dict[str, list[int]] = {}
    for index, violations in enumerate(infos["violations"]):
        for code in json.loads(violations or "[]"):
            by_code.setdefault(code, []).append(index)
    rows = []
    for code in sorted(by_code):
        found = by_code[code]
        chosen = sorted(random.Random(f"{code}-{step}").sample(found, min(each, len(found))))
        for index in chosen:
            measures = json.loads(infos["measures"][index] or "{}")
            rows.append(
                {
                    "step": step,
                    "violation": code,
                    "turn": infos["turn"][index],
                    "verdict": infos["verdict"][index],
                    "prompt": prompts[index],
                    "response": responses[index],
                    "measure": json.dumps(measures.get(code), ensure_ascii=False),
                }
            )
    return rows
