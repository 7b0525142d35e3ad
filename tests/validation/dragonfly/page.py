"""The page of this validation: the text of `page.md`, with the tables and pictures of its marks filled in."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from fabricsim.plots import theme
from fabricsim.plots.legends import legend

from . import limits
from .curves import ALGORITHMS, TRAFFIC, Point, Traffic, curve
from .limits import LIMITS, Held

TEXT = Path(__file__).resolve().parent / "page.md"


def write(folder: Path) -> Path:
    """Runs everything and writes `dragonfly.md` and its pictures into a folder."""
    runs = [(traffic, algorithm) for traffic in TRAFFIC for algorithm in ALGORITHMS]
    names = [(traffic.name, algorithm) for traffic, algorithm in runs]
    with ProcessPoolExecutor() as pool:
        table = _limits(list(pool.map(limits.held, LIMITS)))
        found = dict(zip(names, pool.map(curve, *zip(*runs, strict=True)), strict=True))
    text = TEXT.read_text(encoding="utf-8").replace("<!-- limits -->", table)
    for traffic in TRAFFIC:
        curves = {algorithm: found[traffic.name, algorithm] for algorithm in ALGORITHMS}
        picture = f"figures/dragonfly-{traffic.name}.svg"
        theme.save(drawn(traffic, curves), folder / picture)
        part = f"![mean latency over accepted load]({picture})\n\n{_table(curves)}"
        text = text.replace(f"<!-- {traffic.name} -->", part)
    path = folder / "dragonfly.md"
    path.write_text(text, encoding="utf-8")
    return path


def _limits(all_held: list[Held]) -> str:
    lines = [
        "| algorithm | arrangement | to the group | limit | by | accepted at 92 % of it | at 108 % | holds |",
        "|:--|:--|--:|--:|:--|--:|--:|:--|",
    ]
    for found in all_held:
        limit = found.limit
        lines.append(
            f"| `{limit.algorithm}` | {limit.arrangement} | +{limit.offset} | {limit.limit:.4f} | {limit.reason} "
            f"| {found.below.kept:.1%} | {found.beyond.kept:.1%} | {'yes' if found.holds else '**no**'} |"
        )
    return "\n".join(lines)


def _table(curves: dict[str, list[Point]]) -> str:
    lines = ["| | offered: accepted, mean latency |", "|:--|:--|"]
    for algorithm, points in curves.items():
        cells = [f"{p.offered:.3f}: {p.accepted:.3f}, {p.latency:.0f} ns" for p in points]
        lines.append(f"| `{algorithm}` | {'; '.join(cells)} |")
    return "\n".join(lines)


LIMIT: dict[str, Any] = {"linewidth": 1.0, "linestyle": theme.DASHES[1]}
"""Lines of limits, each in the colour of its algorithm."""


def drawn(traffic: Traffic, curves: dict[str, list[Point]]) -> Figure:
    """Mean latency over accepted load, a line for each algorithm, and limits as dashed lines."""
    with theme.style():
        figure = theme.new_figure(7.4, 4.0)
        axes = figure.subplots()
        for number, (algorithm, points) in enumerate(curves.items()):
            look = theme.line_look(number)
            axes.plot(
                [p.accepted for p in points], [p.latency for p in points], marker="o", label=algorithm, **look
            )
            if algorithm in traffic.limits:
                axes.axvline(traffic.limits[algorithm], **LIMIT, color=look["color"])
        if set(traffic.limits) & set(curves):
            axes.plot([], [], **LIMIT, color="0.3", label="limit of the\nbusiest link")
        axes.set_title(f"Dragonfly of 1056 hosts, {traffic.title}")
        axes.set_xlabel("accepted load (of the hosts' links)")
        axes.set_ylabel("mean latency (ns)")
        axes.set_xlim(left=0.0)
        axes.set_ylim(0.0, 3500.0)
        legend(figure)
    return figure
