"""From an experiment with `[tune]` to its best setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fabricsim.errors import FabricsimError, InputError, StoreError
from fabricsim.memory import Allowance, shared
from fabricsim.shown import Bar, notebook_bar
from fabricsim.spec import Experiment, as_experiment
from fabricsim.sweep import Stop, never
from fabricsim.sweep.executors import Executor, local, processes
from fabricsim.tune.confirm import Confirmation, confirm
from fabricsim.tune.folder import Folder
from fabricsim.tune.importances import importances
from fabricsim.tune.opensm import opensm_options
from fabricsim.tune.pareto import best, least_broken
from fabricsim.tune.problem import Problem, shown
from fabricsim.tune.record import Record
from fabricsim.tune.result import TuneResult
from fabricsim.tune.storage import FILE, open_study, quiet, readable
from fabricsim.tune.study import Progress, Search
from fabricsim.tune.tables import tables

OPENSM_FILE = "opensm.conf"


def tune(
    experiment: str | Path | Experiment,
    *,
    set: Mapping[str, Any] | None = None,
    executor: Executor | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    memory: str | int | None = None,
    storage: str | None = None,
    study: str | None = None,
    precision: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_confirm: Callable[[int, int], None] | None = None,
    stop: Stop = never,
) -> TuneResult:
    """Looks for the setting that is best by what the experiment's `[tune]` asks for.

    A study into the folder, or the storage, of the same study goes on where it ended. Ctrl-C keeps the trials that are
    done. In a script, call it under `if __name__ == "__main__":`.

    Args:
        experiment: an experiment file with `[tune]`, or an `Experiment`.
        set: values to replace, by key: `{"tune.trials": 20}`.
        executor: where to execute runs; by default local processes.
        jobs: local processes at most; by default one for each processor.
        out: write tables, and Optuna's file, there.
        force: replace a folder of results.
        memory: most memory of all local processes together, such as "16 GiB", or of each run on a cluster; by default
            what the machine has.
        storage: the URL of a database for Optuna instead of a file in `out`.
        study: a name for the study there; by default the experiment's.
        precision: end the comparison on fresh seeds, after 5 or more, as soon as the intervals of all differences have
            at most this half-width relative to the value of the experiment as it is.
        on_progress: called after every trial. In a notebook, without it, a bar shows them.
        on_confirm: called with the runs with fresh seeds that are done, and their number.
        stop: asked about ten times a second.

    Raises:
        InputError: the experiment or its `[tune]` is wrong, no run measures the objectives, the folder is something
            else's, or the storage cannot be opened.
        FabricsimError: every trial failed.
    """
    problem = Problem(as_experiment(experiment, set), precision)
    problem.check_parameters()
    problem.check_metrics()
    where = local(jobs) if executor is None else executor
    allowed = shared(memory, processes(where))
    folder = Folder(problem, None if out is None else Path(out), force)
    try:
        with quiet(), notebook_bar("trials", wanted=on_progress is None) as bar:
            folder.open_file(FILE)
            report = on_progress if bar is None else _shown_by(bar)
            search = _opened(problem, folder, storage, study, report)
            result = _searched(problem, folder, search, where, allowed, stop, on_confirm)
        folder.seal(FILE)
        return result
    finally:
        folder.close()


def _shown_by(bar: Bar) -> Callable[[Progress], None]:
    """Shows the number of trials in a notebook."""
    return lambda found: bar.show(found.done / max(found.trials, 1), f"{found.done:,} of {found.trials:,}")


def _opened(
    problem: Problem,
    folder: Folder,
    storage: str | None,
    study: str | None,
    on_progress: Callable[[Progress], None] | None,
) -> Search:
    """The search as far as it had come."""
    try:
        opened = open_study(problem, study or problem.experiment.name, storage, folder.path)
        with readable(storage, folder.path):
            return Search(problem, opened, on_progress, lambda found: _save(folder, found))
    except BaseException:
        folder.discard()
        raise


def _searched(
    problem: Problem,
    folder: Folder,
    search: Search,
    executor: Executor,
    allowed: Allowance,
    stop: Stop,
    on_confirm: Callable[[int, int], None] | None,
) -> TuneResult:
    try:
        search.run(executor, stop, allowed)
    except BaseException:
        if search.records:
            _summarise(folder, search, None, complete=False)
        else:
            folder.discard()
        raise
    if not search.complete:
        return _summarise(folder, search, None, complete=False)
    found = _confirm(problem, search, executor, allowed, stop, on_confirm)
    result = _summarise(folder, search, found, complete=found is not None or not _comparable(search))
    _require_success(problem, search)
    return result


def _save(folder: Folder, search: Search) -> None:
    if folder.due():
        folder.write(tables(search.problem, search.records, None))


def _require_success(problem: Problem, search: Search) -> None:
    """
    Raises:
        FabricsimError: every trial failed.
    """
    if any(not record.error for record in search.trials):
        return
    first = search.trials[0]
    raise FabricsimError(
        f"{problem.experiment.file}: all {len(search.trials)} trials failed; the first, with "
        f"{shown(first.settings)}: {first.error}"
    )


def _confirm(
    problem: Problem,
    search: Search,
    executor: Executor,
    allowed: Allowance,
    stop: Stop,
    on_confirm: Callable[[int, int], None] | None,
) -> Confirmation | None:
    chosen = best(search.trials, problem.axes)
    if chosen is None or not _comparable(search):
        return None
    return confirm(
        problem, search.study, chosen.settings, executor, allowed=allowed, stop=stop, on_progress=on_confirm
    )


def _comparable(search: Search) -> bool:
    """True if there is a best setting, and fresh seeds to compare it on."""
    return bool(search.problem.fresh_seeds) and best(search.trials, search.problem.axes) is not None


def _summarise(folder: Folder, search: Search, found: Confirmation | None, *, complete: bool) -> TuneResult:
    problem = search.problem
    chosen = best(search.trials, problem.axes)
    broken = None if chosen else least_broken(search.trials)
    errors = [record.error for record in search.trials if record.error]
    settings = _opensm(problem, chosen)
    facts = {
        "complete": complete,
        "done": len(search.trials),
        "failed": len(errors),
        "problem": (found.error if found else "") or (errors[0] if errors else ""),
        "baseline": search.baseline.as_dict() if search.baseline else None,
        "best": chosen.as_dict() if chosen else None,
        "least_broken": broken.as_dict() if broken else None,
        "fresh_seeds": list(found.seeds) if found else [],
        "precision": problem.precision,
        "confidence": problem.confidence,
        "holds": dict(found.holds) if found else {},
        "opensm": settings,
    }
    frames = tables(problem, search.records, found)
    frames["importances"] = importances(problem, search.study)
    folder.write(frames, facts)
    if folder.path is not None and settings is not None:
        try:
            (folder.path / OPENSM_FILE).write_text(settings, encoding="utf-8")
        except OSError as error:
            raise StoreError(
                f"{folder.path / OPENSM_FILE}: it cannot be written: {error.strerror}"
            ) from error
    return TuneResult(folder.manifest, frames, folder.path)


def _opensm(problem: Problem, chosen: Record | None) -> str | None:
    """The best setting for a fabric manager; None if it is not one of InfiniBand's congestion control."""
    if chosen is None:
        return None
    try:
        return opensm_options(problem.experiment.with_values(chosen.settings))
    except InputError:
        return None
