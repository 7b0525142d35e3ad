"""Programs that run on simulated hosts: Python functions, suspended while they wait, in one thread, one at a time.

This package knows when a program runs, and nothing of what it calls: `fabricsim.verbs` is one set of calls.
"""

from fabricsim.programs.context import ProgramContext
from fabricsim.programs.errors import ProgramError, ProgramsBlockedError
from fabricsim.programs.notes import Note
from fabricsim.programs.run import ProgramsRun, run_programs
from fabricsim.programs.scheduler import Scheduler, Thing

__all__ = [
    "Note",
    "ProgramContext",
    "ProgramError",
    "ProgramsBlockedError",
    "ProgramsRun",
    "Scheduler",
    "Thing",
    "run_programs",
]
