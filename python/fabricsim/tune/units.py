"""Units of keys of an experiment that are also plain numbers, such as a timer in units of 1.024 us."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fabricsim.native import schema
from fabricsim.sweep.quantity import Quantity, quantity


def unit_of_number(key: str) -> Quantity | None:
    """The value with a unit that a plain 1 of this key stands for; None if it has none."""
    whole = schema()
    nodes = [*_variants(whole, whole)]
    for part in key.split("."):
        nodes = [
            variant
            for node in nodes
            for child in _children(node, part)
            for variant in _variants(child, whole)
        ]
    return next((found for node in nodes if (found := quantity(node.get("x-unit")))), None)


def _variants(node: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schema itself, what it refers to, and its alternatives."""
    yield node
    if (place := node.get("$ref")) is not None:
        yield from _variants(whole["$defs"][place.rpartition("/")[2]], whole)
    for kind in ("anyOf", "oneOf", "allOf"):
        for each in node.get(kind, ()):
            yield from _variants(each, whole)


def _children(node: Mapping[str, Any], part: str) -> Iterator[Mapping[str, Any]]:
    """The schemas of a key of a table, or of an entry of a list."""
    for child in (node.get("properties", {}).get(part), node.get("additionalProperties"), node.get("items")):
        if isinstance(child, Mapping):
            yield child
