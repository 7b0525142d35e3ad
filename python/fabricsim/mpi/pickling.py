"""Objects as bytes."""

from __future__ import annotations

import operator
import pickle as python_pickle
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from copy import copy
from typing import Any

from fabricsim.mpi.memory import Memory, buffer

THRESHOLD = 1 << 18
IRECV_BYTES = 32768
"""Bytes of the buffer of `irecv` if none is given, as of mpi4py."""


class Pickle:
    """Conversion of objects to bytes and back. The defaults are those of Python's pickle."""

    def __init__(
        self,
        dumps: Callable[..., bytes] | None = None,
        loads: Callable[..., Any] | None = None,
        protocol: int | None = None,
        threshold: int | None = None,
    ) -> None:
        self._dumps = dumps or python_pickle.dumps
        self._loads = loads or python_pickle.loads
        self.PROTOCOL = protocol
        self._threshold = THRESHOLD if threshold is None else threshold

    @property
    def PROTOCOL(self) -> int | None:
        """Version of pickle's protocol."""
        return self._protocol

    @PROTOCOL.setter
    def PROTOCOL(self, value: int | None) -> None:
        if value is None and self._dumps is python_pickle.dumps:
            value = python_pickle.HIGHEST_PROTOCOL
        self._protocol = value

    @property
    def THRESHOLD(self) -> int:
        """Bytes from which `dumps_oob` leaves a buffer out of the bytes of an object."""
        return self._threshold

    @THRESHOLD.setter
    def THRESHOLD(self, value: int) -> None:
        self._threshold = value

    def dumps(self, obj: Any) -> bytes:
        """Bytes of an object."""
        return self._dumps(obj) if self._protocol is None else self._dumps(obj, self._protocol)

    def loads(self, data: Any) -> Any:
        """The object of bytes."""
        return self._loads(data)

    def dumps_oob(self, obj: Any) -> tuple[bytes, list[buffer]]:
        """Bytes of an object, and buffers of its large arrays."""
        buffers: list[buffer] = []

        def keep(one: Any) -> bool:
            memory = Memory.of(one)
            if memory.nbytes < self.THRESHOLD:
                return True
            buffers.append(buffer._of(memory))
            return False

        data = self._dumps(obj, max(self._protocol or 5, 5), buffer_callback=keep)
        return data, buffers

    def loads_oob(self, data: Any, buffers: Iterable[Any]) -> Any:
        """The object of bytes and buffers."""
        return self._loads(data, buffers=buffers)


_USUAL = Pickle()
_of_rank: ContextVar[Pickle] = ContextVar("fabricsim_mpi_pickle", default=_USUAL)


class RankPickle(Pickle):
    """Conversion of the running rank: what a rank sets does not change that of others, which are other processes."""

    def __init__(self, *settings: Any, **named: Any) -> None:
        """Arguments are those of `Pickle`."""
        _of_rank.set(Pickle(*settings, **named))

    @property
    def PROTOCOL(self) -> int | None:
        """Version of pickle's protocol."""
        return _of_rank.get().PROTOCOL

    @PROTOCOL.setter
    def PROTOCOL(self, value: int | None) -> None:
        own = copy(_of_rank.get())
        own.PROTOCOL = value
        _of_rank.set(own)

    @property
    def THRESHOLD(self) -> int:
        """Bytes from which `dumps_oob` leaves a buffer out of the bytes of an object."""
        return _of_rank.get().THRESHOLD

    @THRESHOLD.setter
    def THRESHOLD(self, value: int) -> None:
        own = copy(_of_rank.get())
        own.THRESHOLD = value
        _of_rank.set(own)

    def dumps(self, obj: Any) -> bytes:
        """Bytes of an object."""
        return _of_rank.get().dumps(obj)

    def loads(self, data: Any) -> Any:
        """The object of bytes."""
        return _of_rank.get().loads(data)

    def dumps_oob(self, obj: Any) -> tuple[bytes, list[buffer]]:
        """Bytes of an object, and buffers of its large arrays."""
        return _of_rank.get().dumps_oob(obj)

    def loads_oob(self, data: Any, buffers: Iterable[Any]) -> Any:
        """The object of bytes and buffers."""
        return _of_rank.get().loads_oob(data, buffers)


pickle = RankPickle.__new__(RankPickle)
"""Conversion that all calls with objects use."""


def buffer_of_object(buf: Any) -> Any:
    """The buffer of a received object: one of the usual size, one of a given size, or that of the program."""
    try:
        return bytearray(IRECV_BYTES if buf is None else operator.index(buf))
    except TypeError:
        # Arrays have `__index__` as well, and raise TypeError unless they are one whole number.
        return buf
