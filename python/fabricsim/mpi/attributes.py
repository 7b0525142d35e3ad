"""Attributes: values that programs attach to communicators and datatypes by key."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fabricsim.mpi import constants
from fabricsim.mpi.arguments import require_whole
from fabricsim.mpi.errors import Exception

FIRST_KEY = 100


@dataclass
class _Key:
    copy: Any
    delete: Any
    nopython: bool
    is_freed: bool = False


_keys: dict[int, _Key] = {}
_numbers = itertools.count(FIRST_KEY)


class Attributes:
    """Mixed into handles whose object has `attributes`, a dictionary."""

    _data: Callable[[], Any]

    def Get_attr(self, keyval: int) -> Any:
        """The attribute, or None."""
        return self._data().attributes.get(keyval)

    def Set_attr(self, keyval: int, attrval: Any) -> None:
        """Sets an attribute; deletes the old one first."""
        self._check_key(keyval)
        self._delete(keyval)
        self._data().attributes[keyval] = attrval

    def Delete_attr(self, keyval: int) -> None:
        """Deletes an attribute."""
        self._check_key(keyval)
        self._delete(keyval)

    def _delete(self, keyval: int) -> None:
        attributes = self._data().attributes
        if keyval in attributes:
            callback = _keys[keyval].delete
            if callback is not None:
                callback(self, keyval, attributes[keyval])
            del attributes[keyval]

    @staticmethod
    def _check_key(keyval: int) -> None:
        require_whole(keyval, "keyval", constants.ERR_KEYVAL)
        if keyval not in _keys or _keys[keyval].is_freed:
            raise Exception(constants.ERR_KEYVAL, f"keyval = {keyval}: must be one of Create_keyval")

    def _copied_attributes(self) -> dict[int, Any]:
        """Attributes of a duplicate."""
        copied = {}
        for key, value in self._data().attributes.items():
            callback = _keys[key].copy if key in _keys else None
            if callback is True:
                copied[key] = value
            elif callable(callback):
                made = callback(self, key, value)
                if made is not NotImplemented:
                    copied[key] = made
        return copied

    def _delete_attributes(self) -> None:
        for key in reversed(list(self._data().attributes)):
            if key in _keys:
                self._delete(key)

    @classmethod
    def Create_keyval(cls, copy_fn: Any = None, delete_fn: Any = None, nopython: bool = False) -> int:
        """A new key. `copy_fn` makes the attribute of a duplicate; True copies it."""
        number = next(_numbers)
        _keys[number] = _Key(copy_fn, delete_fn, nopython)
        return number

    @classmethod
    def Free_keyval(cls, keyval: int) -> int:
        """Frees a key. Attributes that have it stay."""
        cls._check_key(keyval)
        _keys[keyval].is_freed = True
        return constants.KEYVAL_INVALID
