"""A study: its trials by objective, and the importance of each parameter."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fabricsim.catalogue import Entry, entry_parts, key, sum_parts
from fabricsim.lazy import pandas as pd
from fabricsim.plots.legends import labelled, legend
from fabricsim.plots.theme import (
    COLOURS,
    axis_label,
    head,
    line_look,
    new_figure,
    scale_of,
    sized,
    style,
    words,
)
from fabricsim.tune import TuneResult

_FRONT, _TRIED, _BROKEN = COLOURS[0], "0.55", COLOURS[1]


def trials(result: TuneResult) -> Figure:
    """With one objective, its value in every trial and the best so far; with several, each over the first, and the
    Pareto front.
    """
    if len(result.objectives) == 1:
        return _history(result)
    return _front(result)


def _history(result: TuneResult) -> Figure:
    column = result.objective_columns[0]
    down = result.objectives[0]["goal"] == "minimize"
    units = _units(result)
    tried, baseline = _parts(_scaled(result.trials, units))
    with style():
        figure = new_figure(7.0, 4.0)
        axes = figure.add_subplot()
        _points(axes, tried["trial"], tried[column], tried["feasible"])
        good = tried[tried["feasible"]]
        if len(good):
            so_far = good[column].cummin() if down else good[column].cummax()
            # until the last trial: it may break a constraint
            trials, values = [*good["trial"], tried["trial"].max()], [*so_far, so_far.iloc[-1]]
            axes.step(trials, values, where="post", label="best so far", **line_look(0))
        if len(baseline):
            axes.axhline(baseline[column].iloc[0], color="black", linestyle=":", label="as it is")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.set(xlabel="trial", ylabel=_label(result, column, units))
        head(figure, result.title)
        legend(figure)
    return figure


def _front(result: TuneResult) -> Figure:
    first, *others = result.objective_columns
    units = _units(result)
    tried, baseline = _parts(_scaled(result.trials, units))
    front = _scaled(result.front, units)
    with style():
        figure = new_figure(7.0, 3.6 * len(others))
        for number, other in enumerate(others):
            axes = figure.add_subplot(len(others), 1, number + 1)
            _points(axes, tried[first], tried[other], tried["feasible"])
            line = "-" if len(others) == 1 else ""
            axes.plot(
                front[first],
                front[other],
                line,
                marker="o",
                color=_FRONT,
                markersize=sized(5),
                label="Pareto front",
            )
            if result.best is not None:
                row = front[front["trial"] == result.best["trial"]]
                axes.plot(
                    row[first],
                    row[other],
                    "*",
                    color="#E69F00",
                    markersize=sized(13),
                    label="best",
                    markeredgecolor="k",
                )
            if len(baseline):
                axes.plot(baseline[first], baseline[other], "kX", markersize=sized(8), label="as it is")
            axes.set(xlabel=_label(result, first, units), ylabel=_label(result, other, units))
        head(figure, result.title)
        handles, labels = labelled(figure.axes[0])
        legend(figure, handles, labels)
    return figure


def importance(result: TuneResult) -> Figure:
    """Importance of each parameter, for each objective."""
    table = result.importances.set_index("parameter")
    with style():
        figure = new_figure(7.0, 1.2 + 0.35 * len(table) * max(1, table.shape[1]))
        axes = figure.add_subplot()
        height = 0.8 / table.shape[1]
        for number, name in enumerate(table.columns):
            places = [at + number * height for at in range(len(table))]
            axes.barh(
                places,
                table[name],
                height,
                label=str(name).replace("_", " "),
                color=COLOURS[number % len(COLOURS)],
            )
        axes.set_yticks(
            [at + 0.4 - height / 2 for at in range(len(table))], [words(str(key)) for key in table.index]
        )
        axes.invert_yaxis()
        axes.set(xlabel="importance")
        head(figure, result.title)
        if table.shape[1] > 1:
            legend(figure)
    return figure


def _points(axes: Axes, x: pd.Series[float], y: pd.Series[float], feasible: pd.Series[bool]) -> None:
    axes.plot(x[feasible], y[feasible], "o", color=_TRIED, markersize=sized(4), label="tried")
    if not feasible.all():
        axes.plot(
            x[~feasible],
            y[~feasible],
            "o",
            color=_BROKEN,
            markersize=sized(4),
            markerfacecolor="none",
            label="breaks a constraint",
        )


def _parts(trials: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Trials that did not fail, and the experiment as it is if it did not."""
    rows = trials[trials["error"] == ""]
    return rows[rows["trial"] >= 0], rows[rows["trial"] < 0]


def _units(result: TuneResult) -> dict[str, tuple[float, str]]:
    """The number that is 1 in the picture, and its unit, by column of an objective."""
    notes = result.trials.attrs.get("columns", {})
    return {
        column: scale_of(result.trials[column].astype(float), notes.get(column, ("", ""))[0])
        for column in result.objective_columns
    }


def _scaled(rows: pd.DataFrame, units: Mapping[str, tuple[float, str]]) -> pd.DataFrame:
    return rows.assign(**{column: rows[column] / scale for column, (scale, _) in units.items()})


def _label(result: TuneResult, column: str, units: Mapping[str, tuple[float, str]]) -> str:
    """A metric in words: figures of entries, jobs and sums of flows as the catalogue has them."""
    text = column.replace("_", " ")
    if entry_parts(column) or sum_parts(column):
        text = key(column, result.entry_names).label
    return axis_label(Entry(column, text, units[column][1]))
