"""`fabricsim ordering-demo`: its result."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from fabricsim.cli.console import output
from fabricsim.cli.state import show
from fabricsim.errors import FabricsimError
from fabricsim.ordering_demo import DemoOptions, DemoResult
from fabricsim.ordering_demo import ordering_demo as transfer
from fabricsim.shown import number_of


def run(options: DemoOptions, file: Path | None, as_json: bool) -> None:
    """Runs the demonstration and shows its result. The options are in `fabricsim.cli.ordering_options`."""
    result = transfer(file=file, **options)
    show(as_json, result.as_dict, lambda: output().print(_table(result)))
    if not result.intact and result.mode not in ("unordered", "selective"):
        raise FabricsimError("what came out is not what went in: this is a defect, please report it")


def _table(result: DemoResult) -> Table:
    table = Table(
        title=f"{result.mode}: {result.bytes / 1e6:.3g} MB in {result.seconds:.3g} s", show_header=False
    )
    rows = [
        ("throughput", f"{result.mbytes_per_s:.3g} MB/s"),
        ("arrived out of order", f"{result.out_of_order_share:.1%}"),
        ("waited in the reorder buffer", f"{result.reordered_share:.1%}"),
        ("most in the reorder buffer", number_of(result.target["most_reordered"], "packet")),
        ("dropped by the network", number_of(result.network["dropped"], "datagram")),
        ("retransmitted", f"{result.source['resent']:,} of {number_of(result.source['sent'], 'packet')}"),
        ("sent in slow mode", number_of(result.source["slow"], "packet")),
        ("delivered out of order", number_of(result.order_violations, "packet")),
        ("bytes that came out", "those that went in" if result.intact else "in another order"),
    ]
    for name, value in rows:
        table.add_row(name, value)
    return table
