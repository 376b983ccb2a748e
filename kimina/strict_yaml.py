"""YAML as a person means it: what readers of YAML 1.1 silently turn into something else is an error.

Sweep files and table declarations are written by hand, and a key that stands twice or a number read in another base would
go unnoticed into a result.
"""

import re
from typing import Any

import yaml


class UniqueKeys(yaml.SafeLoader):
    """A loader that refuses a key written twice, of which YAML readers silently keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str | int | float | bool | None):
                raise yaml.constructor.ConstructorError(None, None, f"{key!r} can't be a key", key_node.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} stands twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def _plain_number(loader: UniqueKeys, node: yaml.ScalarNode) -> int | float:
    """Construct a number, and refuse the spellings that YAML 1.1 reads as another number than a person does."""
    if re.fullmatch(r"[-+]?0\d+|[-+]?[\d_]+(:[\d_.]+)+", node.value):
        value = loader.construct_yaml_int(node) if node.tag.endswith(":int") else loader.construct_yaml_float(node)
        raise yaml.constructor.ConstructorError(None, None, f"YAML reads {node.value} as {value}", node.start_mark)
    return loader.construct_yaml_int(node) if node.tag.endswith(":int") else loader.construct_yaml_float(node)


UniqueKeys.add_constructor("tag:yaml.org,2002:int", _plain_number)
UniqueKeys.add_constructor("tag:yaml.org,2002:float", _plain_number)
