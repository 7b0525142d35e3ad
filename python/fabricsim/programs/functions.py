"""What a program may be."""

from __future__ import annotations

import inspect

from fabricsim.errors import InputError


def check_program(argument: str, program: object) -> None:
    """Checks that a program is an ordinary function: a call of a generator or of a coroutine executes nothing.

    Raises:
        InputError: it is none.
    """
    if not callable(program):
        raise InputError(f"{argument}: {program!r} is not a function")
    for what, is_one in (
        ("a generator", inspect.isgeneratorfunction(program) or inspect.isasyncgenfunction(program)),
        ("a coroutine", inspect.iscoroutinefunction(program)),
    ):
        if is_one:
            name = getattr(program, "__name__", repr(program))
            raise InputError(
                f"{argument}: {name} makes {what}: a program is an ordinary function, whose calls wait by themselves"
            )
