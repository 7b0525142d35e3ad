"""Runs of programs of verbs among the runs of a figure: those with keys `verbs.OPTION` in their `set`."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fabricsim.crossings import frame_of, read_packets
from fabricsim.errors import InputError
from fabricsim.lazy import pandas as pd
from fabricsim.reproduce.quantities import load_hooks
from fabricsim.results import Result
from fabricsim.spec import Experiment
from fabricsim.verbs.run import run

PREFIX = "verbs."
CROSSINGS = "crossings"
"""Table of the packets on all links, as `fabricsim.crossings.frame_of` has it."""
NOTES = "notes"
"""Table of what the programs have said of themselves."""


def split(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of an experiment, and the options of a run of programs.

    Raises:
        InputError: there are options and no `verbs.program`.
    """
    settings = {key: value for key, value in values.items() if not key.startswith(PREFIX)}
    options = {key.removeprefix(PREFIX): value for key, value in values.items() if key.startswith(PREFIX)}
    if options and "program" not in options:
        raise InputError('a run of programs of verbs needs `verbs.program = "FILE:FUNCTION"`')
    return settings, options


def program_file(values: Mapping[str, Any]) -> str | None:
    """Name of the file with the programs of a run."""
    program = values.get(PREFIX + "program")
    return None if program is None else str(program).partition(":")[0]


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
    file, _, name = str(options["program"]).partition(":")
    function = load_hooks(folder, file).get(name)
    if function is None:
        raise InputError(f"verbs.program = {options['program']!r}: {folder / file} has no function {name!r}")
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "links.pcapng"
        done = run(experiment, function(**given), capture=place)
        packets = read_packets(place)
    frames = {**done.result.frames, CROSSINGS: frame_of(packets)}
    frames[NOTES] = pd.DataFrame([asdict(note) for note in done.notes], columns=["time_ns", "host", "text"])
    return Result(done.result.manifest, frames)
