"""Gallery: InfiniBand's reliable connections."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from gallery_shared import EXPERIMENTS, Shown, axis, ns, percent, table

import fabricsim as fs
from fabricsim.plots.legends import legend
from fabricsim.plots.theme import COLOURS, line_look, new_figure, plain_log, style

DRAGONFLY = """
With minimal routes a connection stays in order, and gets what the one link between two groups carries. Over other
groups there is room for {ordered}, as the ordering protocol shows on the same fabric (its packets are 46 bytes
shorter). But {copies} of what the connections send there are copies: each packet that overtakes is dropped, with
all behind it, and less arrives than over the one link. Adapters that hold such packets (`hold`), or place their data
at once (`place`), get {held} and {placed} without a copy; `place` has an address of 16 bytes in each packet. `hold`
needs buffers for the data of up to 128 packets of a connection, `place` for their headers; in return data of a
message has no order.
"""
INCAST = """
Without congestion control the packets for the one host fill the buffers of the spine that leads to it. The victims
share nothing with them but that spine and the links to it, and get {before}; with congestion control they get
{after}, since senders of the incast slow down before the buffers are full. The incast's {hot} are less than its
link carries: its senders are notified late, and recover slowly. Nothing is retransmitted in either run.
"""
LOST = """
If another packet follows on its connection, a lost packet costs a round trip: the NAK names it, and what was sent
since is retransmitted. If none follows, or if the copy is lost as well, only the timer helps, and what was posted
to the connection meanwhile waits with it. Of some 600 losses in a run that happens to a few or to none, as the last
column counts, and these decide the mean: where there is no time-out, its length does not matter. With another seed
other rows have them. Messages of 1 MiB in 16 queue pairs take turns on the link and last longer than the shortest
timer, which ends though nothing is lost.
"""


def rc_dragonfly(file: Path) -> Shown:
    """Accepted load by routing, with reliable connections and with the ordering protocol."""
    ways, treatments = (axis(file, key) for key in ("routing.algorithm", "queue_pairs.out_of_order"))
    loads = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
    other = EXPERIMENTS / "ordered-transfers.toml"
    cases = [(way, treatment) for way in ways for treatment in treatments]
    connections = {
        (way, treatment): [
            _loaded(file, way, load, {"queue_pairs.out_of_order": treatment}) for load in loads
        ]
        for way, treatment in cases
    }
    ordered = [_loaded(other, "par-6/2", load) for load in loads]
    rows = [
        [
            way,
            f"`{treatment}`",
            percent(runs[-1].summary["accepted_load"]),
            percent(runs[-1].summary["queue_pairs.retransmitted_share"]),
            str(runs[-1].summary["queue_pairs.held"]),
            ns(runs[-1].summary["queue_pairs.completion_ns.mean"]),
        ]
        for (way, treatment), runs in connections.items()
    ]
    last = ordered[-1].summary
    completion = ns(last["transport.completion_ns.mean"])
    rows.append(["par-6/2", "ordering protocol", percent(last["accepted_load"]), "0.0 %", "", completion])
    adaptive = {treatment: connections["par-6/2", treatment][-1].summary for treatment in treatments}
    with style():
        figure = new_figure(7.0, 3.6)
        axes = figure.add_subplot()
        lines = {f"{way}, {treatment}": connections[way, treatment] for way, treatment in cases}
        shown = ["minimal, drop", "valiant, drop", *(f"par-6/2, {treatment}" for treatment in treatments)]
        drawn = {**{name: lines[name] for name in shown}, "par-6/2, ordering protocol": ordered}
        for number, (name, runs) in enumerate(drawn.items()):
            axes.plot(
                loads,
                [run.summary["accepted_load"] for run in runs],
                marker="o",
                label=name,
                **line_look(number),
            )
        axes.set_ylim(bottom=0.0)
        axes.set(xlabel="offered load (of the hosts' links)", ylabel="accepted load")
        axes.set_title("Dragonfly of 72 hosts: reliable connections by routing")
        legend(figure)
    reading = DRAGONFLY.format(
        ordered=percent(last["accepted_load"]),
        copies=percent(adaptive["drop"]["queue_pairs.retransmitted_share"]),
        held=percent(adaptive["hold"]["accepted_load"]),
        placed=percent(adaptive["place"]["accepted_load"]),
    )
    header = ["routing", "out of order", "accepted load", "copies", "packets held", "mean completion"]
    return Shown(["fabricsim sweep FILE"], table(header, rows), reading, figure)


def _loaded(
    file: Path, algorithm: str, load: float, more: Mapping[str, object] = MappingProxyType({})
) -> fs.Result:
    return fs.run(file, set={"routing.algorithm": algorithm, "traffic.0.load": load, **more})


def rc_incast(file: Path) -> Shown:
    """What the incast, its victims and others get, without and with congestion control."""
    key = "congestion_control.algorithm"
    runs = {control: fs.run(file, set={key: control}) for control in axis(file, key)}
    names = {
        "H0": "incast, 32 senders together",
        "H56": "victim beside 7 senders",
        "H48": "victim beside 4 senders",
        "H50": "elsewhere",
    }
    gets = {control: run.flows.groupby("destination")["accepted_gbps"].sum() for control, run in runs.items()}
    header = ["Gb/s", *(_words(control) for control in runs)]
    rows = [[name, *(f"{gets[control][host]:.1f}" for control in runs)] for host, name in names.items()]
    rows.append(
        ["99 % of the messages take less than"]
        + [ns(run.summary["queue_pairs.completion_ns.p99"]) for run in runs.values()]
    )
    with style():
        figure = new_figure(7.0, 3.4)
        axes = figure.add_subplot()
        for number, control in enumerate(runs):
            places = [place + (number - 0.5) * 0.38 for place in range(len(names))]
            heights = [gets[control][host] for host in names]
            axes.bar(places, heights, 0.38, color=COLOURS[number], label=_words(control))
        axes.set_xticks(
            range(len(names)),
            [name.replace(", ", ",\n").replace(" beside", "\nbeside") for name in names.values()],
        )
        axes.set_ylabel("throughput (Gb/s)")
        axes.set_title("Fat tree: incast of 32 reliable connections")
        axes.set_ylim(0.0, 105.0)
        legend(figure, below=True)
    reading = INCAST.format(
        before=f"{gets['none']['H56']:.1f} and {gets['none']['H48']:.1f} Gb/s",
        after=f"{gets['infiniband']['H56']:.1f} and {gets['infiniband']['H48']:.1f}",
        hot=f"{gets['infiniband']['H0']:.1f} Gb/s",
    )
    return Shown(["fabricsim run FILE --plot", "fabricsim sweep FILE"], table(header, rows), reading, figure)


def _words(control: str) -> str:
    return "without congestion control" if control == "none" else "with congestion control"


def rc_lost_packet(file: Path) -> Shown:
    """Time of a message with losses, by its size, time-out and number of queue pairs."""
    sizes, timeouts, counts = (
        axis(file, key) for key in ("traffic.0.message", "queue_pairs.timeout", "queue_pairs.per_pair")
    )
    cases = [(size, count) for size in sizes for count in counts]
    whole = {case: _times(file, case, timeouts[0], loss=0.0) for case in cases}
    lossy = {case: [_times(file, case, timeout) for timeout in timeouts] for case in cases}
    rows = [
        [
            _words_of(case),
            *(f"{ns(mean)}, {ns(late)}" for mean, late, _ in (whole[case], *lossy[case])),
            ", ".join(str(timeouts) for _, _, timeouts in lossy[case]),
        ]
        for case in cases
    ]
    times = [f"{4.096 * 2**timeout / 1e3:.1f} ms ({timeout})" for timeout in timeouts]
    with style():
        figure = new_figure(7.0, 3.6)
        axes = figure.add_subplot()
        for number, case in enumerate(cases):
            means = [mean / 1e3 for mean, _, _ in (whole[case], *lossy[case])]
            axes.plot(range(len(means)), means, marker="o", label=_words_of(case), **line_look(number))
        axes.set_yscale("log")
        plain_log(axes.yaxis)
        axes.set_xticks(range(len(times) + 1), ["no losses", *times])
        axes.set(xlabel="time-out", ylabel="mean time of a message (µs)")
        axes.set_title("Two adapters: messages when a packet of a thousand is lost")
        legend(figure)
    header = ["mean, 99.9 %", "no losses", *(f"time-out {time}" for time in times), "time-outs"]
    return Shown(["fabricsim sweep FILE"], table(header, rows), LOST, figure)


def _words_of(case: tuple[str, int]) -> str:
    size, count = case
    return f"{size}, " + ("1 queue pair" if count == 1 else f"{count} queue pairs")


def _times(
    file: Path, case: tuple[str, int], timeout: int, loss: float | None = None
) -> tuple[float, float, int]:
    """Mean time of a message until it is acknowledged, and the time within which 99.9 % are, ns; and time-outs."""
    values = {
        "traffic.0.message": case[0],
        "queue_pairs.timeout": timeout,
        "queue_pairs.per_pair": case[1],
    }
    summary = fs.run(file, set=values if loss is None else {**values, "queue_pairs.loss": loss}).summary
    mean, late = (float(summary[f"queue_pairs.completion_ns.{key}"]) for key in ("mean", "p999"))
    return mean, late, int(summary["queue_pairs.timeouts"])
