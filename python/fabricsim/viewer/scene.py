"""Content of the page for one run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricsim import catalogue
from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd
from fabricsim.results import Result, title_of
from fabricsim.spec import Experiment
from fabricsim.viewer.graph import Graph, graph_of
from fabricsim.viewer.layout import layout_of
from fabricsim.viewer.payload import Payload
from fabricsim.viewer.series import Series, series_of, trees_of
from fabricsim.viewer.tables import Tables, read

if TYPE_CHECKING:
    import numpy.typing as npt

FRACTION = "fraction of link rate"
MEASURES: dict[str, tuple[str, str]] = {
    "utilisation": ("utilisation", "time in which the port sent packets, all virtual lanes together"),
    "stalled": ("waiting for credits", "time in which the idle port had packets and no credits for them"),
    "marked": ("packets marked (ECN)", "packets that the port marked, of those that it sent"),
    "root": ("root of congestion", "time in which the port was the root of a congestion tree"),
    "branch": ("branch of congestion", "time in which the port was a branch of a congestion tree"),
}
"""Quantities by which links are coloured, all fractions: label and text."""
KEYS = {
    "utilisation": ("values of the measurement", "a run that reaches it"),
    "stalled": ("time without credits", "a run of this version of fabricsim"),
    "marked": ("marks of single links", "congestion_control.algorithm, one that marks"),
    "root": (
        "time as root or branch of congestion",
        "a shorter measure.congestion_interval: it takes 20 samples",
    ),
    "series": ("links over time and series of ports", "measure.link_series = true"),
    "trees": ("congestion trees", "measure.congestion_interval"),
}
"""Parts that a run may lack, and the key that would record them."""
COUNTS = (
    "gbps",
    "packets",
    "bytes",
    "marked",
    "retries",
    "discarded",
    "damaged",
    "p_key",
    "multicast",
    "flow_control",
)
"""Columns of a port that the page lists if any port has some."""


def scene(run: str | Path | Result) -> tuple[str, list[str]]:
    """The bytes of a run for the page, and a sentence on each part that the run did not record.

    Raises:
        InputError: it is not the folder of one run, or there is nothing to draw.
        StoreError: a table cannot be read, or is damaged.
    """
    tables = read(run)
    graph = graph_of(tables)
    topology = Experiment.from_manifest(tables.manifest).written().get("topology")
    layout = layout_of(graph, topology if isinstance(topology, Mapping) else {})
    payload = Payload()
    measures, counts = _values(tables, graph)
    series, trees = series_of(tables, graph), trees_of(tables, graph)
    recorded = {key for key, values in measures.items() if np.isfinite(values).any()}
    absent = _absent(recorded, series is not None, trees is not None)
    summary = tables.manifest["summary"]
    header = {
        "title": str(summary.get("experiment") or title_of(tables.manifest)),
        "folder": Path(tables.where).name if not isinstance(run, Result) or run.folder else "",
        "status": str(tables.manifest.get("status", "")),
        "overrides": [[str(key), str(value)] for key, value in tables.manifest.get("overrides", ())],
        "layout": layout.text,
        "flat": layout.flat,
        "captions": [[text, list(place)] for text, place in layout.captions],
        "measured": [summary.get("measured_from_ns"), summary.get("measured_ns")],
        "end": tables.end_ns,
        "names": graph.names,
        "hosts": payload.add(graph.is_host, "u1"),
        "places": payload.add(layout.places, "f4"),
        "links": {
            "sender": payload.add(graph.sender, "u4"),
            "receiver": payload.add(graph.receiver, "u4"),
            "cable": payload.add(graph.cable, "u2"),
            "class": payload.add(graph.link_class, "u1"),
            "classes": graph.classes,
            "arcs": payload.add(layout.arcs, "f4"),
        },
        "measures": [
            {
                "key": key,
                "label": MEASURES[key][0],
                "text": MEASURES[key][1],
                "values": payload.add(values, "f4"),
            }
            for key, values in measures.items()
        ],
        "counts": [
            {"label": entry.label, "unit": entry.unit, "values": payload.add(values, "f4")}
            for entry, values in counts
        ],
        "series": _series(series, payload),
        "trees": trees,
        "absent": absent,
    }
    return payload.text(header), [f"{tables.where}: {what} {needs}" for what, needs in absent]


def _values(
    tables: Tables, graph: Graph
) -> tuple[dict[str, npt.NDArray[np.float64]], list[tuple[catalogue.Entry, npt.NDArray[np.float64]]]]:
    """Quantities of each direction of a link, of the whole measurement, and its counters."""
    frame = tables.frames["links"]
    numeric = [name for name in frame if pd.api.types.is_numeric_dtype(frame[name]) and name != "lane"]
    grouped = frame.groupby("link", sort=False)[numeric]
    sums, most = (table.reindex(graph.links) for table in (grouped.sum(min_count=1), grouped.max()))
    measures: dict[str, npt.NDArray[np.float64]] = {}
    for key in MEASURES:
        if key not in numeric:
            continue
        values = (most if key in ("root", "branch") else sums)[key].to_numpy(float)
        if key == "marked":
            if "packets" not in numeric:
                continue
            values = values / np.maximum(sums["packets"].to_numpy(float), 1.0)
        if np.isfinite(values).any() or key == "utilisation":
            measures[key] = values
    counts = [
        (catalogue.column("links", name), sums[name].to_numpy(float))
        for name in COUNTS
        if name in numeric and (name in COUNTS[:2] or (sums[name] > 0).any())
    ]
    return measures, counts


def _series(series: Series | None, payload: Payload) -> dict[str, Any] | None:
    if series is None:
        return None
    return {
        "begins": series.begins_ns.tolist(),
        "end": series.end_ns,
        "together": series.together,
        "full": series.full,
        "values": {
            name: {"values": payload.add(matrix, "u2" if series.full > 255 else "u1"), "largest": largest}
            for name, (matrix, largest) in series.values.items()
        },
    }


def _absent(measures: set[str], has_series: bool, has_trees: bool) -> list[tuple[str, str]]:
    """Parts that are not recorded, and the keys that record them."""
    lacks = {key: key not in measures for key in ("utilisation", "stalled", "marked", "root")}
    lacks |= {"series": not has_series, "trees": not has_trees}
    return [
        (f"{KEYS[key][0]}: not recorded; needs", KEYS[key][1]) for key, lacking in lacks.items() if lacking
    ]
