"""Errors of verbs, with pyverbs' names."""

from __future__ import annotations

import errno
import os

from fabricsim.errors import FabricsimError


class PyverbsError(FabricsimError):
    """A call of verbs failed."""


class PyverbsUserError(PyverbsError):
    """An argument is of a wrong kind, or an object was closed."""


class PyverbsRDMAError(PyverbsError):
    """The adapter refused a call. It has changed nothing."""

    def __init__(self, msg: str, error_code: int) -> None:
        name = errno.errorcode.get(error_code, str(error_code))
        super().__init__(f"{msg} [{name}: {os.strerror(error_code)}]")
        self.message = msg
        """The adapter's sentence: the call, what is wrong, and what is allowed."""
        self.error_code = error_code
        """Number of the error, as in `errno`."""

    @property
    def errno(self) -> int:
        """Number of the error: `errno.EINVAL`, ..."""
        return self.error_code


PyverbsRDMAErrno = PyverbsRDMAError
