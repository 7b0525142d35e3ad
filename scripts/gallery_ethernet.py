"""Gallery: lossless Ethernet beside InfiniBand."""

from __future__ import annotations

import math
from pathlib import Path

from gallery_shared import Shown, axis, ns, table
from matplotlib.figure import Figure

import fabricsim as fs
from fabricsim.plots.legends import legend
from fabricsim.plots.theme import COLOURS, new_figure, style

LINKS = {"ideal": "credits", "pause": "pauses"}
CONTROLS = {
    "none": "none",
    "infiniband": "InfiniBand's",
    "dcqcn": "DCQCN",
    "swift": "Swift",
    "hpcc": "HPCC",
}
OFFERED = 50.0
"""What a victim offers, in Gb/s."""
XOFF = "32 KiB"
READING = """
Without congestion control the incast stops the victims on the links that they share, with credits and with pauses
alike: they get {none} Gb/s of {offered:.0f}. Swift and HPCC keep queues short, and then it does not matter what the
links have: the victims get {windows} Gb/s. InfiniBand's control and DCQCN act when a queue is long, and how long it
gets before depends on the buffers: 64 KiB with credits, and XOFF with pauses, which is half of that. With credits for
32 KiB the victims get {infiniband} and {dcqcn} Gb/s with these two. Nothing is lost: the buffers have the headroom
that these links need.
"""


def lossless_ethernet(file: Path) -> Shown:
    """What the incast and its victims get, with credits and with pauses, by congestion control."""
    links, controls = axis(file, "switch.flow_control"), axis(file, "congestion_control.algorithm")
    rows = []
    gets: dict[tuple[str, str], tuple[float, float]] = {}
    for control in controls:
        for link in links:
            run = fs.run(file, set={"switch.flow_control": link, "congestion_control.algorithm": control})
            latency = float(run.entries.set_index("entry")["latency_p99_ns"]["victims"])
            gets[link, control] = _shares(run)
            frames = run.links["flow_control"].sum() / (run.summary["measured_ns"] / 1e6)
            rows.append(
                [
                    f"{CONTROLS[control]}, {LINKS[link]}",
                    *(f"{value:.1f}" for value in gets[link, control]),
                    "none delivered" if math.isnan(latency) else ns(latency),
                    f"{frames:.0f}" if link == "pause" else "–",
                ]
            )
    header = ["", "incast, Gb/s", "a victim, Gb/s", "99 % of victims' packets", "pause frames a ms"]
    reading = READING.format(
        none=" and ".join(f"{gets[link, 'none'][1]:.1f}" for link in links),
        offered=OFFERED,
        windows=f"{min(gets[link, control][1] for link in links for control in ('swift', 'hpcc')):.1f}",
        **{control: _with_less(file, control) for control in ("infiniband", "dcqcn")},
    )
    picture = _picture(gets, controls)
    return Shown(["fabricsim run FILE --plot", "fabricsim sweep FILE"], table(header, rows), reading, picture)


def _shares(run: fs.Result) -> tuple[float, float]:
    """Throughput of the incast, and of a victim, in Gb/s."""
    gets = run.entries.set_index("entry")["accepted_gbps"]
    return float(gets["incast"]), float(gets["victims"]) / 3


def _with_less(file: Path, control: str) -> str:
    """What a victim gets with credits for as much as XOFF leaves."""
    credits = {"switch.flow_control": "ideal", "links.all.buffer": XOFF}
    run = fs.run(file, set={"congestion_control.algorithm": control, **credits})
    return f"{_shares(run)[1]:.1f}"


def _picture(gets: dict[tuple[str, str], tuple[float, float]], controls: list[str]) -> Figure:
    """Bars of the incast and of a victim, by congestion control, for both kinds of links."""
    with style():
        figure = new_figure(7.0, 3.4)
        for number, title in enumerate(["incast, nine senders together", "a victim"]):
            axes = figure.add_subplot(1, 2, number + 1)
            for place, link in enumerate(LINKS):
                places = [at + (place - 0.5) * 0.38 for at in range(len(controls))]
                heights = [gets[link, control][number] for control in controls]
                axes.bar(places, heights, 0.38, color=COLOURS[place], label=LINKS[link])
            axes.set_xticks(range(len(controls)), [CONTROLS[control] for control in controls], rotation=20)
            axes.set(xlabel="congestion control", title=title, ylim=(0.0, 105.0 if number == 0 else 52.5))
            if number == 0:
                axes.set_ylabel("throughput (Gb/s)")
        legend(figure, below=True)
    return figure
