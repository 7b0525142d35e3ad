"""Gallery: patterns, loads and routing."""

from __future__ import annotations

from pathlib import Path

from gallery_shared import Shown, axis, ns, percent, table

import fabricsim as fs
from fabricsim.plots import links, load_latency
from fabricsim.plots.legends import legend
from fabricsim.plots.theme import COLOURS, line_look, new_figure, style

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


def mesh_patterns(file: Path) -> Shown:
    runs = {
        pattern: fs.run(file, set={"traffic.0.pattern": pattern})
        for pattern in axis(file, "traffic.0.pattern")
    }
    rows = [
        [
            pattern,
            percent(run.summary["accepted_load"]),
            ns(run.summary["latency_ns.mean"]),
            ns(run.summary["latency_ns.p99"]),
            percent(run.links["utilisation"].max()),
        ]
        for pattern, run in runs.items()
    ]
    header = ["pattern", "accepted load", "mean latency", "p99 latency", "busiest link"]
    commands = ["fabricsim run FILE --plot", "fabricsim sweep FILE"]
    return Shown(commands, table(header, rows), MESH, links(runs["transpose"]))


def torus_load(file: Path) -> Shown:
    sweep = fs.sweep(file)
    rows = [
        [
            percent(p["offered_load"]),
            percent(p["accepted_load"]),
            ns(p["latency_ns.mean"]),
            ns(p["latency_ns.p99"]),
        ]
        for _, p in sweep.points.iterrows()
    ]
    found = sweep.saturation().iloc[0]
    reading = TORUS.format(most=percent(found["throughput"]))
    header = ["offered load", "accepted load", "mean latency", "p99 latency"]
    return Shown(["fabricsim sweep FILE"], table(header, rows), reading, load_latency(sweep))


def fat_tree_routing(file: Path) -> Shown:
    sweep = fs.sweep(file)
    key, load = "routing.algorithm", "traffic.0.load"
    cells = sweep.points.set_index([key, load])
    algorithms = list(dict.fromkeys(sweep.points[key]))
    rows = [
        [percent(at)]
        + [
            cell
            for algorithm in algorithms
            for cell in (
                percent(cells.loc[(algorithm, at), "accepted_load"]),
                ns(cells.loc[(algorithm, at), "latency_ns.mean"]),
            )
        ]
        for at in dict.fromkeys(sweep.points[load])
    ]
    header = ["offered load", *(f"{a}: {what}" for a in algorithms for what in ("accepted", "mean latency"))]
    most = sweep.saturation().set_index(key)["throughput"]
    reading = TREE.format(deterministic=percent(most["up-down"]), adaptive=percent(most["up-down-adaptive"]))
    return Shown(["fabricsim sweep FILE"], table(header, rows), reading, load_latency(sweep))


def dragonfly_routing(file: Path) -> Shown:
    sweep = fs.sweep(file)
    key, load = "routing.algorithm", "traffic.0.load"
    cells = sweep.points.set_index([key, load])
    algorithms = list(dict.fromkeys(sweep.points[key]))
    rows = [
        [percent(at)] + [percent(cells.loc[(algorithm, at), "accepted_load"]) for algorithm in algorithms]
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
        legend(figure)
    reading = DRAGONFLY.format(minimal=percent(most["minimal"]), par=percent(most["par-6/2"]))
    header = ["offered load", *(f"{algorithm}: accepted" for algorithm in algorithms)]
    return Shown(["fabricsim sweep FILE"], table(header, rows), reading, figure)


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
        legend(figure)
    reading = RING.format(cycle="\n".join(stopped.manifest["summary"]["deadlock"]))
    commands = [
        "fabricsim describe FILE",
        "fabricsim run FILE  # exit code 3",
        "fabricsim run FILE --set routing.algorithm=dimension-order --set switch.virtual_lanes=2",
    ]
    header = ["routing", "status", "simulated", "packets delivered", "in flight at the end"]
    return Shown(commands, table(header, rows), reading, figure)


def parking_lot_fairness(file: Path) -> Shown:
    runs = {
        arbiter: fs.run(file, set={"switch.arbiter": arbiter}) for arbiter in axis(file, "switch.arbiter")
    }
    rows = [
        [
            arbiter,
            *(f"{run.flows['accepted_gbps'].agg(most):.2f}" for most in ("max", "min")),
            f"{run.summary['jain']:.3f}",
            ns(run.summary["latency_ns.mean"]),
            ns(run.summary["latency_ns.max"]),
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
        legend(figure)
    header = ["arbiter", "most (Gb/s)", "least (Gb/s)", "Jain's index", "mean latency", "longest latency"]
    commands = ["fabricsim run FILE", "fabricsim sweep FILE"]
    return Shown(commands, table(header, rows), PARKING_LOT, figure)
