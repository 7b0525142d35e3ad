"""Simulations of the InfiniBand model for OMNeT++ (first published by Mellanox) as experiments.

A folder holds `omnetpp.ini`, one `.ned` file and one `.fdbs` file. The experiment refers to the last two; rates,
buffers and traffic are taken from the first.
"""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tomli_w

from fabricsim.errors import InputError
from fabricsim.importers.ini import Ini
from fabricsim.spec import Experiment

CODING = 0.8
"""Data bits for each signalled bit: 8b/10b. The model takes 10/(width x speed) ns for a byte."""
FLOW_CONTROL_PACKET = "8 B"
"""The model sends one between two data packets wherever credits are to be told."""
SINK_SLOWDOWN = 1.05
"""The model's sink takes this much longer for a byte than its bus."""

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
class Link:
    """Parameters of a link, as an experiment has them."""

    rate: str
    latency: str
    buffer: str
    packet_overhead: str
    reads: int


def import_omnetpp(folder: str | Path, base: str | Path = ".", config: str = "General") -> str:
    """The experiment of a simulation, as TOML text for a file in the folder `base`.

    Raises:
        InputError: a file is missing or can not be read, or the simulation has what an experiment can not express.
    """
    folder, base = Path(folder), Path(base)
    ned, tables = _only(folder, "ned"), _only(folder, "fdbs")
    ini = Ini.read(folder / "omnetpp.ini", config)
    links = {"ned": _relative(ned, base), "fdbs": _relative(tables, base)}
    network = ini.text("network").rpartition(".")[2]
    importer = _Importer(ini, network, _graph(ned))
    experiment = {
        "title": f"InfiniBand model for OMNeT++: {folder.resolve().name}",
        "topology": {"file": {"path": links["ned"]}},
        "links": importer.links(),
        "switch": importer.switch(),
        "host": importer.host(),
        "routing": {"algorithm": "table", "tables": links["fdbs"]},
        "traffic": importer.traffic(),
        "run": {"duration": f"{ini.seconds('sim-time-limit'):g} s"},
        "measure": {"bin": f"{ini.seconds(f'{network}.logInterval') * 1e6:g} us"},
    }
    header = HEADER.format(ini=_relative(folder / "omnetpp.ini", base))
    return header + (SLOT_NOTE if importer.slots_limit else "") + "\n" + tomli_w.dumps(experiment)


def _only(folder: Path, kind: str) -> Path:
    found = sorted(folder.glob(f"*.{kind}"))
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise InputError(f"{folder}: one .{kind} file is needed; there are: {names}")
    return found[0]


def _relative(path: Path, base: Path) -> str:
    return Path(os.path.relpath(path, base)).as_posix()


def _graph(ned: Path) -> dict[str, Any]:
    """Switches, hosts and links of a NED file."""
    text = tomli_w.dumps(
        {"topology": {"file": {"path": ned.name}}, "run": {"duration": "1 ns"}, "traffic": []}
    )
    return tomllib.loads(Experiment.from_text(text, ned.parent).export("toml"))


class _Importer:
    def __init__(self, ini: Ini, network: str, graph: dict[str, Any]) -> None:
        self._ini = ini
        self._network = network
        self._hosts = [host["name"] for host in graph["host"]]
        self._switches = {switch["name"] for switch in graph["switch"]}
        self._links = graph["link"]
        self._switch = f"{network}.{graph['switch'][0]['name']}"
        self._host = f"{network}.{self._hosts[0]}"
        self._credit = ini.number(f"{network}.creditSize")
        self._delay_ns = ini.number(f"{self._switch}.ISWDelay", 50.0)
        self.slots_limit = int(ini.number(f"{self._switch}.iswMode", 1)) == 0

    def links(self) -> dict[str, Any]:
        """Rates, latencies and buffers: those of most links between switches, of most hosts, and of the rest."""
        own = {(link["a"], link["b"]): self._link(link) for link in self._links}
        of_hosts = {ends: link for ends, link in own.items() if not self._between_switches(*ends)}
        of_switches = {ends: link for ends, link in own.items() if ends not in of_hosts}
        usual = _most_common(of_switches or of_hosts)
        result: dict[str, Any] = {"all": asdict(usual)}
        if of_hosts:
            host = _most_common(of_hosts)
            result["hosts"] = _differences(host, usual)
            named = {ends: _differences(link, host) for ends, link in of_hosts.items()}
        else:
            named = {}
        named |= {ends: _differences(link, usual) for ends, link in of_switches.items()}
        if by_name := {f"{a}-{b}": values for (a, b), values in named.items() if values}:
            result["named"] = by_name
        return result

    def _between_switches(self, a: str, b: str) -> bool:
        return {a, b} <= self._switches

    def _link(self, link: dict[str, Any]) -> Link:
        ends = [(link["a"], link.get("a_port")), (link["b"], link.get("b_port"))]
        between = self._between_switches(link["a"], link["b"])
        ports = [self._port(*end) for end in ends]
        name = f"{link['a']}-{link['b']}"
        gbps = self._same(name, "rate", [self._gbps(port) for port in ports])
        reads = [
            self._ini.number(f"{port}.ibuf.maxBeingSent", 1)
            for port, (node, _) in zip(ports, ends, strict=True)
            if node in self._switches
        ]
        overhead = FLOW_CONTROL_PACKET
        if between and self.slots_limit:
            gbps, overhead = min(gbps, self._credit * 8 / self._delay_ns), "0 B"
        credits = [self._ini.number(f"{port}.ibuf.totalBufferSize") for port in ports]
        return Link(
            rate=f"{gbps:.9g} Gb/s",
            latency=str(link["latency"]),
            buffer=f"{self._same(name, 'buffer', credits) * self._credit:g} B",
            packet_overhead=overhead,
            reads=int(self._same(name, "maxBeingSent", reads)),
        )

    def _port(self, node: str, port: int | None) -> str:
        return f"{self._network}.{node}" + (f".port[{port}]" if node in self._switches else "")

    def _gbps(self, port: str) -> float:
        width, speed = (self._ini.number(f"{port}.obuf.{key}") for key in ("width", "speed"))
        return width * speed * CODING

    def _same(self, link: str, what: str, values: list[float]) -> float:
        if len(set(values)) != 1:
            raise InputError(f"{self._ini.file}: link {link}: {what} differs between its ends: {values}")
        return values[0]

    def switch(self) -> dict[str, Any]:
        return {
            "queueing": "voq",
            "router_delay": f"{self._delay_ns:g} ns",
            "virtual_lanes": int(self._ini.number(f"{self._network}.maxVL", 0)) + 1,
            "flow_control_unit": f"{self._credit:g} B",
            "credit_return": "block",
            "arbiter": "round-robin",
        }

    def host(self) -> dict[str, Any]:
        lanes, transfers, pause, work = (
            self._ini.number(f"{self._host}.sink.{key}")
            for key in ("pciExpWidth", "pciExpTransferRate", "hiccupDuration_us", "hiccupDelay_us")
        )
        return {
            "mtu": f"{self._ini.number(f'{self._host}.gen.packetlength') * self._credit:g} B",
            "open_messages": 1,
            "sink": {
                "rate": f"{lanes * transfers * CODING / SINK_SLOWDOWN:.6g} Gb/s",
                "pause_every": f"{work * 1e3:g} ns",
                "pause_for": f"{pause * 1e3:g} ns",
            },
        }

    def traffic(self) -> list[dict[str, Any]]:
        """A stream for each host that starts before the end."""
        end = self._ini.seconds("sim-time-limit")
        starts = {host: self._ini.seconds(f"{self._gen(host)}.genStartTime") for host in self._hosts}
        return [self._stream(host, start) for host, start in starts.items() if start < end]

    def _gen(self, host: str) -> str:
        return f"{self._network}.{host}.gen"

    def _stream(self, host: str, start: float) -> dict[str, Any]:
        gen = self._gen(host)
        for key, known in (("trafficDist", "trfFlood"), ("dstSeqMode", "dstLid")):
            if (value := self._ini.text(f"{gen}.{key}", known)) != known:
                raise InputError(
                    f"{self._ini.file}: {gen}.{key} is {value!r}: only {known!r} can be imported"
                )
        packets, credits = (self._ini.number(f"{gen}.{key}") for key in ("msgLengthInMTUs", "packetlength"))
        return {
            "name": host,
            "sources": [host],
            "pattern": {"to": self._of_lid(int(self._ini.number(f"{gen}.dstLid")))},
            "injection": "saturating",
            "message": f"{packets * credits * self._credit:g} B",
            "start": f"{start:g} s",
        }

    def _of_lid(self, lid: int) -> str:
        """The host with this LID."""
        for host in self._hosts:
            if int(self._ini.number(f"{self._gen(host)}.srcLid")) == lid:
                return str(host)
        raise InputError(f"{self._ini.file}: no host has the LID {lid}")


def _most_common(links: dict[tuple[str, str], Link]) -> Link:
    return Counter(links.values()).most_common(1)[0][0]


def _differences(link: Link, usual: Link) -> dict[str, Any]:
    other = asdict(usual)
    return {key: value for key, value in asdict(link).items() if value != other[key]}
