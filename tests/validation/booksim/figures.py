"""Latency over load: the peer's points, our line."""

from __future__ import annotations

from pathlib import Path

from fabricsim.plots import theme

from .compare import Comparison, Saturation


def draw(
    path: Path, title: str, rows: list[Comparison], default: list[float], saturation: Saturation, limit: float
) -> None:
    """Draws a case. Beside both curves, ours with the default allocation, and the throughput at saturation."""
    with theme.style():
        figure = theme.new_figure(6.0, 3.8)
        axes = figure.subplots()
        ours, peer, other, *_ = theme.COLOURS
        loads = [row.ours.accepted for row in rows]
        latency = [row.ours.latency for row in rows]
        half = [row.ours.half_width for row in rows]
        axes.plot(loads, default, color=other, linestyle=theme.DASHES[2], label="ours, default allocation")
        axes.errorbar(loads, latency, yerr=half, color=ours, capsize=3, label="ours, 95 % interval")
        axes.errorbar(
            [row.peer.accepted for row in rows],
            [row.peer.latency for row in rows],
            yerr=[row.peer_half_width for row in rows],
            color=peer,
            linestyle="none",
            marker="o",
            markersize=5,
            fillstyle="none",
            capsize=2,
            elinewidth=0.8,
            label="BookSim 2",
        )
        axes.axvline(saturation.ours, color=ours, linewidth=1.0, linestyle=theme.DASHES[1])
        axes.axvline(saturation.peer, color=peer, linewidth=1.0, linestyle=theme.DASHES[2])
        axes.axvspan(0.0, limit, color="0.93", zorder=0)
        axes.set_title(title)
        axes.set_xlabel("accepted load (flits per host and cycle)")
        axes.set_ylabel("mean latency (cycles)")
        axes.set_xlim(0.0, 1.05 * max([*loads, saturation.ours, saturation.peer]))
        axes.set_ylim(0.0, 1.15 * max(latency))
        axes.legend(loc="upper left")
        theme.save(figure, path)
