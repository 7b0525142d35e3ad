"""Values of options that need no validator.

typer builds one of pydantic for every option, also for those that are not given, which takes a tenth of a second. Here
those that are absent, texts, paths and defaults are passed on without one; all others are typer's. Numbers
and choices that it refuses have one message: the option, the value, and the values that are allowed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer

from fabricsim.errors import InputError

_CHECKED = ("exists", "resolve_path", "writable", "path_type", "parser")
"""Settings with which typer does more than to pass a text or a path on."""


def spare_validators(options: list[Any]) -> None:
    """Passes plain values of options on without typer's conversion."""
    for option in options:
        if "process_value" not in vars(option):
            vars(option)["process_value"] = _Processing(option)


class _Processing:
    """What an option does with a value of the command line, or with its default."""

    def __init__(self, option: Any) -> None:
        self._option = option
        self._original = option.process_value

    def __call__(self, ctx: Any, value: Any) -> Any:
        option = self._option
        if option.required and not value:
            return self._original(ctx, value)
        if value is None:
            plain: Any = () if getattr(option, "multiple", False) or option.nargs == -1 else None
        elif value is option.default and isinstance(value, bool | int | float | str):
            plain = value
        elif (kind := _kind(option)) in (str, Path) and isinstance(value, str):
            plain = kind(value)
        elif (
            kind == list[str]
            and isinstance(value, tuple | list)
            and all(isinstance(one, str) for one in value)
        ):
            plain = [*value]
        elif kind in (int, float):
            return self._number(ctx, value, "whole number" if kind is int else "number")
        elif get_origin(kind) is Literal:
            return self._choice(ctx, value, [str(one) for one in get_args(kind)])
        else:
            return self._original(ctx, value)
        return plain if option.callback is None else option.callback(ctx, option, plain)

    def _number(self, ctx: Any, value: Any, what: str) -> Any:
        """Returns the number that typer reads.

        Raises:
            InputError: it is none, or is out of range.
        """
        try:
            return self._original(ctx, value)
        except typer.BadParameter as error:
            name = max(self._option.opts, key=len)
            settings = self._option.type_descriptor.parameter_info
            allowed = f"{what}{_range(settings.min, settings.max)}"
            raise InputError(f"{name} {value or repr(value)}: must be a {allowed}") from error

    def _choice(self, ctx: Any, value: Any, allowed: list[str]) -> Any:
        """Returns the choice that typer reads.

        Raises:
            InputError: it is none of those that are allowed.
        """
        try:
            return self._original(ctx, value)
        except typer.BadParameter as error:
            name = max(self._option.opts, key=len)
            *most, last = allowed
            listed = f"{', '.join(most)} or {last}" if most else last
            raise InputError(f"{name} {value or repr(value)}: must be {listed}") from error


def _range(least: float | None, most: float | None) -> str:
    if least is None:
        return "" if most is None else f" of at most {most:,}"
    return f" of at least {least:,}" if most is None else f" from {least:,} to {most:,}"


def _kind(option: Any) -> Any:
    """Type of the option's values; None if it is not known, or if typer checks more than the type."""
    descriptor = getattr(option, "type_descriptor", None)
    settings = getattr(descriptor, "parameter_info", None)
    if settings is None or any(getattr(settings, name, None) for name in _CHECKED):
        return None
    return getattr(descriptor, "annotation", None)
