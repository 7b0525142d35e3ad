"""A run of programs, and its results."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from fabricsim.captures import written
from fabricsim.errors import InputError
from fabricsim.lazy import pandas as pd
from fabricsim.memory import Allowance, allowance
from fabricsim.native import bad_input, native, waited
from fabricsim.native_types import NativePrograms
from fabricsim.programs.context import ProgramContext, picoseconds
from fabricsim.programs.functions import check_program
from fabricsim.programs.notes import Note
from fabricsim.programs.scheduler import Scheduler
from fabricsim.results import Result
from fabricsim.run import result_of
from fabricsim.spec import Experiment, as_experiment

C = TypeVar("C", bound=ProgramContext)


@dataclass(frozen=True)
class ProgramsRun:
    """What a run of programs left."""

    end_ns: float
    """Simulated time at which the last program ended, in nanoseconds."""
    values: dict[str, Any]
    """What the programs returned, by name."""
    result: Result = field(repr=False)
    """Summary and tables of the run, as of `fabricsim.run`."""
    capture: Mapping[str, Any] | None = field(default=None, repr=False)
    """What the capture file has, as `fabricsim.Capture.report`; None without a capture."""
    notes: tuple[Note, ...] = field(default=(), repr=False)
    """What the programs have said of themselves (`ProgramContext.note`), in the order of time."""

    @property
    def queue_pairs(self) -> pd.DataFrame:
        """A row for each queue pair that a program created: host, peer, number, counters."""
        return self.result.table("verbs_queue_pairs")

    @property
    def links(self) -> pd.DataFrame:
        """A row for each direction and virtual lane of each link."""
        return self.result.links


def run_programs(
    experiment: str | Path | Experiment,
    programs: Mapping[str, Callable[[C], Any] | Sequence[Callable[[C], Any]]],
    context: Callable[[Scheduler, int, str], C],
    *,
    set: Mapping[str, Any] | None,
    memory: str | int | Allowance | None,
    polling_limit: str | float,
    capture: str | Path | None = None,
) -> ProgramsRun:
    """Runs programs, by host, each with a context that `context` makes of its scheduler, its number and its host."""
    of = as_experiment(experiment, set)
    if capture is not None and "capture" not in of.written():
        of = of.with_values({"capture.links": ["*"]})
    names, hosts, functions = _flat(programs)
    patience = picoseconds("polling_limit", polling_limit)
    file = nullcontext() if capture is None else written(Path(capture), force=False)
    with file as place:
        run = _prepare(of, hosts, patience, allowance(memory), place)
        begun = time.monotonic()
        scheduler = Scheduler(run, names)
        contexts = [context(scheduler, number, host) for number, host in enumerate(hosts)]

        def bound(number: int) -> Callable[[], Any]:
            return lambda: functions[number](contexts[number])

        scheduler.run([bound(number) for number in range(len(functions))])
        end_ns = run.now() / 1000
        with bad_input():
            outcome = run.result()
    result = result_of(of, outcome, time.monotonic() - begun, None)
    report = outcome.capture()
    captured = None if report is None else json.loads(report)
    values = dict(zip(names, scheduler.values, strict=True))
    notes = sorted((note for one in contexts for note in one.notes), key=lambda note: note.time_ns)
    return ProgramsRun(end_ns, values, result, captured, tuple(notes))


def _prepare(
    of: Experiment, hosts: list[str], patience: int, allowed: Allowance, capture: Path | None
) -> NativePrograms:
    arguments, control = of.arguments(), native().Control()
    file = None if capture is None else str(capture)
    with bad_input():
        return waited(lambda: native().Programs(arguments, hosts, patience, control, allowed.estimate, file))


def _flat(
    programs: Mapping[str, Callable[[C], Any] | Sequence[Callable[[C], Any]]],
) -> tuple[list[str], list[str], list[Callable[[C], Any]]]:
    """Names, hosts and functions of the programs. Several of a host are `H0.0`, `H0.1`, ..."""
    names, hosts, functions = [], [], []
    for host, given in programs.items():
        several = list(given) if isinstance(given, Sequence) else [given]
        for number, function in enumerate(several):
            check_program(f"programs[{host!r}]", function)
            names.append(f"{host}.{number}" if isinstance(given, Sequence) else host)
            hosts.append(host)
            functions.append(function)
    if not functions:
        raise InputError("programs: give a function for at least one host")
    return names, hosts, functions
