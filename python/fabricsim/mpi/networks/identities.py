"""Numbers of memory, by which a network knows it again."""

from __future__ import annotations

from typing import Any


class Identities:
    """Numbers of the memory of messages, for the registration cache.

    Memory is the same if it is the same bytes of the same object. Objects are kept, so that no other one has the
    address of one that has ended: results do not depend on where the interpreter puts objects.
    """

    def __init__(self) -> None:
        self._owners: dict[int, tuple[int, Any]] = {}

    def number(self, data: memoryview) -> int:
        """Number of the memory; 0 if it has no owner."""
        owner: Any = data.obj
        # Most messages are of an object that has been used before, and that is its own owner.
        known = self._owners.get(id(owner))
        if known is None:
            base = getattr(owner, "base", None)
            while base is not None:
                owner, base = base, getattr(base, "base", None)
            if owner is None:
                return 0
            known = self._owners.setdefault(id(owner), (len(self._owners) + 1, owner))
        return known[0]
