"""One run as bytes for the page: a JSON header and numbers, compressed, as text."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fabricsim.lazy import numpy as np
from fabricsim.results import finite

if TYPE_CHECKING:
    import numpy.typing as npt

ALIGN = 8
"""Every array begins at a multiple of this, so that the page reads it in place."""
LEVEL = 6
"""Effort of the compression."""


class Payload:
    """Arrays of numbers, which the header refers to by what `add` returns."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

    def add(self, values: npt.ArrayLike, kind: str) -> dict[str, Any]:
        """Adds an array. `kind`: f4, u4, u2 or u1, all little-endian."""
        data = np.ascontiguousarray(values, dtype=f"<{kind}").tobytes()
        reference = {"at": self._length, "count": len(data) // int(kind[1:]), "kind": kind}
        padding = -len(data) % ALIGN
        self._parts += [data, b"\0" * padding]
        self._length += len(data) + padding
        return reference

    def text(self, header: Mapping[str, Any]) -> str:
        """Header and arrays in base64. The same content gives the same text."""
        head = json.dumps(finite(header), ensure_ascii=False, separators=(",", ":")).encode("utf-8")
        head += b" " * (-len(head) % ALIGN)
        content = b"".join([len(head).to_bytes(ALIGN, "little"), head, *self._parts])
        return packed(content)


def packed(content: bytes) -> str:
    """Compressed bytes in base64."""
    return base64.b64encode(gzip.compress(content, LEVEL, mtime=0)).decode("ascii")
