"""The command `route`."""

from __future__ import annotations

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
from fabricsim.subnets import ENGINES, Routed
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
    vls: Annotated[int, typer.Option("--vls", min=1, max=15, help="Virtual lanes of all links.")] = 8,
    fail: Annotated[
        list[str] | None,
        typer.Option(
            "--fail",
            metavar="NAME",
            help="Take out a node (description or GUID), a cable (NODE/PORT) or all cables between two nodes "
            "(NODE->NODE). Repeatable.",
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
    found = route_subnet(
        fabric,
        engine,
        tables=tables,
        path_sls=table_levels,
        sl2vl=table_lanes,
        roots=roots,
        compute_nodes=compute_nodes,
        port_shifting=port_shifting,
        scatter_ports=scatter_ports,
        lmc=lmc,
        vls=vls,
        fail=fail or (),
        overrides=[parse_assignment(text) for text in set or []],
    )
    written = {lfts: found.lfts, sl2vl: found.sl2vl, path_sls: found.path_sls}
    for out, text in written.items():
        if out is not None:
            write(text, out, force)
            tell(f"written: {out}")
    if json:
        print_json(found.report)
    else:
        print_routed(found, output())


def print_routed(found: Routed, console: Console) -> None:
    """The report as a short table."""
    report = found.report
    pairs, load = report["pairs"], report["link_load"]
    table = Table.grid(padding=(0, 2))
    table.add_row("engine", report["engine"])
    total = pairs["reachable"] + pairs["unreachable"]
    table.add_row("paths", f"{pairs['reachable']:,} of {total:,} arrive, {pairs['non_minimal']:,} by detours")
    table.add_row("switches on a path", f"{fixed(report['hops_mean'])} in the mean")
    table.add_row(
        "paths on a link",
        f"{load['max']:,} at most, {fixed(load['mean'], 1)} in the mean, {load['min']:,} at least",
    )
    table.add_row("layers", str(report["layers"]))
    table.add_row("deadlock", _verdict(report["deadlock"]))
    table.add_row("processor time", f"{fixed(report['cpu_s'])} s")
    console.print(table)
    if report["hot_links"]:
        hot = Table(title="links with most paths")
        hot.add_column("paths", justify="right")
        hot.add_column("link")
        for link in report["hot_links"]:
            hot.add_row(f"{link['paths']:,}", link["name"])
        console.print(hot)
    for name in (report["deadlock"]["cycle"] or {}).get("names", []):
        console.print(f"waits for: {name}", markup=False)


def _verdict(deadlock: dict[str, Any]) -> str:
    return "none possible" if deadlock["free"] else "possible: the channels below wait for each other"
