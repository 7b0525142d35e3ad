"""`MPI.Status`."""

from __future__ import annotations

from array import array
from typing import Any

from fabricsim.mpi import constants
from fabricsim.mpi.arguments import require_kind
from fabricsim.mpi.datatype import Datatype, lookup
from fabricsim.mpi.predefined import BYTE


def check_status(status: Any) -> None:
    """Raises ERR_ARG for what a call cannot fill."""
    require_kind(status, Status, "status")


class Status:
    """Source, tag, error and length of a message."""

    def __init__(self, status: Status | None = None) -> None:
        if status is not None and not isinstance(status, Status):
            raise TypeError(f"Status(): {status!r} is no Status")
        self._fields = array("i", [constants.ANY_SOURCE, constants.ANY_TAG, constants.SUCCESS])
        self._nbytes = 0
        self._cancelled = False
        if status is not None:
            self.__setstate__(status.__getstate__())

    def _set(self, source: int, tag: int, error: int, nbytes: int, cancelled: bool) -> None:
        fields = self._fields
        fields[0], fields[1], fields[2] = source, tag, error
        self._nbytes, self._cancelled = nbytes, cancelled

    def _clear(self) -> None:
        self._set(constants.ANY_SOURCE, constants.ANY_TAG, constants.SUCCESS, 0, False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Status):
            return NotImplemented
        return self.__getstate__() == other.__getstate__()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Status, (), self.__getstate__()

    def __getstate__(self) -> dict[str, int]:
        return {
            **dict(zip(("source", "tag", "error"), self._fields, strict=True)),
            "count": self._nbytes,
            "cancelled": self._cancelled,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        values = [state[key] for key in ("source", "tag", "error", "count", "cancelled")]
        self._set(*values)

    def Get_source(self) -> int:
        """Rank of the sender."""
        return self._fields[0]

    def Set_source(self, source: int) -> None:
        """Sets the sender."""
        self._fields[0] = source

    def Get_tag(self) -> int:
        """Tag."""
        return self._fields[1]

    def Set_tag(self, tag: int) -> None:
        """Sets the tag."""
        self._fields[1] = tag

    def Get_error(self) -> int:
        """Error code."""
        return self._fields[2]

    def Set_error(self, error: int) -> None:
        """Sets the error code."""
        self._fields[2] = error

    source = property(Get_source, Set_source)
    tag = property(Get_tag, Set_tag)
    error = property(Get_error, Set_error)

    def Get_count(self, datatype: Any = BYTE) -> int:
        """Whole elements of a type that were received; UNDEFINED if the last one is not whole."""
        size = _of(datatype).size
        if size == 0:
            return 0
        return int(self._nbytes // size) if self._nbytes % size == 0 else constants.UNDEFINED

    def Get_elements(self, datatype: Any) -> int:
        """Basic elements of a type that were received."""
        found = _of(datatype).elements(self._nbytes)
        return constants.UNDEFINED if found is None else found

    def Set_elements(self, datatype: Any, count: int) -> None:
        """Sets the number of basic elements."""
        layout = _of(datatype)
        number = sum(many for _, many in layout.units) or 1
        self._nbytes = layout.size * count // number

    @property
    def count(self) -> int:
        """Bytes."""
        return self.Get_count()

    @count.setter
    def count(self, value: int) -> None:
        self._nbytes = value

    def Is_cancelled(self) -> bool:
        """True if the operation was cancelled."""
        return self._cancelled

    def Set_cancelled(self, flag: bool) -> None:
        """Sets whether the operation was cancelled."""
        self._cancelled = bool(flag)

    cancelled = property(Is_cancelled, Set_cancelled)

    def tomemory(self) -> memoryview:
        """Source, tag and error as memory."""
        return memoryview(self._fields)

    def py2f(self) -> list[int]:
        """The fields as numbers."""
        return [*self._fields, self._nbytes, int(self._cancelled)]

    @classmethod
    def f2py(cls, arg: list[int]) -> Status:
        """A status of the numbers of `py2f`."""
        made = cls()
        made._set(arg[0], arg[1], arg[2], arg[3], bool(arg[4]))
        return made


def _of(datatype: Any) -> Any:
    return (datatype if isinstance(datatype, Datatype) else lookup(datatype))._layout()
