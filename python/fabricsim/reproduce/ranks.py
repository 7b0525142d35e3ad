"""Runs of rank programs among the runs of a figure: those with keys `ranks.OPTION` in their `set`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fabricsim.lazy import pandas as pd
from fabricsim.mpi.networks.fabric import FabricNetwork
from fabricsim.mpi.run import run
from fabricsim.reproduce.programs import ProgramOptions
from fabricsim.reproduce.quantities import HOOKS_OF_RANKS
from fabricsim.results import Result
from fabricsim.spec import Experiment

OPTIONS = ProgramOptions("ranks", "a run of ranks", HOOKS_OF_RANKS)
RETURNED = "returned"
"""Table of what the ranks returned, with the column `rank`."""
POSTED = "posted"
"""Table of the operations of verbs, with `ranks.log = true`."""


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
    function = OPTIONS.function(folder, options)
    network = FabricNetwork(experiment, log=bool(options.get("log", False)))
    done = run(lambda: function(**given), options.get("count", 2), network)
    frames: dict[str, pd.DataFrame] = {**done.result.frames, "calls": done.calls}
    returned = [value.assign(rank=rank) for rank, value in enumerate(done.values) if value is not None]
    if returned:
        frames[RETURNED] = pd.concat(returned, ignore_index=True)
    if options.get("log"):
        frames[POSTED] = pd.DataFrame(network.log())
    return Result(done.result.manifest, frames)
