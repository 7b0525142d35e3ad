"""Sequence charts of captures: packets between hosts, what programs did at their ends, with time running down."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fabricsim.crossings import ACKNOWLEDGEMENT, DATA, KINDS, MANAGEMENT, NAK, CapturedPacket
from fabricsim.errors import InputError
from fabricsim.plots.breaks import BrokenAxis
from fabricsim.plots.labels import FONT, LETTER, LINE, Labels, Line, Point, columns
from fabricsim.plots.legends import add_legend
from fabricsim.plots.theme import COLOURS, DASHES, new_figure, style, time_scale
from fabricsim.programs.notes import Note
from fabricsim.selection import to_ns

MOST_PACKETS = 200
"""Maximum number of packets in a chart."""
MOST_COLUMNS = 8
DETAILED = 40
"""Packets up to which labels have the numbers of headers."""
_GAP = 4.2
"""Inches from a column to the next."""
_LOST_AT = 0.75
"""Part of the way to the next column at which the arrow of a lost packet ends."""
_DAY_NS = 86_400_000_000_000
"""Times from here on are those of clocks, not of a simulation, and are shown from the first packet on."""
_DASHES = {DATA: DASHES[0], ACKNOWLEDGEMENT: DASHES[1], NAK: DASHES[1], MANAGEMENT: DASHES[3]}


def captured(
    packets: Sequence[CapturedPacket],
    *,
    notes: Sequence[Note] = (),
    after: str | None = None,
    before: str | None = None,
    hosts: Collection[str] = (),
    switches: bool = False,
    title: str = "",
) -> Figure:
    """A column for each host, and an arrow for each packet.

    An arrow is from the time at which the first byte of a packet leaves the source to that at which it leaves for the
    target on the last link: the way over that link is not in a capture.

    Args:
        packets: `fabricsim.crossings.read_packets` has those of a file.
        notes: what programs did, as `ProgramsRun.notes`, beside the column of their host.
        after: time with unit from which packets and notes are shown.
        before: time until which they are shown.
        hosts: only packets from and to these hosts; by default all.
        switches: switches have columns as well, and arrows go by them.
        title: of the picture.

    Raises:
        InputError: there is no such packet, or more than a chart has room for.
    """
    chosen = _chosen(packets, after, before, hosts)
    shown = _within(notes, after, before, hosts)
    chart = _Chart(chosen, shown, switches)
    with style(fixed=True):
        figure = new_figure(chart.width, chart.height, fixed=True)
        axes = figure.add_subplot()
        chart.draw(axes)
        axes.set_title(title, pad=22)
    return figure


def _chosen(
    packets: Sequence[CapturedPacket], after: str | None, before: str | None, hosts: Collection[str]
) -> list[CapturedPacket]:
    if not packets:
        raise InputError(
            "the capture has no packet of InfiniBand or RoCE whose headers are whole: nothing to draw"
        )
    known = dict.fromkeys(name for packet in packets for name in (packet.source, packet.target))
    if unknown := [host for host in hosts if host not in known]:
        there = ", ".join(list(known)[:20])
        raise InputError(f"no packet of {unknown[0]!r} was captured; there are: {there}")
    begin, end = _limits(after, before)
    found = [
        packet
        for packet in packets
        if begin <= packet.crossings[0].time_ns <= end
        and (not hosts or (packet.source in hosts and packet.target in hosts))
    ]
    if not found:
        times = [packet.crossings[0].time_ns for packet in packets]
        among = f" among {', '.join(hosts)}" if hosts else ""
        raise InputError(
            f"there is no packet{among} in this part: the capture has packets from {min(times):g} ns to "
            f"{max(times):g} ns"
        )
    if len(found) > MOST_PACKETS:
        raise InputError(
            f"{len(found):,} packets are in this part, and a chart has room for {MOST_PACKETS}: "
            "choose a part with --from, --to and --host"
        )
    return found


def _within(
    notes: Sequence[Note], after: str | None, before: str | None, hosts: Collection[str]
) -> list[Note]:
    begin, end = _limits(after, before)
    return [note for note in notes if begin <= note.time_ns <= end and (not hosts or note.host in hosts)]


def _limits(after: str | None, before: str | None) -> Point:
    return to_ns(after) if after else -math.inf, to_ns(before) if before else math.inf


def _columns(packets: Sequence[CapturedPacket], notes: Sequence[Note], switches: bool) -> list[str]:
    """Names of the columns, so that neighbours on a way are neighbours."""
    found: list[str] = []
    for packet in packets:
        way = [packet.source, packet.target]
        if switches:
            way[1:1] = [one.sender for one in packet.crossings if one.sender not in way]
        for place, name in enumerate(way):
            if name not in found:
                at = found.index(way[place - 1]) + 1 if place else len(found)
                found.insert(at, name)
    found += dict.fromkeys(note.host for note in notes if note.host not in found)
    if len(found) > MOST_COLUMNS:
        raise InputError(
            f"{len(found)} columns would be in this part, and a chart has room for {MOST_COLUMNS}: "
            "choose hosts with --host"
        )
    return found


@dataclass
class _Chart:
    """Coordinates in a chart: x in inches, y in the unit of time."""

    packets: Sequence[CapturedPacket]
    notes: Sequence[Note]
    switches: bool

    def __post_init__(self) -> None:
        columns = _columns(self.packets, self.notes, self.switches)
        self.x = {name: _GAP * place for place, name in enumerate(columns)}
        times: list[float] = [one.time_ns for packet in self.packets for one in packet.crossings]
        times += [note.time_ns for note in self.notes]
        begin, end = min(times), max(times)
        self.is_clock = begin > _DAY_NS
        self.origin = begin if self.is_clock else 0
        self.time = BrokenAxis(float(time - self.origin) for time in times)
        self.scale, self.unit = time_scale(float(end - self.origin))
        self.begin, self.end = self.y(begin), max(self.y(end), self.y(begin) + 1.0 / self.scale)
        self.left = 0.5 + self._room(columns[0])
        self.right = 0.5 + self._room(columns[-1] if len(columns) > 1 else "")
        self.width = self.left + _GAP * (len(columns) - 1) + self.right + 2.4
        self.height = min(3.6 + 0.2 * len(self.packets) + 0.14 * len(self.notes), 18.0)
        self.detailed = len(self.packets) <= DETAILED

    def _room(self, host: str) -> float:
        """Inches that the notes of a column take."""
        return LETTER * max((len(note.text) for note in self.notes if note.host == host), default=0)

    def y(self, ns: float) -> float:
        return self.time.place(ns - self.origin) / self.scale

    def draw(self, axes: Axes) -> None:
        columns(axes, [(x, name, "0.2") for name, x in self.x.items()])
        inch = (self.end - self.begin) / (self.height - 1.3)
        legs = [self._legs(packet) for packet in self.packets]
        labels = Labels(axes, inch, [leg for one in legs for leg in one])
        for packet, lines in zip(self.packets, legs, strict=True):
            self._arrow(axes, packet, lines, labels)
        self._write_notes(axes, inch)
        self._frame(axes, labels.left_out)

    def _legs(self, packet: CapturedPacket) -> list[Line]:
        """Parts of the way; one, or with columns for switches one for each."""
        crossings = packet.crossings
        points = [(self.x[packet.source], self.y(crossings[0].time_ns))]
        if self.switches:
            points += [
                (self.x[one.sender], self.y(one.time_ns)) for one in crossings if one.sender in self.x
            ][1:]
        if packet.lost:
            x, goal = points[-1][0], self.x.get(crossings[-1].receiver, self.x[packet.target])
            points.append((x + (goal - x) * _LOST_AT, self.y(crossings[-1].time_ns)))
        else:
            points.append((self.x[packet.target], self.y(crossings[-1].time_ns)))
        return list(itertools.pairwise(points))

    def _arrow(self, axes: Axes, packet: CapturedPacket, legs: list[Line], labels: Labels) -> None:
        if packet.source == packet.target:
            return
        colour = COLOURS[KINDS.index(packet.kind)]
        for (x, y), (to_x, to_y) in legs:
            axes.plot(
                [x, to_x],
                [y, to_y],
                color=colour,
                linestyle=_DASHES.get(packet.kind, DASHES[0]),
                linewidth=1.3,
            )
        (x, y), end = legs[-1]
        if packet.lost:
            axes.plot(*end, "x", color=colour, markersize=9, markeredgewidth=2.2)
        else:
            look = {"arrowstyle": "-|>", "color": colour, "linewidth": 0, "shrinkA": 0, "shrinkB": 0}
            near = (x + (end[0] - x) * 0.98, y + (end[1] - y) * 0.98)
            axes.annotate("", end, near, arrowprops=look)
        texts = [packet.label, packet.name] if self.detailed else [packet.name]
        labels.put(texts, legs[len(legs) // 2] if self.switches else legs[0], colour)

    def _write_notes(self, axes: Axes, inch: float) -> None:
        """Left of the first column, right of the others; those of one moment below each other."""
        lowest: dict[str, float] = {}
        first = next(iter(self.x))
        for note in sorted(self.notes, key=lambda note: note.time_ns):
            x, at = self.x[note.host], self.y(note.time_ns)
            y = max(at, lowest.get(note.host, -math.inf))
            lowest[note.host] = y + LINE * inch
            axes.plot(x, at, "o", color="0.2", markersize=3.5, zorder=4)
            side = -1 if note.host == first else 1
            box: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.2}
            axes.text(
                x + 0.1 * side,
                y,
                note.text,
                ha="right" if side < 0 else "left",
                va="center",
                fontsize=FONT,
                bbox=box,
                zorder=6,
            )

    def _write_breaks(self, axes: Axes) -> None:
        """Bands where time is shortened, and then ticks at both ends of each part."""
        if not self.time.breaks:
            return
        for one in self.time.breaks:
            low, high = (self.time.place(time) / self.scale for time in (one.begin, one.end))
            axes.axhspan(
                low + 0.2 * (high - low),
                high - 0.2 * (high - low),
                facecolor="0.93",
                hatch="//",
                edgecolor="0.75",
            )
            scale, unit = time_scale(one.end - one.begin)
            axes.text(
                _GAP / 2,
                (low + high) / 2,
                f"{(one.end - one.begin) / scale:.4g} {unit} without packets",
                ha="center",
                va="center",
                fontsize=8,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
                zorder=5,
            )
        ends = [time for part in self.time.parts() for time in part]
        digits = max(0, 3 - len(str(int(max(ends) / self.scale))))
        apart = 0.03 * (self.end - self.begin)
        ticks: list[tuple[float, str]] = []
        for time in ends:
            at = self.time.place(time) / self.scale
            if not ticks or at - ticks[-1][0] > apart:
                ticks.append((at, f"{time / self.scale:.{digits}f}"))
        axes.set_yticks([at for at, _ in ticks], [text for _, text in ticks])

    def _frame(self, axes: Axes, left_out: int) -> None:
        axes.set_xlim(-self.left, max(self.x.values()) + self.right)
        margin = 0.04 * (self.end - self.begin)
        axes.set_ylim(self.end + margin, self.begin - margin)
        self._write_breaks(axes)
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        axes.grid(visible=False, axis="x")
        since = "time since the first packet" if self.is_clock else "simulated time"
        axes.set_ylabel(f"{since} ({self.unit})")
        directed = sum(packet.source == packet.target for packet in self.packets)
        missing = [f"packets without a label (no room): {left_out}"] * bool(left_out)
        missing += [f"packets without ends (directed routes): {directed}"] * bool(directed)
        if missing:
            axes.set_xlabel("; ".join(missing))
        handles = self._legend()
        labels = [str(handle.get_label()) for handle in handles]
        place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
        add_legend(axes.legend, handles, labels, **place)

    def _legend(self) -> list[Line2D]:
        kinds = {packet.kind for packet in self.packets}
        found = [
            Line2D([], [], color=COLOURS[number], linestyle=_DASHES.get(kind, DASHES[0]), label=kind)
            for number, kind in enumerate(KINDS)
            if kind in kinds
        ]
        if any(packet.lost for packet in self.packets):
            found.append(
                Line2D([], [], color="0.3", linestyle="", marker="x", markeredgewidth=2.2, label="lost")
            )
        return found
