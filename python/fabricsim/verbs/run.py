"""A run of programs that use verbs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fabricsim.memory import Allowance
from fabricsim.perftest import FABRIC
from fabricsim.programs import ProgramsRun, run_programs
from fabricsim.spec import Experiment
from fabricsim.verbs.context import Context

Program = Callable[[Context], Any]
"""A program: a function of its context. What it returns is in the results."""


def run(
    experiment: str | Path | Experiment | None,
    programs: Mapping[str, Program | Sequence[Program]],
    *,
    set: Mapping[str, Any] | None = None,
    memory: str | int | Allowance | None = None,
    polling_limit: str | float = "100 ms",
    capture: str | Path | None = None,
) -> ProgramsRun:
    """Runs programs on hosts of a simulated fabric until all have ended.

    A program is an ordinary function. Its calls take simulated time and suspend it while it waits; between them no time
    passes. The same programs give the same results in each run, for each number of `run.partitions`.

    Args:
        experiment: an experiment; None: two ConnectX-3 FDR adapters, `H0` and `H1`, at a switch. Other hosts may have
            traffic. The run ends at the latest with `run.warmup` and `run.duration`.
        programs: a function by name of its host, or several, which use the same adapter.
        set: values of the experiment to replace, by key.
        memory: most memory of the process, such as "16 GiB"; by default what the machine has.
        polling_limit: simulated time for which programs may poll in vain while nothing is in progress.
        capture: a pcapng file for Wireshark that is written: what crosses the links that the experiment's `[capture]`
            names, by default all. It must not exist.

    Raises:
        InputError: the experiment is wrong, a host is unknown or has traffic of its own.
        ProgramError: a program raised an exception.
        ProgramsBlockedError: no program can go on, or the run's time is over before they have ended.
    """
    of = replace(Experiment.from_text(FABRIC), file="verbs.toml") if experiment is None else experiment
    return run_programs(
        of, programs, Context, set=set, memory=memory, polling_limit=polling_limit, capture=capture
    )
