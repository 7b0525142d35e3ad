"""A sweep: execution of its points, with results kept and resumed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabricsim.catalogue import sum_parts
from fabricsim.entry_names import of_points
from fabricsim.errors import InputError
from fabricsim.lazy import pandas as pd
from fabricsim.memory import shared
from fabricsim.results import finite, title_of
from fabricsim.shown import Shown, counted, in_folder
from fabricsim.spec import Experiment, as_experiment
from fabricsim.spec.sweep import RandomPoints
from fabricsim.statistics import CONFIDENCE
from fabricsim.store import MANIFEST, read_manifest
from fabricsim.sums import COLUMNS, keys_of, require_sums, summed_by
from fabricsim.sweep.bisection import BisectionSchedule, SaturationSearch
from fabricsim.sweep.bounds import add_bounds
from fabricsim.sweep.execution import run_points
from fabricsim.sweep.executors import Executor, local, processes, silent
from fabricsim.sweep.found import precisions, saturations
from fabricsim.sweep.names import require_names
from fabricsim.sweep.plan import Plan, is_load
from fabricsim.sweep.pool import Stop, never
from fabricsim.sweep.precision import Precision, PrecisionSchedule
from fabricsim.sweep.repeated import estimates, means
from fabricsim.sweep.saturation import Saturation, saturation
from fabricsim.sweep.schedule import Schedule, schedule_of, scheduled
from fabricsim.sweep.state import SweepState, read_rows
from fabricsim.sweep.sums import attach_sums, sums_tables, with_silent
from fabricsim.sweep.table import Parameters, frame


@dataclass(frozen=True)
class SweepResult(Shown):
    """A sweep: a row for each point that is done."""

    manifest: dict[str, Any]
    points: pd.DataFrame
    """The parameters by their keys, `status` and `message`, then the scalars of each run's summary by dotted name."""
    complete: bool
    """True if all points are done."""
    folder: Path | None = None
    damaged: tuple[str, ...] = ()
    """A message for each line of the folder's journal that was left out."""
    numbers: tuple[int, ...] = ()
    """Number of each row among the points of the manifest; empty if nothing depends on it."""
    sums: Mapping[str, pd.DataFrame] = field(default_factory=dict, repr=False)
    """Tables of `by` by name, with a column `point`: the number among the points of the manifest."""

    def __repr__(self) -> str:
        done = f"{len(self.points):,} point{'' if len(self.points) == 1 else 's'}"
        over = f" of {', '.join(self.parameters)}" if self.parameters else ""
        rest = "" if self.complete else ", incomplete"
        return f"SweepResult({self.title!r}, {done}{over}{rest}{in_folder(self.folder)})"

    @property
    def title(self) -> str:
        """The experiment's title, or its file's name."""
        return title_of(self.manifest)

    @property
    def parameters(self) -> list[str]:
        """The keys that were varied."""
        return list(self.manifest["parameters"])

    @property
    def entry_names(self) -> dict[str, str]:
        """Names of the entries of the traffic list that all points have in common, by key."""
        return of_points(self.manifest, self.manifest["points"])

    @property
    def axes(self) -> list[list[str]]:
        """The keys that were varied; those of a zip, of a list, or drawn at random are together."""
        axes = self.manifest.get("axes") or [{"keys": [key]} for key in self.parameters]
        return [list(axis["keys"]) for axis in axes]

    @property
    def schedule(self) -> Schedule | None:
        """Choice of the points that ran; None if all did."""
        return schedule_of(self.manifest)

    @property
    def is_search(self) -> bool:
        """True if the saturation point was searched."""
        return isinstance(self.schedule, BisectionSchedule)

    @property
    def loads(self) -> list[str]:
        """The offered loads along which curves run: those of the first axis that varies one. Loads of other axes
        distinguish curves, since a curve over the sum of loads that vary on their own would mix them.
        """
        if isinstance(schedule := self.schedule, BisectionSchedule):
            return list(schedule.shares)
        axes = [[key for key in keys if is_load(key)] for keys in self.axes]
        points = self.manifest["points"]
        return next((keys for keys in axes if any(_varies(key, points) for key in keys)), [])

    @property
    def others(self) -> list[str]:
        """The parameters that distinguish curves over load: not those that vary together with the load."""
        loads = set(self.loads)
        if self.is_search:
            return [key for key in self.varied if key not in loads]
        zips = [axis["keys"] for axis in self.manifest.get("axes", ()) if axis["kind"] == "zip"]
        tied = {key for keys in zips if loads.intersection(keys) for key in keys}
        return [key for key in self.varied if key not in loads | tied]

    @property
    def repeated(self) -> list[str]:
        """`["seed"]` if each point was repeated with several seeds, else nothing."""
        return [
            key for axis in self.manifest.get("axes", ()) if axis["kind"] == "seeds" for key in axis["keys"]
        ]

    @property
    def seeds(self) -> list[int]:
        """Seeds of the repetitions; none without. With a precision, those that some point has."""
        if isinstance(self.schedule, PrecisionSchedule):
            return sorted({int(seed) for seed in self.points["seed"]})
        points = self.manifest["points"] if self.repeated else []
        return list(dict.fromkeys(int(point["seed"]) for point in points))

    @property
    def varied(self) -> list[str]:
        """The parameters without the seed of repetitions."""
        return [key for key in self.parameters if key not in self.repeated]

    @property
    def means(self) -> pd.DataFrame:
        """The points; those that differ in the seed of repetitions only as one, with the means of their numbers."""
        if not self.repeated:
            return self.points
        return means(
            self.points, [name for key in self.varied for name in dict.fromkeys((key, self.numeric(key)))]
        )

    def by(self, what: str) -> pd.DataFrame:
        """Flows summed up: a row for each point and source, destination, or pair of groups of hosts.

        Columns: the parameters, then `source`, `destination`, or `source_group` and `destination_group`, then those of
        `Result.by`: `flows`, `offered_gbps` and `accepted_gbps` (Gb/s), `latency_mean_ns` and `latency_p99_ns` (ns),
        and `jain`.

        Args:
            what: "source", "destination" or "group".

        Raises:
            InputError: `what` is none of these, or the sweep ran without these sums.
        """
        summed_by(what)
        if what not in self.sums:
            have = f"; it has: {', '.join(self.sums)}" if self.sums else ""
            raise InputError(f"this sweep has no sums by {what}: run it with by={what!r} (--by {what}){have}")
        return self.sums[what].drop(columns="point")

    def estimates(self, confidence: float = CONFIDENCE, by: str | None = None) -> pd.DataFrame:
        """Mean and confidence interval over the seeds: a row for each combination of the other parameters and each
        metric, with `mean`, `low`, `high` and `seeds` (the number of repetitions that have the metric).

        `by`: of sums of flows, with a row for each key of `SweepResult.by(by)` as well; metrics are its columns.

        Raises:
            InputError: the points were not repeated, or ran without these sums.
        """
        if not self.repeated:
            raise InputError("this sweep has no repetitions: run it with seeds=N (--seeds N)")
        if by is None:
            return estimates(self.points, self.varied, confidence)
        keys = [*self.varied, *keys_of(by)]
        rows = with_silent(self.by(by), self.varied, by)
        rows = rows[[*keys, *COLUMNS]].assign(status="ok")
        return estimates(rows, keys, confidence)

    def numeric(self, key: str) -> str:
        """The column of a parameter that holds numbers where its values have units, else its own."""
        return str(self.manifest.get("numeric", {}).get(key) or key)

    def count(self, status: str) -> int:
        """Number of points of a status: ok, deadlock or failed."""
        return int((self.points["status"] == status).sum())

    def curves(self) -> list[tuple[dict[str, Any], pd.DataFrame]]:
        """The points over load for each combination of the other parameters; none if no load varies."""
        if not self.loads or "offered_load" not in self.points:
            return []
        others, points = self.others, self.means.dropna(subset=["offered_load"])
        if not others:
            return [({}, points)]
        groups = points.groupby(others, sort=False, dropna=False)
        curves = [(dict(zip(others, key, strict=True)), rows) for key, rows in groups]
        return [(key, rows) for key, rows in curves if rows["offered_load"].nunique() > 1]

    def saturation(self) -> pd.DataFrame:
        """The saturation point for each combination of the other parameters; empty if no load varies.

        Columns: the other parameters, `load` (the highest one that is not saturated), `accepted` (accepted load there),
        `throughput` (highest accepted load of all), and `reached` (False if no load is saturated). Without a search,
        `load` is the offered load as it was measured. With one, it is the value of the (largest) load key, and there
        are also: `offered`, `saturated_load` (the lowest load that is saturated), `reason` (`accepted`, `latency` or
        `deadlock`), `latency_ns`, `zero_load_ns`, `runs`, `grid_runs` (runs of a grid of the same tolerance), and
        `message`, the reason of a search that failed.
        """
        if isinstance(schedule := self.schedule, BisectionSchedule):
            return saturations(schedule, self._rows(), self.others)
        found = ((key, saturation(rows)) for key, rows in self.curves())
        return pd.DataFrame([key | vars(s) for key, s in found if isinstance(s, Saturation)])

    def saturation_of(self, key: Mapping[str, Any], rows: pd.DataFrame) -> Saturation | None:
        """The saturation point of one of the curves, with the offered load as it was measured; None if not known."""
        if not self.is_search:
            return saturation(rows)
        for row in self.saturation().to_dict("records"):
            if not row["message"] and all(row[name] == value for name, value in key.items()):
                return Saturation(row["offered"], row["accepted"], row["throughput"], bool(row["reached"]))
        return None

    def precision(self) -> pd.DataFrame:
        """The precision that was reached: a row for each point and each metric whose precision was requested.

        Columns: the parameters, `metric`, `mean`, `precision` (half of the 95 % confidence interval over the mean),
        `requested`, `reached`, and `seeds`, the number of repetitions.

        Raises:
            InputError: no precision was requested.
        """
        if isinstance(schedule := self.schedule, PrecisionSchedule):
            rows = self._rows()
            for name, table in self.sums.items():
                attach_sums(rows, name, table)
            return precisions(schedule, rows, self.varied)
        raise InputError("this sweep has no precision: run it with precision=0.02 (--precision 2%)")

    def _rows(self) -> dict[int, dict[str, Any]]:
        """The points by number."""
        records: list[dict[Any, Any]] = self.points.to_dict("records")
        return dict(zip(self.numbers, records, strict=True))

    def as_dict(self) -> dict[str, Any]:
        """The output of `fabricsim sweep --json`."""
        plain = {
            "experiment": self.manifest["file"],
            "parameters": self.parameters,
            "complete": self.complete,
            "folder": None if self.folder is None else str(self.folder),
            "points": self.points.to_dict("records"),
            "saturation": self.saturation().to_dict("records"),
        }
        if self.repeated:
            plain["estimates"] = self.estimates().to_dict("records")
            plain["confidence"] = CONFIDENCE
        if self.sums:
            plain["by"] = {name: self.by(name).to_dict("records") for name in self.sums}
        if isinstance(self.schedule, PrecisionSchedule):
            plain["precision"] = self.precision().to_dict("records")
        return {key: finite(value) for key, value in plain.items()}


def _varies(key: str, points: Sequence[Mapping[str, Any]]) -> bool:
    return len({str(point.get(key)) for point in points}) > 1


def sweep(
    experiment: str | Path | Experiment,
    *,
    set: Mapping[str, Any] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    zip: Mapping[str, Sequence[Any]] | None = None,
    list: Sequence[Mapping[str, Any]] | None = None,
    random: RandomPoints | Mapping[str, Any] | None = None,
    seeds: int | None = None,
    saturation: SaturationSearch | bool = False,
    precision: Precision | Mapping[str, float] | float | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    out: str | Path | None = None,
    force: bool = False,
    memory: str | int | None = None,
    bound: bool = False,
    by: str | Sequence[str] | None = None,
    on_point: Callable[[int, int], None] | None = None,
    say: Callable[[str], None] = silent,
    stop: Stop = never,
) -> SweepResult:
    """Runs an experiment at many points: every combination of what the axes give.

    A sweep into the folder of the same sweep goes on where it ended; points that failed are tried again. Ctrl-C keeps
    the points that are done. A point that fails is a row with status "failed" and a message. In a script, call it under
    `if __name__ == "__main__":`.

    Args:
        experiment: an experiment file, or an `Experiment`.
        set: values to replace in all points.
        vary: values by key, beside those of the file's `[sweep]`.
        zip: keys that vary together, instead of the file's.
        list: points spelled out, instead of the file's.
        random: points drawn at random, instead of the file's.
        seeds: repeat each point with that number of seeds, 2 or more: the experiment's `seed`, the next one, and so on,
            the same for all points. `estimates` has means and confidence intervals.
        saturation: search the saturation point by bisection over the load, for each combination of the other
            parameters. With `seeds`, the means over them decide.
        precision: repeat each point, with `seeds` seeds first (5), until the 95 % confidence intervals of these metrics
            have at most this half-width relative to the mean. A number is of accepted load and mean latency. Metrics
            are keys of the summary and sums of flows, `group.clients->hot.accepted_gbps`.
        jobs: processes at most; by default one for each processor.
        executor: where to run, instead of local processes: see `fabricsim.sweep.executors`.
        out: write a folder there.
        force: replace a folder of another sweep.
        memory: most memory of all local processes together, such as "16 GiB", or of each run on a cluster; by default
            what the machine has.
        bound: add `bound_fraction`, accepted throughput over the largest total, and `jobs.NAME.least_iteration_ns`.
        by: sums of flows that `SweepResult.by` has: "source", "destination", "group", or several of them. Points in
            `out` without them run again.
        on_point: called with points done and points in all, as far as known; a notebook has a bar without it.
        say: receives the points of the folder that are damaged and repeated.
        stop: asked about ten times a second.

    Raises:
        InputError: a key or value is wrong, the folder exists or cannot be written, or the cluster is not there.
        StoreError: the folder could not be written; the points so far went to another one.
    """
    experiment = as_experiment(experiment, set)
    axes = {"vary": vary, "zip": zip, "list": list, "random": random, "seeds": seeds}
    planned, schedule = scheduled(experiment, axes, saturation, precision)
    planned.check(experiment)
    sums = _sums(experiment, planned, by, schedule)
    where = executor or local(jobs)
    folder = None if out is None else Path(out)
    state = SweepState(experiment, planned, folder, force, say, schedule, sums)
    _run(experiment, state, where, memory, bound, on_point, stop)
    return _result(state.manifest, state.table(), state.sums(), not state.todo(), folder)


def _run(
    experiment: Experiment,
    state: SweepState,
    where: Executor,
    memory: str | int | None,
    bound: bool,
    on_point: Callable[[int, int], None] | None,
    stop: Stop,
) -> None:
    """Runs the points, and their bounds, and writes the tables for good."""
    try:
        allowed = shared(memory, processes(where, len(state.todo())))
        with counted("points", on_point) as shown:
            run_points(experiment, state, where, allowed, shown, stop)
        if bound and not stop():
            add_bounds(experiment, state, where, stop)
    finally:
        state.close()


def _sums(
    experiment: Experiment, planned: Plan, by: str | Sequence[str] | None, schedule: Schedule | None
) -> tuple[str, ...]:
    """Names of the requested sums of flows, and of those that end the repetitions."""
    metrics = tuple(schedule.metrics) if isinstance(schedule, PrecisionSchedule) else ()
    of_metrics = [parts[0] for name in metrics if (parts := sum_parts(name))]
    names = summed_by([*summed_by(by), *of_metrics])
    first = experiment.with_overrides([*planned.first.items()])
    require_sums(names, first.written(), experiment.file)
    require_names(metrics, experiment, planned, "precision of")
    return names


def _result(
    manifest: dict[str, Any],
    table: pd.DataFrame,
    sums: Mapping[str, pd.DataFrame],
    complete: bool,
    folder: Path | None,
    damaged: Sequence[str] = (),
) -> SweepResult:
    numbers = tuple(int(number) for number in table["point"])
    return SweepResult(manifest, table.drop(columns="point"), complete, folder, tuple(damaged), numbers, sums)


def load_sweep(folder: str | Path) -> SweepResult:
    """The sweep in a folder, also while it is running.

    Raises:
        InputError: it is not the folder of a sweep.
        StoreError: it is damaged.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    if manifest.get("kind") != "sweep":
        raise InputError(f"{folder}: this is not the folder of a sweep")
    rows, damaged = read_rows(folder, manifest["size"])
    parameters = Parameters(manifest["points"], manifest.get("base", {}))
    table = frame(parameters, rows)
    schedule = schedule_of(manifest, folder / MANIFEST)
    complete = len(rows) == manifest["size"] if schedule is None else not schedule.due(rows)
    return _result(manifest, table, sums_tables(parameters, rows), complete, folder, damaged)
