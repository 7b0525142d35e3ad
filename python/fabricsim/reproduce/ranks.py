"""Runs of rank programs among the runs of a figure: those with keys `ranks.OPTION` in their `set`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fabricsim.errors import InputError
from fabricsim.lazy import pandas as pd
from fabricsim.mpi.networks.fabric import FabricNetwork
from fabricsim.mpi.run import run
from fabricsim.reproduce.quantities import load_hooks
from fabricsim.results import Result
from fabricsim.spec import Experiment

PREFIX = "ranks."
RETURNED = "returned"
"""Table of what the ranks returned, with the column `rank`."""
POSTED = "posted"
"""Table of the operations of verbs, with `ranks.log = true`."""


def split(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of an experiment, and the options of a run of ranks.

    Raises:
        InputError: there are options and no `ranks.program`.
    """
    settings = {key: value for key, value in values.items() if not key.startswith(PREFIX)}
    options = {key.removeprefix(PREFIX): value for key, value in values.items() if key.startswith(PREFIX)}
    if options and "program" not in options:
        raise InputError('a run of ranks needs `ranks.program = "FILE:FUNCTION"`')
    return settings, options


def program_file(values: Mapping[str, Any]) -> str | None:
    """Name of the file with the program of a run of ranks."""
    program = values.get(PREFIX + "program")
    return None if program is None else str(program).partition(":")[0]


def run_ranks(folder: Path, experiment: Experiment, options: Mapping[str, Any]) -> Result:
    """A run with the tables `returned`, `posted`, `calls`, and those of the fabric.

    Args:
        folder: that of the program's file.
        experiment: the fabric.
        options: `program`, "FILE:FUNCTION"; `count`, the number of ranks, by default 2; `log`, true for the table
            `posted`; all others are arguments of the function. It returns a frame, or nothing.

    Raises:
        InputError: there is no such program, it refuses its arguments, or the experiment is wrong.
    """
    given = {key: value for key, value in options.items() if key not in ("program", "count", "log")}
    file, _, name = str(options["program"]).partition(":")
    function = load_hooks(folder, file).get(name)
    if function is None:
        raise InputError(f"ranks.program = {options['program']!r}: {folder / file} has no function {name!r}")
    network = FabricNetwork(experiment, log=bool(options.get("log", False)))
    done = run(lambda: function(**given), options.get("count", 2), network)
    frames: dict[str, pd.DataFrame] = {**done.result.frames, "calls": done.calls}
    returned = [value.assign(rank=rank) for rank, value in enumerate(done.values) if value is not None]
    if returned:
        frames[RETURNED] = pd.concat(returned, ignore_index=True)
    if options.get("log"):
        frames[POSTED] = pd.DataFrame(network.log())
    return Result(done.result.manifest, frames)
