"""The table of `scripts/bench_peers`."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

OURS = "Fabricsim"
BOOKSIM = {"mesh-8x8": "mesh-16f.csv", "torus-8x8": "torus-16f.csv"}
"""Latencies and accepted loads that BookSim measured, in the folder of the validation."""
COLUMNS = (
    "wall_s",
    "cpu_s",
    "cpu_us_per_unit",
    "instructions_per_unit",
    "peak_mb",
    "accepted_load",
    "latency_ns",
)
RATIOS = frozenset(COLUMNS[2:])
"""Columns in which a peer's figure has its ratio to ours: wall and processor times are of runs of different lengths."""
HEAD = (
    "| case | load | simulator | wall, s | CPU, s | CPU per unit, µs | instructions per unit | peak memory, MB "
    "| accepted load | mean latency, ns |\n|---|--:|---|--:|--:|--:|--:|--:|--:|--:|"
)


def quoted(root: Path) -> list[dict[str, Any]]:
    """Figures of simulators that no registry has, as they were measured earlier, with date."""
    rows = []
    for peer in tomllib.loads((root / "benches/peers.toml").read_text(encoding="utf-8"))["peer"]:
        if peer["name"] == "CAMINOS":
            continue
        for figure in peer["figure"]:
            speed = figure.get("packet_hops_per_s")
            rows.append(
                {
                    "case": figure["case"],
                    "load": figure.get("load"),
                    "program": f"{peer['name']} ({peer['date']})",
                    "cpu_us_per_unit": None if speed is None else 1e6 / speed,
                    "instructions_per_unit": figure.get("instructions_per_packet_hop"),
                }
            )
    return [*rows, *_booksim(root, rows)]


def _booksim(root: Path, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Adds accepted load and latency to the rows; returns rows for other loads, which have no speed."""
    peers = tomllib.loads((root / "benches/peers.toml").read_text(encoding="utf-8"))["peer"]
    name = next(f"{peer['name']} ({peer['date']})" for peer in peers if peer["name"].startswith("BookSim"))
    more = []
    for case, file in BOOKSIM.items():
        lines = (root / "tests/validation/booksim/measured" / file).read_text(encoding="utf-8").splitlines()
        for line in csv.DictReader(line for line in lines if not line.startswith("#")):
            if line["mode"] != "latency":
                continue
            load = float(line["load"])
            found = {"accepted_load": float(line["acc_flit"]), "latency_ns": float(line["plat"])}
            same = [row for row in rows if (row["case"], row["load"], row["program"]) == (case, load, name)]
            for row in same:
                row.update(found)
            if not same:
                more.append({"case": case, "load": load, "program": name, **found})
    return more


def label(case: Mapping[str, Any]) -> str:
    """A case with its load."""
    return str(case["title"]) if case["load"] is None else f"{case['title']}, load {case['load']:g}"


def rows_of(case: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rows of a case: those measured, and earlier ones of the same load, or of none that is known."""
    near = (row for row in others if row["case"] == case["case"] and row["load"] in (case["load"], None))
    return [*case["rows"], *near]


def base_of(case: Mapping[str, Any], column: str) -> Mapping[str, Any] | None:
    """The row that ratios of a column are to: the first of ours that has the figure."""
    ours = (row for row in case["rows"] if row.get("program", "").startswith(OURS))
    return next((row for row in ours if row.get(column)), None)


def table(result: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> list[str]:
    """All figures as Markdown; in parentheses how many times ours a figure is."""
    lines = [HEAD]
    for case in result["cases"]:
        load = "–" if case["load"] is None else f"{case['load']:g}"
        for row in rows_of(case, others):
            name = row.get("program", row.get("name"))
            lines.append(f"| {case['title']} | {load} | {name} | {_cells(row, case)} |")
    return lines


def _cells(row: Mapping[str, Any], case: Mapping[str, Any]) -> str:
    if "install" in row:
        return f"not here: {row['install']} |" + " |" * (len(COLUMNS) - 2)
    return " | ".join(_cell(row, base_of(case, column), column) for column in COLUMNS)


def _cell(row: Mapping[str, Any], base: Mapping[str, Any] | None, column: str) -> str:
    value = row.get(column)
    if value is None:
        return "–"
    if row is base or base is None or column not in RATIOS:
        return digits(value)
    return f"{digits(value)} ({ratio(value / base[column])})"


def digits(value: float) -> str:
    """A number with four digits, and groups of three."""
    if value >= 1000:
        return f"{value:,.0f}".replace(",", "\u202f")
    return f"{value:.4g}"


def ratio(value: float) -> str:
    """How many times; three digits."""
    return f"{value:,.0f}×".replace(",", "\u202f") if value >= 100 else f"{value:.3g}×"
