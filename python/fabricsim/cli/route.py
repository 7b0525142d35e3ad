"""The command `route`."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fabricsim.cli import route_options as options
from fabricsim.cli.console import caution, output, tell
from fabricsim.cli.files import ForceFile, write
from fabricsim.cli.findings import print_findings
from fabricsim.cli.numbers import fixed
from fabricsim.cli.pictures import Drawing, LabelOption, StyleOption, WidthOption, drawing_if
from fabricsim.cli.route_checks import check, check_lmc, is_engine
from fabricsim.cli.state import Json, Set, print_json
from fabricsim.errors import InputError
from fabricsim.shown import number_of
from fabricsim.spec import parse_assignment
from fabricsim.subnets import (
    ENGINES,
    FABRIC_FORMS,
    TABLE_FORMS,
    WITHOUT_LMC,
    Finding,
    Routed,
    compared,
    read_matrix,
    without_lmc,
)
from fabricsim.subnets import route as route_subnet
from fabricsim.subnets import simulate as simulate_routes


def route(
    fabric: options.Fabric,
    engine: options.Engine = None,
    tables: options.Tables = None,
    table_levels: options.TableLevels = None,
    table_lanes: options.TableLanes = None,
    roots: options.Roots = None,
    torus: options.Torus = None,
    compute_nodes: options.ComputeNodes = None,
    port_shifting: options.PortShifting = False,
    scatter_ports: options.ScatterPorts = None,
    lmc: options.Lmc = None,
    manager: options.Manager = None,
    vls: options.VirtualLanes = None,
    nue_vls: options.NueVls = None,
    fail: options.Fail = None,
    against: options.Against = None,
    matrix: options.Matrix = None,
    lfts: options.Lfts = None,
    lfts_form: options.LftsForm = None,
    fabric_out: options.FabricOut = None,
    fabric_form: options.FabricForm = None,
    sl2vl: options.Sl2vl = None,
    path_sls: options.PathSls = None,
    opensm_conf: options.OpensmConf = None,
    loads: options.Loads = None,
    plot: options.Plot = None,
    style: StyleOption = "screen",
    width: WidthOption = None,
    label: LabelOption = None,
    simulate: options.Simulate = False,
    load: options.Load = None,
    duration: options.Duration = None,
    set: Set = None,
    force: ForceFile = False,
    json: Json = False,
) -> None:
    """Forwarding tables of a subnet as OpenSM computes them, or given ones: reach, balance, deadlock verdict."""
    check(fabric, options.by_name(locals()))
    pictures = drawing_if(plot is not None, "--plot", style, width, label)
    files: dict[str, Any] = {"roots": roots, "torus": torus, "compute_nodes": compute_nodes}
    of_ports = {"port_shifting": port_shifting, "scatter_ports": scatter_ports or 0}
    lanes = {"vls": vls or 8, "nue_vls": 1 if nue_vls is None else nue_vls}
    of_nodes = {"lmc": lmc, "manager": manager, "fail": fail or ()}
    demands = [] if matrix is None else read_matrix(matrix)
    overrides = [parse_assignment(text) for text in set or []]
    common = {**files, **of_ports, **lanes, **of_nodes, "matrix": demands, "overrides": overrides}
    found = route_subnet(fabric, engine, tables=tables, path_sls=table_levels, sl2vl=table_lanes, **common)
    check_lmc(fabric, lmc, found.report["lmc"], tables)
    _warn_of_lost_lmc(fabric_form, found.report["lmc"])
    for out, text in [
        (lfts, lambda: found.tables_in(lfts_form or TABLE_FORMS[0])),
        (fabric_out, lambda: found.fabric_in(fabric_form or FABRIC_FORMS[0])),
        (sl2vl, lambda: found.sl2vl),
        (path_sls, lambda: found.path_sls),
        (opensm_conf, lambda: found.opensm_conf(lfts)),
        (loads, lambda: _loads_csv(found)),
    ]:
        _write(out, text, force)
    answers = [found] if against is None else _compare(found, fabric, against, common)
    if simulate:
        _simulate(answers, load or 0.3, duration or "100 us")
    if plot is not None and pictures is not None:
        _draw(answers, fabric, plot, pictures, force)
    _show(answers, json)


def _warn_of_lost_lmc(fabric_form: str | None, lmc: int) -> None:
    """Warns of a form of the subnet that has no LMC."""
    if fabric_form in WITHOUT_LMC and lmc:
        caution(without_lmc(fabric_form, lmc))


def _write(out: Path | None, text: Callable[[], str], force: bool) -> None:
    """Writes a text for which there is a file."""
    if out is not None:
        write(text(), out, force)
        tell(f"written: {out}")


def _show(answers: Sequence[Routed], json: bool) -> None:
    """Prints the report, the last of `answers`, and the one that it is compared with."""
    if not json:
        print_routed(answers, output())
        return
    report = answers[-1].report
    print_json(report if len(answers) == 1 else {**report, "against": answers[0].report})


def _simulate(answers: Sequence[Routed], load: float, duration: str) -> None:
    """Adds the results of simulated packets to the reports."""
    for answer in answers:
        measured = simulate_routes(answer, load=load, duration=duration)
        answer.report["simulated"] = [asdict(one) for one in measured]


def _draw(answers: Sequence[Routed], fabric: Path, out: Path, pictures: Drawing, force: bool) -> None:
    """Draws the loads of links of all answers."""
    from fabricsim.plots import link_loads, save  # noqa: PLC0415 - matplotlib takes long to import

    if out.exists() and not force:
        raise InputError(f"{out}: this exists; choose another file, or replace it with --force")
    failed = (answers[-1].report["failure"] or {}).get("failed", [])
    title = (
        f"{fabric.name}{' without ' if failed else ''}{', '.join(failed)}: loads of links between switches"
    )
    with pictures.look():
        save(link_loads(dict(zip(_names(answers), answers, strict=True)), title), out)
    tell(f"written: {out}")


def _names(answers: Sequence[Routed]) -> list[str]:
    """Names of answers that differ."""
    names = [str(answer.report["engine"]) for answer in answers]
    return names if len({*names}) == len(names) else [f"{name} ({at})" for at, name in enumerate(names, 1)]


def _loads_csv(routed: Routed) -> str:
    """The load of each link as CSV."""
    out = io.StringIO()
    columns = (
        list(routed.links[0])
        if routed.links
        else [
            "switch",
            "port",
            "next",
            "guid",
            "next_guid",
            "next_port",
            "gbps",
            "all_to_all",
        ]
    )
    table = csv.DictWriter(out, columns, lineterminator="\n")
    table.writeheader()
    table.writerows(routed.links)
    return out.getvalue()


def _compare(found: Routed, fabric: Path, against: str, common: dict[str, Any]) -> list[Routed]:
    """The answer to compare with, and `found`, which gets an advice that compares them."""
    other = _other(fabric, against, common)
    found.report["advice"].append(asdict(compared(found.report, other.report)))
    return [other, found]


def _other(fabric: Path, against: str, common: dict[str, Any]) -> Routed:
    """The same subnet by another engine, or with the tables of a file."""
    if is_engine(against):
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
    if all("simulated" in one.report for one in found):
        console.print(_simulated(found))
    for one in found:
        print_findings([Finding(**finding) for finding in one.report["findings"]], console)
        _print_links(one.report, console)
    for one in found:
        _print_advice(one.report, console)


def _simulated(found: Sequence[Routed]) -> Table:
    """Throughput, latency and victims of each pattern, an answer a column."""
    table = Table(title="simulated: mean (least) throughput of the adapters' links, latency", box=None)
    table.add_column("pattern")
    for one in found:
        table.add_column(str(one.report["engine"]), justify="right")
    for number, measured in enumerate(found[0].report["simulated"]):
        cells = (_measured(one.report["simulated"][number]) for one in found)
        table.add_row(measured["pattern"], *cells)
    return table


def _measured(one: dict[str, Any]) -> str:
    if one["status"] != "ok":
        return str(one["status"])
    text = f"{one['throughput_mean']:.1%} ({one['throughput_min']:.1%})"
    text += ", -" if one["latency_mean_ns"] is None else f", {one['latency_mean_ns'] / 1e3:.2f} µs"
    if one["lost"] > 0.0:
        text += f", {one['lost']:.1%} lost"
    if one["latency_p99_ns"] is not None:
        text += f", p99 {one['latency_p99_ns'] / 1e3:.2f} µs"
    if one["victims"] is not None:
        text += f", victims {one['victims']} of {one['bystanders']}"
    return text


def _print_advice(report: dict[str, Any], console: Console) -> None:
    console.print(
        f"{report['engine']}: advice" if report["advice"] else f"{report['engine']}: nothing to act on"
    )
    for one in report["advice"]:
        console.print(f"  - {one['text']}", markup=False, highlight=False)


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


def _layers(report: dict[str, Any]) -> str:
    layers, lanes = report["layers"], report["lanes"]
    if layers is None:
        return f"the paths use {number_of(lanes, 'virtual lane')}"
    return (
        str(layers)
        if layers >= lanes
        else f"{layers} suffice, the paths use {number_of(lanes, 'virtual lane')}"
    )


def _processor_time(report: dict[str, Any]) -> str:
    if report["engine_cpu_s"] is None:
        return f"{fixed(report['cpu_s'])} s"
    return f"{fixed(report['cpu_s'])} s, of which the engine took {fixed(report['engine_cpu_s'])} s"


_ROWS: dict[str, Callable[[dict[str, Any]], str]] = {
    "paths": _paths,
    "switches on a path": lambda report: f"{fixed(report['hops_mean'])} in the mean",
    "paths on a link": _loads,
    "layers": _layers,
    "deadlock": lambda report: "none possible" if report["deadlock"]["free"] else "possible: see below",
    "effective bisection": _bisection,
    "processor time": _processor_time,
}


def _print_links(report: dict[str, Any], console: Console) -> None:
    if report["hot_links"]:
        hot = Table(title=f"{report['engine']}: links with most paths")
        hot.add_column("paths", justify="right")
        hot.add_column("link")
        hot.add_column("GUIDs and ports of its ends")
        for link in report["hot_links"]:
            ends = f"{link['guid']}/{link['port']['port']} {link['next_guid']}/{link['next_port']}"
            hot.add_row(f"{link['paths']:,}", escape(link["name"]), ends)
        console.print(hot)
    names = (report["deadlock"]["cycle"] or {}).get("names", [])
    if names:
        console.print(f"{report['engine']}: cyclic dependency of channels:")
    for name in names:
        console.print(f"  {name}", markup=False)
