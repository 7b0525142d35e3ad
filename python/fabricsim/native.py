"""Access to the compiled module. It is loaded on first use, so that reading results works without it."""

from __future__ import annotations

import importlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from fabricsim.errors import InputError, NativeMissingError
from fabricsim.native_types import Native

T = TypeVar("T")

POLL_S = 0.1
"""Seconds between two checks for a signal."""


def native() -> Native:
    """The module `fabricsim._native`."""
    try:
        return cast("Native", importlib.import_module("fabricsim._native"))
    except ModuleNotFoundError as error:
        raise NativeMissingError(
            "the compiled part of fabricsim is missing: in a checkout run `make run` once, "
            "else install the package again with pip"
        ) from error


def waited(work: Callable[[], T]) -> T:
    """Returns or raises what `work` does. It runs in a thread, so that this one notices Ctrl-C meanwhile."""
    results: list[T] = []
    errors: list[BaseException] = []

    def do() -> None:
        try:
            results.append(work())
        except BaseException as error:  # raised again by the thread that waits
            errors.append(error)

    thread = threading.Thread(target=do, name="fabricsim", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(POLL_S)
    for error in errors:
        raise error
    return results[0]


@contextmanager
def bad_input() -> Iterator[None]:
    """Turns errors that the engine reports about its input into `InputError`."""
    error_type = native().NativeError
    try:
        yield
    except error_type as error:
        raise InputError(str(error)) from error


def version() -> str:
    """Version of the engine."""
    return native().version()


def schema() -> dict[str, Any]:
    """The JSON Schema of an experiment file."""
    return cast("dict[str, Any]", json.loads(native().schema()))
