"""Handles: Python objects that refer to an object of MPI, which others may refer to as well."""

from __future__ import annotations

import itertools
import weakref
from typing import Any, ClassVar

_numbers = itertools.count(1 << 10)
_by_number: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


class Referent:
    """An object of MPI. It has a number, once a program has requested one."""

    __slots__ = ("__weakref__", "_number")

    def identity(self) -> int:
        """The number, which is the same at each call."""
        if not hasattr(self, "_number"):
            self._number: int = next(_numbers)
            _by_number[self._number] = self
        return self._number


class Null(Referent):
    """The object of handles that refer to none."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Handle:
    """A handle. Two are equal if they refer to the same object."""

    NULL: ClassVar[Any]
    """Object of a handle that refers to none."""
    _constants: ClassVar[dict[int, tuple[Any, str]]] = {}
    """Handles that are constants of the module, with their names, by the identity of the object."""
    _ref: Any

    def __new__(cls, other: Any = None) -> Any:
        made = object.__new__(cls)
        if other is None:
            made._ref = cls.NULL
            return made
        if not isinstance(other, Handle) or other.NULL is not cls.NULL:
            raise TypeError(f"{cls.__name__}(): {other!r} is no {cls.__name__}")
        made._ref = other._ref
        made._copy(other)
        return made

    def _copy(self, other: Any) -> None:
        """Copies what the handle itself has."""

    @classmethod
    def _of(cls, ref: Any) -> Any:
        made = object.__new__(cls)
        made._ref = ref
        return made

    @classmethod
    def _constant(cls, ref: Any, name: str) -> Any:
        made = cls._of(ref)
        Handle._constants[id(ref)] = (made, name)
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Handle) or other.NULL is not self.NULL:
            return NotImplemented
        return self._ref is other._ref

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        return id(self._ref)

    def __bool__(self) -> bool:
        return self._ref is not self.NULL

    def __reduce__(self) -> Any:
        found = Handle._constants.get(id(self._ref))
        if found is None:
            raise ValueError(f"cannot pickle {type(self).__name__}: it is no predefined one")
        return found[1] if found[0] is self else (type(self), (found[0],))

    def __repr__(self) -> str:
        found = Handle._constants.get(id(self._ref))
        return f"<MPI.{type(self).__name__} {found[1] if found else ''}>".replace(" >", ">")

    @property
    def handle(self) -> int:
        """Number of the object."""
        number: int = self._ref.identity()
        return number

    @classmethod
    def fromhandle(cls, handle: int) -> Any:
        """A handle of the object with a number.

        Raises:
            ValueError: there is none.
        """
        ref = _by_number.get(handle)
        if ref is None:
            raise ValueError(f"{cls.__name__}: there is no object with the handle {handle}")
        return cls._class_of(ref)._of(ref)

    @classmethod
    def _class_of(cls, ref: Any) -> Any:
        return cls

    def toint(self) -> int:
        """Number of the object."""
        return self.handle

    @classmethod
    def fromint(cls, arg: int, /) -> Any:
        """A handle of the object with a number."""
        return cls.fromhandle(arg)

    def py2f(self) -> int:
        """Number of the object."""
        return self.handle

    @classmethod
    def f2py(cls, arg: int) -> Any:
        """A handle of the object with a number."""
        return cls.fromhandle(arg)

    def free(self) -> None:
        """Frees the object, unless it is predefined or none."""
        if self and id(self._ref) not in Handle._constants:
            self.Free()

    def Free(self) -> None:
        """Frees the object."""
        self._ref = self.NULL
