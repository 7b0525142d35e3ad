"""Gallery: programs, failures, ordered transfers."""

from __future__ import annotations

from pathlib import Path

from gallery_shared import Shown, axis, ns, percent, table

import fabricsim as fs
from fabricsim.plots import sequence
from fabricsim.plots.legends import legend
from fabricsim.plots.theme import line_look, new_figure, plain_log, style

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
ORDERED = """
More than half of the operations wait for others in the reorder buffer, and the streams take as long as without order:
what is late is late either way. A target needs room for {most} packets at most. With one packet at a time (slow mode,
`source-ordered`) {slow} is accepted; a target that drops packets out of sequence (`go-back-n`,
as RoCE does) drops {dropped} of what it receives. The last two accept less than is offered, so that their times grow
with the length of the run. The picture is of one stream in fast mode: FIN waits for all acknowledgements.
"""


def torus_all_to_all(file: Path) -> Shown:
    program = "jobs.0.program.all-to-all"
    algorithms, sizes = axis(file, f"{program}.algorithm"), axis(file, f"{program}.message")
    times = {
        algorithm: [
            _job(fs.run(file, set={f"{program}.algorithm": algorithm, f"{program}.message": size}))
            for size in sizes
        ]
        for algorithm in algorithms
    }
    rows = [[size, *(ns(times[algorithm][at]) for algorithm in algorithms)] for at, size in enumerate(sizes)]
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
        legend(figure)
    commands = ["fabricsim run FILE", "fabricsim sweep FILE"]
    return Shown(commands, table(["block", *algorithms], rows), ALL_TO_ALL, figure)


def _job(run: fs.Result) -> float:
    """Mean time of an iteration of the only job, ns."""
    return float(run.jobs["time_ns"].mean())


def torus_link_fails(file: Path) -> Shown:
    after, waiting = axis(file, "faults.reroute_after"), axis(file, "faults.waiting")
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
                    ns(runs[way, time].summary["latency_ns.p999"]),
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
        legend(figure)
    ten = runs["discard", "10 us"].summary
    reading = LINK_FAILS.format(lost=ten["invariants.lost.link_failed"], all=ten["invariants.injected"])
    header = [
        "new routes after",
        *(f"{way}: {what}" for way in waiting for what in ("lost", "p99.9 latency")),
    ]
    commands = ["fabricsim run FILE --plot", "fabricsim sweep FILE"]
    return Shown(commands, table(header, rows), reading, figure)


def torus_closed_loop(file: Path) -> Shown:
    windows = axis(file, "traffic.0.window")
    reads = [
        fs.run(file, set={"traffic.0.window": window}).manifest["summary"]["entries"][0] for window in windows
    ]
    rates = [read["answered_per_s"] / 64 / 1e6 for read in reads]
    trips = [read["round_trip_ns"] for read in reads]
    rows = [
        [str(window), f"{rate:.2f}", ns(trip["mean"]), ns(trip["p99"])]
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
        legend(figure)
    knee = next(window for window, rate in zip(windows, rates, strict=True) if rate > 0.9 * max(rates))
    header = ["window", "reads of a host (million/s)", "mean round trip", "p99"]
    commands = ["fabricsim run FILE", "fabricsim sweep FILE"]
    return Shown(commands, table(header, rows), CLOSED_LOOP.format(knee=knee), figure)


def torus_failed_links(file: Path) -> Shown:
    sweep = fs.sweep(file)
    points = sweep.points.assign(
        failed=sweep.points["links.failed"].map(lambda links: str(links).count(")-S("))
    )
    names = {0: "all links", 1: "1 failed", 4: "4 failed"}
    cells = points.set_index(["failed", "traffic.0.load"])
    loads = list(dict.fromkeys(points["traffic.0.load"]))
    rows = [
        [percent(load)]
        + [
            cell
            for failed in names
            for cell in (
                percent(cells.loc[(failed, load), "accepted_load"]),
                ns(cells.loc[(failed, load), "latency_ns.mean"]),
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
        legend(figure)
    header = [
        "offered load",
        *(f"{name}: {what}" for name in names.values() for what in ("accepted", "mean latency")),
    ]
    commands = [
        "fabricsim sweep FILE",
        "fabricsim export FILE --format look-up-tables --out tables.txt",
    ]
    return Shown(commands, table(header, rows), FAILED_LINKS, figure)


def ordered_transfers(file: Path) -> Shown:
    runs = {mode: fs.run(file, set={"transport.mode": mode}) for mode in axis(file, "transport.mode")}
    rows = [
        [
            mode,
            percent(run.summary["accepted_load"]),
            *(ns(run.summary[f"transport.completion_ns.{key}"]) for key in ("mean", "p99")),
            *(percent(run.summary[f"transport.{share}_share"]) for share in ("reordered", "dropped")),
            str(run.summary["transport.most_reordering"]),
        ]
        for mode, run in runs.items()
    ]
    reading = ORDERED.format(
        most=runs["ordered"].summary["transport.most_reordering"],
        slow=percent(runs["source-ordered"].summary["accepted_load"]),
        dropped=percent(runs["go-back-n"].summary["transport.dropped_share"]),
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
    return Shown(commands, table(header, rows), reading, picture)
