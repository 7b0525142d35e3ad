"""Simulations of the InfiniBand model for OMNeT++ (first published by Mellanox) as experiments.

A folder holds `omnetpp.ini`, one `.ned` file and one `.fdbs` file. The experiment refers to the last two; rates,
buffers, traffic and congestion control are taken from the first. What the experiment does not express is named.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from fabricsim.errors import InputError
from fabricsim.importers.congestion import COMMENT, import_congestion
from fabricsim.importers.generators import Generators
from fabricsim.importers.ini import GENERAL, Entry, Ini
from fabricsim.importers.links import Slots, import_links
from fabricsim.importers.model import CODING, Model, plain
from fabricsim.importers.unread import NotRead, not_read
from fabricsim.spec import Experiment

SINK_SLOWDOWN = 1.05
"""The model's sink takes this much longer for a byte than its bus."""
INI = "omnetpp.ini"

HEADER = """\
# Transcribed from {ini} and the files beside it
# by `fabricsim import omnetpp`.
"""
SLOT_NOTE = """\
# iswMode = 0: the model holds every credit for ISWDelay after the slot at the head of its queue is free, so that one
# input can pass one credit every ISWDelay to an output. There is no such slot here: it is written as the rate of the
# links between switches.
"""


@dataclass(frozen=True)
class Imported:
    """An experiment, and what it does not say of the simulation."""

    text: str
    """TOML."""
    read: list[Entry]
    """Entries of the configuration that gave the experiment a value."""
    not_read: list[NotRead]
    """Entries that gave it none, or not as they stand."""


def import_omnetpp(source: str | Path, base: str | Path = ".", config: str = GENERAL) -> Imported:
    """The experiment of a simulation, for a file in the folder `base`.

    `source` is the simulation's folder, or its configuration file if that has another name than `omnetpp.ini`.

    Raises:
        InputError: a file is missing or cannot be read, or the simulation has what an experiment cannot express.
    """
    source, base = Path(source), Path(base)
    if not source.exists():
        raise InputError(f"{source}: no such file or folder: give the simulation's folder, or its {INI}")
    file = source if source.is_file() else source / INI
    folder = file.parent
    ned, tables = _only(folder, "ned"), _only(folder, "fdbs")
    model = _model(Ini.read(file, config), ned)
    _check_tables(model, tables)
    relative = {path: _relative(path, base) for path in (file, ned, tables)}
    slots = _slots(model)
    congestion, generators = import_congestion(model), Generators(model)
    sections = {
        "title": f"InfiniBand model for OMNeT++: {folder.resolve().name}",
        "topology": {"file": {"path": relative[ned]}},
        "links": import_links(model, slots),
        "switch": _switch(model),
        "host": _host(model, generators),
        "routing": {"algorithm": "table", "tables": relative[tables]},
        **({"congestion_control": congestion} if congestion else {}),
        "traffic": generators.traffic(),
        "run": _run(model),
        **_measure(model),
    }
    notes = (SLOT_NOTE if slots else "") + (COMMENT if congestion else "")
    text = HEADER.format(ini=relative[file]) + notes + "\n" + tomli_w.dumps(sections)
    _check(text, base, file)
    read = [entry for entry in model.ini.entries if model.ini.was_read(entry)]
    return Imported(text, read, not_read(model, congestion=bool(congestion)))


def _only(folder: Path, kind: str) -> Path:
    found = sorted(folder.glob(f"*.{kind}"))
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise InputError(f"{folder}: one .{kind} file is needed; there are: {names}")
    return found[0]


def _relative(path: Path, base: Path) -> str:
    return Path(os.path.relpath(path, base)).as_posix()


def _model(ini: Ini, ned: Path) -> Model:
    """Modules of the NED file, with the parameters of the configuration."""
    text = tomli_w.dumps(
        {"topology": {"file": {"path": ned.name}}, "run": {"duration": "1 ns"}, "traffic": []}
    )
    graph = tomllib.loads(Experiment.from_text(text, ned.parent).export("toml"))
    hosts, switches = ([node["name"] for node in graph.get(kind, [])] for kind in ("host", "switch"))
    network = ini.text("network").rpartition(".")[2]
    return Model(ini, network, hosts, switches, graph.get("link", []), ned.parent)


def _check_tables(model: Model, tables: Path) -> None:
    """The rows of the tables are those of the switches as `fdbIndex` has it, and the file is the one that is named."""
    indices = []
    for number, switch in enumerate(model.switches):
        path = model.module(switch)
        name = model.ini.text(f"{path}.fdbsVecFile", tables.name)
        if name != tables.name:
            at = model.ini.at(f"{path}.fdbsVecFile")
            raise InputError(f"{at}: {path}.fdbsVecFile is {name!r}: there is only {tables.name}")
        indices.append(model.ini.whole(f"{path}.fdbIndex", number))
    # Rows are for switches by their number in the NED file, or by their name without SW.
    if [f"SW{index}" for index in indices] == model.switches:
        return
    for number, (switch, index) in enumerate(zip(model.switches, indices, strict=True)):
        if index != number:
            path = f"{model.module(switch)}.fdbIndex"
            raise InputError(
                f"{model.ini.at(path)}: {path} is {index}: rows are taken in the order of "
                f"switches in the NED file, in which {switch} is number {number}"
            )


def _slots(model: Model) -> Slots | None:
    switches = [model.module(switch) for switch in model.switches]
    if model.same("iswMode", switches, lambda path: model.ini.whole(f"{path}.iswMode", 1)):
        return None
    delay_ns = _delay_ns(model)
    if delay_ns <= 0:
        raise InputError(
            f"{model.ini.file}: ISWDelay is {delay_ns:g} ns: with iswMode = 0 it must be above 0"
        )
    return Slots(model.credit_bytes(), delay_ns)


def _delay_ns(model: Model) -> float:
    switches = [model.module(switch) for switch in model.switches]
    return model.same("ISWDelay", switches, lambda path: model.ini.number(f"{path}.ISWDelay", 50.0, "ns"))


def _switch(model: Model) -> dict[str, Any]:
    return {
        "queueing": "voq",
        "router_delay": f"{plain(_delay_ns(model))} ns",
        "virtual_lanes": model.lanes(),
        "flow_control_unit": f"{model.credit_bytes()} B",
        "credit_return": "block",
        "arbiter": "round-robin",
    }


def _host(model: Model, generators: Generators) -> dict[str, Any]:
    sinks = [f"{model.module(host)}.sink" for host in model.hosts]

    def value(key: str, default: float | None = None, unit: str | None = None) -> float:
        return model.same(key, sinks, lambda sink: model.ini.number(f"{sink}.{key}", default, unit))

    lanes, transfers = value("pciExpWidth"), value("pciExpTransferRate", 2.5)
    pause, work = value("hiccupDuration_us", unit="us"), value("hiccupDelay_us", unit="us")
    pauses = {"pause_every": f"{plain(work * 1e3)} ns", "pause_for": f"{plain(pause * 1e3)} ns"}
    return {
        "mtu": generators.mtu(),
        "open_messages": 1,
        "sink": {
            "rate": f"{lanes * transfers * CODING / SINK_SLOWDOWN:.6g} Gb/s",
            **(pauses if pause > 0 else {}),
        },
    }


def _run(model: Model) -> dict[str, Any]:
    warmup = model.ini.seconds("warmup-period", 0.0)
    return {
        "duration": f"{plain(model.ini.seconds('sim-time-limit'))} s",
        **({"warmup": f"{plain(warmup)} s"} if warmup else {}),
    }


def _measure(model: Model) -> dict[str, Any]:
    path = f"{model.network}.logInterval"
    if model.ini.entry(path) is None:
        return {}
    return {"measure": {"bin": f"{plain(model.ini.seconds(path) * 1e6)} us"}}


def _check(text: str, base: Path, file: Path) -> None:
    """Values that an experiment does not allow are reported here, not when it is run."""
    try:
        Experiment.from_text(text, base).check()
    except InputError as error:
        raise InputError(f"{file}: the experiment that follows from it is not allowed: {error}") from None
