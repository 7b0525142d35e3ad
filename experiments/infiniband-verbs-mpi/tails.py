"""Skewness that follows from the quantiles and the maximum that tables IV and V print.

The quantiles leave open how long the calls between two of them are. Three spreads are compared: each call as short as
its quantiles allow, as long as they allow, and even in between. Of the 15 calls above the 99.999th percentile one has
the printed maximum; the other 14 are at that percentile ("low"), or as the spread has them.
"""

from __future__ import annotations

import tomllib
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

FOLDER = Path(__file__).parent
SAMPLES = 1_500_000
PARTS = (0.25, 0.25, 0.25, 0.15, 0.09, 0.009, 0.0009, 0.00009, 0.00001 - 1 / SAMPLES)
"""Parts of the calls between two printed quantiles; the last one without the call of the maximum."""
STEPS = 1001
"""Points that stand for an even spread."""


class Column(NamedTuple):
    """A column in print."""

    name: str
    quantiles: list[float]
    """From the minimum to the 99.999th percentile, and the maximum."""
    skewness: float


class Piece(NamedTuple):
    """A part of the calls, and the range of their durations, in which they are spread evenly."""

    part: float
    low: float
    high: float


def _columns(table: str) -> list[Column]:
    """The columns of a table, as the rows of the reproduction page have them."""
    figures = tomllib.loads((FOLDER / "expected.toml").read_text(encoding="utf-8"))["figure"]
    rows: dict[str, list[float]] = {}
    for row in next(figure for figure in figures if figure["name"] == table)["quantity"]:
        if " (" in row["quantity"]:
            rows.setdefault(row["quantity"].partition(" (")[0], []).append(row["published"])
    return [Column(name, values[:-1], values[-1]) for name, values in rows.items()]


def _moments(pieces: list[Piece]) -> tuple[float, float]:
    """Standard deviation and skewness."""
    middles = (np.arange(STEPS) + 0.5) / STEPS
    points = np.concatenate([piece.low + (piece.high - piece.low) * middles for piece in pieces])
    weights = np.repeat([piece.part for piece in pieces], STEPS)
    weights /= weights.sum()
    centred = points - (weights * points).sum()
    deviation = float((weights * centred**2).sum()) ** 0.5
    return deviation, float((weights * centred**3).sum()) / deviation**3


def _spread(quantiles: list[float], kind: str) -> list[Piece]:
    """The calls but the one of the maximum: `short`, `long` or `even` between the quantiles."""
    found = []
    for part, (above, below) in zip(PARTS, pairwise(quantiles), strict=True):
        found.append(Piece(part, below if kind == "long" else above, above if kind == "short" else below))
    return found


def _low(pieces: list[Piece]) -> list[Piece]:
    """The same with the calls above the 99.999th percentile at it."""
    *body, (part, _, _) = pieces
    return [*body, Piece(part, body[-1].high, body[-1].high)]


def skewness(table: str) -> pd.DataFrame:
    """A row for each column of `table-iv` or `table-v`."""
    rows = []
    for column in _columns(table):
        top = Piece(1 / SAMPLES, column.quantiles[-1], column.quantiles[-1])
        short, long, even = (_spread(column.quantiles, kind) for kind in ("short", "long", "even"))
        ends = [_moments([*pieces, top])[1] for pieces in (short, _low(long), long)]
        body, with_maximum, all_even = map(_moments, (even[:-1], [*_low(even), top], [*even, top]))
        rows.append(
            {
                "column": column.name,
                "printed": f"{column.skewness:.1f}",
                "short or long": f"{min(ends):.1f} to {max(ends):.1f}",
                "even up to 99.999 %": f"{body[1]:.1f}",
                "and one call of the maximum": f"{with_maximum[1]:.1f}",
                "all even": f"{all_even[1]:.1f}",
                "deviation (ns)": f"{body[0]:.0f} to {all_even[0]:.0f}",
            }
        )
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = (
        "Skewness and standard deviation that follow from the printed quantiles and maximum"
    )
    return frame
