"""A sweep: execution of its points, with results kept and resumed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from fabricsim.errors import FabricsimError, InputError, InterruptedBuildError
from fabricsim.lazy import pandas as pd
from fabricsim.memory import Allowance, shared
from fabricsim.results import finite, scalars, title_of
from fabricsim.run import run
from fabricsim.shown import Shown, counted
from fabricsim.spec import Experiment, as_experiment
from fabricsim.spec.sweep import RandomPoints
from fabricsim.statistics import CONFIDENCE
from fabricsim.store import read_manifest
from fabricsim.sweep.bounds import add_bounds
from fabricsim.sweep.executors import Executor, local, processes, silent
from fabricsim.sweep.plan import plan
from fabricsim.sweep.pool import Stop, never
from fabricsim.sweep.repeated import estimates, means
from fabricsim.sweep.saturation import Saturation, saturation
from fabricsim.sweep.state import SweepState, read_rows
from fabricsim.sweep.table import FAILED, Parameters, frame

Task = tuple[int, Experiment]


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

    @property
    def title(self) -> str:
        """The experiment's title, or its file's name."""
        return title_of(self.manifest)

    @property
    def parameters(self) -> list[str]:
        """The keys that were varied."""
        return list(self.manifest["parameters"])

    @property
    def axes(self) -> list[list[str]]:
        """The keys that were varied; those of a zip, of a list, or drawn at random are together."""
        axes = self.manifest.get("axes") or [{"keys": [key]} for key in self.parameters]
        return [list(axis["keys"]) for axis in axes]

    @property
    def loads(self) -> list[str]:
        """The parameters that are offered loads."""
        return [key for key in self.parameters if is_load(key)]

    @property
    def others(self) -> list[str]:
        """The parameters that distinguish curves over load: not those that vary together with the load."""
        zips = [axis["keys"] for axis in self.manifest.get("axes", ()) if axis["kind"] == "zip"]
        tied = {key for keys in zips if any(map(is_load, keys)) for key in keys} | set(self.repeated)
        return [key for key in self.parameters if not is_load(key) and key not in tied]

    @property
    def repeated(self) -> list[str]:
        """`["seed"]` if each point was repeated with several seeds, else nothing."""
        return [
            key for axis in self.manifest.get("axes", ()) if axis["kind"] == "seeds" for key in axis["keys"]
        ]

    @property
    def seeds(self) -> list[int]:
        """Seeds of the repetitions; none without."""
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

    def estimates(self, confidence: float = CONFIDENCE) -> pd.DataFrame:
        """Mean and confidence interval over the seeds: a row for each combination of the other parameters and each
        metric, with `mean`, `low`, `high` and `seeds` (the number of repetitions that have the metric).

        Raises:
            InputError: the points were not repeated.
        """
        if not self.repeated:
            raise InputError("this sweep has no repetitions: run it with seeds=N (--seeds N)")
        return estimates(self.points, self.varied, confidence)

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
        """The saturation point for each combination of the other parameters; empty if no load varies."""
        found = ((key, saturation(rows)) for key, rows in self.curves())
        return pd.DataFrame([key | vars(s) for key, s in found if isinstance(s, Saturation)])

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
        return {key: finite(value) for key, value in plain.items()}


def is_load(key: str) -> bool:
    """True if a key of an experiment is an offered load."""
    return key.rpartition(".")[2] in ("load", "rate") and key.startswith("traffic.")


def sweep(
    experiment: str | Path | Experiment,
    *,
    set: Mapping[str, Any] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    zip: Mapping[str, Sequence[Any]] | None = None,
    list: Sequence[Mapping[str, Any]] | None = None,
    random: RandomPoints | Mapping[str, Any] | None = None,
    seeds: int | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    out: str | Path | None = None,
    force: bool = False,
    memory: str | int | None = None,
    bound: bool = False,
    on_point: Callable[[int, int], None] | None = None,
    say: Callable[[str], None] = silent,
    stop: Stop = never,
) -> SweepResult:
    """Runs an experiment at many points: every combination of what the axes give.

    A sweep into the folder of the same sweep goes on where it ended; points that failed are tried again. Ctrl-C keeps
    the points that are done. A point that fails is a row with status "failed" and a message. In a script, call it
    under `if __name__ == "__main__":`.

    Args:
        experiment: an experiment file, or an `Experiment`.
        set: values to replace in all points.
        vary: values by key, beside those of the file's `[sweep]`.
        zip: keys that vary together, instead of the file's.
        list: points spelled out, instead of the file's.
        random: points drawn at random, instead of the file's.
        seeds: repeat each point with that number of seeds, 2 or more: the experiment's `seed`, the next one, and so on,
            the same for all points. `estimates` has means and confidence intervals.
        jobs: processes at most; by default one for each processor.
        executor: where to run, instead of local processes: see `fabricsim.sweep.executors`.
        out: write a folder there.
        force: replace a folder of another sweep.
        memory: most memory of all local processes together, such as "16 GiB", or of each run on a cluster; by default
            what the machine has.
        bound: add a column `bound_fraction`: accepted throughput over the largest total that topology and routing
            allow. Bounds are computed when the points are done, once for points with equal bounds.
        on_point: called with points done and points in all. In a notebook, without it, a bar shows them.
        say: receives the points of the folder that are damaged and repeated.
        stop: asked about ten times a second.

    Raises:
        InputError: a key or value is wrong, the folder exists or cannot be written, or the cluster is not there.
        StoreError: the folder could not be written; the points so far went to another one.
    """
    experiment = as_experiment(experiment, set)
    planned = plan(experiment, vary=vary, zip=zip, list=list, random=random, seeds=seeds)
    planned.check(experiment)
    where = executor or local(jobs)
    state = SweepState(experiment, planned, None if out is None else Path(out), force, say)
    try:
        allowed = shared(memory, processes(where, len(state.todo())))
        with counted("points", on_point) as shown:
            _work(experiment, state, where, allowed, shown, stop)
        if bound and not stop():
            add_bounds(experiment, state, where, stop)
    finally:
        state.close()
    table = state.table().drop(columns="point")
    return SweepResult(state.manifest, table, not state.todo(), None if out is None else Path(out))


def _work(
    experiment: Experiment,
    state: SweepState,
    executor: Executor,
    allowed: Allowance,
    on_point: Callable[[int, int], None] | None,
    stop: Stop,
) -> None:
    # workers on other machines have another current directory
    experiment = replace(experiment, base=os.path.abspath(experiment.base))
    size, todo = len(state.points), state.todo()

    def done(task: Task, row: dict[str, Any] | None) -> None:
        if row is not None:
            state.add(task[0], row)
            if on_point:
                on_point(state.done, size)

    if on_point:
        on_point(state.done, size)
    if todo:
        tasks = _Tasks(experiment, state, todo)
        executor.work_through(
            tasks,
            partial(run_point, allowed=allowed),
            done,
            stop=stop,
            on_lost=lambda task, message: done(task, _failed(message)),
        )


class _Tasks(Sequence[Task]):
    """The points to run, created on demand."""

    def __init__(self, experiment: Experiment, state: SweepState, todo: Sequence[int]) -> None:
        self._experiment = experiment
        self._state = state
        self._todo = todo

    def __len__(self) -> int:
        return len(self._todo)

    def __getitem__(self, number: Any) -> Any:
        at = self._todo[number]
        return at, self._experiment.with_overrides([*self._state.points[at].items()])


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
    table = frame(Parameters(manifest["points"], manifest.get("base", {})), rows)
    complete = len(rows) == manifest["size"]
    return SweepResult(manifest, table.drop(columns="point"), complete, folder, tuple(damaged))


def run_point(task: Task, stop: Stop, allowed: Allowance | None = None) -> dict[str, Any] | None:
    """The row of one point: status, message, and the scalars of its summary. None if it was stopped.

    Raises:
        KeyboardInterrupt: it was interrupted by hand.
    """
    try:
        result = run(task[1], memory=allowed, stop=stop)
    except (KeyboardInterrupt, SystemExit):
        raise
    except InterruptedBuildError:
        return None
    except (FabricsimError, MemoryError) as error:
        return _failed(str(error) or "there is not enough memory for this point")
    except BaseException as error:  # a panic of the engine is no Exception
        return _failed(f"internal error: {type(error).__name__}: {error}")
    if stopped := result.manifest.get("stopped"):
        return _failed(str(stopped))
    if result.status == "interrupted":
        if not stop():
            raise KeyboardInterrupt
        return None
    summary = result.manifest["summary"]
    if defect := summary.get("defect"):
        return _failed(f"a defect of the simulator, please report it: {defect}")
    return {
        **scalars(summary),
        "status": result.status,
        "message": "; ".join(summary.get("deadlock") or ()),
        "wall_s": result.manifest["wall_s"],
    }


def _failed(message: str) -> dict[str, Any]:
    return {"status": FAILED, "message": message}
