"""Differences between sets of repetitions, with their confidence intervals."""

from __future__ import annotations

from matplotlib.figure import Figure

from fabricsim.catalogue import SUMS, key
from fabricsim.compare import RepeatedComparison
from fabricsim.compare.repeated import EQUAL, NONE
from fabricsim.errors import InputError
from fabricsim.lazy import pandas as pd
from fabricsim.plots.entities import key_names
from fabricsim.plots.theme import COLOURS, head, new_figure, sized, style

SHOWN = ("accepted_gbps", "latency_ns.mean", "latency_ns.p99", "jain", "job_time_ns")
"""Quantities, of the run and of its entries, that are drawn."""
SHOWN_SUMS = ("accepted_gbps", "latency_mean_ns")
"""Quantities of sums that are drawn."""
MOST_ROWS = 24


def sets_of_seeds(found: RepeatedComparison, by: str | None = None) -> Figure:
    """Relative difference of each quantity from the first set, with its interval: grey if it is no larger than chance.

    `by`: throughput and mean latency of sums of flows by "source", "destination" or "group", those with the largest
    throughput, instead of the quantities of the run and its entries.

    Raises:
        InputError: no quantity can be drawn, or the comparison has no such sums.
    """
    table = _quantities(found) if by is None else _sums(found, by)
    first = table[table["set"] == found.labels[0]].set_index("quantity")["mean"]
    others = table[table["set"] != found.labels[0]]
    others = others[others["quantity"].map(first).abs() > 0.0].head(MOST_ROWS)
    if others.empty:
        raise InputError("these sets have no quantity of which a relative difference can be drawn")
    base = others["quantity"].map(first).abs()
    with style():
        figure = new_figure(7.0, max(2.5, 1.4 + 0.3 * len(others)))
        axes = figure.add_subplot()
        for at, (row, scale) in enumerate(zip(others.to_dict("records"), base, strict=True)):
            real = row["verdict"] not in (NONE, EQUAL)
            # Of equal sets rounding may leave less than nothing.
            low, high = (max(0.0, 100.0 * (row["difference"] - row["difference_low"]) / scale),) * 2
            axes.errorbar(
                [100.0 * row["difference"] / scale],
                [at],
                xerr=[[low], [high]],
                fmt="o",
                markersize=sized(4),
                capsize=3,
                color=COLOURS[0] if real else "0.6",
            )
        several = len(found.labels) > 2
        labels = [str(label) for label in others["quantity"]]
        of_set = [f" ({name})" if several else "" for name in others["set"]]
        names = [label + which for label, which in zip(labels, of_set, strict=True)]
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.axvline(0.0, color="black", linewidth=1.0)
        axes.grid(visible=False, axis="y")
        what = "the others" if several else found.labels[1]
        axes.set(
            xlabel=f"{what} against {found.labels[0]}:\ndifference (%), {found.confidence:.0%} confidence"
        )
        head(figure, f"{len(found.seeds)} seeds in pairs; grey: no difference beyond chance")
    return figure


def _quantities(found: RepeatedComparison) -> pd.DataFrame:
    """Those of the run and its entries, by their labels."""
    names = found.quantities["quantity"].astype(str)
    drawn = found.quantities[names.isin(SHOWN) | names.str.endswith(tuple(f".{name}" for name in SHOWN))]
    return drawn.assign(quantity=drawn["quantity"].map(lambda name: key(str(name), found.entry_names).label))


def _sums(found: RepeatedComparison, by: str) -> pd.DataFrame:
    """Sums as quantities, those of a key together, the largest throughput first."""
    table = found.by(by)
    table = table.assign(key=key_names(table, by))
    rates = table[table["metric"] == "accepted_gbps"].groupby("key", sort=False)["mean"].mean()
    order = {
        name: number for number, name in enumerate(rates.sort_values(ascending=False, kind="stable").index)
    }
    drawn = table[table["metric"].isin(SHOWN_SUMS)]
    labels = drawn["metric"].map(lambda name: SUMS[str(name)].label.removeprefix("accepted "))
    drawn = drawn.assign(place=drawn["key"].map(order), quantity=labels + ", " + drawn["key"])
    return drawn.sort_values(["place", "metric"], kind="stable")
