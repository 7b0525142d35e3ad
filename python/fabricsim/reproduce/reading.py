"""Tables of a file as values of dataclasses, with their keys checked."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from fabricsim.errors import InputError

T = TypeVar("T")


def make(kind: type[T], where: str, content: Mapping[str, Any]) -> T:
    """A value of a dataclass from a table.

    Raises:
        InputError: a key is unknown or missing.
    """
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    for key in content:
        if key not in known:
            raise InputError(f"{where}: {unknown('key', key, list(known))}")
    missing = [
        name
        for name, f in known.items()
        if name not in content and f.default is MISSING and f.default_factory is MISSING
    ]
    if missing:
        raise InputError(f"{where}: the key `{missing[0]}` is missing")
    return kind(**content)


def unknown(what: str, name: str, known: list[str]) -> str:
    """Says that a name is not known, and what is."""
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"there is no {what} `{name}`; there are: {', '.join(known) or 'none'}{hint}"
