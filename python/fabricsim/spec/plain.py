"""Typed sections as the values of an experiment file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

__all__ = ["to_plain"]


def to_plain(value: Any) -> Any:
    """Sections as the mappings, lists and scalars of an experiment file; what is None is left out.

    A variant of an enumeration is a table of one entry: its `kind`, and its fields or its only content.
    """
    if is_dataclass(value) and not isinstance(value, type):
        # A key that is a keyword of Python has an underscore at the end.
        plain = to_plain(
            {field.name.removesuffix("_"): getattr(value, field.name) for field in fields(value)}
        )
        kind, content = getattr(value, "kind", None), getattr(value, "_content", None)
        if not isinstance(kind, str):
            return plain
        return {kind: plain if content is None else plain[content]}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    return value
