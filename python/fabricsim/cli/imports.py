"""The command `import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from fabricsim.cli.console import caution, output
from fabricsim.cli.files import ForceFile, OutFile, write
from fabricsim.cli.findings import print_findings
from fabricsim.cli.state import Json, print_json
from fabricsim.errors import InputError
from fabricsim.importers import by_reason, import_omnetpp
from fabricsim.subnets import Subnet, experiment_text, read_subnet

_OMNETPP = "omnetpp"
_NAMES = {
    "switches": "switches",
    "adapters": "adapters",
    "aggregation_nodes": "of these, aggregation nodes",
    "routers": "routers",
    "cables": "cables",
    "switch_cables": "of these, between switches",
    "lids": "LIDs",
}


def import_(
    format: Annotated[
        Literal["omnetpp", "ibnetdiscover", "ibsim", "opensm-subnet"],
        typer.Argument(
            help="omnetpp: the InfiniBand model for OMNeT++; ibnetdiscover (also with -p), ibsim netlists or "
            "opensm-subnet.lst: an InfiniBand subnet."
        ),
    ],
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="The file of the subnet; of omnetpp the folder with omnetpp.ini, a .ned and a .fdbs file.",
        ),
    ],
    config: Annotated[
        str,
        typer.Option(
            "--config", metavar="NAME", help="omnetpp: which \\[Config NAME] of the configuration file."
        ),
    ] = "General",
    lfts: Annotated[
        Path | None,
        typer.Option(
            "--lfts",
            metavar="FILE",
            help="Forwarding tables: opensm-lfts.dump, opensm.fdbs, dump_lfts.sh or ibroute.",
        ),
    ] = None,
    sl2vl: Annotated[
        Path | None,
        typer.Option("--sl2vl", metavar="FILE", help="With --lfts: virtual lanes, as opensm-sl2vl.dump."),
    ] = None,
    path_sls: Annotated[
        Path | None,
        typer.Option("--path-sls", metavar="FILE", help="With --lfts: service levels of the tables' paths."),
    ] = None,
    out: OutFile = None,
    force: ForceFile = False,
    json: Json = False,
) -> None:
    """Make an experiment of another program's files, to which it refers, and report what is odd about them."""
    if format != _OMNETPP:
        if config != "General":
            raise InputError("--config: only for omnetpp")
        files = {"lfts": lfts, "sl2vl": sl2vl, "path_sls": path_sls}
        found = read_subnet(source, format, **files)
        folder = Path() if out is None else out.parent
        text = experiment_text(
            source,
            folder,
            **files,
            virtual_lanes=found.virtual_lanes,
            lmc=found.lmc,
            unknown_rates=sum(finding.kind == "unknown_rate" for finding in found.findings),
        )
        _subnet(found, text, out, force, json)
        return
    if lfts or sl2vl or path_sls:
        raise InputError("--lfts, --sl2vl and --path-sls: only for InfiniBand subnets, not for omnetpp")
    imported = import_omnetpp(source, Path() if out is None else out.parent, config)
    if out is not None or not json:
        write(imported.text, out, force)
    for message in by_reason(imported.not_read):
        caution(message)
    if json:
        not_read = [one.as_dict() for one in imported.not_read]
        print_json(
            {"experiment": imported.text, "file": None if out is None else str(out), "not_read": not_read}
        )


def _subnet(found: Subnet, text: str, out: Path | None, force: bool, json: bool) -> None:
    if out is not None:
        write(text, out, force)
    if json:
        print_json({**found.as_dict(), "experiment": text, "file": None if out is None else str(out)})
        return
    print_subnet(found, output())
    if out is not None:
        output().print(f"experiment: {out}", markup=False)
    else:
        output().print("no experiment is written: name its file with --out")


def print_subnet(found: Subnet, console: Console) -> None:
    """Counts, and findings by kind."""
    table = Table.grid(padding=(0, 2))
    for key, name in _NAMES.items():
        if found.counts[key]:
            table.add_row(name, str(found.counts[key]))
    console.print(table)
    if not found.findings:
        console.print("nothing odd")
    print_findings(found.findings, console)
