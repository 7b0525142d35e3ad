"""Files that commands write."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fabricsim.errors import InputError, StoreError

OutFile = Annotated[Path | None, typer.Option("--out", help="Write to this file, not to the screen.")]
ForceFile = Annotated[bool, typer.Option("--force", help="Replace a file that exists.")]


def write(text: str, out: Path | None, force: bool) -> None:
    """Writes to a file that the user chose, else to the screen."""
    if out is None:
        typer.echo(text, nl=not text.endswith("\n"))
        return
    try:
        with out.open("w" if force else "x", encoding="utf-8") as target:
            target.write(text)
    except FileExistsError:
        raise InputError(f"{out}: this exists; choose another file, or replace it with --force") from None
    except OSError as error:
        raise StoreError(f"{out}: it cannot be written: {error.strerror}") from error
