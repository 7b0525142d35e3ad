"""An experiment on an imported subnet."""

from __future__ import annotations

import json
import os
from pathlib import Path

_TEXT = """\
# A fabric from {source}. Rates are those of the cables' widths and speeds; what the file does not say is set here.
title = {name}

[topology.file]
path = {fabric}

[links.all]
latency = "100 ns"     # a few metres of cable, and both ends of it

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
tables = {tables}
"""

_ENGINE = """\
[routing]
algorithm = "opensm"
engine = "minhop"      # as OpenSM does by default
"""


def experiment_text(fabric: Path, folder: Path, lfts: Path | None = None) -> str:
    """The text of an experiment in `folder` on the subnet of a file, with its tables or OpenSM's default engine."""

    def place(path: Path) -> str:
        return json.dumps(os.path.relpath(path, folder), ensure_ascii=False)

    routing = _ENGINE if lfts is None else _TABLES.format(tables=place(lfts))
    name = json.dumps(fabric.stem, ensure_ascii=False)
    return _TEXT.format(source=fabric.name, name=name, fabric=place(fabric), routing=routing, lanes=1)
