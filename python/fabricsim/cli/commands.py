"""Help of commands: flags without a type."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class Commands(TyperGroup):
    """Commands in whose help a flag has no type: `--json`, not `--json <bool>`."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by name."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            for option in [*command.params, command.get_help_option(ctx)]:
                if getattr(option, "is_flag", False) and getattr(option, "metavar", "") is None:
                    option.metavar = ""  # type: ignore[union-attr]
        return command
