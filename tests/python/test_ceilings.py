"""Throughput over time in pictures: no rate above a link's, and no byte less."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

import fabricsim as fs
from fabricsim import plots
from fabricsim.plots.ceilings import within_links

pytestmark = pytest.mark.usefixtures("real")
RATE = 40.0


@pytest.fixture(scope="module")
def run() -> fs.Result:
    """A flow that has a link for itself, two that share one, and a slow one; bins of a few packets."""
    return fs.run(
        fs.Experiment.from_text(
            """
            topology = { single-switch = { hosts = 7 } }
            links = { all = { rate = "40 Gb/s", buffer = "64 KiB" } }
            host = { mtu = "1 KiB" }
            traffic = [
              { sources = ["H1"], pattern = { to = "H0" }, injection = "saturating", message = "1 KiB" },
              { sources = ["H2", "H3"], pattern = { to = "H4" }, injection = "saturating", message = "1 KiB" },
              { sources = ["H5"], pattern = { to = "H6" }, load = 0.3, message = "1 KiB" },
            ]
            run = { duration = "7 us" }
            """
        )
    )


def highest(axes: Axes) -> float:
    return max(float(np.nanmax(np.asarray(line.get_ydata(), float))) for line in axes.lines)


def test_no_line_is_above_a_link(run: fs.Result) -> None:
    by = import_module("fabricsim.plots.throughput").throughput_by
    compared = fs.compare([run, run])
    figures = [plots.throughput(run), by(run, "source"), by(run, "destination"), plots.comparison(compared)]
    figures += [plots.comparison(compared, by="destination")]
    for figure in figures:
        assert highest(figure.axes[0]) == pytest.approx(RATE)


def test_what_is_too_much_has_come_in_the_bin_before(run: fs.Result) -> None:
    bins = pd.DataFrame(
        {"H1 → H0": [10.0, 35.0, 60.0, 44.0], "H5 → H6": [1.0, 2.0, 3.0, 4.0]},
        index=[0.0, 100.0, 200.0, 300.0],
    )
    found = within_links(bins, 350.0, run, "flow")
    # 4 Gb/s of half a bin are 2 Gb/s in the third; 22 go on to the second, and 17 to the first.
    assert found["H1 → H0"].tolist() == pytest.approx([27.0, 40.0, 40.0, 40.0])
    assert found["H5 → H6"].equals(bins["H5 → H6"])
    widths = np.array([100.0, 100.0, 100.0, 50.0])
    assert (found["H1 → H0"] * widths).sum() == pytest.approx((bins["H1 → H0"] * widths).sum())


def test_ceilings_are_those_of_all_links_of_an_entry(run: fs.Result) -> None:
    """The second entry has two sources and one destination; what is no host has no ceiling."""
    bins = pd.DataFrame({"traffic.1": [0.0, 50.0], "unknown": [0.0, 50.0]}, index=[0.0, 100.0])
    entry = str(run.flows.loc[run.flows["source"] == "H2", "entry"].iloc[0])
    found = within_links(bins.rename(columns={"traffic.1": entry}), 200.0, run, "entry")
    assert found.to_numpy().tolist() == [[10.0, 0.0], [RATE, 50.0]]
    assert within_links(bins, 200.0, run, "group").equals(bins)
