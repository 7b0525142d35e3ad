"""`MPI.Op`: operations of reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fabricsim.lazy import numpy as np
from fabricsim.mpi import constants
from fabricsim.mpi.errors import Exception
from fabricsim.mpi.handles import Handle, Null, Referent
from fabricsim.mpi.layout import Layout

MOST_USER_OPS = 32
"""Most operations that a rank may have created at a time, as of mpi4py."""


class Operator(Referent):
    """An operation: on Python objects, and on arrays (a, b) whose result goes to b."""

    __slots__ = ("commutes", "function", "is_user", "kinds", "name", "objects")

    def __init__(
        self,
        name: str,
        objects: Callable[[Any, Any], Any] | None,
        function: Callable[..., Any],
        kinds: str = "",
        commutes: bool = True,
        is_user: bool = False,
    ) -> None:
        self.name, self.objects, self.function = name, objects, function
        self.kinds, self.commutes, self.is_user = kinds, commutes, is_user

    def check(self, layout: Layout) -> None:
        """Raises ERR_OP if the operation is not defined for a type."""
        if self.is_user:
            return
        kind = "" if layout.basic is None else ("p" if layout.basic.names else layout.basic.kind)
        if not kind or kind not in self.kinds:
            raise Exception(
                constants.ERR_OP, f"MPI.{self.name} is not defined for {layout.name or 'a derived datatype'}"
            )

    def apply(self, a: memoryview, b: memoryview, layout: Layout, count: int) -> None:
        """Sets b to a op b, both `count` elements in the layout of their type."""
        if self.is_user:
            from fabricsim.mpi.datatype import _handle_of  # noqa: PLC0415 - types know no operations
            from fabricsim.mpi.memory import buffer  # noqa: PLC0415

            self.function(buffer.frombuffer(a, readonly=True), buffer.frombuffer(b), _handle_of(layout))
        elif count and layout.size:
            with np.errstate(all="ignore"):
                self.function(_elements(a, layout, count), _elements(b, layout, count))


def _elements(memory: memoryview, layout: Layout, count: int) -> Any:
    return np.ndarray((count,), layout.basic, memory, strides=(layout.extent,))


def _into(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], None]:
    def apply(a: Any, b: Any) -> None:
        b[...] = function(a, b)

    return apply


def _located(better: Callable[[Any, Any], Any]) -> Callable[[Any, Any], None]:
    """MINLOC and MAXLOC: of equal values the smaller index."""

    def apply(a: Any, b: Any) -> None:
        value, other = a["value"], b["value"]
        takes = better(value, other) | ((value == other) & (a["index"] < b["index"]))
        b[takes] = a[takes]

    return apply


def _location(better: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def choose(x: Any, y: Any) -> Any:
        (u, i), (v, j) = x, y
        if better(u, v):
            return u, i
        if better(v, u) or j < i:
            return v, j
        return u, i

    return choose


_INTEGERS, _NUMBERS = "bui", "buifc"
_PREDEFINED = [
    Operator("MAX", lambda x, y: y if y > x else x, _into(np.maximum), "uif"),
    Operator("MIN", lambda x, y: y if y < x else x, _into(np.minimum), "uif"),
    Operator("SUM", lambda x, y: x + y, _into(np.add), _NUMBERS),
    Operator("PROD", lambda x, y: x * y, _into(np.multiply), _NUMBERS),
    Operator("LAND", lambda x, y: bool(x) & bool(y), _into(np.logical_and), "buif"),
    Operator("BAND", lambda x, y: x & y, _into(np.bitwise_and), _INTEGERS),
    Operator("LOR", lambda x, y: bool(x) | bool(y), _into(np.logical_or), "buif"),
    Operator("BOR", lambda x, y: x | y, _into(np.bitwise_or), _INTEGERS),
    Operator("LXOR", lambda x, y: bool(x) ^ bool(y), _into(np.logical_xor), "buif"),
    Operator("BXOR", lambda x, y: x ^ y, _into(np.bitwise_xor), _INTEGERS),
    Operator("MAXLOC", _location(lambda x, y: x > y), _located(np.greater), "p"),
    Operator("MINLOC", _location(lambda x, y: x < y), _located(np.less), "p"),
    Operator("REPLACE", lambda x, y: y, _into(lambda a, b: a), _NUMBERS + "p", commutes=False),
    Operator("NO_OP", lambda x, y: x, lambda a, b: None, _NUMBERS + "p", commutes=False),
]


class Op(Handle):
    """An operation."""

    NULL = Null("MPI_OP_NULL")
    _function: Any = None
    """The function of an operation that this handle, or the one it is a copy of, created."""

    def _copy(self, other: Any) -> None:
        self._function = other._function

    def _operator(self) -> Operator:
        if self._ref is self.NULL:
            raise Exception(constants.ERR_OP, "the operation is MPI.OP_NULL")
        found: Operator = self._ref
        return found

    def __call__(self, x: Any, y: Any, /) -> Any:
        """Returns x op y, of Python objects."""
        if self._ref is self.NULL:
            raise ValueError("cannot call a null operation")
        if self._ref.is_user:
            return self._ref.function(x, y, None)
        return self._ref.objects(x, y)

    @classmethod
    def Create(cls, function: Callable[..., Any], commute: bool = False) -> Any:
        """An operation of a function of two buffers, which changes the second, and of a datatype."""
        from fabricsim.mpi.process import current_or_none  # noqa: PLC0415 - operations exist outside a run

        process = current_or_none()
        if process is not None:
            if process.user_ops >= MOST_USER_OPS:
                raise RuntimeError("cannot create too many user-defined reduction operations")
            process.user_ops += 1
        made = cls._of(Operator("a user's operation", None, function, commutes=commute, is_user=True))
        made._function = function
        return made

    def Free(self) -> None:
        """Frees a created operation."""
        from fabricsim.mpi.process import current_or_none  # noqa: PLC0415

        if not self._operator().is_user:
            raise Exception(constants.ERR_OP, f"MPI.{self._ref.name} is predefined and cannot be freed")
        process = current_or_none()
        if process is not None:
            process.user_ops -= 1
        self._ref = self.NULL
        self._function = None

    def Is_commutative(self) -> bool:
        """True if the order of operands does not matter."""
        return self._operator().commutes

    is_commutative = property(Is_commutative)
    is_predefined = property(lambda self: self._ref is self.NULL or not self._ref.is_user)

    def Reduce_local(self, inbuf: Any, inoutbuf: Any) -> None:
        """Sets `inoutbuf` to `inbuf` op `inoutbuf`."""
        from fabricsim.mpi.buffers import check_pair, simple  # noqa: PLC0415

        target, source = simple(inoutbuf, writable=True), simple(inbuf)
        check_pair(source, target)
        self._operator().check(target.layout)
        self._ref.apply(source.raw(False), target.raw(True), target.layout, target.count)

    def __reduce__(self) -> Any:
        if self._ref is not self.NULL and self._ref.is_user:
            if self._function is None:
                raise ValueError("cannot pickle user-defined reduction operation")
            return type(self).Create, (self._function, self._ref.commutes)
        return super().__reduce__()


OP_NULL = Op._constant(Op.NULL, "OP_NULL")
PREDEFINED: dict[str, Op] = {"OP_NULL": OP_NULL}
"""Predefined operations by name."""
PREDEFINED.update({one.name: Op._constant(one, one.name) for one in _PREDEFINED})
SUM = PREDEFINED["SUM"]
