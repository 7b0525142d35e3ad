"""Sequence charts: the packets of a transport one by one, with time running down."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fabricsim.errors import InputError
from fabricsim.exchanges import Operation, Packet, Trace, read_trace
from fabricsim.plots.labels import FONT, LETTER, LINE, Labels, Line, Point, columns
from fabricsim.plots.legends import add_legend
from fabricsim.plots.theme import COLOURS, DASHES, new_figure, style, time_scale
from fabricsim.results import Result
from fabricsim.selection import to_ns

MOST_ARROWS = 200
"""Maximum number of packets in a chart."""
MOST_HOSTS = 6
DETAILED = 40
"""Packets up to which labels show CID, SEQ and CNT."""
MOST_NAMES = 4
"""Operations that are forwarded at one time and named one by one."""
_KINDS = {"REQ": 0, "ACK": 2, "NACK": 1, "FIN": 3, "FIN-ACK": 3}
"""Number of the colour of each kind, where there is one message."""
_DASHES = {"REQ": DASHES[0], "ACK": DASHES[0], "NACK": DASHES[1], "FIN": DASHES[3], "FIN-ACK": DASHES[3]}
_GAP, _MEMORY = 4.4, 1.0
"""Inches from a host to the next, and from a host to its memory."""
_LOST_AT = 0.88
"""Part of the way at which the arrow of a lost packet ends."""


def sequence(
    result: Result,
    *,
    after: str | None = None,
    before: str | None = None,
    hosts: Collection[str] = (),
    first: int = 0,
) -> Figure:
    """Packets from where they are sent to where they are received, and operations from there to target memory.

    Slopes are true to time; bars show what waits in reorder buffers.

    `after` and `before` are times with units, `hosts` restricts the chart to packets among these hosts, by default all.
    Packets of a message are numbered from `first` on.

    Raises:
        InputError: nothing was recorded (`measure.exchanges`), nothing in that part, or more than a chart has room for.
    """
    trace = _chosen(result, after, before, hosts)
    begin = to_ns(after) if after else min(_times(trace), default=0.0)
    end = trace.end_ns if before else max(_times(trace), default=1.0)
    chart = _Chart(trace, begin, max(end, begin + 1.0), first)
    with style(fixed=True):
        figure = new_figure(chart.width, chart.height, fixed=True)
        axes = figure.add_subplot()
        chart.draw(axes)
        axes.set_title(result.title, pad=22)
    return figure


def fits_sequence(result: Result) -> bool:
    """True if the recorded packets fit in one chart."""
    table = result.frames.get("exchanges")
    if table is None or not 0 < (table["step"] == "sent").sum() <= MOST_ARROWS:
        return False
    return len(read_trace(table).hosts) <= MOST_HOSTS


def _chosen(result: Result, after: str | None, before: str | None, hosts: Collection[str]) -> Trace:
    if "exchanges" not in result.frames:
        raise InputError(
            "this run recorded no packets one by one: set measure.exchanges, with a [transport] that orders"
        )
    whole = read_trace(result.exchanges)
    if unknown := [host for host in hosts if host not in whole.hosts]:
        raise InputError(
            f"no packet of host {unknown[0]!r} was recorded; there are: {', '.join(whole.hosts[:20])}"
        )
    begin, end = to_ns(after) if after else 0.0, to_ns(before) if before else math.inf
    trace = whole.part(begin, end, hosts)
    if not trace.packets:
        among = f" among {', '.join(hosts)}" if hosts else ""
        raise InputError(
            f"there is no packet{among} in this part: what was recorded ends at {whole.end_ns:g} ns"
        )
    hint = "choose a part with --from, --to and --host"
    if len(trace.packets) > MOST_ARROWS:
        raise InputError(
            f"{len(trace.packets):,} packets are in this part, and a chart has room for {MOST_ARROWS}: {hint}"
        )
    if len(trace.hosts) > MOST_HOSTS:
        raise InputError(
            f"{len(trace.hosts)} hosts are in this part, and a chart has room for {MOST_HOSTS}: {hint}"
        )
    return trace


def _times(trace: Trace) -> list[float]:
    pairs = [(p.sent_ns, p.end_ns) for p in trace.packets] + [
        (o.received_ns, o.delivered_ns) for o in trace.operations
    ]
    return [time for pair in pairs for time in pair if time is not None]


@dataclass
class _Chart:
    """Coordinates in a chart: x in inches, y in the unit of time."""

    trace: Trace
    begin_ns: float
    end_ns: float
    first: int

    def __post_init__(self) -> None:
        self.scale, self.unit = time_scale(self.end_ns)
        self.targets = {o.packet.target for o in self.trace.operations}
        self.x: dict[str, float] = {}
        self.memory: dict[str, float] = {}
        at = 0.0
        for host in self.trace.hosts:
            self.x[host] = at
            if host in self.targets:
                self.memory[host] = at + _MEMORY
            at += _GAP
        self.right = max([*self.x.values(), *self.memory.values()])
        self.width = self.right + 3.4
        self.height = min(5.0 + 0.2 * len(self.trace.packets), 18.0)
        self.several = len(self.trace.messages) > 1
        self.fields = len(self.trace.packets) <= DETAILED
        self.slots = _slots(self.trace.operations, self.end_ns)

    def y(self, ns: float) -> float:
        return ns / self.scale

    def colour(self, packet: Packet) -> str:
        if not self.several or packet.message is None:
            return COLOURS[_KINDS[packet.kind]]
        return COLOURS[self.trace.messages.index(packet.message) % len(COLOURS)]

    def draw(self, axes: Axes) -> None:
        self._lines(axes)
        inch = self.y(self.end_ns - self.begin_ns) / (self.height - 1.3)
        labels = Labels(axes, inch, [line for p in self.trace.packets if (line := self._line(p))])
        for number, operation in enumerate(self.trace.operations):
            self._operation(axes, operation, self.slots[number])
        for packet in sorted(self.trace.packets, key=lambda p: p.sent_ns if p.sent_ns is not None else -1.0):
            self._arrow(axes, packet, labels)
        self._memory_labels(axes, inch)
        self._frame(axes, labels.left_out)

    def _lines(self, axes: Axes) -> None:
        places = [(x, host, "0.2") for host, x in self.x.items()]
        places += [(x, "target memory", "0.55") for x in self.memory.values()]
        columns(axes, places)

    def _arrow(self, axes: Axes, packet: Packet, labels: Labels) -> None:
        look: dict[str, Any] = {
            "color": self.colour(packet),
            "linestyle": _DASHES[packet.kind],
            "linewidth": 1.3,
        }
        line = self._line(packet)
        if line is None:
            self._stub(axes, packet, look)
            return
        here, there = line
        axes.plot([here[0], there[0]], [here[1], there[1]], **look)
        if packet.lost:
            axes.plot(*there, "x", color=look["color"], markersize=9, markeredgewidth=2.2)
        else:
            arrow = {"arrowstyle": "-|>", "color": look["color"], "linewidth": 0, "shrinkA": 0, "shrinkB": 0}
            axes.annotate("", there, _between(here, there, 0.98), arrowprops=arrow)
        labels.put(self._texts(packet), line, look["color"])

    def _line(self, packet: Packet) -> Line | None:
        """From where it was sent to where it was received or lost; none where one of them was not recorded."""
        if packet.sent_ns is None or packet.end_ns is None:
            return None
        here = (self.x[packet.source], self.y(packet.sent_ns))
        there = (self.x[packet.target], self.y(packet.end_ns))
        return (here, _between(here, there, _LOST_AT) if packet.lost else there)

    def _texts(self, packet: Packet) -> list[str]:
        """Labels that fit an arrow, the longest first."""
        again = ", again" * packet.again
        found = [packet.label(self.first, several=self.several, fields=fields) for fields in (True, False)]
        found = [text + again for text in found[0 if self.fields else 1 :]]
        return [*found, packet.name(self.first, self.several)]

    def _stub(self, axes: Axes, packet: Packet, look: dict[str, Any]) -> None:
        """A packet of which only one end is recorded."""
        at = packet.sent_ns if packet.sent_ns is not None else packet.end_ns
        assert at is not None
        x, other = self.x[packet.source], self.x[packet.target]
        if packet.sent_ns is None:
            x, other = other, x
        y = self.y(at)
        step = math.copysign(0.35, other - x)
        axes.plot([x, x + step], [y, y], **{**look, "linestyle": DASHES[2]})
        text = packet.label(self.first, several=self.several)
        axes.text(
            x + step,
            y,
            f" {text} ",
            color=look["color"],
            fontsize=FONT,
            va="center",
            ha="left" if step > 0 else "right",
        )

    def _operation(self, axes: Axes, operation: Operation, slot: int) -> None:
        packet, host = operation.packet, operation.packet.target
        x, memory = self.x[host], self.memory[host]
        colour = self.colour(packet) if self.several else COLOURS[_KINDS["REQ"]]
        bar = x + 0.1 + 0.11 * slot
        if slot >= 0 and operation.received_ns is not None:
            top = self.y(operation.received_ns)
            bottom = self.y(self.end_ns if operation.delivered_ns is None else operation.delivered_ns)
            axes.bar(
                bar,
                bottom - top,
                0.09,
                bottom=top,
                color=COLOURS[4],
                edgecolor="0.3",
                linewidth=0.5,
                zorder=3,
            )
        if operation.delivered_ns is not None:
            y = self.y(operation.delivered_ns)
            axes.plot([x, memory], [y, y], color=colour, linewidth=1.0, zorder=2)
            axes.plot(memory, y, "o", color=colour, markersize=4.5, zorder=4)

    def _memory_names(self) -> list[tuple[str, float, str]]:
        """Host, time and names of the operations that are forwarded to its memory then."""
        together: dict[tuple[str, float], list[str]] = {}
        for at, host, step, packet in self.trace.events:
            if step == "delivered":
                together.setdefault((host, at), []).append(packet.name(self.first, self.several))
        found = []
        for (host, at), names in together.items():
            shown = names if len(names) <= MOST_NAMES else [f"{names[0]} ... {names[-1]} ({len(names)})"]
            found.append((host, at, ", ".join(shown)))
        return found

    def _memory_labels(self, axes: Axes, inch: float) -> None:
        """Names of the operations beside the memory lines, where there is room."""
        lowest: dict[str, float] = {}
        for host, at, text in self._memory_names():
            y = max(self.y(at), lowest.get(host, -math.inf))
            if y > self.y(at) + LINE * inch:
                continue
            lowest[host] = y + LINE * inch
            axes.text(self.memory[host] + 0.1, y, text, va="center", fontsize=FONT)

    def _frame(self, axes: Axes, left_out: int) -> None:
        longest = max((len(text) for _, _, text in self._memory_names()), default=0)
        axes.set_xlim(-0.5, self.right + 0.3 + LETTER * longest)
        margin = 0.02 * (self.end_ns - self.begin_ns)
        axes.set_ylim(self.y(self.end_ns + margin), self.y(self.begin_ns - 2 * margin))
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        axes.grid(visible=False, axis="x")
        axes.set_ylabel(f"simulated time ({self.unit})")
        if left_out:
            axes.set_xlabel(f"packets without a label (no room): {left_out}")
        handles = self._legend()
        labels = [str(handle.get_label()) for handle in handles]
        place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
        add_legend(axes.legend, handles, labels, **place)

    def _legend(self) -> list[Line2D]:
        kinds = dict.fromkeys(p.kind for p in self.trace.packets)
        found = [
            Line2D(
                [],
                [],
                color="0.3" if self.several else COLOURS[_KINDS[kind]],
                linestyle=_DASHES[kind],
                label=kind,
            )
            for kind in kinds
        ]
        if self.several:
            sources = {message.source for message in self.trace.messages}
            for number, message in enumerate(self.trace.messages[: len(COLOURS)]):
                text = f"{message.entry}, message {message.number}" + f" of {message.source}" * (
                    len(sources) > 1
                )
                found.append(Line2D([], [], color=COLOURS[number], linewidth=4, label=text))
        if any(p.lost for p in self.trace.packets):
            found.append(
                Line2D([], [], color="0.3", linestyle="", marker="x", markeredgewidth=2.2, label="lost")
            )
        if any(slot >= 0 for slot in self.slots):
            found.append(Line2D([], [], color=COLOURS[4], linewidth=6, label="in the reorder buffer"))
        if any(o.delivered_ns is not None for o in self.trace.operations):
            found.append(
                Line2D([], [], color="0.3", marker="o", markersize=4.5, label="carried out in memory")
            )
        return found


def _between(here: Point, there: Point, part: float) -> Point:
    return (here[0] + (there[0] - here[0]) * part, here[1] + (there[1] - here[1]) * part)


def _slots(operations: list[Operation], end_ns: float) -> list[int]:
    """Beside which others the bar of each operation that waits has to stand; -1: it does not wait."""
    done = {_number(o) for o in operations if o.delivered_ns is not None}
    free: dict[str, list[float]] = {}
    found = []
    for operation in operations:
        begin, end = operation.received_ns, operation.delivered_ns
        if begin is not None and end is None and not operation.rejected and _number(operation) not in done:
            end = end_ns
        if begin is None or end is None or end <= begin:
            found.append(-1)
            continue
        ends = free.setdefault(operation.packet.target, [])
        slot = next((n for n, until in enumerate(ends) if until <= begin), len(ends))
        ends[slot : slot + 1] = [end]
        found.append(slot)
    return found


def _number(operation: Operation) -> tuple[object, ...]:
    packet = operation.packet
    return (packet.source, packet.target, packet.message, packet.number)
