"""A mesh with groups of hosts, and sums of its flows that are computed flow by flow."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fabricsim.sums import keys_of

MESH = """
title = "Clients and storage"

[topology.mesh]
dimensions = [3, 3]

[groups]
clients = ["H(0,*"]
storage = ["H(1,*"]

[[traffic]]
name = "background"
pattern = "uniform"
load = 0.2
message = "1 KiB"

[[traffic]]
name = "incast"
sources = ["clients"]
pattern = { to = "H(2,2).0" }
load = 0.3
message = "2 KiB"

[run]
warmup = "2 us"
duration = "20 us"
"""
LOAD = "traffic.incast.load"
OF = {"H(0": "clients", "H(1": "storage"}


MERGED = 'set measure.flows = "pairs"'


def write_mesh(folder: Path) -> Path:
    """The mesh as a file."""
    path = folder / "mesh.toml"
    path.write_text(MESH)
    return path


def summed_here(flows: pd.DataFrame, by: str) -> dict[tuple[str, ...], dict[str, float]]:
    """The same sums, flow by flow."""
    members: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for flow in flows.to_dict("records"):
        ends = [str(flow[end]) for end in ("source", "destination")]
        groups = tuple(OF.get(host[:3], "others") for host in ends)
        name = groups if by == "group" else (str(flow[by]),)
        members.setdefault(name, []).append({str(key): value for key, value in flow.items()})
    found = {}
    for name, each in members.items():
        rates = [flow["accepted_gbps"] for flow in each]
        packets = [
            (flow["latency_packets"], flow["latency_mean_ns"]) for flow in each if flow["latency_packets"]
        ]
        count = sum(number for number, _ in packets)
        squares = sum(rate * rate for rate in rates)
        found[name] = {
            "flows": len(each),
            "accepted_gbps": sum(rates),
            "latency_mean_ns": sum(n * mean for n, mean in packets) / count if count else math.nan,
            "latency_p99_ns": max((flow["latency_p99_ns"] for flow in each), default=math.nan),
            "jain": sum(rates) ** 2 / (len(rates) * squares) if squares else math.nan,
        }
    return found


def agree(table: pd.DataFrame, flows: pd.DataFrame, by: str) -> None:
    """Compares rows that have the keys as columns with the sums of the flows."""
    rows = {tuple(str(row[name]) for name in keys_of(by)): row for row in table.to_dict("records")}
    expected = summed_here(flows, by)
    assert set(rows) == set(expected)
    for name, values in expected.items():
        for column, value in values.items():
            assert rows[name][column] == pytest.approx(value, nan_ok=True), (name, column)
