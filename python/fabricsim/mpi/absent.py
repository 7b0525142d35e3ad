"""Calls that are not simulated: they are there, and say so by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

OF_COMM = (
    *("Psend_init", "Precv_init"),
    *("Join", "Revoke", "Get_failed", "Ack_failed", "Agree", "Iagree", "Shrink", "Ishrink"),
)
OF_INTRACOMM = ("Create_intercomm", "Spawn", "Spawn_multiple", "Accept", "Connect")
OF_INTERCOMM = ("Get_remote_group", "Get_remote_size", "Merge")


def add(kind: type, names: tuple[str, ...]) -> None:
    """Gives a class of MPI calls that raise `NotImplementedError`."""
    for name in names:
        setattr(kind, name, _call(f"{kind.__name__}.{name}"))


def _call(name: str) -> Callable[..., NoReturn]:
    def call(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"MPI.{name} is not simulated: see the list in docs/guide/mpi.md")

    return call
