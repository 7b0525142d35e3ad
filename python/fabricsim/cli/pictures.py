"""Options of pictures, for all commands that draw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fabricsim.errors import InputError

if TYPE_CHECKING:
    from fabricsim.plots import Format, Style

StyleOption = Annotated[
    Literal["screen", "paper", "slides"],
    typer.Option("--style", help="Sizes of text, lines and figures: for a screen, a paper, or slides."),
]
WidthOption = Annotated[
    str | None,
    typer.Option(
        "--width",
        metavar="WIDTH",
        help="Width of the pictures: column (89 mm), page (183 mm), '120 mm', '3.5 in'.",
    ),
]
LabelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--label", metavar="NAME=TEXT", help="Write TEXT for a flow, host, link, title or axis. Repeatable."
    ),
]
FormatOption = Annotated[
    Literal["png", "svg", "pdf"], typer.Option("--format", help="Format of the pictures.")
]


@dataclass(frozen=True)
class Drawing:
    """How a command draws its pictures."""

    style: Style = "screen"
    width_mm: float | None = None
    """Width of the figures; None: that of the style."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Texts in the place of names."""
    format: Format = "png"

    @contextmanager
    def look(self) -> Iterator[None]:
        """Pictures within are drawn so.

        Raises:
            InputError: no picture had one of the names that have labels.
        """
        from fabricsim.plots import Look, look  # noqa: PLC0415 - matplotlib takes long to import

        with look(Look(self.style, self.width_mm, self.labels)):
            yield


def drawing(style: Style, width: str | None, label: list[str] | None, format: Format = "png") -> Drawing:
    """Values of `--style`, `--width`, `--label` and `--format`, checked before a command begins its work.

    Raises:
        InputError: a width or a label is wrong.
    """
    if width is None and not label:
        return Drawing(style, format=format)
    from fabricsim.plots import label_of, width_of  # noqa: PLC0415 - matplotlib takes long to import

    return Drawing(style, None if width is None else width_of(width), label_of(label or ()), format)


def drawing_if(
    draws: bool,
    needs: str,
    style: Style,
    width: str | None,
    label: list[str] | None,
    format: Format = "png",
) -> Drawing | None:
    """The same of a command that draws only with the option `needs`; None if it is not given.

    Raises:
        InputError: a width or a label is wrong, or one of the options is given and nothing is drawn.
    """
    if draws:
        return drawing(style, width, label, format)
    given = {"--style": style != "screen", "--width": width, "--label": label, "--format": format != "png"}
    if first := next((name for name, value in given.items() if value), None):
        raise InputError(f"{first}: only with {needs}")
    return None
