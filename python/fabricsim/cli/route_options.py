"""Options of the command `route`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from fabricsim.subnets import ENGINES, FABRIC_FORMS, TABLE_FORMS
from fabricsim.subnets.engine_options import readers

_FILE = {"metavar": "FILE"}

Fabric = Annotated[
    Path,
    typer.Argument(
        metavar="FABRIC", help="An experiment (.toml), or a file of ibnetdiscover, ibsim or OpenSM."
    ),
]
Engine = Annotated[str | None, typer.Option("--engine", help=f"{', '.join(ENGINES)}; by default minhop.")]
Tables = Annotated[
    Path | None,
    typer.Option("--tables", metavar="LFTS", help="Analyse these tables in place of an engine's."),
]
TableLevels = Annotated[
    Path | None,
    typer.Option("--table-path-sls", **_FILE, help="Service levels of paths that belong to --tables."),
]
TableLanes = Annotated[
    Path | None, typer.Option("--table-sl2vl", **_FILE, help="SL2VL tables that belong to --tables.")
]
Roots = Annotated[
    Path | None,
    typer.Option("--roots", **_FILE, help=f"GUIDs of root switches, one a line ({readers('--roots')})."),
]
Torus = Annotated[
    Path | None,
    typer.Option("--torus-conf", **_FILE, help=f"torus-2QoS.conf of the torus ({readers('--torus-conf')})."),
]
ComputeNodes = Annotated[
    Path | None,
    typer.Option(
        "--compute-nodes",
        **_FILE,
        help=f"GUIDs of compute nodes' ports, one a line ({readers('--compute-nodes')}).",
    ),
]
PortShifting = Annotated[
    bool, typer.Option("--port-shifting", help=f"As OpenSM's option ({readers('--port-shifting')}).")
]
ScatterPorts = Annotated[
    int | None,
    typer.Option(
        "--scatter-ports", min=0, help=f"As OpenSM's option: a seed ({readers('--scatter-ports')})."
    ),
]
Lmc = Annotated[int | None, typer.Option("--lmc", min=0, max=7, help="Assign LIDs with this mask control.")]
Manager = Annotated[
    str | None,
    typer.Option(
        "--manager",
        metavar="NODE",
        help="Where OpenSM runs: if LIDs are assigned, its port gets the first.",
    ),
]
VirtualLanes = Annotated[
    int | None,
    typer.Option("--vls", min=1, max=15, help="Virtual lanes of all links, for engines; by default 8."),
]
NueVls = Annotated[
    int | None,
    typer.Option(
        "--nue-vls", min=0, max=15, help="Virtual lanes that nue may use, by default 1; 0: all of --vls."
    ),
]
Fail = Annotated[
    list[str] | None,
    typer.Option(
        "--fail",
        metavar="NAME",
        help="Take out a node (description or GUID), a cable (NODE/PORT) or all cables between two nodes "
        "(NODE->NODE). Repeatable.",
    ),
]
Against = Annotated[
    str | None,
    typer.Option("--against", metavar="ENGINE|LFTS", help="Show another engine, or tables, beside it."),
]
Matrix = Annotated[
    Path | None,
    typer.Option(
        "--matrix", metavar="CSV", help="Count the load of these demands: lines SENDER,RECEIVER,WEIGHT."
    ),
]
Lfts = Annotated[
    Path | None, typer.Option("--lfts", metavar="OUT", help="Write the forwarding tables there.")
]
LftsForm = Annotated[
    str | None,
    typer.Option("--lfts-form", help=f"For --lfts: {', '.join(TABLE_FORMS)}; by default {TABLE_FORMS[0]}."),
]
FabricOut = Annotated[
    Path | None,
    typer.Option("--fabric-out", metavar="OUT", help="Write the subnet with its LIDs there."),
]
FabricForm = Annotated[
    str | None,
    typer.Option(
        "--fabric-form",
        help=f"For --fabric-out: {', '.join(FABRIC_FORMS)}; by default {FABRIC_FORMS[0]}.",
    ),
]
Sl2vl = Annotated[Path | None, typer.Option("--sl2vl", metavar="OUT", help="Write the SL2VL tables there.")]
PathSls = Annotated[
    Path | None,
    typer.Option(
        "--path-sls",
        metavar="OUT",
        help=f"Write the service levels of paths there ({readers('--path-sls')}).",
    ),
]
OpensmConf = Annotated[
    Path | None,
    typer.Option(
        "--opensm-conf",
        metavar="OUT",
        help="Write there the options for opensm.conf that compute or load the tables.",
    ),
]
Loads = Annotated[
    Path | None,
    typer.Option("--loads", metavar="OUT", help="Write the load of each link there, as CSV."),
]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="OUT", help="Draw the loads of all links: .png, .svg or .pdf."),
]
Simulate = Annotated[
    bool, typer.Option("--simulate", help="Simulate packets: throughput, latency, victims of an incast.")
]
Load = Annotated[
    float | None,
    typer.Option(
        "--load",
        min=0.01,
        max=1.0,
        help="For --simulate: the load at which latency is measured, by default 0.3.",
    ),
]
Duration = Annotated[
    str | None,
    typer.Option("--duration", metavar="TIME", help="For --simulate: the measured time, by default 100 us."),
]

_NAMES = {
    "--engine": "engine",
    "--tables": "tables",
    "--table-path-sls": "table_levels",
    "--table-sl2vl": "table_lanes",
    "--roots": "roots",
    "--torus-conf": "torus",
    "--compute-nodes": "compute_nodes",
    "--port-shifting": "port_shifting",
    "--scatter-ports": "scatter_ports",
    "--vls": "vls",
    "--nue-vls": "nue_vls",
    "--against": "against",
    "--lfts": "lfts",
    "--lfts-form": "lfts_form",
    "--fabric-out": "fabric_out",
    "--fabric-form": "fabric_form",
    "--sl2vl": "sl2vl",
    "--path-sls": "path_sls",
    "--opensm-conf": "opensm_conf",
    "--loads": "loads",
    "--plot": "plot",
    "--simulate": "simulate",
    "--load": "load",
    "--duration": "duration",
    "--set": "set",
}
"""Options that are checked together, by their names: parameters of the command."""


def by_name(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the options that are checked together, by their names, from the parameters of the command."""
    return {name: parameters[parameter] for name, parameter in _NAMES.items()}
