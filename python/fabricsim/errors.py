"""What can go wrong, as types. Every message is complete: it needs no traceback to act on."""

from __future__ import annotations


class FabricsimError(Exception):
    """Something failed. `exit_code` is what the command line returns for it."""

    exit_code = 1


class InputError(FabricsimError, ValueError):
    """What the user gave cannot be used: an experiment, an option, a folder."""

    exit_code = 2


class StoreError(FabricsimError):
    """Results could not be written or read."""


class NativeMissingError(FabricsimError):
    """The compiled part of the package is not there."""


class InterruptedBuildError(FabricsimError):
    """A run was stopped before it had results."""

    exit_code = 130
