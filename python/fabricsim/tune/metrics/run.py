"""Input of a metric: a run, and the selected flows and times."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fabricsim.errors import InputError
from fabricsim.lazy import pandas as pd
from fabricsim.results import Result, host_rates
from fabricsim.selection import Flows, in_window, series_of, to_ns
from fabricsim.spec import Experiment

PAIR = ["source", "destination"]


@dataclass(frozen=True)
class Which:
    """A metric by name, and the flows and times that it is about."""

    metric: str
    flows: tuple[str, ...] = ()
    """Entries: `source->destination` or names of traffic entries; none: all flows."""
    after: str | None = None
    before: str | None = None
    by: str | None = None
    """`flow`, `group` (each entry of `flows` is one) or `total`."""

    @property
    def label(self) -> str:
        """For tables, if no other name is given."""
        parts = [", ".join(self.flows), self.by or "", *self._times()]
        rest = "; ".join(part for part in parts if part)
        return f"{self.metric} ({rest})" if rest else self.metric

    def _times(self) -> list[str]:
        return [f"{word} {time}" for word, time in (("after", self.after), ("before", self.before)) if time]


class Measured:
    """A run with the experiment that it is of."""

    def __init__(self, result: Result, experiment: Experiment) -> None:
        self.result = result
        self.experiment = experiment

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """The experiment with all its defaults."""
        return self.experiment.check()

    @cached_property
    def rates(self) -> pd.Series[float]:
        """Link rate of each host, Gb/s."""
        return host_rates(self.result)

    def groups(self, table: pd.DataFrame, which: Which) -> list[pd.Series[bool]]:
        """Rows of each entry of `which.flows`; without entries, one group of all.

        Raises:
            InputError: an entry means no flow.
        """
        if not which.flows:
            return [pd.Series(True, index=table.index)]
        flows = Flows(self.facts)
        return [flows.matching(table, entry) for entry in which.flows]

    def chosen(self, table: pd.DataFrame, which: Which) -> pd.DataFrame:
        """The rows of all entries together."""
        rows = pd.Series(False, index=table.index)
        for group in self.groups(table, which):
            rows |= group
        return table[rows]

    def throughput(self, which: Which) -> pd.DataFrame:
        """Source, destination and accepted throughput, `gbps`, of all flows in the selected time."""
        if which.after is None and which.before is None:
            flows = self.result.flows
            return flows[PAIR].assign(gbps=flows["accepted_gbps"])
        means = self.series(which).groupby(PAIR, sort=False)["gbps"].mean()
        return means.reset_index()

    def series(self, which: Which) -> pd.DataFrame:
        """Throughput of all flows over the selected time, by default the measurement."""
        start, end = self._measurement()
        after = start if which.after is None else to_ns(which.after)
        before = end if which.before is None else to_ns(which.before)
        return in_window(series_of(self.result), after, before)

    def _measurement(self) -> tuple[float, float]:
        summary = self.result.manifest["summary"]
        start = summary.get("measured_from_ns") or 0.0
        length = summary.get("measured_ns")
        return start, start + length if length else math.inf


def not_for(which: Which, *allowed: str) -> None:
    """Refuses a `by` that a metric cannot follow.

    Raises:
        InputError: it is another one.
    """
    if which.by is not None and which.by not in allowed:
        what = " or ".join(f'"{name}"' for name in allowed)
        raise InputError(f'{which.metric} has no `by = "{which.by}"`' + (f": give {what}" if what else ""))
