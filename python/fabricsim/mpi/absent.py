"""Calls that are not simulated: they are there, and say so by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

OF_COMM = (
    *("Psend_init", "Precv_init", "Create_errhandler", "Is_revoked"),
    *("Join", "Revoke", "Get_failed", "Ack_failed", "Agree", "Iagree", "Shrink", "Ishrink"),
)
OF_INTRACOMM = ("Create_intercomm", "Spawn", "Spawn_multiple", "Accept", "Connect")
OF_INTERCOMM = ("Get_remote_group", "Get_remote_size", "Merge")

OF_DATATYPE = (
    *("Create_f90_integer", "Create_f90_real", "Create_f90_complex", "Get_value_index"),
    *("Pack_external", "Unpack_external", "Pack_external_size"),
)
OF_MODULE = (
    *("File", "FILE_NULL", "Session", "SESSION_NULL", "Register_datarep"),
    *("Open_port", "Close_port", "Publish_name", "Unpublish_name", "Lookup_name"),
    *("Add_error_class", "Add_error_code", "Add_error_string", "Get_hw_resource_info"),
    *("Remove_error_class", "Remove_error_code", "Remove_error_string"),
)


class AbsentError(NotImplementedError, AttributeError):
    """A name of mpi4py's module that is not simulated. `hasattr(MPI, name)` is false."""

    def __init__(self, name: str) -> None:
        super().__init__(f"MPI.{name} is not simulated: see the list in docs/guide/mpi.md")


def add(kind: type, names: tuple[str, ...]) -> None:
    """Gives a class of MPI calls that raise `NotImplementedError`."""
    for name in names:
        setattr(kind, name, _call(f"{kind.__name__}.{name}"))


def _call(name: str) -> Callable[..., NoReturn]:
    def call(*args: Any, **kwargs: Any) -> NoReturn:
        raise AbsentError(name)

    return call
