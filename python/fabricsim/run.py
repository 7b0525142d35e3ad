"""Execution of one experiment: in a thread, with progress and stop, and stored so that nothing computed is lost."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricsim import cores
from fabricsim.checkpoint import Checkpoints, folder_of, require_none
from fabricsim.errors import InputError, InterruptedBuildError, StoreError
from fabricsim.memory import Allowance, allowance
from fabricsim.native import POLL_S, bad_input, native
from fabricsim.results import Result, frames_of
from fabricsim.shown import notebook_bar
from fabricsim.spec import Experiment, as_experiment
from fabricsim.store import Reservation, read_folder, rescue
from fabricsim.team import Team, refuse_of_several

if TYPE_CHECKING:
    from fabricsim.native_types import NativeControl, NativeOutcome

CAPTURE_FILE = "capture.pcapng"
"""Name of a capture's file in a run folder, where the experiment gives none."""


@dataclass(frozen=True)
class Progress:
    """Progress of a run."""

    simulated_s: float
    total_s: float
    packet_hops: int
    phase: str
    """`building: ...`, warm-up, measurement, drain or done."""
    wall_s: float

    @property
    def is_building(self) -> bool:
        """True before the simulation starts."""
        return self.phase == "start" or self.phase.startswith("building")

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
        """Wall time left at the speed so far; None while unknown."""
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
    memory: str | int | Allowance | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] | None = None,
    checkpoint: str | None = None,
    resume: str | Path | None = None,
    team: Team | None = None,
) -> Result:
    """Runs an experiment.

    Ctrl-C ends the run early; what was measured until then is returned with status "interrupted". A second one, or the
    first while the network is built, raises KeyboardInterrupt.

    A run that runs out of memory ends early as well; `manifest["stopped"]` then has the reason.

    Args:
        experiment: an experiment file, or an `Experiment`.
        set: values to replace, by key: `{"traffic.0.load": 0.4}`.
        out: write a run folder there.
        force: replace a run folder that exists.
        memory: most memory of the process, such as "16 GiB"; by default what the machine has.
        on_progress: called about ten times a second. In a notebook, without it, a bar shows the progress.
        stop: called about ten times a second; the run is interrupted when it returns True.
        checkpoint: simulated time between two checkpoints, such as "10 us": the state of the run goes to a file beside
            the run folder, `out.checkpoint`, from which it continues after its process was killed.
        resume: the checkpoint from which the run continues, with the same experiment. The results are those of a run
            from the start. By default `out` is the folder beside it, and checkpoints are written at its interval.
        team: processes that advance the run together (`fabricsim.team.team()`). Each calls this, and has the
            results; the first one writes the folder.

    Raises:
        InputError: the experiment is wrong or does not fit into memory, or the folder exists, is in use, or cannot be
            written (before the run starts); or the run has no checkpoints, or this is not one of this run.
        StoreError: the checkpoint to resume from is damaged.
        InterruptedBuildError: `stop` returned True while the network was built.
        NotStoredError: the folder could not be written after the run; the results went to another one.
    """
    experiment = as_experiment(experiment, set)
    allowed = allowance(memory)
    if team is not None:
        refuse_of_several(experiment, checkpoint if resume is None else resume)
        out = out if team.rank == 0 else None
    out = folder_of(resume) if out is None and resume is not None else out
    reservation = None if out is None else Reservation(out, force=force)
    try:
        checkpoints = _checkpoints(out, checkpoint, resume, force=force)
        file = None if reservation is None else _capture_file(experiment)
        into = None if reservation is None or file is None else reservation.staging / file
        with bad_input(), _progress(experiment.name, on_progress) as shown:
            watch = Watch(experiment, allowed, shown, stop, capture=into, checkpoints=checkpoints, team=team)
            outcome = watch.outcome()
        result = result_of(experiment, outcome, watch.wall_s, watch.stopped)
        if file is not None and (report := outcome.capture()) is not None:
            result.manifest["capture"] = {"file": file, **json.loads(report)}
        result = result if reservation is None else stored(result, reservation)
        if checkpoints is not None and outcome.status != "interrupted":
            checkpoints.remove()
        return result
    finally:
        if reservation is not None:
            reservation.discard()


def _checkpoints(
    out: str | Path | None, checkpoint: str | None, resume: str | Path | None, *, force: bool
) -> Checkpoints | None:
    """The checkpoints of a run, if it has any."""
    if checkpoint is None and resume is None:
        return None
    every = None
    if checkpoint is not None:
        try:
            every = native().parse_time(checkpoint)
        except native().NativeError as error:
            raise InputError(f"checkpoint: {error}") from None
        if every == 0:
            raise InputError(f"checkpoint = {checkpoint}: must be more than 0 s")
    if out is None:
        raise InputError("checkpoint: the file is beside the run folder: give `out`")
    if resume is not None:
        return Checkpoints.resumed(Path(resume), out, every)
    assert every is not None
    if not force:
        require_none(out)
    return Checkpoints(out, every, cores.available())


@contextmanager
def _progress(
    name: str, given: Callable[[Progress], None] | None
) -> Iterator[Callable[[Progress], None] | None]:
    """The caller's function; in a notebook, without one, a bar."""
    with notebook_bar(name, wanted=given is None) as bar:
        if bar is None:
            yield given
            return

        def show(progress: Progress) -> None:
            left = progress.remaining_s
            bar.show(progress.fraction, progress.phase + ("" if left is None else f", {left:.0f} s left"))

        yield show


def load(folder: str | Path) -> Result:
    """The results in a run folder. Needs no compiled module.

    Raises:
        InputError: it is not a run folder.
        StoreError: a table in it cannot be read.
    """
    manifest, frames = read_folder(folder)
    if manifest.get("kind") != "run":
        raise InputError(f"{folder}: this is a folder of kind {manifest.get('kind')!r}, not of one run")
    return Result(manifest, frames, Path(folder))


def _capture_file(experiment: Experiment) -> str | None:
    """Name of the file of the experiment's capture; None without one."""
    capture = experiment.written().get("capture")
    if not isinstance(capture, Mapping):
        return None
    file = capture.get("file", CAPTURE_FILE)
    # The engine refuses other names before it writes anything.
    return file if isinstance(file, str) and Path(file).name == file else CAPTURE_FILE


@dataclass(frozen=True)
class Simulated:
    """A run of which only the capture is kept."""

    status: str
    was_stopped: bool
    """True if the caller interrupted it, or its memory ran out."""
    capture: dict[str, Any] | None
    """Report of the capture."""


def simulate(
    experiment: Experiment,
    memory: str | int | Allowance | None,
    on_progress: Callable[[Progress], None] | None,
    stop: Callable[[], bool] | None,
    *,
    capture: Path,
    only: bool,
) -> Simulated:
    """Runs an experiment for its capture. `only`: the run ends with it."""
    watch = Watch(experiment, allowance(memory), on_progress, stop, capture=capture, only=only)
    with bad_input():
        outcome = watch.outcome()
    report = outcome.capture()
    return Simulated(outcome.status, watch.was_cancelled, None if report is None else json.loads(report))


class Watch:
    """Builds and runs a simulation in a thread while this one reports progress and checks for a stop."""

    def __init__(
        self,
        experiment: Experiment,
        allowed: Allowance,
        on_progress: Callable[[Progress], None] | None,
        stop: Callable[[], bool] | None,
        *,
        capture: Path | None = None,
        only: bool = False,
        checkpoints: Checkpoints | None = None,
        team: Team | None = None,
    ) -> None:
        self._experiment = experiment
        self._checkpoints = checkpoints
        self._team = team
        self._capture = capture
        self._only = only
        self._allowed = allowed
        self._on_progress = on_progress
        self._stop = stop
        self._control: NativeControl = native().Control()
        self._started = time.monotonic()
        self._begun = self._started
        self._ended = self._started
        self._outcome: NativeOutcome | None = None
        self._error: BaseException | None = None
        # Thread.join after an interrupted Thread.join returns at once in Python 3.11, hence the event.
        self._done = threading.Event()
        self.stopped: str | None = None
        """Reason why the run ended early, if not stopped by the caller."""
        self.was_cancelled = False
        """True if the run was stopped, by the caller or for that reason."""

    @property
    def wall_s(self) -> float:
        """Seconds of wall time that the simulation took once its network was built, in all processes."""
        before = 0.0 if self._checkpoints is None else self._checkpoints.wall_s
        return before + self._ended - self._begun

    def _simulate(self) -> NativeOutcome:
        """Builds the simulation and runs it to its end; in a thread."""
        arguments = self._experiment.arguments()
        if self._team is not None:
            return self._team.simulate(arguments, self._control, self._allowed.estimate, self._start_clock)
        if self._checkpoints is not None:
            return self._checkpoints.simulate(
                arguments, self._control, self._allowed.estimate, self._start_clock
            )
        simulation = native().Simulation(*arguments, self._control, self._allowed.estimate)
        self._start_clock()
        capture = None if self._capture is None else str(self._capture)
        return simulation.run(capture, self._only, cores.available())

    def _start_clock(self) -> None:
        self._begun = time.monotonic()

    def _work(self) -> None:
        try:
            self._outcome = self._simulate()
        except BaseException as error:  # handed to the thread that waits
            self._error = error
        finally:
            self._ended = time.monotonic()
            self._done.set()

    def outcome(self) -> NativeOutcome:
        try:  # Ctrl-C may come while the thread starts
            threading.Thread(target=self._work, name="fabricsim", daemon=True).start()
            self._watch()
        except KeyboardInterrupt:
            self._cancel()
            if self._progress().is_building:
                raise
            self._done.wait()
        except BaseException:
            self._cancel()
            raise
        if isinstance(self._error, native().CancelledError):
            raise InterruptedBuildError("interrupted while the network was built: there are no results")
        if self._error is not None:
            raise self._error
        assert self._outcome is not None
        return self._outcome

    def _cancel(self) -> None:
        self.was_cancelled = True
        self._control.cancel()

    def _progress(self) -> Progress:
        return Progress(**json.loads(self._control.progress()), wall_s=time.monotonic() - self._started)

    def _watch(self) -> None:
        while not self._done.wait(POLL_S):
            progress = self._progress()
            if self._on_progress is not None:
                self._on_progress(progress)
            if self.stopped is None and (reason := self._allowed.exceeded()) is not None:
                self.stopped = reason
                self._cancel()
                if progress.is_building:
                    raise InputError(f"{self._experiment.file}: {reason}")
            if self._stop is not None and self._stop():
                self._cancel()
                if progress.is_building:  # a step of it may take minutes: it ends in the background
                    raise InterruptedBuildError(
                        f"interrupted while the network was built ({progress.phase}): there are no results"
                    )
        if self._on_progress is not None:
            self._on_progress(self._progress())


def result_of(
    experiment: Experiment,
    outcome: NativeOutcome,
    wall_s: float,
    stopped: str | None,
    only: Collection[str] | None = None,
) -> Result:
    """The results of an outcome of the engine. `stopped`: the reason of an interruption, if not by the caller.

    `only`: names of the tables that are read; by default all.
    """
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
        "scaling": json.loads(outcome.scaling()),
        "file": experiment.file,
        "overrides": [list(pair) for pair in experiment.overrides],
        "summary": summary,
        "experiment": experiment.text,
    }
    if stopped is not None and outcome.status == "interrupted":
        manifest["stopped"] = stopped
    return Result(manifest, frames_of(outcome, only))


def stored(result: Result, reservation: Reservation) -> Result:
    """The results with their folder, which is written now.

    Raises:
        NotStoredError: it cannot be written; the results went to another one.
    """
    try:
        folder = reservation.commit(result.manifest, result.frames)
    except StoreError as error:
        elsewhere = rescue(result.manifest, result.frames)
        saved = Result(result.manifest, result.frames, elsewhere)
        raise NotStoredError(f"{error}; the results of this run are in {elsewhere}", saved) from error
    return Result(result.manifest, result.frames, folder)
