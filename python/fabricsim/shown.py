"""Values that notebooks show by themselves."""

from __future__ import annotations

from importlib import import_module


class Shown:
    """A value with a view in notebooks, which `fabricsim.notebook` has: classes know nothing of their pictures."""

    def _repr_html_(self) -> str:
        return str(import_module("fabricsim.notebook").html(self))
