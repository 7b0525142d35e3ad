"""Names of the dimensions of grids, as in all tables, sentences and pictures."""

from __future__ import annotations

LETTERS = "xyzwvu"


def dimension_name(number: int) -> str:
    """Name of a dimension, counted from 0: x, y, z, w, v, u, then d7 and so on."""
    return LETTERS[number] if number < len(LETTERS) else f"d{number + 1}"


def class_name(kind: str) -> str:
    """The class of a link in words: `dimension 3` of the tables is `dimension w`; others are as they are."""
    word, _, number = kind.partition(" ")
    return f"{word} {dimension_name(int(number))}" if word == "dimension" and number.isdecimal() else kind
