"""`scripts/bench` measures speed and memory of whole runs, prints them beside other simulators' figures, and writes
`bench.json`. See `scripts/bench --help`.

A packet-hop is a switch that a delivered packet passed and the link behind it, which is what the other simulators
count: the link from the source to its switch counts for none. Time is that of the run with its measurement, without
reading the file and building the network. Instructions are callgrind's, the difference of two runs of different
length, so that start-up cancels.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engines import EngineRow, engine_table
from engines import measure as measure_engines

ROOT = Path(__file__).resolve().parents[1]
BENCHES = ROOT / "benches"
TIMED_HOPS = 6e6
"""Packet-hops of a timed run: about half a second."""
COUNTED_HOPS = (1.5e5, 4.5e5)
"""Packet-hops of the two runs under callgrind, where a case does not say."""
NEAR_SATURATION = 0.95
KEPT = 0.98
"""Part of the offered load that is accepted up to saturation."""


@dataclass(frozen=True)
class Case:
    """A line of `cases.toml`."""

    name: str
    title: str
    file: str
    loads: tuple[float | None, ...] = (None,)
    saturation: float | None = None
    durations: tuple[str, str] | None = None
    """For the runs under callgrind; else by the number of packet-hops."""
    counted_hops: tuple[float, float] = COUNTED_HOPS
    """Packet-hops of the two runs under callgrind."""
    runs: int = 5
    keys: tuple[str, ...] = ()
    """More keys of the experiment, `key=value`."""

    def all_loads(self) -> tuple[float | None, ...]:
        """The given loads and the one near saturation; None for the file's own."""
        if self.saturation is None:
            return self.loads
        return (*self.loads, round(NEAR_SATURATION * self.saturation, 3))


@dataclass(frozen=True)
class Run:
    """Output of `bench_case`."""

    told: dict[str, Any]

    @property
    def hops(self) -> int:
        return int(self.told["packet_hops"])

    @property
    def peak_mb(self) -> float | None:
        return None if self.told["peak_bytes"] is None else self.told["peak_bytes"] / 2**20


@dataclass(frozen=True)
class Row:
    """A measured case."""

    case: str
    load: float
    packet_hops_per_s: float
    ns_per_packet_hop: float
    instructions_per_packet_hop: float | None
    peak_mb: float | None


class Bench:
    """Runs the binary."""

    def __init__(self, binary: Path, counted: dict[tuple[str, float], float]) -> None:
        self.binary = binary
        self.counted = counted
        """Instructions that are known, by case and load."""
        self.valgrind = shutil.which("valgrind")

    def run(
        self,
        case: Case,
        load: float | None,
        duration: str,
        prefix: Sequence[str] = (),
        keys: Sequence[str] = (),
    ) -> Run:
        """Runs a case; `prefix` is a program that runs ours, `keys` are more keys of the experiment."""
        command = [*prefix, str(self.binary), str(ROOT / case.file), *case.keys, *keys]
        if duration:
            command.append(f"run.duration={duration}")
        if load is not None:
            command.append(f"traffic.0.load={load}")
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False)  # noqa: S603 - our own program
        if done.returncode != 0:
            sys.exit(f"bench: {' '.join(command)} failed")
        told = json.loads(done.stdout)
        if told["status"] != "ok":
            sys.exit(f"bench: {' '.join(command)} ended with status {told['status']}")
        return Run(told)

    def duration_of(self, case: Case, load: float | None, hops: float) -> str:
        """A duration in which about this number of packet-hops happens."""
        probe = self.run(case, load, "")
        return f"{hops * probe.told['simulated_ns'] / probe.hops:.0f} ns"

    def row(self, case: Case, load: float | None) -> Row:
        duration = "" if case.durations else self.duration_of(case, load, TIMED_HOPS)
        timed = [self.run(case, load, duration) for _ in range(case.runs)]
        ns = statistics.median(run.told["seconds"] / run.hops * 1e9 for run in timed)
        told = round(timed[0].told["offered_load"], 3) if load is None else load
        known = self.counted.get((case.name, told))
        return Row(
            case=case.name,
            load=told,
            packet_hops_per_s=round(1e9 / ns),
            ns_per_packet_hop=round(ns, 1),
            instructions_per_packet_hop=self.instructions(case, load) if known is None else known,
            peak_mb=max((round(run.peak_mb, 1) for run in timed if run.peak_mb is not None), default=None),
        )

    def instructions(self, case: Case, load: float | None) -> float | None:
        """Instructions per packet-hop; None without valgrind."""
        if self.valgrind is None:
            return None
        durations = case.durations or tuple(self.duration_of(case, load, hops) for hops in case.counted_hops)
        # By default there are 100 samples of congestion trees in a run of any duration, so that a short one has more
        # of them for each packet-hop, and many in its warm-up: their instructions would be subtracted. As often as in
        # a timed run:
        keys = []
        if case.durations is None:
            timed = float(self.duration_of(case, load, TIMED_HOPS).removesuffix(" ns"))
            keys = [f"measure.congestion_interval={timed * 10:.0f} ps"]
        (less, few), (more, many) = (self._counted(case, load, duration, keys) for duration in durations)
        return round((more - less) / (many - few), 1)

    def _counted(self, case: Case, load: float | None, duration: str, keys: Sequence[str]) -> tuple[int, int]:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "callgrind.out"
            tool = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}"]
            hops = self.run(case, load, duration, tool, keys).hops
            found = re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.MULTILINE)
        if found is None:
            sys.exit("bench: callgrind wrote no total")
        return int(found[1]), hops

    def saturation(self, case: Case) -> float:
        """The highest load, to half a percent, at which what is offered is accepted."""
        low, high = 0.05, 1.0
        while high - low > 0.005:
            middle = (low + high) / 2
            told = self.run(case, middle, self.duration_of(case, middle, TIMED_HOPS)).told
            if told["accepted_load"] >= KEPT * told["offered_load"]:
                low = middle
            else:
                high = middle
        return round(low, 3)


def cases(names: Sequence[str]) -> list[Case]:
    """The cases of `cases.toml`, those that are named or all."""
    found = []
    for entry in tomllib.loads((BENCHES / "cases.toml").read_text())["case"]:
        lists = {key: tuple(value) for key, value in entry.items() if isinstance(value, list)}
        found.append(Case(**{**entry, **lists}))
    unknown = set(names) - {case.name for case in found}
    if unknown:
        known = ", ".join(case.name for case in found)
        sys.exit(f"bench: there is no case {unknown.pop()}; there are: {known}")
    return [case for case in found if not names or case.name in names]


def table(rows: Sequence[Row]) -> list[str]:
    """Our figures as Markdown."""
    titles = {case.name: case.title for case in cases([])}
    lines = [
        "| case | load | million packet-hops/s | ns per packet-hop | instructions per packet-hop | peak memory, MB |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        instructions = number(row.instructions_per_packet_hop)
        peak = "–" if row.peak_mb is None else f"{row.peak_mb:.1f}"
        lines.append(
            f"| {titles[row.case]} | {row.load:g} | {row.packet_hops_per_s / 1e6:.2f} | {row.ns_per_packet_hop:.1f} "
            f"| {instructions} | {peak} |"
        )
    return lines


def peer_table(rows: Sequence[Row]) -> list[str]:
    """Other simulators' figures beside ours at the nearest load, as Markdown."""
    lines = [
        "| simulator | case | load | its packet-hops/s | ours | times faster | its instructions per packet-hop | ours "
        "| times fewer |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for peer in tomllib.loads((BENCHES / "peers.toml").read_text())["peer"]:
        for figure in peer["figure"]:
            same = [row for row in rows if row.case == figure["case"]]
            if not same:
                continue
            wanted = figure.get("load", 0.4)
            ours = min(same, key=lambda row: abs(row.load - wanted))
            speed, work = figure.get("packet_hops_per_s"), figure.get("instructions_per_packet_hop")
            load = f"{figure['load']:g}" if "load" in figure else "–"
            near = "" if figure.get("load") == ours.load else f" (ours {ours.load:g})"
            lines.append(
                f"| {peer['name']} | {ours.case} | {load}{near} | {number(speed)} | {number(ours.packet_hops_per_s)} "
                f"| {ratio(ours.packet_hops_per_s, speed)} | {number(work)} "
                f"| {number(ours.instructions_per_packet_hop)} | {ratio(work, ours.instructions_per_packet_hop)} |"
            )
    return lines


def number(value: float | None) -> str:
    """A number with groups of three digits."""
    return "–" if value is None else f"{value:,.0f}".replace(",", "\u202f")


def ratio(large: float | None, small: float | None) -> str:
    """How many times one is the other."""
    return "–" if not large or not small else number(large / small)


def processor() -> str:
    """Name of the processor."""
    try:
        info = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.machine()
    found = re.search(r"^model name\s*: (.*)$", info, re.MULTILINE)
    return found[1].strip() if found else platform.machine()


def page(rows: Sequence[Row], engines: Sequence[EngineRow]) -> str:
    """`docs/performance.md`."""
    text = (BENCHES / "performance.md.in").read_text()
    peers = tomllib.loads((BENCHES / "peers.toml").read_text())["peer"]
    origins = [f"- {peer['name']} ({peer['version']}): {peer['origin'].strip()}." for peer in peers]
    saturations = [f"{case.title} {case.saturation:g}" for case in cases([]) if case.saturation is not None]
    parts = {
        "processor": processor(),
        "saturations": ", ".join(saturations),
        "table": "\n".join(table(rows)),
        "peers": "\n".join(peer_table(rows)),
        "origins": "\n".join(origins),
        "engines": "\n".join(engine_table(engines)),
    }
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    return text


def main() -> None:
    """Measures, prints, writes."""
    parser = argparse.ArgumentParser(description="Speed and memory of whole runs.")
    parser.add_argument("case", nargs="*", help="cases of benches/cases.toml; by default all")
    parser.add_argument("--binary", type=Path, required=True, help="the program bench_case")
    parser.add_argument("--out", type=Path, default=ROOT / "bench.json", help="where the figures go")
    parser.add_argument(
        "--counted",
        type=Path,
        help="figures of this very program, as --out: their instructions count, and only times are measured",
    )
    parser.add_argument("--page", action="store_true", help="write docs/performance.md, too")
    parser.add_argument(
        "--saturation", action="store_true", help="measure where the cases saturate, nothing else"
    )
    wanted = parser.parse_args()
    counted = [] if wanted.counted is None else json.loads(wanted.counted.read_text())
    known = {
        (row["case"], row["load"]): row["instructions_per_packet_hop"] for row in counted if "case" in row
    }
    bench = Bench(wanted.binary, known)
    if wanted.saturation:
        for case in cases(wanted.case):
            if case.saturation is not None:
                print(f"{case.name}: {bench.saturation(case):g} (noted: {case.saturation:g})", flush=True)
        return
    if bench.valgrind is None:
        print("bench: valgrind is not installed: instructions are not counted", file=sys.stderr)
    rows = []
    for case in cases(wanted.case):
        for load in case.all_loads():
            print(
                f"bench: {case.title}{'' if load is None else f', load {load:g}'}",
                file=sys.stderr,
                flush=True,
            )
            rows.append(bench.row(case, load))
    engines = [] if wanted.case else measure_engines(BENCHES / "engines.toml")
    wanted.out.write_text(json.dumps([vars(row) for row in (*rows, *engines)], indent=1) + "\n")
    if wanted.page:
        (ROOT / "docs/performance.md").write_text(page(rows, engines))
    print(
        "\n".join([*table(rows), "", *peer_table(rows), *(["", *engine_table(engines)] if engines else [])])
    )
    print(f"\nwritten: {wanted.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
