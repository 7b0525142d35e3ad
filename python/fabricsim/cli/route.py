"""The command `route`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from fabricsim.cli.files import ForceFile, write
from fabricsim.cli.numbers import fixed
from fabricsim.cli.state import Json, Set, output, print_json, tell
from fabricsim.errors import InputError
from fabricsim.spec import parse_assignment
from fabricsim.subnets import ENGINES, Routed, read_matrix
from fabricsim.subnets import route as route_subnet

_FILE = {"metavar": "FILE"}


def route(
    fabric: Annotated[
        Path,
        typer.Argument(
            metavar="FABRIC", help="An experiment (.toml), or a file of ibnetdiscover, ibsim or OpenSM."
        ),
    ],
    engine: Annotated[
        str | None, typer.Option("--engine", help=f"{', '.join(ENGINES)}; by default minhop.")
    ] = None,
    tables: Annotated[
        Path | None,
        typer.Option("--tables", metavar="LFTS", help="Analyse these tables in place of an engine's."),
    ] = None,
    table_levels: Annotated[
        Path | None,
        typer.Option("--table-path-sls", **_FILE, help="Service levels of paths that belong to --tables."),
    ] = None,
    table_lanes: Annotated[
        Path | None, typer.Option("--table-sl2vl", **_FILE, help="SL2VL tables that belong to --tables.")
    ] = None,
    roots: Annotated[
        Path | None,
        typer.Option("--roots", **_FILE, help="GUIDs of root switches, one a line (updn, ftree)."),
    ] = None,
    torus: Annotated[
        Path | None, typer.Option("--torus-conf", **_FILE, help="torus-2QoS.conf of the torus (torus-2QoS).")
    ] = None,
    compute_nodes: Annotated[
        Path | None,
        typer.Option("--compute-nodes", **_FILE, help="GUIDs of compute nodes' ports, one a line (ftree)."),
    ] = None,
    port_shifting: Annotated[bool, typer.Option("--port-shifting", help="As OpenSM's option.")] = False,
    scatter_ports: Annotated[
        int, typer.Option("--scatter-ports", min=0, help="As OpenSM's option: a seed.")
    ] = 0,
    lmc: Annotated[
        int | None, typer.Option("--lmc", min=0, max=7, help="Assign LIDs with this mask control.")
    ] = None,
    manager: Annotated[
        str | None,
        typer.Option(
            "--manager",
            metavar="NODE",
            help="Where OpenSM runs: if LIDs are assigned, its port gets the first.",
        ),
    ] = None,
    vls: Annotated[int, typer.Option("--vls", min=1, max=15, help="Virtual lanes of all links.")] = 8,
    nue_vls: Annotated[
        int, typer.Option("--nue-vls", min=0, max=15, help="Virtual lanes that nue may use; 0: all.")
    ] = 1,
    fail: Annotated[
        list[str] | None,
        typer.Option(
            "--fail",
            metavar="NAME",
            help="Take out a node (description or GUID), a cable (NODE/PORT) or all cables between two nodes "
            "(NODE->NODE). Repeatable.",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="ENGINE|LFTS", help="Show another engine, or tables, beside it."),
    ] = None,
    matrix: Annotated[
        Path | None,
        typer.Option(
            "--matrix", metavar="CSV", help="Count the load of these demands: lines SENDER,RECEIVER,WEIGHT."
        ),
    ] = None,
    lfts: Annotated[
        Path | None, typer.Option("--lfts", metavar="OUT", help="Write the forwarding tables there.")
    ] = None,
    sl2vl: Annotated[
        Path | None, typer.Option("--sl2vl", metavar="OUT", help="Write the SL2VL tables there.")
    ] = None,
    path_sls: Annotated[
        Path | None,
        typer.Option("--path-sls", metavar="OUT", help="Write the service levels of paths there."),
    ] = None,
    set: Set = None,
    force: ForceFile = False,
    json: Json = False,
) -> None:
    """Forwarding tables of a subnet as OpenSM computes them, or given ones: reach, balance, deadlock verdict."""
    if engine is not None and engine.lower() not in {name.lower() for name in ENGINES}:
        raise InputError(f"--engine: no engine {engine!r}: expected one of {', '.join(ENGINES)}")
    common: dict[str, Any] = {
        "roots": roots,
        "torus": torus,
        "compute_nodes": compute_nodes,
        "port_shifting": port_shifting,
        "scatter_ports": scatter_ports,
        "lmc": lmc,
        "manager": manager,
        "vls": vls,
        "nue_vls": nue_vls,
        "fail": fail or (),
        "matrix": [] if matrix is None else read_matrix(matrix),
        "overrides": [parse_assignment(text) for text in set or []],
    }
    found = route_subnet(fabric, engine, tables=tables, path_sls=table_levels, sl2vl=table_lanes, **common)
    written = {lfts: found.lfts, sl2vl: found.sl2vl, path_sls: found.path_sls}
    for out, text in written.items():
        if out is not None:
            write(text, out, force)
            tell(f"written: {out}")
    other = None if against is None else _other(fabric, against, common)
    if json:
        print_json(found.report if other is None else {**found.report, "against": other.report})
    else:
        print_routed([found] if other is None else [other, found], output())


def _other(fabric: Path, against: str, common: dict[str, Any]) -> Routed:
    """The same subnet by another engine, or with the tables of a file."""
    if against.lower() in {name.lower() for name in ENGINES}:
        return route_subnet(fabric, against, **common)
    if not Path(against).is_file():
        raise InputError(f"--against: neither a file nor an engine: {against} ({', '.join(ENGINES)})")
    return route_subnet(fabric, tables=against, **common)


def print_routed(found: Sequence[Routed], console: Console) -> None:
    """Reports side by side, and the most loaded links and the cycle of each."""
    table = Table(show_header=len(found) > 1, box=None, padding=(0, 2, 0, 0))
    table.add_column("")
    for one in found:
        table.add_column(str(one.report["engine"]))
    for label, cell in _ROWS.items():
        table.add_row(label, *(cell(one.report) for one in found))
    for number, pattern in enumerate(found[-1].report["traffic"]["patterns"]):
        cells = (_pattern(one.report["traffic"]["patterns"][number]) for one in found)
        table.add_row(f"flows on a link, {pattern['pattern']}", *cells)
    console.print(table)
    for one in found:
        _print_links(one.report, console)


def _pattern(load: dict[str, Any]) -> str:
    if load["phases"] == 1:
        return f"{fixed(load['worst_max'], 1)} at most"
    mean, worst = fixed(load["mean_max"], 1), fixed(load["worst_max"], 1)
    return f"{mean} at most in the mean of {load['phases']} phases, {worst} in the worst"


def _paths(report: dict[str, Any]) -> str:
    pairs = report["pairs"]
    total = pairs["reachable"] + pairs["unreachable"]
    return f"{pairs['reachable']:,} of {total:,} arrive, {pairs['non_minimal']:,} by detours"


def _loads(report: dict[str, Any]) -> str:
    load = report["link_load"]
    return f"{load['max']:,} at most, {fixed(load['mean'], 1)} in the mean, {load['min']:,} at least"


def _bisection(report: dict[str, Any]) -> str:
    found = report["traffic"]["bisection"]
    if found is None:
        return "-"
    return f"{found['mean']:.1%} of the adapters' links (± {found['error']:.1%}), {found['worst']:.1%} in the worst"


_ROWS: dict[str, Callable[[dict[str, Any]], str]] = {
    "paths": _paths,
    "switches on a path": lambda report: f"{fixed(report['hops_mean'])} in the mean",
    "paths on a link": _loads,
    "layers": lambda report: str(report["layers"]),
    "deadlock": lambda report: "none possible" if report["deadlock"]["free"] else "possible: see below",
    "effective bisection": _bisection,
    "processor time": lambda report: f"{fixed(report['cpu_s'])} s",
}


def _print_links(report: dict[str, Any], console: Console) -> None:
    if report["hot_links"]:
        hot = Table(title=f"{report['engine']}: links with most paths")
        hot.add_column("paths", justify="right")
        hot.add_column("link")
        for link in report["hot_links"]:
            hot.add_row(f"{link['paths']:,}", link["name"])
        console.print(hot)
    names = (report["deadlock"]["cycle"] or {}).get("names", [])
    if names:
        console.print(f"{report['engine']}: cyclic dependency of channels:")
    for name in names:
        console.print(f"  {name}", markup=False)
