"""Report of a run of ranks: its tables, in short on the screen, and as a folder of results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabricsim.durations import nanoseconds
from fabricsim.lazy import pandas as pd
from fabricsim.native import native
from fabricsim.ranks.causes import Part, parts
from fabricsim.ranks.critical import critical_path, shares
from fabricsim.ranks.log import RunLog
from fabricsim.ranks.messages import classify, pair
from fabricsim.ranks.queues import Queues
from fabricsim.ranks.tables import tables
from fabricsim.results import Result
from fabricsim.store import Reservation

LISTED = 8
"""Rows of each table on the screen."""


@dataclass(frozen=True)
class RankReport:
    """What the ranks of a run did, and why it took as long as it did."""

    log: RunLog = field(repr=False)
    tables: Mapping[str, pd.DataFrame] = field(repr=False)
    """`mpi_calls`, `mpi_times`, `mpi_waits`, `mpi_matrix`, `mpi_path`, `mpi_timeline`, `mpi_messages`; times in ns."""
    waits: Sequence[Part] = field(repr=False)
    """Waits of all ranks by cause."""
    path: Mapping[str, float]
    """Nanoseconds of each cause on the critical path: `computation`, `calls`, `messages`, and of waits for links."""

    @property
    def end_ns(self) -> float:
        """Time at which the last rank ended, in nanoseconds."""
        return self.log.end / 1000

    def summary(self) -> dict[str, Any]:
        """Totals of the run."""
        messages = self.tables["mpi_messages"]
        return {
            "ranks": len(self.log.ranks),
            "end_ns": self.end_ns,
            "messages": len(messages),
            "bytes": int(messages["bytes"].sum()),
            "critical_path": {f"{cause.replace(' ', '_')}_ns": time for cause, time in self.path.items()},
        }

    def result(self, fabric: Result | None = None, name: str = "mpi") -> Result:
        """The report as a result of a run, with the tables of the fabric if there is one."""
        if fabric is not None:
            manifest = {**fabric.manifest, "summary": {**fabric.manifest["summary"], "mpi": self.summary()}}
            return Result(manifest, {**fabric.frames, **self.tables}, fabric.folder)
        manifest = {
            "kind": "run",
            "name": name,
            "status": "ok",
            "version": native().version(),
            "file": "",
            "overrides": [],
            "summary": {"experiment": name, "mpi": self.summary()},
            "experiment": "",
        }
        return Result(manifest, dict(self.tables))

    def lines(self) -> list[str]:
        """The report in short."""
        calls, waits = self.tables["mpi_calls"], self.tables["mpi_waits"]
        by_call = calls.drop(columns="rank").groupby("call").sum().sort_values("time_ns", ascending=False)
        total = sum(len(self.log.ranks) * [self.end_ns]) or 1.0
        found = [
            f"{'call':<16}{'count':>9}{'time':>11}{'late sender':>13}{'late recv.':>12}{'links':>11}{'transfer':>11}"
            f"{'bytes':>14}"
        ]
        by_call["links_ns"] = by_call[["congested_link_ns", "busy_input_ns", "free_link_ns"]].sum(axis=1)
        for name, row in by_call.head(LISTED).iterrows():
            found.append(
                f"{name:<16}{row['count']:>9.0f}{_share(row['time_ns'], total):>11}"
                f"{_share(row['late_sender_ns'], total):>13}{_share(row['late_receiver_ns'], total):>12}"
                f"{_share(row['links_ns'], total):>11}{_share(row['transfer_ns'], total):>11}{row['bytes']:>14.0f}"
            )
        found.append("times are parts of ranks x run time")
        sums = {name: calls[name].sum() for name in map(str, calls) if name.endswith("_bytes")}
        used = [f"{name.removesuffix('_bytes')} {size:.0f} B" for name, size in sums.items() if size]
        found.append(f"protocols: {', '.join(used) or 'no bytes'}")
        longest = waits.sort_values("time_ns", ascending=False).head(3)
        for _, row in longest.iterrows():
            whom = f" for rank {row['peer']}" if row["peer"] >= 0 else ""
            link = f" {row['link']}" if row["link"] else ""
            found.append(
                f"rank {row['rank']} waited {nanoseconds(row['time_ns'])} in {row['call']}{whom}: {row['cause']}{link}"
            )
        found += self._congested()
        share = ", ".join(f"{cause} {_share(time, self.end_ns)}" for cause, time in self.path.items())
        found.append(f"critical path of {nanoseconds(self.end_ns)}: {share}")
        path = self.tables["mpi_path"]
        spent = (path["end_ns"] - path["start_ns"]).groupby(path["link"]).sum().drop("", errors="ignore")
        found += [
            f"critical path: {nanoseconds(time)} of waits for {link}"
            for link, time in spent.sort_values(ascending=False).head(3).items()
        ]
        return found

    def _congested(self) -> list[str]:
        """The links for which ranks waited longest."""
        waits = self.tables["mpi_waits"]
        by_link = waits[waits["link"] != ""].groupby(["link", "cause"])["time_ns"].sum().reset_index()
        return [
            f"{row['link']}: ranks waited {nanoseconds(row['time_ns'])} because of it ({row['cause']})"
            for row in by_link.sort_values("time_ns", ascending=False).head(3).to_dict("records")
        ]

    def store(
        self, folder: Path | str, fabric: Result | None = None, *, name: str = "mpi", force: bool = False
    ) -> Result:
        """Writes a run folder, which `fabricsim plot` draws.

        Args:
            folder: the folder.
            fabric: result of the fabric, whose tables are written as well.
            name: title of the pictures, without a fabric.
            force: True if a folder of results that exists is replaced.

        Raises:
            InputError: the folder exists, or is in use.
            StoreError: it cannot be written.
        """
        result = self.result(fabric, name)
        reservation = Reservation(folder, force=force)
        try:
            return Result(result.manifest, result.frames, reservation.commit(result.manifest, result.frames))
        finally:
            reservation.discard()


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "0.0 %"


def report_of(
    log: RunLog,
    operations: Iterable[Mapping[str, Any]] | None = None,
    hops: pd.DataFrame | None = None,
) -> RankReport:
    """The report of a record.

    Args:
        log: the record of a complete run.
        operations: operations of verbs, as of `FabricNetwork.log`; None on a LogGP network, where each message is
            eager.
        hops: table `packet_hops` of a fabric, from which links are named for which messages waited.
    """
    pair(log)
    if operations is not None:
        classify(log, operations)
    queues = None if hops is None else Queues(hops)
    path = critical_path(log, queues)
    waits = list(parts(log, queues))
    made = tables(log, waits, path)
    return RankReport(log, made, waits, {cause: time / 1000 for cause, time in shares(path).items()})
