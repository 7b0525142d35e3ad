"""Options of runs that execute programs: keys `PREFIX.OPTION` in the `set` of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabricsim.errors import InputError
from fabricsim.reproduce.quantities import load_hooks


@dataclass(frozen=True)
class ProgramOptions:
    """Options of one kind of such runs."""

    prefix: str
    """`ranks` or `verbs`."""
    what: str
    """A run of this kind, in messages."""
    hooks: str
    """File with the functions of its quantities, beside the experiments."""

    def split(self, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The settings of an experiment, and the options of the programs.

        Raises:
            InputError: there are options and no program.
        """
        start = f"{self.prefix}."
        settings = {key: value for key, value in values.items() if not key.startswith(start)}
        options = {key.removeprefix(start): value for key, value in values.items() if key.startswith(start)}
        if options and "program" not in options:
            raise InputError(f'{self.what} needs `{self.prefix}.program = "FILE:FUNCTION"`')
        return settings, options

    def file(self, values: Mapping[str, Any]) -> str | None:
        """Name of the file with the program of a run."""
        program = values.get(f"{self.prefix}.program")
        return None if program is None else str(program).partition(":")[0]

    def function(self, folder: Path, options: Mapping[str, Any]) -> Callable[..., Any]:
        """The function that the options name, of a file in a folder.

        Raises:
            InputError: there is no such function.
        """
        program = str(options["program"])
        file, _, name = program.partition(":")
        found = load_hooks(folder, file).get(name)
        if found is None:
            raise InputError(f"{self.prefix}.program = {program!r}: {folder / file} has no function {name!r}")
        return found
