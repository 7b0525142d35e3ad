"""The results of one run, as pandas frames."""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fabricsim.errors import InputError
from fabricsim.frames import Columns, Frames, missing
from fabricsim.hosts import Groups
from fabricsim.lazy import numpy as np
from fabricsim.lazy import pandas as pd
from fabricsim.shares import destination_shares, final_destination_shares, rates_of_hosts
from fabricsim.shown import Shown, in_folder, number_of
from fabricsim.spec import Experiment
from fabricsim.sums import groups_in, sums, sums_over_time

if TYPE_CHECKING:
    from fabricsim.native_types import NativeOutcome


@dataclass(frozen=True)
class Result(Shown):
    """Results of a run. Tables carry unit and description of their columns, see `columns`."""

    manifest: dict[str, Any]
    """Experiment, overrides, seed, version, fingerprint, status and summary, as in the run folder's manifest."""
    frames: Mapping[str, pd.DataFrame] = field(repr=False)
    """All tables by name."""
    folder: Path | None = None
    """The run folder, if there is one."""

    def __repr__(self) -> str:
        accepted = self.manifest["summary"].get("accepted_gbps")
        rate = "" if missing(accepted) else f", accepted {accepted:,.5g} Gb/s"
        return f"Result({self.title!r}, {self.status}, seed {self.manifest.get('seed')}{rate}{in_folder(self.folder)})"

    @property
    def status(self) -> str:
        """ "ok", "deadlock" or "interrupted"."""
        return str(self.manifest["status"])

    @property
    def end_ns(self) -> float:
        """Simulated time at the end, nanoseconds; 0 if the run did not record it."""
        return float(self.manifest["summary"].get("simulated_s") or 0.0) * 1e9

    @property
    def title(self) -> str:
        """The experiment's title, or its file's name."""
        return str(self.manifest["summary"].get("experiment") or self.manifest.get("name", "run"))

    @property
    def summary(self) -> pd.Series[Any]:
        """Totals by dotted name (`latency_ns.mean`, `accepted_load`, `traffic.incast.accepted_load`)."""
        return pd.Series(
            scalars(self.manifest["summary"]), name=str(self.manifest.get("name", "run")), dtype=object
        )

    @property
    def flows(self) -> pd.DataFrame:
        """A row for each flow."""
        return self.table("flows")

    @property
    def hosts(self) -> pd.DataFrame:
        """A row for each host."""
        return self.table("hosts")

    @property
    def links(self) -> pd.DataFrame:
        """A row for each direction and virtual lane of each link."""
        return self.table("links")

    @property
    def nodes(self) -> pd.DataFrame:
        """A row for each switch and host, with its position in a drawing."""
        return self.table("nodes")

    @property
    def series(self) -> pd.DataFrame:
        """Throughput over time, a row for each flow and time bin."""
        return self.table("series")

    @property
    def latency(self) -> pd.DataFrame:
        """Latency histogram."""
        return self.table("latency")

    @property
    def hops(self) -> pd.DataFrame:
        """Packets by number of hops."""
        return self.table("hops")

    @property
    def jobs(self) -> pd.DataFrame:
        """A row for each iteration of each job that all ranks have done."""
        return self.table("jobs")

    @property
    def entries(self) -> pd.DataFrame:
        """A row for each entry of the traffic list, the responses to its messages, and each job."""
        return self.table("entries")

    def by(self, what: str, groups: Groups | None = None) -> pd.DataFrame:
        """The table `flows` summed up, a row for each source, destination, entry, or pair of groups of hosts.

        Args:
            what: "source", "destination", "entry" or "group".
            groups: of "group": lists of hosts (names, patterns with `*`) by name; by default those of the experiment.

        Raises:
            InputError: `what` is none of these, or there are no groups.
        """
        return sums(self.flows, what, self.groups if groups is None else groups)

    def series_by(self, what: str, groups: Groups | None = None) -> pd.DataFrame:
        """The table `series` summed up: a row for each time bin and source, destination, or pair of groups of hosts.

        Columns: `time_ns` (begin of the bin), `source`, `destination`, or `source_group` and `destination_group`, and
        `gbps`, the accepted throughput of all their flows, Gb/s. A key without packets in a bin may have no row for it.

        Args:
            what: "source", "destination" or "group".
            groups: as of `by`.

        Raises:
            InputError: `what` is none of these, there are no groups, or the run kept no series of its flows.
        """
        if "series" not in self.frames or self.series.empty:
            raise InputError("the run kept no series of its flows: they are too many, or none has packets")
        return sums_over_time(self.series, what, self.groups if groups is None else groups)

    @property
    def groups(self) -> Groups:
        """The groups of hosts of the experiment by name, with the values set on top of it."""
        return groups_in(Experiment.from_manifest(self.manifest).written())

    @property
    def router_ports(self) -> pd.DataFrame:
        """A row for each port and virtual lane of each switch: its performance counters (`measure.router_counters`)."""
        return self.table("router_ports")

    @property
    def router_dimensions(self) -> pd.DataFrame:
        """A row for each direction (`+x`, `-x`, ..., `host`): the performance counters of all ports in it."""
        return self.table("router_dimensions")

    @property
    def port_counters(self) -> pd.DataFrame:
        """A row for each port: its counters by their names in InfiniBand, with `measure.port_counters`."""
        return self.table("port_counters")

    @property
    def messages(self) -> pd.DataFrame:
        """A row for each entry of the traffic list: completion times of its messages, with a transport."""
        return self.table("messages")

    @property
    def transport(self) -> pd.DataFrame:
        """A row for each host: the counters of its transport, as a source and as a target."""
        return self.table("transport")

    @property
    def transport_series(self) -> pd.DataFrame:
        """Packets in the reorder buffer, and connections, of each receiving host and time bin."""
        return self.table("transport_series")

    @property
    def exchanges(self) -> pd.DataFrame:
        """Events of packets of the transport one by one, up to the number in `measure.exchanges`."""
        return self.table("exchanges")

    def table(self, name: str) -> pd.DataFrame:
        """A table by name.

        Raises:
            InputError: the run has no such table.
        """
        if name in self.frames:
            return self.frames[name]
        if name == "streams" and "entries" in self.frames:
            # Its name up to 2026-11-24.
            return self.frames["entries"].rename(columns={"entry": "stream"})
        near = difflib.get_close_matches(name, self.frames, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        have = ", ".join(self.frames) or "none"
        raise InputError(f"this run has no table {name!r}; it has: {have}{hint}")

    def columns(self, table: str) -> pd.DataFrame:
        """Unit and description of a table's columns."""
        notes = column_notes(self.table(table))
        return pd.DataFrame.from_dict(notes, orient="index", columns=["unit", "description"])

    def as_dict(self) -> dict[str, Any]:
        """The output of `fabricsim run --json`."""
        extra = {"wall_s": self.manifest.get("wall_s")}
        if self.folder is not None:
            extra["folder"] = str(self.folder)
        if "capture" in self.manifest:
            extra["capture"] = self.manifest["capture"]
        return cast("dict[str, Any]", finite({**self.manifest["summary"], **extra}))


def title_of(manifest: Mapping[str, Any]) -> str:
    """Title of the experiment of a sweep or study, or the name of its file."""
    try:
        title = tomllib.loads(str(manifest.get("experiment", ""))).get("title")
    except tomllib.TOMLDecodeError:
        title = None
    return str(title or manifest.get("name", ""))


def frames_of(outcome: NativeOutcome, only: Collection[str] | None = None) -> Frames:
    """All tables of an outcome of the engine, or those of some names."""
    names = [name for name in outcome.tables() if only is None or name in only]
    return Frames({name: Columns(outcome.columns(name)) for name in names})


def frame_of(columns: list[tuple[str, str, str, Any, Any]]) -> pd.DataFrame:
    """A table of the engine from its columns."""
    return Columns(columns).frame()


def set_column_notes(frame: pd.DataFrame, notes: Mapping[str, tuple[str, str]]) -> None:
    """Notes unit and description of the columns in the frame."""
    frame.attrs["columns"] = {name: list(note) for name, note in notes.items()}


def column_notes(frame: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Unit and description of the columns; empty texts where none were noted."""
    notes = frame.attrs.get("columns", {})
    found = {name: notes.get(name) or ("", "") for name in map(str, frame.columns)}
    return {name: (unit, description) for name, (unit, description) in found.items()}


def host_rates(result: Result) -> pd.Series[float]:
    """Link rate of each host by name, Gb/s; empty if the run did not record it."""
    return pd.Series(rates_of_hosts(result.frames), dtype=float)


def destination_share(result: Result) -> pd.Series[float]:
    """Accepted throughput of each flow as a fraction of its destination's link rate; NaN if that is unknown."""
    return pd.Series(destination_shares(result.frames), index=result.flows.index, dtype=float)


def final_destination_share(result: Result, part: float = 0.1) -> pd.Series[float]:
    """As `destination_share`, but in the last `part` of the run; NaN for flows of which no series was kept."""
    shares = final_destination_shares(result.frames, result.end_ns, part)
    return pd.Series(shares, index=result.flows.index, dtype=float)


FEWEST_LOOKS = 20
"""Minimum number of samples of congestion trees in a measurement for times to be computed."""


def looks(result: Result) -> int:
    """Number of samples of congestion trees in the measurement; 0 if the run did not count them."""
    found = result.manifest["summary"].get("congestion_trees")
    return int(found["looks"]) if isinstance(found, Mapping) else 0


def few_looks(result: Result) -> str:
    """Reason why no times are computed from congestion trees; empty if they are."""
    count = looks(result)
    if count >= FEWEST_LOOKS:
        return ""
    return (
        f"{number_of(count, 'sample')} of congestion trees in the measurement, fewer than {FEWEST_LOOKS}: no times are "
        "computed; set a shorter measure.congestion_interval"
    )


def tree_spans(trees: pd.DataFrame) -> tuple[pd.Series[float], pd.Series[float]]:
    """Begin and end of the time for which each row of the table `congestion_trees` counts, ns.

    Runs of earlier versions counted a tree from the previous sample; theirs has no column `until_ns`.
    """
    if "until_ns" in trees:
        return trees["time_ns"], trees["until_ns"]
    return trees["since_ns"], trees["time_ns"]


MOST_ENTRIES = 64
"""Entries of which `scalars` has the figures."""


def scalars(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The scalars of a summary by dotted name, with those of its entries (`traffic.incast.accepted_load`) and jobs
    (`jobs.solver.iteration_ns.mean`).

    An entry without a name that is the only one has no figures of its own: the totals are those.
    """
    found = flatten(summary)
    entries = summary.get("entries") or []
    if len(entries) == 1 and entries[0]["key"] == "traffic.0":
        return found
    jobs = {key_of_job(str(job["job"])): job for job in summary.get("jobs") or ()}
    for entry in entries[:MOST_ENTRIES]:
        figures = {name: value for name, value in entry.items() if name not in _DESCRIPTION}
        found |= {
            name: value for name, value in flatten(figures, f"{entry['key']}.").items() if _is_of(entry, name)
        }
        if (job := jobs.get(entry["key"])) is not None:
            found |= flatten(_figures(job), f"{entry['key']}.")
    return found


def key_of_job(name: str) -> str:
    """Key of the entry that has a job's messages: a name with a dot is in quotes."""
    return f'jobs."{name}"' if "." in name else f"jobs.{name}"


def _figures(job: Mapping[str, Any]) -> dict[str, Any]:
    """Results of a job."""
    return {name: value for name, value in job.items() if name not in ("job", "ranks", "iterations")}


def without_computing(largest: Mapping[Any, Any]) -> set[str]:
    """Names of the exposed communication of jobs whose ranks do not compute: it is the time of their iterations.

    Args:
        largest: the largest values of scalars, by name.
    """
    exposed = [str(name).rpartition(".") for name in largest if str(name).endswith(".exposed_ns")]
    return {f"{job}.{name}" for job, _, name in exposed if not largest.get(f"{job}.compute_ns")}


_DESCRIPTION = ("entry", "key", "kind", "text", "sources", "destinations")
"""Keys of an entry that are no results."""


def _is_of(entry: Mapping[str, Any], name: str) -> bool:
    """False for figures of requests in other entries."""
    return entry["kind"] == "request" or not name.endswith((".answered_per_s", ".round_trip_ns"))


def flatten(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The scalars in nested mappings by dotted name; lists are left out."""
    return dict(_scalars(value, prefix))


def _scalars(value: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        if isinstance(item, Mapping):
            yield from _scalars(item, f"{prefix}{key}.")
        elif not isinstance(item, list):
            yield f"{prefix}{key}", item


_OF_JSON = (bool, int, float, str, type(None))


def finite(value: Any) -> Any:
    """The value with null for numbers that JSON does not have."""
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if type(value) not in _OF_JSON and isinstance(value, np.generic):  # the first spares numpy's import
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
