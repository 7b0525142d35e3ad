"""Settings of the call, the consoles, and what is said on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from fabricsim.cli.streams import is_unicode


@dataclass
class Settings:
    """Settings of the whole call."""

    debug: bool = False
    results: Path | None = None
    """Folder of the command's results, once they are written."""


class _Console(Console):
    """A console that draws tables and bars in ASCII if its stream has no other characters."""

    @property
    def encoding(self) -> str:
        return "utf-8" if is_unicode(self.file) else "ascii"


settings = Settings()
errors = _Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


def output() -> Console:
    """Standard output, wide enough for tables when it is no terminal."""
    console = _Console(highlight=False, markup=False)
    return console if console.is_terminal else _Console(highlight=False, markup=False, width=120)


def complain(message: str) -> None:
    """A message on standard error."""
    errors.print(message, style="red", markup=False)


def tell(message: str) -> None:
    """A note on standard error."""
    errors.print(message, markup=False)


def caution(message: str) -> None:
    """A warning on standard error."""
    errors.print(f"warning: {message}", style="yellow", markup=False)
