"""Runs of programs of verbs among the runs of a figure: those with keys `verbs.OPTION` in their `set`."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fabricsim.crossings import frame_of, read_packets
from fabricsim.lazy import pandas as pd
from fabricsim.reproduce.programs import ProgramOptions
from fabricsim.reproduce.quantities import HOOKS_OF_VERBS
from fabricsim.results import Result
from fabricsim.spec import Experiment
from fabricsim.verbs.run import run

OPTIONS = ProgramOptions("verbs", "a run of programs of verbs", HOOKS_OF_VERBS)
CROSSINGS = "crossings"
"""Table of the packets on all links, as `fabricsim.crossings.frame_of` has it."""
NOTES = "notes"
"""Table of what the programs have said of themselves."""


def run_verbs(folder: Path, experiment: Experiment, options: Mapping[str, Any]) -> Result:
    """A run with the tables `crossings`, `notes`, and those of the fabric.

    Args:
        folder: that of the programs' file.
        experiment: the fabric.
        options: `program`, "FILE:FUNCTION"; all others are arguments of the function, which returns the programs by
            host.

    Raises:
        InputError: there is no such function, it refuses its arguments, or the experiment is wrong.
    """
    given = {key: value for key, value in options.items() if key != "program"}
    function = OPTIONS.function(folder, options)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "links.pcapng"
        done = run(experiment, function(**given), capture=place)
        packets = read_packets(place)
    frames = {**done.result.frames, CROSSINGS: frame_of(packets)}
    frames[NOTES] = pd.DataFrame([asdict(note) for note in done.notes], columns=["time_ns", "host", "text"])
    return Result(done.result.manifest, frames)
