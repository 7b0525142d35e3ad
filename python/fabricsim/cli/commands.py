"""Groups of commands: a command's module is imported when the command is used, and help texts have words, not types."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.main import get_command, get_group

from fabricsim.cli.values import spare_validators

BLAS_THREADS = "OPENBLAS_NUM_THREADS"
"""Number of numpy's threads for linear algebra. The commands have none, and the threads take as long to start as numpy
itself.
"""
WITH_PROGRAMS = ("mpi",)
"""Commands that run programs of the user, which may have linear algebra."""


@dataclass(frozen=True)
class Later:
    """A command that is imported when it is used: all of them together take most of a second."""

    name: str
    module: str
    """In `fabricsim.cli`. The function, or the group, is named as the command, with `_` for `-`."""
    help: str
    """First paragraph of its docstring, for the list of commands."""

    def load(self) -> Any:
        """The command itself."""
        module = importlib.import_module(f"fabricsim.cli.{self.module}")
        attribute = self.name.replace("-", "_")
        found = getattr(module, attribute, None) or getattr(module, f"{attribute}_")
        if isinstance(found, typer.Typer):
            command: Any = get_group(found)
        else:
            alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
            alone.command(self.name)(found)
            command = get_command(alone)
        command.name = self.name
        return command


class Commands(TyperGroup):
    """Commands whose help has words in the place of Python's types: `--jobs N`, not `--jobs <int range>`."""

    later: ClassVar[Mapping[str, Later]] = {}
    """Commands that are imported when they are used, by name. Until then the list of commands has their help."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        listed = {name: TyperCommand(name, help=later.help) for name, later in self.later.items()}
        self.commands = {**listed, **self.commands}
        self._loaded: set[str] = set()

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of the help text."""
        return list(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called."""
        name = args[0] if args else ""
        if name in self.later and name not in self._loaded:
            if name not in WITH_PROGRAMS:
                os.environ.setdefault(BLAS_THREADS, "1")
            self.commands[name] = self.later[name].load()
            self._loaded.add(name)
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by name."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            options = [*command.params, command.get_help_option(ctx)]
            spare_validators(options)
            _in_words(options, ctx)
        return command

    def get_params(self, ctx: Any) -> list[Any]:
        """Options of the group itself."""
        options = super().get_params(ctx)
        spare_validators(options)
        _in_words(options, ctx)
        return options


_WORDS = {"path": "FILE", "int": "N", "float": "NUMBER", "str": "TEXT"}
"""Words for values of options, by the beginning of their types' names."""


def _in_words(options: list[Any], ctx: Any) -> None:
    """Flags have no value in help texts, others a word, and arguments, which have a name, no type beside it."""
    for option in options:
        if isinstance(option, TyperArgument):
            if option.metavar is not None:
                vars(option)["display_type_rich"] = _no_type
        elif getattr(option, "is_flag", False):
            option.metavar = option.metavar or ""
        elif option.metavar is None:
            shown = str(option.display_type(ctx)).strip("<>").removeprefix("list[").lower()
            option.metavar = next((word for kind, word in _WORDS.items() if shown.startswith(kind)), None)


def _no_type(ctx: Any) -> None:
    """No type."""
