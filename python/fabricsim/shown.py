"""Values that notebooks show by themselves, and progress in the output of a cell."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from typing import Any

_IS_SHOWN: ContextVar[bool] = ContextVar("is_shown", default=False)
"""True while progress is reported."""
FIRST_S = 0.5
"""Seconds after which progress is shown: short work has none."""
EACH_S = 0.2
"""Seconds between two updates."""


class Shown:
    """A value with a view in notebooks, which `fabricsim.notebook` has: classes know nothing of their pictures."""

    def _repr_html_(self) -> str:
        return str(import_module("fabricsim.notebook").html(self))


def in_folder(folder: Path | None) -> str:
    """The folder of a value, as the end of its `repr`."""
    return "" if folder is None else f", folder={str(folder)!r}"


class Bar:
    """A bar in the output of a notebook's cell. It appears when work takes long, and is gone at the end.

    It is HTML that the notebook replaces, so that it needs no widgets.
    """

    def __init__(self, display: Any, label: str, clock: Callable[[], float] = time.monotonic) -> None:
        """`display` is the module `IPython.display`."""
        self._display = display
        self._label = label
        self._clock = clock
        self._next = clock() + FIRST_S
        self._handle: Any = None

    def show(self, fraction: float, text: str) -> None:
        """Shows how much is done, 0 to 1, and a text beside the bar."""
        if self._clock() < self._next:
            return
        self._next = self._clock() + EACH_S
        label, text = html.escape(self._label), html.escape(text)
        bar = f'<progress aria-label="{label}" max="1" value="{fraction:.4f}"></progress>'
        shown = self._display.HTML(f"<div>{label} {bar} {text}</div>")
        if self._handle is None:
            self._handle = self._display.display(shown, display_id=True)
        else:
            self._handle.update(shown)

    def close(self) -> None:
        """Removes it."""
        if self._handle is not None:
            self._handle.update(self._display.HTML(""))


@contextmanager
def notebook_bar(label: str, *, wanted: bool = True) -> Iterator[Bar | None]:
    """A bar while work goes on, if this process is the kernel of a notebook; none within the work of another bar.

    `wanted`: False if the caller reports the progress; parts of the work then have no bars either.
    """
    if _IS_SHOWN.get():
        yield None
        return
    token = _IS_SHOWN.set(True)
    bar = Bar(import_module("IPython.display"), label) if wanted and _is_kernel() else None
    try:
        yield bar
    finally:
        _IS_SHOWN.reset(token)
        if bar is not None:
            bar.close()


def _is_kernel() -> bool:
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


def number_of(count: int, one: str, many: str = "") -> str:
    """A count with its noun: `1 switch`, `1,114 hosts`. `many`: the plural, by default with an s."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


@contextmanager
def counted(
    what: str, given: Callable[[int, int], None] | None
) -> Iterator[Callable[[int, int], None] | None]:
    """The caller's function for things done and things in all; in a notebook, without one, a bar."""
    with notebook_bar(what, wanted=given is None) as bar:
        if bar is None:
            yield given
        else:
            yield lambda done, total: bar.show(done / max(total, 1), f"{done:,} of {total:,}")
