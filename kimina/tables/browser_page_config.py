"""Which configuration keys tell the runs of a page apart."""

import json
from collections.abc import Mapping, Sequence

from kimina.durable import to_json


def differing_keys(configs: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the keys whose values differ between the configurations, in alphabetical order.

    A key that only some configurations have differs. Numbers are compared as numbers, so 1 and 1.0 are the same.
    """
    keys = sorted({key for config in configs for key in config})
    return [key for key in keys if _differs(key, configs)]


def value_text(value: object) -> str:
    """Return a value as it stands in a configuration: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) and value else to_json(value)


def _differs(key: str, configs: Sequence[Mapping[str, object]]) -> bool:
    if any(key not in config for config in configs):
        return True
    # Through JSON: a tuple and a list, or numpy's number and Python's, are one value.
    first, *others = (json.loads(to_json(config[key])) for config in configs)
    # True equals 1 in Python, but not in a configuration.
    return any(other != first or isinstance(other, bool) != isinstance(first, bool) for other in others)
