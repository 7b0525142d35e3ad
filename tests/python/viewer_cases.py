"""Runs for the viewer that need no engine: a torus of any size with values that are easy to predict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

import fabricsim as fs

END_NS = 1000.0


def torus(sizes: Sequence[int], bins: int = 4, *, seed: int = 1, kind: str = "torus") -> fs.Result:
    """A torus with a host on each switch. Values are random, but those of the first link: bin b has (b + 1) / bins."""
    draw = np.random.default_rng(seed)
    count = int(np.prod(sizes))
    at = np.array(np.unravel_index(np.arange(count), list(reversed(list(sizes))))).T[:, ::-1]
    switches = [f"S({','.join(map(str, place))})" for place in at.tolist()]
    hosts = [f"H({','.join(map(str, place))}).0" for place in at.tolist()]
    links, classes = [], []
    for dimension in range(len(sizes)):
        for way in (1, -1):
            there = at.copy()
            there[:, dimension] = (there[:, dimension] + way) % sizes[dimension]
            number = there @ np.concatenate([[1], np.cumprod(sizes)[:-1]])
            links += [f"{switches[a]}->{switches[b]}" for a, b in enumerate(number.tolist())]
            classes += [f"dimension {dimension}"] * count
    links += [f"{s}->{h}" for s, h in zip(switches, hosts, strict=True)]
    links += [f"{h}->{s}" for s, h in zip(switches, hosts, strict=True)]
    classes += ["host"] * (2 * count)
    x, y = drawn(at, sizes)
    nodes = pd.DataFrame(
        {
            "name": [*switches, *hosts],
            "kind": ["switch"] * count + ["host"] * count,
            "x": [*x, *(x + 0.24)],
            "y": [*y, *(y + 0.18)],
        }
    )
    busy = np.round(draw.random((bins, len(links))) ** 2, 3)
    busy[:, 0] = (np.arange(bins) + 1) / bins
    frames = {
        "nodes": nodes,
        "links": pd.DataFrame(
            {
                "link": links,
                "class": classes,
                "lane": 0,
                "utilisation": busy.mean(axis=0),
                "stalled": 0.2 * busy.mean(axis=0),
                "packets": 100,
                "marked": 10,
                "gbps": 100.0 * busy.mean(axis=0),
            }
        ),
        "link_series": pd.DataFrame(
            {
                "time_ns": np.tile(np.arange(bins) * END_NS / bins, len(links)),
                "link": np.repeat(np.array(links, dtype=object), bins),
                "utilisation": busy.T.ravel(),
                "stalled": 0.2 * busy.T.ravel(),
            }
        ),
        "congestion_trees": pd.DataFrame(
            {
                "time_ns": [0.0, END_NS / 2],
                "until_ns": [END_NS / 2, END_NS],
                "root": [links[0], links[1]],
                "lane": [0, 0],
                "branches": [0, 2],
                "depth": [0, 1],
                "contributors": [3, 4],
                "victims": [0, 1],
            }
        ),
    }
    return fs.Result(manifest(f"[topology.{kind}]\ndimensions = {list(sizes)}\n"), frames)


def drawn(at: Any, sizes: Sequence[int]) -> tuple[Any, Any]:
    """Places in the drawing of the table `nodes`, as `grid_place` in crates/simulation/src/nodes.rs has them."""
    place, stride = [np.zeros(len(at)), np.zeros(len(at))], [1.0, 1.0]
    for dimension, size in enumerate(sizes):
        place[dimension % 2] = place[dimension % 2] + at[:, dimension] * stride[dimension % 2]
        stride[dimension % 2] *= size + 0.5
    return place[0], place[1]


def manifest(experiment: str, title: str = "a torus") -> dict[str, Any]:
    return {
        "kind": "run",
        "name": "torus",
        "status": "ok",
        "file": "torus.toml",
        "overrides": [],
        "experiment": experiment,
        "summary": {
            "experiment": title,
            "simulated_s": END_NS / 1e9,
            "measured_from_ns": 0.0,
            "measured_ns": END_NS,
        },
    }
