"""Figures of the paper, redrawn from our runs. Each function takes the runs of its figure by name."""

from __future__ import annotations

from matplotlib.figure import Figure

from fabricsim.plots.theme import COLOURS, new_figure, style
from fabricsim.reproduce.quantities import Runs

SENDERS = range(7)


def figure_4(runs: Runs) -> Figure:
    """Each processor's share of P7's link."""
    with style():
        figure = new_figure(7.0, 3.6)
        axes = figure.add_subplot()
        for number, (name, result) in enumerate(runs.items()):
            flows = result.flows.set_index("source")["accepted_gbps"]
            shares = [float(flows[f"H({sender}).0"] / flows.sum()) for sender in SENDERS]
            at = [sender + 0.4 * number - 0.2 for sender in SENDERS]
            bars = axes.bar(at, shares, width=0.38, color=COLOURS[number], label=name)
            axes.bar_label(bars, [f"1/{round(1 / share)}" for share in shares], fontsize=8, padding=1)
        axes.set_xticks(list(SENDERS), [f"P{sender}" for sender in SENDERS])
        axes.set(xlabel="sender", ylabel="share of the link to P7", ylim=(0.0, 0.55))
        axes.set_title("Figure 4 of the paper, as shares: all send to P7, round robin")
        axes.legend(loc="upper left")
    return figure
