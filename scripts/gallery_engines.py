"""`python scripts/gallery_engines.py` writes `docs/engines.md`, with tables and a picture.

It routes the fabrics of `../shared/reference` with OpenSM's engines, and simulates random traffic on the tables. The
fabrics belong to others and are not part of this project: only results are shown. A test recomputes some of the rows.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gallery_shared import ROOT, percent, table
from matplotlib.figure import Figure

from fabricsim.errors import InputError
from fabricsim.plots import save
from fabricsim.plots.legends import legend
from fabricsim.plots.theme import COLOURS, new_figure, style
from fabricsim.subnets import CannotRouteError, Simulated, route, simulate

PAGE = ROOT / "docs/engines.md"
PICTURE = "gallery/engines-given.svg"
LOAD = 0.1
"""Load at which latencies are measured."""

INTRODUCTION = """# Engines on given fabrics

This page compares OpenSM's routing engines on eight fabrics: five that were generated, and three of real
clusters. It answers which engine can route a fabric, whether its tables may deadlock, how evenly they load
links, and how much traffic they carry. The command for one row, with a fabric of your own:

```text
fabricsim route FABRIC --engine dfsssp --against minhop --simulate
```

The tables of `python scripts/gallery_engines.py` have these columns:

| column | meaning |
| --- | --- |
| paths | pairs of adapters' ports (sender, LID) that arrive, of all |
| detours | of these, pairs on a longer path than the shortest |
| paths on a link | most, mean and least over both directions of all links between switches, all to all |
| lanes | virtual lanes that the engine needs or spreads paths over |
| deadlock | verdict of the channel-dependency graph: `free`, or `cycle` |
| bisection | effective bisection bandwidth: mean of 200 random bisections, part of the adapters' links |
| throughput | simulated, all ports send to random others at full rate: mean and least accepted load |
| latency | simulated, the same at 10 % load: mean and 99th percentile in µs |

`+ roots` is the engine with given roots, and `ftree` with given compute nodes too, if there are any. `nue`
has one lane or eight. `deployed` are the tables that were in use. LIDs are as OpenSM assigns them, messages
have 4 KiB, buffers 16 KiB for each lane; links and switches delay 100 ns each. If an engine cannot route a
fabric, its message stands in its row. OpenSM would route it with `minhop` and say so in its log only. Tables
with holes are not simulated.
"""
READING = """
## What the tables show

- Balance decides on trees: on the 4-ary 3-tree `minhop` and `ftree` both have shortest paths without a
  cycle; the fullest link has {tree_minhop} paths with `minhop` and {tree_ftree} with `ftree`, and random
  traffic gets {tree_minhop_load} and {tree_ftree_load} through.
- On the torus {torus_cyclic} have a cycle, and the simulation ends in a deadlock with {torus_dead}.
- On the DGX pod the verdict for `updn` is `{dgx_verdict}` with automatic roots and `{dgx_roots}` with given
  ones. `dfsssp` has at most {dgx_dfsssp} paths on a link, `minhop` {dgx_minhop}.
- On Avakas the deployed tables have at most {deployed} paths on a link, `minhop` {avakas_minhop}.
- A verdict of `cycle` says that a deadlock is possible. Whether one occurs depends on traffic, buffers and
  time: {survivors} of {cycles} rows with a cycle run through without one here.

Limits: buffers and delays are assumptions, the same for all fabrics; the fabrics' own may differ. Latencies
include the time in the sender's queue. The time that is simulated is short (20 to 200 µs), so a deadlock
that takes longer to form is not seen.
"""


@dataclass(frozen=True)
class Given:
    """A fabric of the reference."""

    name: str
    title: str
    file: str
    duration: str
    """Simulated time: warm-up and measurement each."""
    deployed: tuple[str, str] | None = None
    """The fabric as `ibnetdiscover -p` has it, and the tables that were in use on it."""

    def beside(self, folder: Path, ending: str) -> Path | None:
        """A file of the fabric with another ending, if there is one."""
        path = (folder / self.file).with_suffix(ending)
        return path if path.is_file() else None


FABRICS = [
    Given("mesh3x3", "3x3 mesh, 18 adapters", "topologies/mesh3x3.topo", "100 us"),
    Given("torus5x5", "5x5 torus, 50 adapters", "topologies/torus5x5.topo", "100 us"),
    Given("irr9", "9 switches at random, 18 adapters", "topologies/irr9.topo", "100 us"),
    Given("dfly72", "Dragonfly, 72 adapters", "topologies/dfly72.topo", "100 us"),
    Given("ft4ary3", "4-ary 3-tree, 64 adapters", "topologies/ft4ary3.topo", "100 us"),
    Given("loginoff_qdr144", "QDR cluster, 145 ports", "fabrics/loginoff_qdr144.ibnet", "200 us"),
    Given(
        "avakas",
        "QDR cluster Avakas, 281 ports",
        "fabrics/avakas.ibnet",
        "100 us",
        (
            "fabrics/raw/avakas/ib-subnet-fe80_0000_0000_0000.ibnetdiscover-p.txt",
            "fabrics/raw/avakas/ibroutes-fe80_0000_0000_0000.lfts.txt",
        ),
    ),
    Given("topograph_dgx_ndr", "NDR pod of DGX, 582 ports", "fabrics/topograph_dgx_ndr.ibnet", "20 us"),
]
VARIANTS = [
    ("minhop", False, 1),
    ("updn", False, 1),
    ("updn", True, 1),
    ("dnup", False, 1),
    ("ftree", False, 1),
    ("ftree", True, 1),
    ("dor", False, 1),
    ("torus-2QoS", False, 1),
    ("lash", False, 1),
    ("sssp", False, 1),
    ("dfsssp", False, 1),
    ("nue", False, 1),
    ("nue", False, 8),
    ("deployed", False, 1),
]
"""Engine, or `deployed` for tables that were in use; whether roots are given, and lanes of Nue."""
HEADER = [
    "engine",
    "paths",
    "detours",
    "paths on a link",
    "lanes",
    "deadlock",
    "bisection",
    "throughput",
    "latency (µs)",
]


@dataclass(frozen=True)
class Row:
    """An engine on a fabric."""

    label: str
    report: dict[str, Any] | None
    """None if it cannot route the fabric."""
    simulated: Simulated | None
    reason: str
    """Why it cannot route the fabric, or why the tables are not simulated."""

    def cells(self) -> list[str]:
        """Cells of the table."""
        if self.report is None:
            return [f"`{self.label}`", self.reason, *[""] * (len(HEADER) - 2)]
        pairs, load = self.report["pairs"], self.report["link_load"]
        total = pairs["reachable"] + pairs["unreachable"]
        arrived = f"{total:,}" if not pairs["unreachable"] else f"{pairs['reachable']:,} of {total:,}"
        bisection = self.report["traffic"]["bisection"]
        return [
            f"`{self.label}`",
            arrived,
            f"{pairs['non_minimal']:,}",
            f"{load['max']:,} / {load['mean']:.1f} / {load['min']:,}",
            str(self.report["layers"] or self.report["lanes"]),
            "free" if self.report["deadlock"]["free"] else "cycle",
            "-" if bisection is None else percent(bisection["mean"]),
            *self._measured(),
        ]

    def _measured(self) -> list[str]:
        one = self.simulated
        if one is None:
            return ["not simulated", self.reason]
        if one.status != "ok":
            return [one.status, "-"]
        throughput = f"{percent(one.throughput_mean)}, {percent(one.throughput_min)}"
        if one.latency_mean_ns is None or one.latency_p99_ns is None:
            return [throughput, "-"]
        return [throughput, f"{one.latency_mean_ns / 1e3:.2f}, {one.latency_p99_ns / 1e3:.2f}"]


def reference() -> Path:
    """Folder of the fabrics."""
    return Path(os.environ.get("FABRICSIM_REFERENCE", ROOT / "../shared/reference")) / "opensm"


def row(folder: Path, given: Given, variant: tuple[str, bool, int], simulates: bool = True) -> Row | None:
    """An engine on a fabric; None for one with roots, or deployed tables, where none are given."""
    engine, has_roots, lanes = variant
    label = engine + (" + roots" if has_roots else "") + (", 8 lanes" if lanes > 1 else "")
    request = _request(folder, given, engine, has_roots)
    if request is None:
        return None
    path = request.pop("fabric")
    try:
        found = route(path, nue_vls=lanes, **request)
    except (CannotRouteError, InputError) as error:
        return Row(label, None, None, str(error).removeprefix(f"{path}: ").removeprefix(f"{engine}: "))
    if not simulates:
        return Row(label, found.report, None, "")
    try:
        measured = simulate(found, patterns=["uniform"], load=LOAD, duration=given.duration)
    except InputError as error:
        # the first part names a file of the simulation
        return Row(label, found.report, None, str(error).splitlines()[0].partition(": ")[2])
    return Row(label, found.report, measured[0], "")


def _request(folder: Path, given: Given, engine: str, has_roots: bool) -> dict[str, Any] | None:
    """Arguments of `route`; None if the fabric has not what they name."""
    if engine == "deployed":
        if given.deployed is None:
            return None
        fabric, tables = given.deployed
        return {"fabric": folder / fabric, "tables": folder / tables}
    request: dict[str, Any] = {"fabric": folder / given.file, "engine": engine}
    if has_roots:
        request["roots"] = given.beside(folder, ".roots")
        if request["roots"] is None:
            return None
        if engine == "ftree":
            request["compute_nodes"] = given.beside(folder, ".cn")
    if engine == "torus-2QoS":
        request["torus"] = given.beside(folder, ".t2q")
    return request


def rows(folder: Path, given: Given) -> list[Row]:
    """All engines on a fabric."""
    found = []
    for variant in VARIANTS:
        one = row(folder, given, variant)
        if one is not None:
            found.append(one)
            print(f"{given.name} {one.label}: done", flush=True)
    return found


def picture(all_rows: dict[str, list[Row]]) -> Figure:
    """Effective bisection bandwidth and simulated throughput of each engine, a panel for each fabric."""
    with style():
        figure = new_figure(7.6, 9.6)
        panels = figure.subplots(4, 2).flat
        for axes, given in zip(panels, FABRICS, strict=True):
            _panel(axes, given, all_rows[given.name])
        legend(figure, below=True)
    return figure


def _panel(axes: Any, given: Given, shown: Sequence[Row]) -> None:
    nan = float("nan")
    places = range(len(shown))
    bisections, throughputs = [], []
    for place, one in zip(places, shown, strict=True):
        bisection = one.report["traffic"]["bisection"] if one.report else None
        bisections.append(nan if bisection is None else 100 * bisection["mean"])
        is_ok = one.simulated is not None and one.simulated.status == "ok"
        throughputs.append(100 * one.simulated.throughput_mean if is_ok and one.simulated else nan)
        note = "cannot route" if one.report is None else "deadlock" if not is_ok and one.simulated else ""
        axes.annotate(note, (1, place), va="center", fontsize=7, color="0.35")
    axes.hlines(places, 0, 100, color="0.9", linewidth=0.8)
    axes.plot(bisections, places, "o", color=COLOURS[0], label="effective bisection bandwidth")
    axes.plot(throughputs, places, "D", color=COLOURS[1], markersize=4, label="simulated throughput")
    axes.set_yticks(places, [one.label for one in shown], fontsize=7)
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.set(xlim=(0, 100), xlabel="% of the adapters' links")
    axes.set_title(given.title, fontsize=9)


def page(all_rows: dict[str, list[Row]]) -> str:
    """The text of the page."""
    parts = [INTRODUCTION, f"![Engines on eight fabrics]({PICTURE})"]
    for given in FABRICS:
        shown = [one.cells() for one in all_rows[given.name]]
        parts += [f"## {given.title} (`{given.name}`)", table(HEADER, shown)]
    parts.append(READING.format(**_numbers(all_rows)))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _numbers(all_rows: dict[str, list[Row]]) -> dict[str, str]:
    """Numbers of the text."""
    by_name = {(name, one.label): one for name, found in all_rows.items() for one in found}

    def most(fabric: str, label: str) -> str:
        report = by_name[fabric, label].report
        return "-" if report is None else f"{report['link_load']['max']:,}"

    def load(fabric: str, label: str) -> str:
        one = by_name[fabric, label].simulated
        return "-" if one is None else percent(one.throughput_mean)

    def verdict(label: str) -> str:
        return by_name["topograph_dgx_ndr", label].cells()[HEADER.index("deadlock")]

    simulated = [(one, one.simulated) for one in by_name.values() if one.report and one.simulated]
    cycles = [run for one, run in simulated if one.report and not one.report["deadlock"]["free"]]
    torus = all_rows["torus5x5"]
    cyclic = [one.label for one in torus if one.report and not one.report["deadlock"]["free"]]
    dead = [one.label for one in torus if one.simulated and one.simulated.status == "deadlock"]
    return {
        "tree_minhop": most("ft4ary3", "minhop"),
        "tree_ftree": most("ft4ary3", "ftree"),
        "tree_minhop_load": load("ft4ary3", "minhop"),
        "tree_ftree_load": load("ft4ary3", "ftree"),
        "torus_cyclic": ", ".join(f"`{label}`" for label in cyclic),
        "torus_dead": "each of them"
        if dead == cyclic
        else ", ".join(f"`{label}`" for label in dead) or "none",
        "dgx_verdict": verdict("updn"),
        "dgx_roots": verdict("updn + roots"),
        "deployed": most("avakas", "deployed"),
        "avakas_minhop": most("avakas", "minhop"),
        "dgx_dfsssp": most("topograph_dgx_ndr", "dfsssp"),
        "dgx_minhop": most("topograph_dgx_ndr", "minhop"),
        "survivors": str(sum(run.status == "ok" for run in cycles)),
        "cycles": str(len(cycles)),
    }


def main() -> None:
    folder = reference()
    all_rows = {given.name: rows(folder, given) for given in FABRICS}
    save(picture(all_rows), PAGE.parent / PICTURE)
    PAGE.write_text(page(all_rows), encoding="utf-8")


if __name__ == "__main__":
    main()
