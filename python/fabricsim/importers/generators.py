"""Traffic of the model's generators (`gen`), and the addresses of hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fabricsim.errors import InputError
from fabricsim.importers.links import host_gbps
from fabricsim.importers.model import Model, plain, whole_bytes

MODES = ("dstLid", "dstSeqOnce", "dstSeqLoop", "dstRandom", "dstHotSpot", "dstBurstHotSpot")
ORDER = "the order of the sequence is not kept: every message draws one of its destinations, all with the same share"
ALL_HOSTS = "no file of sequences: destinations are all hosts but the source"
PACED = (
    "the source is slower than its link: messages come at constant intervals, and those that the network does not "
    "take at once wait, where the model's generator would wait itself"
)


class Generators:
    """The generators of a simulation."""

    def __init__(self, model: Model) -> None:
        self._model, self._ini = model, model.ini
        end = self._ini.seconds("sim-time-limit")
        starts = {host: self._ini.seconds(f"{self._gen(host)}.genStartTime", 0.0) for host in model.hosts}
        self._starts = {host: start for host, start in starts.items() if start < end}
        self._by_lid = self._lids()
        self._sequences: dict[Path, dict[int, list[int]]] = {}

    def _gen(self, host: str) -> str:
        return f"{self._model.module(host)}.gen"

    def _lids(self) -> dict[int, str]:
        """Hosts by their LIDs, which are those of the forwarding tables."""
        for number, host in enumerate(self._model.hosts, 1):
            lid = self._ini.whole(f"{self._gen(host)}.srcLid", number)
            if lid != number:
                raise InputError(
                    f"{self._ini.file}: {self._gen(host)}.srcLid is {lid}: forwarding tables count LIDs from 1 in the "
                    f"order of hosts in the NED file, in which {host} is number {number}"
                )
        return dict(enumerate(self._model.hosts, 1))

    def mtu(self) -> str:
        """Largest packet.

        Raises:
            InputError: there is none, or hosts differ.
        """
        model, whole = self._model, self._ini.number(f"{self._model.network}.GenModel", 0) == 0
        key = "packetlength" if whole else "mtu"
        gens = [self._gen(host) for host in self._starts or model.hosts]
        credits = model.same(key, gens, lambda gen: self._ini.number(f"{gen}.{key}"))
        if whole:
            for gen in gens:
                if self._ini.number(f"{gen}.mtu", credits) != credits:
                    model.note(f"{gen}.mtu", f"packets have the length packetlength = {credits:g} credits")
        return whole_bytes(self._ini, key, credits * model.credit_bytes())

    def traffic(self) -> list[dict[str, Any]]:
        """A stream for each host that starts before the end.

        Raises:
            InputError: a value is missing, or has no counterpart.
        """
        return [self._stream(host, start) for host, start in self._starts.items()]

    def _stream(self, host: str, start: float) -> dict[str, Any]:
        gen = self._gen(host)
        for key, known in (("trafficDist", "trfFlood"), ("floodVLs", "0")):
            if (value := self._ini.text(f"{gen}.{key}", known)) != known:
                raise InputError(
                    f"{self._ini.file}: {gen}.{key} is {value!r}: only {known!r} can be imported"
                )
        return {
            "name": host,
            "sources": [host],
            **self._destinations(host),
            **self._injection(host),
            "message": self._message(gen),
            "start": f"{plain(start)} s",
        }

    def _message(self, gen: str) -> str:
        if self._ini.number(f"{self._model.network}.GenModel", 0) == 0:
            packets, credits = (
                self._ini.number(f"{gen}.{key}") for key in ("msgLengthInMTUs", "packetlength")
            )
            size = packets * credits * self._model.credit_bytes()
            return whole_bytes(self._ini, f"{gen}: a message", size)
        return whole_bytes(self._ini, f"{gen}.msgLength", self._ini.number(f"{gen}.msgLength", unit="B"))

    def _injection(self, host: str) -> dict[str, Any]:
        """The model leaves at least `intraBurstDelay` between two credits."""
        path = f"{self._gen(host)}.intraBurstDelay"
        delay_ns = self._ini.number(path, 0, "ns")
        bits = self._model.credit_bytes() * 8
        if delay_ns <= 0 or bits / delay_ns >= host_gbps(self._model, host):
            return {"injection": "saturating"}
        self._model.note(path, PACED, altered=True)
        return {"injection": "constant", "rate": f"{bits / delay_ns:.9g} Gb/s"}

    def _destinations(self, host: str) -> dict[str, Any]:
        gen = self._gen(host)
        mode = self._ini.text(f"{gen}.dstSeqMode", "dstLid")
        if mode == "dstLid":
            return {"pattern": {"to": self._of_lid(self._ini.number(f"{gen}.dstLid"))}}
        if mode == "dstRandom":
            return self._drawn(host)
        if mode in ("dstSeqLoop", "dstSeqOnce"):
            return self._in_turn(host, once=mode == "dstSeqOnce")
        if mode == "dstHotSpot":
            return self._hot_spot(host)
        allowed = ", ".join(MODES[:-1])
        raise InputError(f"{self._ini.file}: {gen}.dstSeqMode is {mode!r}: only {allowed} can be imported")

    def _drawn(self, host: str) -> dict[str, Any]:
        """A destination of the host's sequence, drawn for each message."""
        hosts = self._sequence(host)
        if len(hosts) == 1:
            return {"pattern": {"to": hosts[0]}}
        if len(set(hosts)) != len(hosts):
            raise InputError(
                f"{self._ini.file}: {self._gen(host)}: a destination occurs more than once in its sequence: an "
                "experiment draws all with the same probability"
            )
        pattern = {"pattern": "uniform-with-self" if host in hosts else "uniform"}
        everybody = set(hosts) | {host} == set(self._model.hosts)
        return pattern if everybody else {"destinations": hosts, **pattern}

    def _in_turn(self, host: str, *, once: bool) -> dict[str, Any]:
        hosts, path = self._sequence(host), f"{self._gen(host)}.dstSeqMode"
        if once and len(hosts) > 1:
            raise InputError(
                f"{self._ini.file}: {path} is 'dstSeqOnce' with {len(hosts)} destinations: an experiment has no "
                "sequence of messages to different destinations"
            )
        if len(hosts) > 1:
            self._model.note(path, ORDER, altered=True)
        return self._drawn(host) | ({"messages": 1} if once else {})

    def _hot_spot(self, host: str) -> dict[str, Any]:
        gen = self._gen(host)
        fraction = self._ini.number(f"{gen}.dstHotSpotPerc")
        if not 0 <= fraction <= 1:
            raise InputError(
                f"{self._ini.file}: {gen}.dstHotSpotPerc is {fraction:g}: the model takes 0 to 1"
            )
        hot = self._of_lid(self._ini.number(f"{gen}.dstLid"))
        if fraction == 1:
            return {"pattern": {"to": hot}}
        if fraction == 0:
            return self._in_turn(host, once=False)
        drawn = self._in_turn(host, once=False)
        others = drawn["pattern"]["to"] if isinstance(drawn["pattern"], dict) else None
        destinations = [others] if others else drawn.get("destinations")
        pattern = {"hot-spot": {"hosts": [hot], "fraction": fraction}}
        return (
            {"pattern": pattern}
            if destinations is None
            else {"destinations": destinations, "pattern": pattern}
        )

    def _of_lid(self, lid: float) -> str:
        """The host with this LID."""
        if lid not in self._by_lid:
            raise InputError(f"{self._ini.file}: no host has the LID {lid:g}")
        return self._by_lid[int(lid)]

    def _sequence(self, host: str) -> list[str]:
        """The destinations of a host in the file that `dstSeqVecFile` names."""
        path = f"{self._gen(host)}.dstSeqVecFile"
        name = self._ini.text(path, "")
        if not name:
            named = path if self._ini.entry(path) else f"{self._gen(host)}.dstSeqMode"
            self._model.note(named, ALL_HOSTS, altered=True)
            return [other for other in self._model.hosts if other != host]
        file = self._model.folder / name
        if file not in self._sequences:
            self._sequences[file] = read_sequences(file)
        index = self._ini.whole(f"{self._gen(host)}.dstSeqIndex")
        sequence = self._sequences[file].get(index)
        if not sequence:
            raise InputError(f"{file}: there is no sequence {index}, which {host} has by its dstSeqIndex")
        return [self._of_lid(lid) for lid in sequence]


def read_sequences(file: Path) -> dict[int, list[int]]:
    """Sequences of numbers by their index: lines `0: 4, 7 9`.

    Raises:
        InputError: the file cannot be read, or has another format.
    """
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: it cannot be read: {error}") from None
    sequences: dict[int, list[int]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        index, colon, values = line.partition(":")
        try:
            if not colon:
                raise ValueError
            sequences.setdefault(int(index), []).extend(map(int, values.replace(",", " ").split()))
        except ValueError:
            raise InputError(
                f"{file}:{number}: `index: lid lid ...` is needed: {line.strip()[:60]}"
            ) from None
    return sequences
