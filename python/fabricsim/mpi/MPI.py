"""mpi4py's module of this name, of simulated ranks: `from fabricsim.mpi import MPI`.

Names, arguments and errors are those of mpi4py 4.1. Time is simulated: `Wtime` is the time of the rank.
"""

from __future__ import annotations

import threading as _threading
from typing import Any

from fabricsim.mpi import absent as _absent
from fabricsim.mpi import attached as _attached
from fabricsim.mpi import constants as _constants
from fabricsim.mpi import errors as _errors
from fabricsim.mpi import ops as _ops
from fabricsim.mpi import predefined as _predefined
from fabricsim.mpi.comm import COMM_NULL, COMM_SELF, COMM_WORLD, Comm, Intercomm, Intracomm
from fabricsim.mpi.constants import *  # noqa: F403
from fabricsim.mpi.datatype import Datatype
from fabricsim.mpi.errors import Exception
from fabricsim.mpi.group import GROUP_EMPTY, GROUP_NULL, Group
from fabricsim.mpi.info import (
    ERRHANDLER_NULL,
    ERRORS_ABORT,
    ERRORS_ARE_FATAL,
    ERRORS_RETURN,
    INFO_ENV,
    INFO_NULL,
    Errhandler,
    Info,
)
from fabricsim.mpi.memory import Memory as _Memory
from fabricsim.mpi.memory import buffer
from fabricsim.mpi.message import MESSAGE_NO_PROC, MESSAGE_NULL, Message
from fabricsim.mpi.ops import Op
from fabricsim.mpi.pickling import Pickle, pickle
from fabricsim.mpi.process import current as _current
from fabricsim.mpi.request import REQUEST_NULL, Grequest, Prequest, Request
from fabricsim.mpi.status import Status
from fabricsim.mpi.topology import Cartcomm, Distgraphcomm, Graphcomm, Topocomm, compute_dims
from fabricsim.mpi.window import WIN_NULL, Win

memory = buffer

globals().update(_constants.ERRORS)
globals().update({f"COMBINER_{name}": number for number, name in enumerate(_constants.COMBINERS)})
globals().update(_predefined.PREDEFINED)
globals().update(_ops.PREDEFINED)

for _class in (
    *(
        Comm,
        Intracomm,
        Intercomm,
        Topocomm,
        Cartcomm,
        Graphcomm,
        Distgraphcomm,
        Group,
        Request,
        Prequest,
        Grequest,
    ),
    *(Message, Status, Datatype, Op, Info, Errhandler, Exception, Pickle, buffer, Win),
    *(_constants.BottomType, _constants.InPlaceType, _constants.BufferAutomaticType, _constants.WeightsType),
):
    _class.__module__ = __name__


def Init() -> None:
    """Does nothing: MPI is initialized when the program starts."""


def Init_thread(required: int = _constants.THREAD_MULTIPLE) -> int:
    """Does nothing. Programs have one thread."""
    return _constants.THREAD_FUNNELED


def Finalize() -> None:
    """Completes what is in progress. No call after it is allowed."""
    process = _current()
    if not process.is_finalized:
        process.is_finalized = True
        process.endpoint.close("Finalize()")


def Is_initialized() -> bool:
    """True."""
    return True


def Is_finalized() -> bool:
    """True after `Finalize`."""
    return _current().is_finalized


def Query_thread() -> int:
    """THREAD_FUNNELED."""
    return _constants.THREAD_FUNNELED


def Is_thread_main() -> bool:
    """True in the main thread."""
    return _threading.current_thread() is _threading.main_thread()


def Wtime() -> float:
    """Simulated time of the rank in seconds."""
    return _current().endpoint.now() / 1e12


def Wtick() -> float:
    """Resolution of `Wtime` in seconds: a picosecond."""
    return 1e-12


def Get_version() -> tuple[int, int]:
    """Version of the standard."""
    return _constants.VERSION, _constants.SUBVERSION


def Get_library_version() -> str:
    """Name and version of the simulator."""
    return "Fabricsim 0.1.0"


def get_vendor() -> tuple[str, tuple[int, int, int]]:
    """Name and version of the simulator."""
    return "Fabricsim", (0, 1, 0)


def Get_processor_name() -> str:
    """Name of the host."""
    return _current().host()


def Get_address(location: Any) -> int:
    """Address of an object's memory; 0 of `BOTTOM` and None."""
    if location is None or location is _constants.BOTTOM:
        return 0
    return _Memory.of(location).address


def Aint_add(base: int, disp: int) -> int:
    """Sum of an address and a distance."""
    return base + disp


def Aint_diff(addr1: int, addr2: int) -> int:
    """Distance of addresses."""
    return addr1 - addr2


def Alloc_mem(size: int, info: Info = INFO_NULL) -> buffer:
    """New memory."""
    return buffer.allocate(size)


def Free_mem(mem: buffer) -> None:
    """Forgets memory."""
    mem.release()


def Attach_buffer(buf: Any) -> None:
    """Attaches memory of buffered sends."""
    _attached.attach(_current(), "bsend_space", buf)


def Detach_buffer() -> Any:
    """Waits for the buffered sends, and returns the memory."""
    return _attached.detach(_current(), "bsend_space")


def Flush_buffer() -> None:
    """Waits for the buffered sends."""
    _attached.flush(_current(), "bsend_space")


def Iflush_buffer() -> Request:
    """Starts waiting for the buffered sends."""
    return _attached.iflush(_current(), "bsend_space")


def Compute_dims(nnodes: int, dims: Any) -> list[int]:
    """Lengths of a grid that are as equal as possible."""
    return compute_dims(nnodes, dims)


def Get_error_class(errorcode: int) -> int:
    """Class of a code."""
    return _errors.Exception(errorcode).Get_error_class()


def Get_error_string(errorcode: int) -> str:
    """Text of a code."""
    return _errors.error_string(errorcode)


def Pcontrol(level: int) -> None:
    """Does nothing."""


def _comm_lock_table(comm: Comm) -> dict[str, Any]:
    """Names of the collectives of objects that a communicator has used, as of mpi4py."""
    return comm._data().locks


def __getattr__(name: str) -> Any:
    if name in _absent.OF_MODULE:
        raise _absent.AbsentError(name)
    raise AttributeError(f"module 'MPI' has no attribute {name!r}")
