"""Numbers of MPI. Those that the standard leaves open are Open MPI's, if it has them."""

from __future__ import annotations

from fabricsim.mpi.endpoint import ANY

ANY_SOURCE = ANY
ANY_TAG = ANY
PROC_NULL = -2
ROOT = -4
UNDEFINED = -32766
KEYVAL_INVALID = -1
TAG_UB_VALUE = 2**31 - 1

TAG_UB, HOST, IO, WTIME_IS_GLOBAL, APPNUM, LASTUSEDCODE, UNIVERSE_SIZE = range(7)
WIN_BASE, WIN_SIZE, WIN_DISP_UNIT, WIN_CREATE_FLAVOR, WIN_MODEL = range(7, 12)
WIN_FLAVOR = WIN_CREATE_FLAVOR

SUCCESS = 0
ERROR_CLASSES = [
    *("BUFFER", "COUNT", "TYPE", "TAG", "COMM", "RANK", "REQUEST", "ROOT", "GROUP", "OP", "TOPOLOGY", "DIMS"),
    *("ARG", "UNKNOWN", "TRUNCATE", "OTHER", "INTERN", "IN_STATUS", "PENDING", "ACCESS", "AMODE", "ASSERT"),
    *("BAD_FILE", "BASE", "CONVERSION", "DISP", "DUP_DATAREP", "FILE_EXISTS", "FILE_IN_USE", "FILE"),
    *(
        "INFO_KEY",
        "INFO_NOKEY",
        "INFO_VALUE",
        "INFO",
        "IO",
        "KEYVAL",
        "LOCKTYPE",
        "NAME",
        "NO_MEM",
        "NOT_SAME",
    ),
    *(
        "NO_SPACE",
        "NO_SUCH_FILE",
        "PORT",
        "QUOTA",
        "READ_ONLY",
        "RMA_CONFLICT",
        "RMA_SYNC",
        "SERVICE",
        "SIZE",
    ),
    *(
        "SPAWN",
        "UNSUPPORTED_DATAREP",
        "UNSUPPORTED_OPERATION",
        "WIN",
        "RMA_RANGE",
        "RMA_ATTACH",
        "RMA_FLAVOR",
    ),
    *("RMA_SHARED", "SESSION", "VALUE_TOO_LARGE", "ERRHANDLER", "ABI", "PROC_ABORTED", "REVOKED"),
    *("PROC_FAILED", "PROC_FAILED_PENDING"),
]
"""Error classes, in order of their numbers, from 1."""
ERRORS = {f"ERR_{name}": number for number, name in enumerate(ERROR_CLASSES, 1)}
ERR_LASTCODE = 92

ERR_BUFFER, ERR_COUNT, ERR_TYPE, ERR_TAG, ERR_COMM, ERR_RANK, ERR_REQUEST, ERR_ROOT, ERR_GROUP, ERR_OP = (
    range(1, 11)
)
(
    ERR_TOPOLOGY,
    ERR_DIMS,
    ERR_ARG,
    ERR_UNKNOWN,
    ERR_TRUNCATE,
    ERR_OTHER,
    ERR_INTERN,
    ERR_IN_STATUS,
    ERR_PENDING,
) = range(11, 20)
ERR_KEYVAL = ERRORS["ERR_KEYVAL"]
ERR_INFO_NOKEY = ERRORS["ERR_INFO_NOKEY"]

IDENT, CONGRUENT, SIMILAR, UNEQUAL = range(4)
CART, GRAPH, DIST_GRAPH = 1, 2, 3
COMM_TYPE_SHARED, COMM_TYPE_HW_GUIDED, COMM_TYPE_HW_UNGUIDED, COMM_TYPE_RESOURCE_GUIDED = 0, 16, 17, 18
BSEND_OVERHEAD = 128
ORDER_C, ORDER_FORTRAN = 0, 1
ORDER_F = ORDER_FORTRAN
TYPECLASS_INTEGER, TYPECLASS_REAL, TYPECLASS_COMPLEX, TYPECLASS_LOGICAL = 1, 2, 3, 4
DISTRIBUTE_BLOCK, DISTRIBUTE_CYCLIC, DISTRIBUTE_NONE, DISTRIBUTE_DFLT_DARG = 0, 1, 2, -1
COMBINERS = [
    *(
        "NAMED",
        "DUP",
        "CONTIGUOUS",
        "VECTOR",
        "HVECTOR",
        "INDEXED",
        "HINDEXED",
        "INDEXED_BLOCK",
        "HINDEXED_BLOCK",
    ),
    *("STRUCT", "SUBARRAY", "DARRAY", "F90_REAL", "F90_COMPLEX", "F90_INTEGER", "RESIZED", "VALUE_INDEX"),
]
THREAD_SINGLE, THREAD_FUNNELED, THREAD_SERIALIZED, THREAD_MULTIPLE = range(4)
VERSION, SUBVERSION = 4, 1
MAX_PROCESSOR_NAME, MAX_ERROR_STRING, MAX_PORT_NAME, MAX_INFO_KEY = 256, 256, 1024, 36
MAX_INFO_VAL, MAX_OBJECT_NAME, MAX_DATAREP_STRING, MAX_LIBRARY_VERSION_STRING = 256, 64, 128, 256
MAX_PSET_NAME_LEN, MAX_STRINGTAG_LEN = 512, 256


class _Marker(int):
    """A whole number that is a constant with a name."""

    _name: str

    def __new__(cls, value: int, name: str) -> _Marker:
        marker = super().__new__(cls, value)
        marker._name = name
        return marker

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> str:
        return self._name


class BottomType(_Marker):
    """Type of `BOTTOM`."""


class InPlaceType(_Marker):
    """Type of `IN_PLACE`."""


class BufferAutomaticType(_Marker):
    """Type of `BUFFER_AUTOMATIC`."""


class WeightsType(_Marker):
    """Type of `UNWEIGHTED` and `WEIGHTS_EMPTY`."""


BOTTOM = BottomType(0, "BOTTOM")
IN_PLACE = InPlaceType(1, "IN_PLACE")
BUFFER_AUTOMATIC = BufferAutomaticType(-2, "BUFFER_AUTOMATIC")
UNWEIGHTED = WeightsType(10, "UNWEIGHTED")
WEIGHTS_EMPTY = WeightsType(11, "WEIGHTS_EMPTY")
