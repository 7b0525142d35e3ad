"""The worst single failures of a network, as bars."""

from __future__ import annotations

from matplotlib.figure import Figure

from fabricsim import catalogue
from fabricsim.plots.legends import legend
from fabricsim.plots.theme import COLOURS, head, new_figure, style
from fabricsim.what_if import WhatIf
from fabricsim.what_if_columns import failure_label


def failures(found: WhatIf, most: int = 20) -> Figure:
    """Accepted throughput with each of the worst failures, and without any; with the number of flows cut off."""
    table = found.failures[found.failures["status"] != "failed"].head(most)
    without = float(found.without.manifest["summary"].get("accepted_gbps") or 0.0)
    with style():
        figure = new_figure(7.0, max(2.5, 1.4 + 0.28 * len(table)))
        axes = figure.add_subplot()
        accepted = table["accepted_gbps"].astype(float).tolist()
        cut_off = table["flows_cut_off"].fillna(0).astype(int).tolist()
        names = [failure_label(row) for row in table.to_dict("records")]
        axes.barh(range(len(names)), accepted, color=COLOURS[0], height=0.65)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.axvline(without, color=COLOURS[1], linewidth=1.5, label="without a failure")
        for at, (value, count) in enumerate(zip(accepted, cut_off, strict=True)):
            if count > 0:
                text = f"{count:,} flow{'s' if count > 1 else ''} cut off"
                inside = value > 0.35 * without
                axes.annotate(
                    text,
                    (0.0 if inside else value, at),
                    (4, 0),
                    textcoords="offset points",
                    va="center",
                    color="white" if inside else "black",
                    fontsize="x-small",
                )
        axes.set_xlim(0.0, max([without, *accepted]) * 1.05 or 1.0)
        axes.set(xlabel=catalogue.key("accepted_gbps").heading, ylabel=f"{found.each} that fails")
        head(figure, f"{found.without.title}: each {found.each} fails, worst first")
        legend(figure, below=True)
    return figure
