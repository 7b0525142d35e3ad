"""Libraries that take long to import: they are loaded when they are used first.

`from fabricsim.lazy import pandas as pd` in place of `import pandas as pd`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["numpy", "pandas", "parquet", "pyarrow"]


class _Library:
    """Stands for a module until an attribute of it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(importlib.import_module(self._name), attribute)
        # The next use finds it here.
        setattr(self, attribute, value)
        return value

    def __repr__(self) -> str:
        return f"<{self._name}, loaded when it is used>"


if TYPE_CHECKING:
    import numpy
    import pandas
    import pyarrow
    from pyarrow import parquet
else:
    numpy = _Library("numpy")
    pandas = _Library("pandas")
    pyarrow = _Library("pyarrow")
    parquet = _Library("pyarrow.parquet")
