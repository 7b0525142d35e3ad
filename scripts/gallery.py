"""`python scripts/gallery.py` runs the experiments of `experiments/gallery/` and writes `docs/gallery.md` with their
tables and pictures.
"""

from __future__ import annotations

import re
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import fabricsim as fs
from fabricsim.plots import links, load_latency, save, sequence
from fabricsim.plots.theme import COLOURS, line_look, new_figure, plain_log, style
from fabricsim.subnets import route

ROOT = Path(__file__).resolve().parents[1]
EXPERIMENTS = ROOT / "experiments/gallery"
PAGE = ROOT / "docs/gallery.md"
PICTURES = "gallery"
INTRODUCTION = """# Gallery

Fifteen experiments to begin with. Each is a file in `experiments/gallery/`, runs in
seconds, and is there to be changed: `--set key=value` replaces a value, `--vary key=a,b,c` runs over several. The
tables and pictures here come from `python scripts/gallery.py`.
"""
MESH = """
All four offer 30 % of the hosts' links. Under `transpose`, x first, everything turns on the diagonal: the links that
lead there are full while most of the mesh idles, and a third of the load is not accepted. The picture is of that run.
"""
TORUS = """
Latency is flat, rises, and has no bound from the saturation point on: {most} is the most that this torus carries.
Uniform traffic loads each link between switches as much as a host's, so that no link forbids 100 %: the rest is lost
where packets wait for buffers behind others.
"""
TREE = """
With as many links up as down, a 4-ary 3-tree could carry every permutation whole. By destination, some flows share a
link on the way up while others stay idle: {deterministic} is the most. By credits it is {adaptive}.
"""
DRAGONFLY = """
All 8 hosts of a group send over the one link to the next group: minimal routing gets {minimal}. Over other groups there
is room for nearly half of what hosts can send, but every way is twice as long. Adaptive routing goes the short way
while it is free and finds the others when it is not: {par} by `par-6/2`, which also goes around full links in groups.
"""
RING = """
The run ends with exit code 3 and names the circle: who waits, at the head of which buffer, for what. What was measured
until then is kept.

```
{cycle}
```

A second lane, which packets change to at a dateline, breaks the circle.
"""
PARKING_LOT = """
Round robin halves the share at every switch, down to 1/128. Oldest first makes the latency alike, not the shares: a
host gets the more, the more of its packets are in the network. The mean latency is the same for all arbiters: the
buffers are full, and what is in them leaves at one link's rate, in any order (Little's law).
"""


ALL_TO_ALL = """
The time is the mean of the job's iterations, from the first rank's begin to the last one's end. Bruck needs 6 steps in
place of 63, but sends every block three times on average: best for small blocks. The ring passes everything on from
rank to rank. Pairwise sends every block once; what its steps cost is the network's latency and the software's delay.
"""
CLOSED_LOOP = """
Rate times round trip is the window, for every row (Little's law). While the window is small the rate grows with it;
from {knee} on, with more than nine tenths of the most, it is mainly the round trip that grows.
"""


FAILED_LINKS = """
A packet whose way leads over a failed link goes the other way round its ring, which is longer and fuller: the ring
that lost a link is a chain, and its links carry up to twice as much. Nothing else changes: the order of dimensions
stays, and with it the freedom from deadlock. Links whose failure cuts the machine are named, as are those that no such
tables can go around.
"""


LINK_FAILS = """
With `discard`, what is routed to the failed link until the routes are new is lost: {lost} of {all} packets after 10 µs.
With `hold` only what is on the link as it fails is lost. But what a switch has routed to it waits until it is back,
and more and more others wait behind it: the later the routes change, the deeper the network falls, and the packets that
wait are late by the whole time of the failure. The picture has what the network delivers, with 50 µs until new routes.
"""


BRING_UP = """
With one request outstanding the time is the sum of all round trips: {each} µs for each request of the largest tree.
With more, the manager's first switch is the bottleneck: it passes on every request and every answer, {least} µs for
each request at best. The work is the same in all columns.
"""


ENGINES_TREE = """
`ftree` gives all that a switch sends upwards different links, and carries {ftree}. `minhop`, and with it `updn` and
`dnup`, sends much of it over the same few: {minhop}. `lash` does not balance links, and has {fullest} paths on one:
{lash}. `sssp` counts the paths on links as it goes; `dfsssp` has the same paths and spreads them over the lanes.
"""


ENGINES_TORUS = """
`minhop`, `dor`, `sssp` and `dnup` have cycles of buffers round the rings. Whether one of them closes is a matter of
luck; the static check finds it before the traffic does. Their paths are all on service level 0, and so on lane 0.
`lash`, `dfsssp` and `torus-2QoS` break the cycles with two to four lanes, and all paths stay as short as can be; `nue`
does it with a single lane, by detours and fuller links: {nue}.
"""


TRAPS = """
Until the tables are set, what they send over the failed link is lost. A trap starts the sweep at once, and the number
of requests outstanding decides how long it takes; light sweeps notice the failure at the next of their rounds.
"""


ORDERED = """
More than half of the operations wait for others in the reorder buffer, and the streams take as long as without order:
what is late is late either way. A target needs room for {most} packets at most. With one packet at a time (slow mode,
`source-ordered`) {slow} is accepted; a target that drops packets out of sequence (`go-back-n`,
as RoCE does) drops {dropped} of what it receives. The last two accept less than is offered, so that their times grow
with the length of the run. The picture is of one stream in fast mode: FIN waits for all acknowledgements.
"""


@dataclass(frozen=True)
class Shown:
    """What the page has to show of an experiment."""

    commands: Sequence[str]
    table: str
    reading: str
    picture: Figure


def main() -> None:
    parts = [INTRODUCTION]
    for name, show in GALLERY.items():
        file = EXPERIMENTS / f"{name}.toml"
        head = tomllib.loads(file.read_text(encoding="utf-8"))
        shown = show(file)
        save(shown.picture, PAGE.parent / PICTURES / f"{name}.svg")
        commands = "\n".join(shown.commands).replace("FILE", f"experiments/gallery/{name}.toml")
        parts += [
            f"## {head['title']}\n\n{head['description']}",
            f"```sh\n{commands}\n```",
            shown.table,
            f"![{head['title']}]({PICTURES}/{name}.svg)",
            shown.reading,
        ]
        print(f"{name}: done")
    PAGE.write_text("\n\n".join(part.strip() for part in parts) + "\n", encoding="utf-8")


def mesh_patterns(file: Path) -> Shown:
    runs = {
        pattern: fs.run(file, set={"traffic.0.pattern": pattern})
        for pattern in _axis(file, "traffic.0.pattern")
    }
    rows = [
        [
            pattern,
            _percent(run.summary["accepted_load"]),
            _ns(run.summary["latency_ns.mean"]),
            _ns(run.summary["latency_ns.p99"]),
            _percent(run.links["utilisation"].max()),
        ]
        for pattern, run in runs.items()
    ]
    header = ["pattern", "accepted load", "mean latency", "p99 latency", "busiest link"]
    commands = ["fabricsim run FILE --plot", "fabricsim sweep FILE"]
    return Shown(commands, _table(header, rows), MESH, links(runs["transpose"]))


def torus_load(file: Path) -> Shown:
    sweep = fs.sweep(file)
    rows = [
        [
            _percent(p["offered_load"]),
            _percent(p["accepted_load"]),
            _ns(p["latency_ns.mean"]),
            _ns(p["latency_ns.p99"]),
        ]
        for _, p in sweep.points.iterrows()
    ]
    found = sweep.saturation().iloc[0]
    reading = TORUS.format(most=_percent(found["throughput"]))
    header = ["offered load", "accepted load", "mean latency", "p99 latency"]
    return Shown(["fabricsim sweep FILE"], _table(header, rows), reading, load_latency(sweep))


def fat_tree_routing(file: Path) -> Shown:
    sweep = fs.sweep(file)
    key, load = "routing.algorithm", "traffic.0.load"
    cells = sweep.points.set_index([key, load])
    algorithms = list(dict.fromkeys(sweep.points[key]))
    rows = [
        [_percent(at)]
        + [
            cell
            for algorithm in algorithms
            for cell in (
                _percent(cells.loc[(algorithm, at), "accepted_load"]),
                _ns(cells.loc[(algorithm, at), "latency_ns.mean"]),
            )
        ]
        for at in dict.fromkeys(sweep.points[load])
    ]
    header = ["offered load", *(f"{a}: {what}" for a in algorithms for what in ("accepted", "mean latency"))]
    most = sweep.saturation().set_index(key)["throughput"]
    reading = TREE.format(
        deterministic=_percent(most["up-down"]), adaptive=_percent(most["up-down-adaptive"])
    )
    return Shown(["fabricsim sweep FILE"], _table(header, rows), reading, load_latency(sweep))


def dragonfly_routing(file: Path) -> Shown:
    sweep = fs.sweep(file)
    key, load = "routing.algorithm", "traffic.0.load"
    cells = sweep.points.set_index([key, load])
    algorithms = list(dict.fromkeys(sweep.points[key]))
    rows = [
        [_percent(at)] + [_percent(cells.loc[(algorithm, at), "accepted_load"]) for algorithm in algorithms]
        for at in dict.fromkeys(sweep.points[load])
    ]
    most = sweep.points.groupby(key)["accepted_load"].max()
    with style():
        figure = new_figure(7.0, 3.8)
        axes = figure.add_subplot()
        for number, algorithm in enumerate(algorithms):
            of = sweep.points[sweep.points[key] == algorithm]
            axes.plot(of["accepted_load"], of["latency_ns.mean"] / 1e3, label=algorithm, **line_look(number))
        axes.set_ylim(0.0, 4.0)
        axes.set(xlabel="accepted load (of the hosts' links)", ylabel="mean latency (µs)")
        axes.set_title("Dragonfly of 72 hosts: all to the next group")
        axes.set_xlim(left=0.0)
        axes.legend(loc="upper left", bbox_to_anchor=(0.2, 1.0))
    reading = DRAGONFLY.format(minimal=_percent(most["minimal"]), par=_percent(most["par-6/2"]))
    header = ["offered load", *(f"{algorithm}: accepted" for algorithm in algorithms)]
    return Shown(["fabricsim sweep FILE"], _table(header, rows), reading, figure)


def ring_deadlock(file: Path) -> Shown:
    cure = {"routing.algorithm": "dimension-order", "switch.virtual_lanes": 2}
    runs = {"one lane": fs.run(file), "two lanes, dateline": fs.run(file, set=cure)}
    rows = [
        [
            name,
            run.status,
            f"{run.summary['simulated_s'] * 1e6:.0f} µs",
            f"{run.summary['invariants.delivered']:,}",
            str(run.summary["invariants.in_flight"]),
        ]
        for name, run in runs.items()
    ]
    stopped = runs["one lane"]
    with style():
        figure = new_figure(7.0, 3.4)
        axes = figure.add_subplot()
        for number, (name, run) in enumerate(runs.items()):
            series = run.table("run_series")
            axes.plot(series["time_ns"] / 1e3, series["gbps"], label=name, **line_look(1 - number))
        axes.set_xlim(0.0, 1.5 * float(stopped.summary["simulated_s"]) * 1e6)
        axes.set_ylim(bottom=0.0)
        axes.set(xlabel="simulated time (µs)", ylabel="delivered by the network (Gb/s)")
        axes.set_title("Ring of 8: with one virtual lane it stops")
        axes.legend(loc="lower right")
    reading = RING.format(cycle="\n".join(stopped.manifest["summary"]["deadlock"]))
    commands = [
        "fabricsim describe FILE",
        "fabricsim run FILE  # exit code 3",
        "fabricsim run FILE --set routing.algorithm=dimension-order --set switch.virtual_lanes=2",
    ]
    header = ["routing", "status", "simulated", "packets delivered", "in flight at the end"]
    return Shown(commands, _table(header, rows), reading, figure)


def parking_lot_fairness(file: Path) -> Shown:
    runs = {
        arbiter: fs.run(file, set={"switch.arbiter": arbiter}) for arbiter in _axis(file, "switch.arbiter")
    }
    rows = [
        [
            arbiter,
            *(f"{run.flows['accepted_gbps'].agg(most):.2f}" for most in ("max", "min")),
            f"{run.summary['jain']:.3f}",
            _ns(run.summary["latency_ns.mean"]),
            _ns(run.summary["latency_ns.max"]),
        ]
        for arbiter, run in runs.items()
    ]
    with style():
        figure = new_figure(7.0, 3.6)
        axes = figure.add_subplot()
        for number, (arbiter, run) in enumerate(runs.items()):
            flows = run.flows.sort_values("source")
            at = [place + 0.27 * (number - 1) for place in range(len(flows))]
            axes.bar(at, flows["accepted_gbps"], width=0.25, color=COLOURS[number], label=arbiter)
        axes.set_xticks(range(8), [str(number) for number in range(8)])
        axes.set(xlabel="switch that the host is on (7 is that of the destination)", ylabel="accepted (Gb/s)")
        axes.set_title("Parking lot of 8: what each host gets of 100 Gb/s")
        axes.legend(loc="upper left")
    header = ["arbiter", "most (Gb/s)", "least (Gb/s)", "Jain's index", "mean latency", "longest latency"]
    commands = ["fabricsim run FILE", "fabricsim sweep FILE"]
    return Shown(commands, _table(header, rows), PARKING_LOT, figure)


def torus_all_to_all(file: Path) -> Shown:
    program = "jobs.0.program.all-to-all"
    algorithms, sizes = _axis(file, f"{program}.algorithm"), _axis(file, f"{program}.message")
    times = {
        algorithm: [
            _job(fs.run(file, set={f"{program}.algorithm": algorithm, f"{program}.message": size}))
            for size in sizes
        ]
        for algorithm in algorithms
    }
    rows = [[size, *(_ns(times[algorithm][at]) for algorithm in algorithms)] for at, size in enumerate(sizes)]
    with style():
        figure = new_figure(7.0, 3.6)
        axes = figure.add_subplot()
        for number, algorithm in enumerate(algorithms):
            axes.plot(
                range(len(sizes)),
                [time / 1e3 for time in times[algorithm]],
                label=algorithm,
                **line_look(number),
            )
        axes.set_yscale("log")
        plain_log(axes.yaxis)
        axes.set_xticks(range(len(sizes)), sizes)
        axes.set(xlabel="block for each pair of ranks", ylabel="time of an all-to-all (µs)")
        axes.set_title("4x4x4 torus: all-to-all of 64 ranks")
        axes.legend(loc="upper left")
    commands = ["fabricsim run FILE", "fabricsim sweep FILE"]
    return Shown(commands, _table(["block", *algorithms], rows), ALL_TO_ALL, figure)


def torus_link_fails(file: Path) -> Shown:
    after, waiting = _axis(file, "faults.reroute_after"), _axis(file, "faults.waiting")
    runs = {
        (way, time): fs.run(file, set={"faults.waiting": way, "faults.reroute_after": time})
        for way in waiting
        for time in after
    }
    rows = [
        [
            time,
            *(
                cell
                for way in waiting
                for cell in (
                    str(runs[way, time].summary["invariants.lost.link_failed"]),
                    _ns(runs[way, time].summary["latency_ns.p999"]),
                )
            ),
        ]
        for time in after
    ]
    with style():
        figure = new_figure(7.0, 3.4)
        axes = figure.add_subplot()
        for number, way in enumerate(waiting):
            series = runs[way, "50 us"].table("run_series")
            axes.plot(series["time_ns"] / 1e3, series["gbps"], label=way, **line_look(number))
        axes.axvspan(50.0, 150.0, color="0.9", zorder=0, label="link failed")
        axes.set_xlim(0.0, 200.0)
        axes.set_ylim(bottom=0.0)
        axes.set(xlabel="simulated time (µs)", ylabel="delivered by the network (Gb/s)")
        axes.set_title("6x6 torus: a link fails, new routes 50 µs later")
        axes.legend(loc="lower left")
    ten = runs["discard", "10 us"].summary
    reading = LINK_FAILS.format(lost=ten["invariants.lost.link_failed"], all=ten["invariants.injected"])
    header = [
        "new routes after",
        *(f"{way}: {what}" for way in waiting for what in ("lost", "p99.9 latency")),
    ]
    commands = ["fabricsim run FILE --plot", "fabricsim sweep FILE"]
    return Shown(commands, _table(header, rows), reading, figure)


def _job(run: fs.Result) -> float:
    """Mean time of an iteration of the only job, ns."""
    return float(run.jobs["time_ns"].mean())


def torus_closed_loop(file: Path) -> Shown:
    windows = _axis(file, "traffic.0.window")
    reads = [
        fs.run(file, set={"traffic.0.window": window}).manifest["summary"]["streams"][0] for window in windows
    ]
    rates = [read["answered_per_s"] / 64 / 1e6 for read in reads]
    trips = [read["round_trip_ns"] for read in reads]
    rows = [
        [str(window), f"{rate:.2f}", _ns(trip["mean"]), _ns(trip["p99"])]
        for window, rate, trip in zip(windows, rates, trips, strict=True)
    ]
    with style():
        figure = new_figure(7.0, 3.6)
        axes = figure.add_subplot()
        for number, (name, text) in enumerate({"mean": "mean", "p99": "99 % are shorter"}.items()):
            axes.plot(
                rates, [trip[name] / 1e3 for trip in trips], marker="o", label=text, **line_look(number)
            )
        axes.set_ylim(bottom=0.0)
        axes.set(xlabel="reads of each host (million a second)", ylabel="round trip (µs)")
        axes.set_title("8x8 torus: remote reads, windows of 1 to 64")
        axes.legend(loc="upper left")
    knee = next(window for window, rate in zip(windows, rates, strict=True) if rate > 0.9 * max(rates))
    header = ["window", "reads of a host (million/s)", "mean round trip", "p99"]
    commands = ["fabricsim run FILE", "fabricsim sweep FILE"]
    return Shown(commands, _table(header, rows), CLOSED_LOOP.format(knee=knee), figure)


def torus_failed_links(file: Path) -> Shown:
    sweep = fs.sweep(file)
    points = sweep.points.assign(
        failed=sweep.points["links.failed"].map(lambda links: str(links).count(")-S("))
    )
    names = {0: "all links", 1: "1 failed", 4: "4 failed"}
    cells = points.set_index(["failed", "traffic.0.load"])
    loads = list(dict.fromkeys(points["traffic.0.load"]))
    rows = [
        [_percent(load)]
        + [
            cell
            for failed in names
            for cell in (
                _percent(cells.loc[(failed, load), "accepted_load"]),
                _ns(cells.loc[(failed, load), "latency_ns.mean"]),
            )
        ]
        for load in loads
    ]
    with style():
        figure = new_figure(7.0, 3.6)
        axes = figure.add_subplot()
        for number, (failed, name) in enumerate(names.items()):
            of = points[points["failed"] == failed]
            axes.plot(
                of["accepted_load"], of["latency_ns.mean"] / 1e3, marker="o", label=name, **line_look(number)
            )
        axes.set_ylim(0.0, 5.0)
        axes.set(xlabel="accepted load (of the hosts' links)", ylabel="mean latency (µs)")
        axes.set_title("6x6 torus: uniform traffic with failed links")
        axes.legend(loc="upper left")
    header = [
        "offered load",
        *(f"{name}: {what}" for name in names.values() for what in ("accepted", "mean latency")),
    ]
    commands = [
        "fabricsim sweep FILE",
        "fabricsim export FILE --format look-up-tables --out tables.txt",
    ]
    return Shown(commands, _table(header, rows), FAILED_LINKS, figure)


def ordered_transfers(file: Path) -> Shown:
    runs = {mode: fs.run(file, set={"transport.mode": mode}) for mode in _axis(file, "transport.mode")}
    rows = [
        [
            mode,
            _percent(run.summary["accepted_load"]),
            *(_ns(run.summary[f"transport.completion_ns.{key}"]) for key in ("mean", "p99")),
            *(_percent(run.summary[f"transport.{share}_share"]) for share in ("reordered", "dropped")),
            str(run.summary["transport.most_reordering"]),
        ]
        for mode, run in runs.items()
    ]
    reading = ORDERED.format(
        most=runs["ordered"].summary["transport.most_reordering"],
        slow=_percent(runs["source-ordered"].summary["accepted_load"]),
        dropped=_percent(runs["go-back-n"].summary["transport.dropped_share"]),
    )
    ends = ("H(2,1).0", "H(3,1).1")
    commands = [
        "fabricsim sweep FILE",
        "fabricsim run FILE --out runs/ordered",
        "fabricsim plot runs/ordered --kind sequence --to '2.2 us' "
        + " ".join(f"--host '{end}'" for end in ends),
    ]
    header = [
        "mode",
        "accepted load",
        "mean completion",
        "p99",
        "reordered",
        "dropped",
        "most in a reorder buffer",
    ]
    picture = sequence(runs["ordered"], before="2.2 us", hosts=ends)
    return Shown(commands, _table(header, rows), reading, picture)


def subnet_bring_up(file: Path) -> Shown:
    sizes, windows = _axis(file, "topology.fat-tree.arity"), _axis(file, "subnet_manager.smps_on_wire")
    runs = {
        (size, window): fs.run(
            file, set={"topology.fat-tree.arity": size, "subnet_manager.smps_on_wire": window}
        )
        for size in sizes
        for window in windows
    }
    up = {key: run.summary["subnet.up_ns"] / 1e6 for key, run in runs.items()}
    work = {size: runs[size, windows[0]] for size in sizes}
    nodes = {
        size: int(work[size].table("subnet_sweeps")[["switches", "adapters"]].sum(axis=1)[0])
        for size in sizes
    }
    rows = [
        [
            f"{size}-ary",
            f"{nodes[size]:,}",
            f"{work[size].summary['subnet.requests']:,}",
            *(f"{up[size, window]:.1f} ms" for window in windows),
        ]
        for size in sizes
    ]
    with style():
        figure = new_figure(7.0, 3.4)
        axes = figure.add_subplot()
        for number, window in enumerate(windows):
            look = {**line_look(number), "marker": "os^D"[number]}
            times = [up[size, window] for size in sizes]
            axes.loglog([nodes[size] for size in sizes], times, label=f"{window} outstanding", **look)
        plain_log(axes.yaxis)
        plain_log(axes.xaxis)
        axes.set(xlabel="switches and hosts", ylabel="subnet up after (ms)")
        axes.set_title("3-level fat trees: a subnet comes up")
        axes.legend(title="requests")
    most = sizes[-1]
    reading = BRING_UP.format(
        each=f"{1e3 * up[most, 1] / work[most].summary['subnet.requests']:.0f}",
        least=f"{1e3 * up[most, windows[-1]] / work[most].summary['subnet.requests']:.1f}",
    )
    header = ["3-level tree", "nodes", "requests", *(f"{window} outstanding" for window in windows)]
    return Shown(["fabricsim run FILE", "fabricsim sweep FILE"], _table(header, rows), reading, figure)


def subnet_link_fails(file: Path) -> Shown:
    traps, windows = _axis(file, "subnet_manager.traps"), _axis(file, "subnet_manager.smps_on_wire")
    runs = {
        (trap, window): fs.run(
            file, set={"subnet_manager.traps": trap, "subnet_manager.smps_on_wire": window}
        )
        for trap in traps
        for window in windows
    }

    def row(trap: bool, window: int) -> list[str]:
        run = runs[trap, window]
        sweeps = run.table("subnet_sweeps")
        after = sweeps[sweeps["begin_ns"] > 0].iloc[0]
        return [
            f"{'trap' if trap else 'light sweep'}, {window} outstanding",
            f"{(after['begin_ns'] - 40e6) / 1e6:.2f} ms",
            f"{(after['programmed_ns'] - 40e6) / 1e6:.2f} ms",
            str(int(after["blocks"])),
            str(run.summary["invariants.lost.link_failed"]),
        ]

    with style():
        figure = new_figure(7.0, 3.4)
        axes = figure.add_subplot()
        for number, trap in enumerate(traps):
            sweeps = runs[trap, windows[1]].table("run_series")
            label = "trap" if trap else "light sweep every 20 ms"
            axes.plot(sweeps["time_ns"] / 1e6, sweeps["gbps"], label=label, **line_look(number))
        axes.axvline(40.0, color="0.6", linestyle=":", label="link fails")
        axes.set_xlim(0.0, 100.0)
        axes.set(xlabel="simulated time (ms)", ylabel="delivered by the network (Gb/s)")
        axes.set_title("Fat tree: a link fails; 4 requests outstanding")
        axes.legend(loc="lower right")
    rows = [row(trap, window) for trap in traps for window in windows]
    header = ["found by", "noticed after", "tables set after", "blocks set", "packets lost"]
    return Shown(["fabricsim run FILE --plot", "fabricsim sweep FILE"], _table(header, rows), TRAPS, figure)


def engines_tree(file: Path) -> Shown:
    engines, patterns = _axis(file, "routing.engine"), _axis(file, "traffic.0.pattern")
    named = {"uniform": "uniform", "tornado": "half the tree away"}
    loads = {
        pattern: [
            fs.run(file, set={"routing.engine": engine, "traffic.0.pattern": pattern}).summary[
                "accepted_load"
            ]
            for engine in engines
        ]
        for pattern in patterns
    }
    reports = [route(file, engine).report for engine in engines]
    rows = [
        [
            f"`{engine}`",
            f"{report['link_load']['max']} of {report['link_load']['mean']:.0f}",
            str(report["layers"]),
            *(_percent(loads[pattern][number]) for pattern in patterns),
        ]
        for number, (engine, report) in enumerate(zip(engines, reports, strict=True))
    ]
    with style():
        figure = new_figure(7.0, 3.2)
        axes = figure.add_subplot()
        for number, pattern in enumerate(patterns):
            places = [place + 0.4 * (number - 0.5) for place in range(len(engines))]
            heights = [100 * load for load in loads[pattern]]
            axes.bar(places, heights, 0.38, color=COLOURS[number], label=named[pattern])
        axes.set_xticks(range(len(engines)), engines)
        axes.set(ylabel="accepted load (% of hosts' links)", ylim=(0, 105))
        axes.set_title("4-ary 3-tree: what the tables of engines carry")
        axes.legend(title="saturating traffic")
    header = [
        "engine",
        "paths on the fullest link, of the mean",
        "lanes",
        *(named[pattern] for pattern in patterns),
    ]
    by_engine = dict(zip(engines, zip(reports, loads["uniform"], strict=True), strict=True))
    reading = ENGINES_TREE.format(
        ftree=_percent(by_engine["ftree"][1]),
        minhop=_percent(by_engine["minhop"][1]),
        lash=_percent(by_engine["lash"][1]),
        fullest=by_engine["lash"][0]["link_load"]["max"],
    )
    return Shown(
        ["fabricsim sweep FILE", "fabricsim route FILE --engine ftree --against minhop"],
        _table(header, rows),
        reading,
        figure,
    )


def engines_torus(file: Path) -> Shown:
    torus_2qos = "torus-2QoS"
    engines = [*_axis(file, "routing.engine"), torus_2qos]
    text = re.sub(r"^sl2vl = .*\n", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    own_lanes = fs.Experiment(text=text, base=str(file.parent))
    runs = {
        engine: fs.run(own_lanes if engine == torus_2qos else file, set={"routing.engine": engine})
        for engine in engines
    }
    with tempfile.TemporaryDirectory() as folder:
        conf = Path(folder) / "torus-2QoS.conf"
        conf.write_text(_torus_conf(file), encoding="utf-8")
        reports = {
            engine: route(file, engine, torus=conf if engine == torus_2qos else None).report
            for engine in engines
        }
    rows = [
        [
            f"`{engine}`",
            f"{reports[engine]['link_load']['max']} of {reports[engine]['link_load']['mean']:.0f}",
            str(reports[engine]["layers"]),
            "no cycle" if reports[engine]["deadlock"]["free"] else "cycle",
            "deadlock" if run.status == "deadlock" else _percent(run.summary["accepted_load"]),
        ]
        for engine, run in runs.items()
    ]
    with style():
        figure = new_figure(7.0, 3.2)
        axes = figure.add_subplot()
        loads = [
            0.0 if run.status == "deadlock" else 100 * run.summary["accepted_load"] for run in runs.values()
        ]
        axes.bar(range(len(engines)), loads, 0.6, color=COLOURS[0])
        for place, run in enumerate(runs.values()):
            if run.status == "deadlock":
                axes.annotate("deadlock", (place, 2), ha="center", rotation=90, fontsize=8)
        axes.set_xticks(range(len(engines)), engines)
        axes.set(ylabel="accepted load (% of hosts' links)", ylim=(0, 105))
        axes.set_title("5x5 torus, saturating uniform traffic: engines")
    header = ["engine", "paths on the fullest link, of the mean", "lanes", "deadlock check", "accepted"]
    reading = ENGINES_TORUS.format(nue=_percent(runs["nue"].summary["accepted_load"]))
    return Shown(
        ["fabricsim sweep FILE  # exit code 3", "fabricsim route FILE --engine dfsssp --against minhop"],
        _table(header, rows),
        reading,
        figure,
    )


def _torus_conf(file: Path) -> str:
    """The description of the torus for OpenSM: its size, and links of the first switch."""
    guids = {
        name: guid
        for guid, name in re.findall(
            r'^Switch.*"S-([0-9a-f]+)".*# "([^"]*)"', route(file, "minhop").fabric, re.MULTILINE
        )
    }
    x, y = tomllib.loads(file.read_text(encoding="utf-8"))["topology"]["torus"]["dimensions"]
    origin, right, up = (f"0x{guids[name]}" for name in ("S(0,0)", "S(1,0)", "S(0,1)"))
    return f"torus {x} {y} 1m\nxp_link {origin} {right}\nyp_link {origin} {up}\n"


GALLERY: Mapping[str, Callable[[Path], Shown]] = {
    "mesh-patterns": mesh_patterns,
    "torus-load": torus_load,
    "fat-tree-routing": fat_tree_routing,
    "dragonfly-routing": dragonfly_routing,
    "ring-deadlock": ring_deadlock,
    "parking-lot-fairness": parking_lot_fairness,
    "torus-failed-links": torus_failed_links,
    "torus-link-fails": torus_link_fails,
    "torus-closed-loop": torus_closed_loop,
    "torus-all-to-all": torus_all_to_all,
    "ordered-transfers": ordered_transfers,
    "subnet-bring-up": subnet_bring_up,
    "subnet-link-fails": subnet_link_fails,
    "engines-tree": engines_tree,
    "engines-torus": engines_torus,
}


def _axis(file: Path, key: str) -> list[Any]:
    """The values that the file sweeps over."""
    return list(tomllib.loads(file.read_text(encoding="utf-8"))["sweep"][key])


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---"] + ["--:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.1f} %"


def _ns(time: float) -> str:
    return f"{time:.0f} ns" if time < 1e4 else f"{time / 1e3:.1f} µs"


if __name__ == "__main__":
    main()
