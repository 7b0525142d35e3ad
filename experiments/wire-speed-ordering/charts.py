"""Sequence charts of figures 4 to 7 from the packets of a run. The paper numbers packets from 1 on."""

from __future__ import annotations

from matplotlib.figure import Figure

from fabricsim.plots import sequence
from fabricsim.reproduce.quantities import Runs


def chart(runs: Runs) -> Figure:
    """All packets of the first run."""
    return sequence(next(iter(runs.values())), first=1)
