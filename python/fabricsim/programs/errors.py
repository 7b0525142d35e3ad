"""Errors of programs."""

from __future__ import annotations

from fabricsim.errors import FabricsimError


class ProgramError(FabricsimError):
    """A program raised an exception, which is the `__cause__`. The run has ended."""

    def __init__(self, message: str, program: str) -> None:
        super().__init__(message)
        self.program = program
        """Name of the program."""


class ProgramsBlockedError(FabricsimError):
    """No program can go on, or the run's time is over before they have ended."""

    def __init__(self, message: str, waits: dict[str, str], ended: str | None = None) -> None:
        super().__init__(message)
        self.waits = waits
        """The call in which each program waits, and its place in the source, by name of the program."""
        self.ended = ended
        """Reason why the run ended before its programs: its time is over, or it was stopped. None if no program can
        go on."""
