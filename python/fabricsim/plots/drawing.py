"""Drawing of figures: with fonts that have all letters of its texts, and with warnings of what is wrong."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.text import Text

_GLYPH = re.compile(r"Glyph (\d+) ")
_COLLAPSED = "constrained_layout not applied"


class PictureWarning(UserWarning):
    """A picture is not as it should be."""


@dataclass(frozen=True)
class Drawn:
    """Faults of a drawing."""

    letters: frozenset[str]
    """Letters that no font of the machine has."""
    collapsed: bool
    """True if its texts leave no room for the data."""

    def report(self, name: str) -> None:
        """Warns of the faults; of a letter once."""
        if self.collapsed:
            text = "its texts leave no room for the data: choose a larger --width, or a --style with smaller texts"
            warnings.warn(f"{name}: {text}", PictureWarning, stacklevel=3)
        if new := self.letters - _REPORTED:
            _REPORTED.update(new)
            names = " ".join(
                one if one.isprintable() and one.strip() else f"U+{ord(one):04X}" for one in sorted(new)
            )
            text = f"no font of this machine has the letters {names}: pictures have boxes for them"
            warnings.warn(f"{text}; SVG has the letters, too", PictureWarning, stacklevel=3)


_REPORTED: set[str] = set()


def drawn(figure: Figure, draw: Callable[[], object]) -> Drawn:
    """Calls `draw`, which draws a figure, and once more with further fonts if the figure's lacks letters."""
    found = _noted(draw)
    if found.letters and (families := families_with(found.letters)):
        for text in figure.findobj(Text):
            assert isinstance(text, Text)
            text.set_fontfamily([*text.get_fontfamily(), *families])
        found = _noted(draw)
    return found


def _noted(draw: Callable[[], object]) -> Drawn:
    """Draws with matplotlib's warnings about fonts and room as faults; other warnings stay as they are."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        draw()
    letters, collapsed = set(), False
    for one in caught:
        text = str(one.message)
        if found := _GLYPH.match(text):
            letters.add(chr(int(found[1])))
        elif text.startswith(_COLLAPSED):
            collapsed = True
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return Drawn(frozenset(letters), collapsed)


def families_with(letters: Iterable[str]) -> list[str]:
    """Families of fonts that have these letters, as few as are found in one pass."""
    left = {ord(letter) for letter in letters}
    families: list[str] = []
    for entry in sorted(font_manager.fontManager.ttflist, key=lambda font: (font.name, font.fname)):
        if not left or entry.name in families or entry.name.startswith("Last Resort"):
            continue
        try:
            has = left & set(font_manager.get_font(entry.fname).get_charmap())
        except (OSError, RuntimeError):  # a file that is gone, or is no font
            continue
        if has:
            families.append(entry.name)
            left -= has
    return families
