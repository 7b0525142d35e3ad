"""Selection of flows and times of a run: `H1->H5`, the name of a traffic entry, or `0.5 s`."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fabricsim.errors import InputError
from fabricsim.hosts import Groups, host_test
from fabricsim.lazy import pandas as pd
from fabricsim.results import Result

_TIMES_NS = {"ps": 1e-3, "ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 6e10}


def to_ns(text: str) -> float:
    """A time as text with a unit, in nanoseconds.

    Raises:
        InputError: it has no number or no unit of time.
    """
    match = re.fullmatch(r"\s*([0-9.]+)\s*(ps|ns|us|µs|ms|s|min)\s*", str(text))
    try:
        return float(match[1]) * _TIMES_NS[match[2]] if match else _no_time(text)
    except ValueError:
        return _no_time(text)


def _no_time(text: str) -> float:
    raise InputError(f"{text!r} is not a time: write a number and a unit, for example '0.6 s'")


def ends(flow: str) -> tuple[str, str]:
    """Source and destination of `source->destination`; a side that is left out or `*` is any."""
    source, _, destination = flow.partition("->")
    return source.strip() or "*", destination.strip() or "*"


class Flows:
    """Selection of flows by an entry of a list of flows, in an experiment with all its defaults."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        """`facts` is what `Experiment.check` gives."""
        self._groups: Groups = facts.get("groups", {})
        self._traffic = [entry for entry in facts.get("traffic", []) if entry.get("name")]

    def matching(self, table: pd.DataFrame, entry: str) -> pd.Series[bool]:
        """Rows of a table with `source` and `destination` that the entry selects.

        Raises:
            InputError: none, or it is neither `source->destination` nor the name of a traffic entry.
        """
        named = [traffic for traffic in self._traffic if traffic["name"] == entry]
        found = pd.Series(False, index=table.index)
        if named:
            for traffic in named:
                found |= self._between(table, traffic["sources"], _destinations(traffic))
        elif "->" in entry:
            source, destination = ends(entry)
            found = self._between(table, [source], [destination])
        else:
            raise InputError(self._unknown(entry))
        if not found.any():
            by_source = len(table) > 0 and set(table["destination"]) == {"*"}
            hint = '; flows are recorded by source only: set measure.flows = "pairs"' if by_source else ""
            raise InputError(f"the run has no flow {entry!r}{hint or self._near(table, entry)}")
        return found

    def require(self, entry: str, hosts: Callable[[], Sequence[str] | None]) -> None:
        """Refuses an entry that selects no flow of any run, before one runs. `hosts`: their names, None if not known.

        Raises:
            InputError: it is neither the name of a traffic entry nor `source->destination`, or a side is unknown.
        """
        if any(traffic["name"] == entry for traffic in self._traffic):
            return
        if "->" not in entry:
            raise InputError(self._unknown(entry))
        for side in ends(entry):
            if "*" in side or side in self._groups or (known := hosts()) is None or side in known:
                continue
            near = difflib.get_close_matches(side, [*self._groups, *known], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InputError(f"{entry!r}: {side!r} is neither a host nor a group of hosts{hint}")

    def _between(
        self, table: pd.DataFrame, sources: Sequence[str], destinations: Sequence[str]
    ) -> pd.Series[bool]:
        found = pd.Series(True, index=table.index)
        for column, names in (("source", sources), ("destination", destinations)):
            known = {name: host_test(names, self._groups)(name) for name in table[column].unique()}
            found &= table[column].map(known).astype(bool)
        return found

    def _near(self, table: pd.DataFrame, entry: str) -> str:
        """The nearest name of a side that is neither a host, a pattern nor a group."""
        if "->" not in entry:
            return ""
        for side, column in zip(ends(entry), ("source", "destination"), strict=True):
            known = [*self._groups, *map(str, table[column].unique())]
            if "*" not in side and side not in known:
                near = difflib.get_close_matches(side, known, n=1)
                return f"; did you mean {near[0]!r}?" if near else ""
        return ""

    def _unknown(self, entry: str) -> str:
        names = [str(traffic["name"]) for traffic in self._traffic]
        near = difflib.get_close_matches(entry, names, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return f"{entry!r} is neither source->destination nor the name of an entry of traffic{hint}"


def _destinations(traffic: Mapping[str, Any]) -> list[str]:
    """The hosts that an entry of traffic sends to."""
    pattern = traffic["pattern"]
    if isinstance(pattern, Mapping):
        if "to" in pattern:
            return [str(pattern["to"])]
        if "permutation" in pattern:
            return list(pattern["permutation"])
        if "hot-spot" in pattern:
            return [*traffic["destinations"], *pattern["hot-spot"]["hosts"]]
    return list(traffic["destinations"])


def in_window(table: pd.DataFrame, after_ns: float = 0.0, before_ns: float = math.inf) -> pd.DataFrame:
    """The rows of a series whose time bin begins between two simulated times.

    Raises:
        InputError: there is no such bin.
    """
    rows = table[(table["time_ns"] >= after_ns) & (table["time_ns"] < before_ns)]
    if rows.empty:
        until = "its end" if before_ns == math.inf else f"{before_ns:g} ns"
        raise InputError(f"no time bin of the run lies between {after_ns:g} ns and {until}")
    return rows


def link_rate(rates: pd.Series[float], host: str) -> float:
    """The rate of a host's link, Gb/s.

    Raises:
        InputError: the run did not record it.
    """
    if host not in rates:
        raise InputError(f"the link rate of {host!r} is not known")
    return float(rates[host])


def series_of(result: Result) -> pd.DataFrame:
    """Throughput of each flow over time.

    Raises:
        InputError: the run kept none.
    """
    if "series" not in result.frames or result.series.empty:
        raise InputError("the run kept no series of its flows: there are too many of them")
    return result.series
