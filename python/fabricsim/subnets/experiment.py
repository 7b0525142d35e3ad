"""An experiment on an imported subnet."""

from __future__ import annotations

import json
import os
from pathlib import Path

from fabricsim.errors import InputError

_TEXT = """\
# A fabric from {source}. Rates are those of the cables' widths and speeds; what the file does not say is set here.
title = {name}

[topology.file]
path = {fabric}

[links.all]
latency = "100 ns"     # a few metres of cable, and both ends of it
{rate}
{routing}
[switch]
router_delay = "100 ns"
virtual_lanes = {lanes}

[host]
mtu = "4 KiB"

[[traffic]]
pattern = "uniform"
load = 0.5
message = "4 KiB"

[run]
warmup = "50 us"
duration = "200 us"
"""

_TABLES = """\
[routing]
algorithm = "table"
"""

_ENGINE = """\
[routing]
algorithm = "opensm"
engine = "minhop"      # as OpenSM does by default
"""

_LMC = """\
lmc = {lmc}                # as the ports of the file; sources use all these LIDs with `paths = "in-turn"`
"""

_RATE = """\
rate = "100 Gb/s"      # of {cables} cables whose width and speed are not in the file
"""


def experiment_text(
    fabric: Path,
    folder: Path,
    *,
    lfts: Path | None = None,
    sl2vl: Path | None = None,
    path_sls: Path | None = None,
    virtual_lanes: int = 1,
    lmc: int = 0,
    unknown_rates: int = 0,
) -> str:
    """The text of an experiment on the subnet of a file.

    Args:
        fabric: the file of the subnet.
        folder: the folder of the experiment, to which names of files are relative.
        lfts: forwarding tables; without them OpenSM's default engine routes.
        sl2vl: virtual lanes of service levels.
        path_sls: service levels of the tables' paths.
        virtual_lanes: virtual lanes of all links, such as `Subnet.virtual_lanes`.
        lmc: LID mask control, such as `Subnet.lmc`.
        unknown_rates: cables whose width or speed the file does not have: they get the rate that the experiment states.

    Raises:
        InputError: service levels or lanes without forwarding tables.
    """

    def place(path: Path) -> str:
        return json.dumps(os.path.relpath(path, folder), ensure_ascii=False)

    named = {"tables": lfts, "path_sls": path_sls, "sl2vl": sl2vl}
    given = {key: path for key, path in named.items() if path is not None}
    if given and lfts is None:
        options = " and ".join(f"--{key.replace('_', '-')}" for key in given)
        raise InputError(f"{options}: only with --lfts, the tables of these paths")
    routing = _TABLES + "".join(f"{key} = {place(path)}\n" for key, path in given.items())
    name = json.dumps(fabric.stem, ensure_ascii=False)
    return _TEXT.format(
        source=fabric.name,
        name=name,
        fabric=place(fabric),
        rate=_RATE.format(cables=unknown_rates) if unknown_rates else "",
        routing=(routing if given else _ENGINE) + (_LMC.format(lmc=lmc) if lmc else ""),
        lanes=virtual_lanes,
    )
