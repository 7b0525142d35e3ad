"""Error types. Every message is complete and needs no traceback."""

from __future__ import annotations


class FabricsimError(Exception):
    """A failure. `exit_code` is the exit code of the command line."""

    exit_code = 1


class InputError(FabricsimError, ValueError):
    """Invalid input: an experiment, an option, a folder."""

    exit_code = 2


class StoreError(FabricsimError):
    """Results could not be written or read."""


class NativeMissingError(FabricsimError):
    """The compiled part of the package is missing."""


class InterruptedBuildError(FabricsimError):
    """A run was stopped before it had results."""

    exit_code = 130
