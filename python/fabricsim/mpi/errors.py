"""Errors of MPI calls, and of runs."""

from __future__ import annotations

import builtins

from fabricsim.errors import FabricsimError
from fabricsim.mpi import constants

_TEXTS = {
    "BUFFER": "invalid buffer",
    "COUNT": "invalid count",
    "TYPE": "invalid datatype",
    "TAG": "invalid tag",
    "COMM": "invalid communicator",
    "RANK": "invalid rank",
    "REQUEST": "invalid request",
    "ROOT": "invalid root",
    "GROUP": "invalid group",
    "OP": "invalid reduce operation",
    "TOPOLOGY": "invalid topology",
    "DIMS": "invalid dimensions",
    "ARG": "invalid argument",
    "TRUNCATE": "message truncated",
    "IN_STATUS": "the error code is in the status",
    "KEYVAL": "invalid key value",
    "INFO_NOKEY": "no such info key",
}
_user_strings: dict[int, str] = {}
_user_classes: dict[int, int] = {}
"""Class of each code that a program added."""


def error_class_name(code: int) -> str:
    """Name of the class of a code: MPI_ERR_TRUNCATE."""
    if code == constants.SUCCESS:
        return "MPI_SUCCESS"
    if 0 < code <= len(constants.ERROR_CLASSES):
        return f"MPI_ERR_{constants.ERROR_CLASSES[code - 1]}"
    return "MPI_ERR_UNKNOWN"


class Exception(RuntimeError):  # noqa: N818 - mpi4py's name
    """An MPI call failed. `error_code` is a class such as `MPI.ERR_TRUNCATE`."""

    def __init__(self, ierr: int = constants.SUCCESS, detail: str = "") -> None:
        super().__init__(ierr, detail)
        self.ob_ierr = ierr
        self._detail = detail

    def __repr__(self) -> str:
        return f"MPI.Exception({self.ob_ierr})"

    def __str__(self) -> str:
        return f"{error_class_name(self.error_class)}: {self.error_string}"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Exception):
            return self.ob_ierr == other.ob_ierr
        return self.ob_ierr == other if isinstance(other, int) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.ob_ierr)

    def __bool__(self) -> bool:
        return self.ob_ierr != constants.SUCCESS

    def __int__(self) -> int:
        return self.ob_ierr

    def Get_error_code(self) -> int:
        """The code."""
        return self.ob_ierr

    def Get_error_class(self) -> int:
        """The class of the code."""
        return _user_classes.get(self.ob_ierr, self.ob_ierr)

    def Get_error_string(self) -> str:
        """A sentence."""
        return self._detail or error_string(self.ob_ierr)

    error_code = property(Get_error_code)
    error_class = property(Get_error_class)
    error_string = property(Get_error_string)


def error_string(code: int) -> str:
    """Text of a code."""
    if code in _user_strings:
        return _user_strings[code]
    if code == constants.SUCCESS:
        return "no errors"
    name = error_class_name(code)
    return _TEXTS.get(name.removeprefix("MPI_ERR_"), name)


class DeadlockError(FabricsimError):
    """No rank can go on. The message names the call and the line in which each rank waits."""

    exit_code = 3

    def __init__(self, message: str, waits: dict[str, str], cycle: list[int]) -> None:
        super().__init__(message)
        self.waits = waits
        """Call and place of each rank that has not ended, by its name: "rank 3"."""
        self.cycle = cycle
        """Ranks that wait for each other: each for the next one, the last for the first. Empty if there are none."""


class UnfinishedError(FabricsimError):
    """The run ended before its ranks: its time, `run.warmup` and `run.duration`, is over, or it was stopped."""

    def __init__(self, message: str, waits: dict[str, str]) -> None:
        super().__init__(message)
        self.waits = waits
        """Call and place of each rank that has not ended, by its name: "rank 3"."""


class RankError(FabricsimError):
    """A rank raised an exception, which is the `__cause__`. The run has ended."""

    def __init__(self, message: str, rank: int) -> None:
        super().__init__(message)
        self.rank = rank
        """The rank."""


class Abort(builtins.BaseException):
    """A rank called `Abort`, or ended with `sys.exit` and a code that is not 0."""

    def __init__(self, code: int, rank: int) -> None:
        super().__init__(code, rank)
        self.code, self.rank = code, rank
