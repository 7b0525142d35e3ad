"""Running one experiment: in a thread, watched, stoppable, and stored so that nothing computed is lost."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabricsim.errors import InputError, StoreError
from fabricsim.native import POLL_S, NativeOutcome, NativeSimulation, bad_input, native, waited
from fabricsim.results import Result, frames_of
from fabricsim.spec import Experiment, as_experiment
from fabricsim.store import Reservation, read_folder, rescue


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    simulated_s: float
    total_s: float
    packet_hops: int
    phase: str
    wall_s: float

    @property
    def fraction(self) -> float:
        """Part of the simulated time that is done, 0 to 1."""
        return min(self.simulated_s / self.total_s, 1.0) if self.total_s > 0 else 0.0

    @property
    def packet_hops_per_s(self) -> float:
        """Packet-hops simulated per second of wall time."""
        return self.packet_hops / self.wall_s if self.wall_s > 0 else 0.0

    @property
    def remaining_s(self) -> float | None:
        """Wall time left at the speed so far; None while that can not be told."""
        if self.fraction <= 0.0:
            return None
        return self.wall_s * (1.0 - self.fraction) / self.fraction


class NotStoredError(StoreError):
    """A run is done, but its folder could not be written. The results are in `result`."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


def run(
    experiment: str | Path | Experiment,
    *,
    set: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    force: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Result:
    """Runs an experiment.

    Ctrl-C ends the run early; what was measured until then is returned with status "interrupted". A second one
    raises KeyboardInterrupt.

    Args:
        experiment: an experiment file, or an `Experiment`.
        set: values to replace, by key: `{"traffic.0.load": 0.4}`.
        out: write a run folder there.
        force: replace a run folder that exists.
        on_progress: called about ten times a second.
        stop: asked about ten times a second; when it says yes, the run is interrupted.

    Raises:
        InputError: the experiment is wrong, or the folder exists or can not be written (before the run starts).
        NotStoredError: the folder could not be written after the run; the results went to another one.
    """
    experiment = as_experiment(experiment, set)
    reservation = None if out is None else Reservation(out, force=force)
    try:
        with bad_input():
            simulation = waited(lambda: native().Simulation(*experiment.arguments()))
        started = time.monotonic()
        outcome = _Watch(simulation, on_progress, stop).outcome()
        result = _result(experiment, outcome, time.monotonic() - started)
        return result if reservation is None else _stored(result, reservation)
    finally:
        if reservation is not None:
            reservation.discard()


def load(folder: str | Path) -> Result:
    """The results in a run folder. Needs no compiled module.

    Raises:
        InputError: it is not a run folder.
        StoreError: a table in it can not be read.
    """
    manifest, frames = read_folder(folder)
    if manifest.get("kind") != "run":
        raise InputError(f"{folder}: this is a folder of kind {manifest.get('kind')!r}, not of one run")
    return Result(manifest, frames, Path(folder))


class _Watch:
    """Runs a simulation in a thread while this one reports progress and listens for a stop."""

    def __init__(
        self,
        simulation: NativeSimulation,
        on_progress: Callable[[Progress], None] | None,
        stop: Callable[[], bool] | None,
    ) -> None:
        self._simulation = simulation
        self._on_progress = on_progress
        self._stop = stop
        self._started = time.monotonic()
        self._outcome: NativeOutcome | None = None
        self._error: BaseException | None = None
        # Thread.join after an interrupted Thread.join returns at once in Python 3.11, hence the event.
        self._done = threading.Event()

    def _work(self) -> None:
        try:
            self._outcome = self._simulation.run()
        except BaseException as error:  # handed to the thread that waits
            self._error = error
        finally:
            self._done.set()

    def outcome(self) -> NativeOutcome:
        threading.Thread(target=self._work, name="fabricsim", daemon=True).start()
        try:
            self._watch()
        except KeyboardInterrupt:
            self._simulation.cancel()
            self._done.wait()
        except BaseException:
            self._simulation.cancel()
            raise
        if self._error is not None:
            raise self._error
        assert self._outcome is not None
        return self._outcome

    def _watch(self) -> None:
        while True:
            done = self._done.wait(POLL_S)
            if self._on_progress is not None:
                told = json.loads(self._simulation.progress())
                self._on_progress(Progress(**told, wall_s=time.monotonic() - self._started))
            if done:
                return
            if self._stop is not None and self._stop():
                self._simulation.cancel()


def _result(experiment: Experiment, outcome: NativeOutcome, wall_s: float) -> Result:
    summary = json.loads(outcome.summary())
    summary["experiment"] = summary.get("experiment") or experiment.name
    manifest = {
        "kind": "run",
        "name": experiment.name,
        "status": outcome.status,
        "seed": summary.get("seed"),
        "fingerprint": summary.get("fingerprint"),
        "version": native().version(),
        "wall_s": round(wall_s, 3),
        "file": experiment.file,
        "overrides": [list(pair) for pair in experiment.overrides],
        "summary": summary,
        "experiment": experiment.text,
    }
    return Result(manifest, frames_of(outcome))


def _stored(result: Result, reservation: Reservation) -> Result:
    try:
        folder = reservation.commit(result.manifest, result.frames)
    except StoreError as error:
        elsewhere = rescue(result.manifest, result.frames)
        saved = Result(result.manifest, result.frames, elsewhere)
        raise NotStoredError(f"{error}; the results of this run are in {elsewhere}", saved) from error
    return Result(result.manifest, result.frames, folder)
