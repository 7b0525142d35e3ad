"""Ports over time: the table `link_series` as a matrix of bins and directions of links, and congestion trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabricsim.errors import StoreError
from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd
from fabricsim.results import tree_spans
from fabricsim.viewer.graph import Graph
from fabricsim.viewer.tables import Tables

if TYPE_CHECKING:
    import numpy.typing as npt

MOST_VALUES = 24_000_000
"""Bins times directions that a page holds of each quantity; with more, neighbouring bins are one."""
FINE_VALUES = 4_000_000
"""Bins times directions up to which a value has 16 bits, else 8."""


@dataclass(frozen=True)
class Series:
    """Quantities of all directions over time."""

    begins_ns: npt.NDArray[np.float64]
    end_ns: float
    together: int
    """Bins of the run in one of these."""
    full: int
    """The whole number that stands for the largest value of a column: 65535, or 255."""
    values: dict[str, tuple[npt.NDArray[np.uint16], float]]
    """By column: whole numbers in a row for each bin, and the largest value."""


def series_of(tables: Tables, graph: Graph) -> Series | None:
    """The series of a run; None if it did not record them.

    Raises:
        StoreError: the table is damaged.
    """
    frame = tables.frames.get("link_series")
    if frame is None or frame.empty:
        return None
    code, names = pd.factorize(frame["link"])
    column = graph.links.get_indexer(pd.Index([str(name) for name in names]))[code]
    row, begins = pd.factorize(frame["time_ns"].to_numpy(float), sort=True)
    if len(frame) != len(begins) * len(names):
        raise StoreError(
            f"{tables.where}: the table 'link_series' is damaged: it has {len(frame)} rows, and not one for each of "
            f"{len(names)} links in each of {len(begins)} bins"
        )
    end = tables.end_ns
    if not end > begins[-1]:
        end = float(begins[-1] + (begins[-1] - begins[-2] if len(begins) > 1 else 1.0))
    widths = np.diff(np.append(begins, end))
    together = max(1, -(-len(begins) * len(graph.links) // MOST_VALUES))
    full = 65535 if len(begins) * len(graph.links) <= FINE_VALUES else 255
    known = column >= 0
    values = {}
    for name in ("utilisation", "stalled"):
        matrix = np.zeros((len(begins), len(graph.links)), dtype=np.float32)
        matrix[row[known], column[known]] = np.nan_to_num(frame[name].to_numpy(np.float32)[known])
        values[name] = _whole_numbers(_merged(matrix, widths, together), full)
    return Series(begins[::together], end, together, full, values)


def _merged(
    matrix: npt.NDArray[np.float32], widths: npt.NDArray[np.float64], together: int
) -> npt.NDArray[np.float32]:
    """Means over `together` bins, by their lengths."""
    if together == 1:
        return matrix
    starts = np.arange(0, len(widths), together)
    sums = np.add.reduceat(matrix * widths[:, None].astype(np.float32), starts, axis=0)
    found: npt.NDArray[np.float32] = (sums / np.add.reduceat(widths, starts)[:, None]).astype(np.float32)
    return found


def _whole_numbers(matrix: npt.NDArray[np.float32], full: int) -> tuple[npt.NDArray[np.uint16], float]:
    largest = max(1.0, float(matrix.max(initial=0.0)))
    return np.round(np.clip(matrix, 0.0, None) * (full / largest)).astype(np.uint16), largest


TREE_NUMBERS = ("lane", "branches", "depth", "waiting_blocks", "contributors", "victims")
"""Columns of a congestion tree that the page shows, of those that the table has."""


def trees_of(tables: Tables, graph: Graph) -> dict[str, Any] | None:
    """Congestion trees by columns, in order of time; None if the run has no such table."""
    frame = tables.frames.get("congestion_trees")
    if frame is None:
        return None
    begin, end = (
        tree_spans(frame) if {"until_ns", "since_ns"} & set(frame.columns) else (frame["time_ns"],) * 2
    )
    frame = frame.assign(begin=begin.astype(float), end=end.astype(float))
    frame = frame.sort_values(["begin", "root", "lane"], kind="stable")
    numbers = [name for name in TREE_NUMBERS if name in frame and pd.api.types.is_numeric_dtype(frame[name])]
    return {
        "begin": frame["begin"].tolist(),
        "end": frame["end"].tolist(),
        "root": graph.links.get_indexer(pd.Index(frame["root"].astype(str))).tolist(),
        "name": frame["root"].astype(str).tolist(),
        **{name: frame[name].tolist() for name in numbers},
    }
