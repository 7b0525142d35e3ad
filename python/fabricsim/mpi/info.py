"""`MPI.Info` and `MPI.Errhandler`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabricsim.mpi import constants
from fabricsim.mpi.errors import Exception
from fabricsim.mpi.handles import Handle, Null, Referent


class _Items(Referent):
    __slots__ = ("items",)

    def __init__(self, items: dict[str, str]) -> None:
        self.items = items


class Info(Handle):
    """Texts by key."""

    NULL = Null("MPI_INFO_NULL")

    @classmethod
    def Create(cls, items: Any = None) -> Any:
        """New texts."""
        return cls._of(_Items({str(key): str(value) for key, value in dict(items or {}).items()}))

    @classmethod
    def Create_env(cls, args: Any = None) -> Any:
        """Texts on how the program was started: none."""
        return cls.Create()

    def _items(self) -> dict[str, str]:
        if self._ref is self.NULL:
            raise Exception(constants.ERRORS["ERR_INFO"], "the info is MPI.INFO_NULL")
        found: dict[str, str] = self._ref.items
        return found

    def Free(self) -> None:
        """Forgets the texts."""
        self._items()
        super().Free()

    def Dup(self) -> Any:
        """The same texts."""
        return type(self).Create(self._items())

    def Get(self, key: str) -> str | None:
        """Text of a key, or None."""
        return self._items().get(key)

    def Set(self, key: str, value: str) -> None:
        """Sets the text of a key."""
        self._items()[key] = value

    def Delete(self, key: str) -> None:
        """Deletes a key."""
        if self._items().pop(key, None) is None:
            raise Exception(constants.ERR_INFO_NOKEY, f"Info.Delete: there is no key {key!r}")

    def Get_nkeys(self) -> int:
        """Number of keys."""
        return len(self._items())

    def Get_nthkey(self, n: int) -> str:
        """A key by number."""
        keys = list(self._items())
        if not 0 <= n < len(keys):
            raise Exception(constants.ERR_ARG, f"n = {n}: there are {len(keys)} keys")
        return keys[n]

    def __len__(self) -> int:
        return len(self._items()) if self else 0

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._items()) if self else [])

    def __contains__(self, key: str) -> bool:
        return bool(self) and key in self._items()

    def __getitem__(self, key: str) -> str:
        return self._or_none()[key]

    def __setitem__(self, key: str, value: str) -> None:
        if not self:
            raise KeyError(key)
        self.Set(key, value)

    def __delitem__(self, key: str) -> None:
        del self._or_none()[key]

    def get(self, key: str, default: Any = None) -> Any:
        """Text of a key."""
        return self._items().get(key, default) if self else default

    def keys(self) -> list[str]:
        """The keys."""
        return list(self)

    def values(self) -> list[str]:
        """The texts."""
        return [text for _, text in self.items()]

    def update(self, items: Any = (), **texts: str) -> None:
        """Sets texts of several keys."""
        if not self:
            raise KeyError
        for key, value in dict(items, **texts).items():
            self[key] = value

    def pop(self, key: str, *default: Any) -> Any:
        """Deletes a key and returns its text, or the default if there is no such key."""
        return self._or_none().pop(key, *default)

    def popitem(self) -> tuple[str, str]:
        """Deletes the last key, and returns it with its text."""
        return self._or_none().popitem()

    def copy(self) -> Any:
        """The same texts."""
        return self.Dup() if self else type(self)()

    def clear(self) -> None:
        """Deletes all keys."""
        self._or_none().clear()

    def _or_none(self) -> dict[str, str]:
        return self._items() if self else {}

    def __reduce__(self) -> Any:
        if id(self._ref) in Handle._constants:
            return super().__reduce__()
        return type(self).Create, (dict(self.items()),)

    def items(self) -> list[tuple[str, str]]:
        """Keys and texts."""
        return list(self._items().items()) if self else []


INFO_NULL = Info._constant(Info.NULL, "INFO_NULL")
INFO_ENV = Info._constant(_Items({}), "INFO_ENV")


class Errhandler(Handle):
    """What happens after an error. Here every error is an exception."""

    NULL = Null("MPI_ERRHANDLER_NULL")


ERRHANDLER_NULL = Errhandler._constant(Errhandler.NULL, "ERRHANDLER_NULL")
ERRORS_RETURN = Errhandler._constant(Null("MPI_ERRORS_RETURN"), "ERRORS_RETURN")
ERRORS_ABORT = Errhandler._constant(Null("MPI_ERRORS_ABORT"), "ERRORS_ABORT")
ERRORS_ARE_FATAL = Errhandler._constant(Null("MPI_ERRORS_ARE_FATAL"), "ERRORS_ARE_FATAL")
