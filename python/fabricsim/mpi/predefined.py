"""Predefined datatypes: names of C, C++ and Fortran, codes of numpy and of `struct`."""

from __future__ import annotations

from fabricsim.lazy import numpy as np
from fabricsim.mpi import layout
from fabricsim.mpi.datatype import CODES, DATATYPE_NULL, Datatype, lookup
from fabricsim.mpi.layout import Layout

PREDEFINED: dict[str, Datatype] = {"DATATYPE_NULL": DATATYPE_NULL}
"""Predefined types by name."""

_INTEGERS = {1: "b", 2: "h", 4: "i", 8: "l"}
_TYPES: list[tuple[str, str | None, str | None]] = [
    *[(name, "B", "B") for name in ("PACKED", "BYTE")],
    *[(name, "p", "l") for name in ("AINT", "OFFSET", "COUNT")],
    *(
        ("CHAR", "c", "b"),
        ("WCHAR", "U", None),
        ("SIGNED_CHAR", "b", "b"),
        ("SHORT", "h", "h"),
        ("INT", "i", "i"),
    ),
    *(("LONG", "l", "l"), ("LONG_LONG", "q", "q"), ("UNSIGNED_CHAR", "B", "B"), ("UNSIGNED_SHORT", "H", "H")),
    *(
        ("UNSIGNED", "I", "I"),
        ("UNSIGNED_LONG", "L", "L"),
        ("UNSIGNED_LONG_LONG", "Q", "Q"),
        ("FLOAT", "f", "f"),
    ),
    *(("DOUBLE", "d", "d"), ("LONG_DOUBLE", "g", "g"), ("C_BOOL", "b1", "?")),
    *[(f"INT{8 * n}_T", f"i{n}", code) for n, code in _INTEGERS.items()],
    *[(f"UINT{8 * n}_T", f"u{n}", code.upper()) for n, code in _INTEGERS.items()],
    *(("FLOAT16_T", "f2", "e"), ("FLOAT32_T", "f", "f"), ("FLOAT64_T", "d", "d"), ("C_COMPLEX", "F", "F")),
    *(("C_FLOAT_COMPLEX", "F", "F"), ("C_DOUBLE_COMPLEX", "D", "D"), ("C_LONG_DOUBLE_COMPLEX", "G", "G")),
    *(("CXX_BOOL", "?", "?"), ("CXX_FLOAT_COMPLEX", "F", "F"), ("CXX_DOUBLE_COMPLEX", "D", "D")),
    *(
        ("CXX_LONG_DOUBLE_COMPLEX", "G", "G"),
        ("CHARACTER", "c", "b"),
        ("LOGICAL", "i", "i"),
        ("INTEGER", "i", "i"),
    ),
    *(
        ("REAL", "f", "f"),
        ("DOUBLE_PRECISION", "d", "d"),
        ("COMPLEX", "F", "F"),
        ("DOUBLE_COMPLEX", "D", "D"),
    ),
    *[(f"LOGICAL{n}", f"i{n}", code) for n, code in _INTEGERS.items()],
    *[(f"INTEGER{n}", f"i{n}", code) for n, code in _INTEGERS.items()],
    *(("REAL2", "f2", "e"), ("REAL4", "f4", "f"), ("REAL8", "f8", "d"), ("REAL16", "f16", "g")),
    *(("COMPLEX8", "c8", "F"), ("COMPLEX16", "c16", "D"), ("COMPLEX32", "c32", "G")),
]
_ABSENT = ("BFLOAT16_T", "LOGICAL16", "INTEGER16", "COMPLEX4")
"""Types that this implementation has not: `DATATYPE_NULL`."""
_PAIRS = {"SHORT_INT": "h", "INT_INT": "i", "LONG_INT": "l", "FLOAT_INT": "f", "DOUBLE_INT": "d"}
_ALIASES = {
    "TWOINT": "INT_INT",
    "UNSIGNED_INT": "UNSIGNED",
    **{f"SIGNED_{name}": name for name in ("SHORT", "INT", "LONG", "LONG_LONG")},
    "BOOL": "C_BOOL",
    **{f"SINT{bits}_T": f"INT{bits}_T" for bits in (8, 16, 32, 64)},
    "F_BOOL": "LOGICAL",
    "F_INT": "INTEGER",
    "F_FLOAT": "REAL",
    "F_DOUBLE": "DOUBLE_PRECISION",
    "F_COMPLEX": "COMPLEX",
    "F_FLOAT_COMPLEX": "COMPLEX",
    "F_DOUBLE_COMPLEX": "DOUBLE_COMPLEX",
}


def _define(name: str, one: Layout) -> None:
    PREDEFINED[name] = Datatype._constant(one, name)


for _name, _code, _dtype in _TYPES:
    _size = 4 if _name == "WCHAR" else np.dtype(_dtype).itemsize
    _define(_name, layout.basic(_code, _size, f"MPI_{_name}", _dtype))
for _name, _value in {**_PAIRS, "LONG_DOUBLE_INT": "g"}.items():
    _define(_name, layout.pair(_value, "MPI_2INT" if _name == "INT_INT" else f"MPI_{_name}"))
for _name in _ABSENT:
    PREDEFINED[_name] = DATATYPE_NULL
for _name, _of in _ALIASES.items():
    PREDEFINED[_name] = PREDEFINED[_of]

for _codes, _names in (
    ("? b h i l q", "C_BOOL SIGNED_CHAR SHORT INT LONG LONG_LONG"),
    ("B H I L Q", "UNSIGNED_CHAR UNSIGNED_SHORT UNSIGNED UNSIGNED_LONG UNSIGNED_LONG_LONG"),
    ("e f d g", "FLOAT16_T FLOAT DOUBLE LONG_DOUBLE"),
    ("F D G Zf Zd Zg", "C_FLOAT_COMPLEX C_DOUBLE_COMPLEX C_LONG_DOUBLE_COMPLEX " * 2),
    ("b1 i1 i2 i4 i8", "C_BOOL INT8_T INT16_T INT32_T INT64_T"),
    ("u1 u2 u4 u8", "UINT8_T UINT16_T UINT32_T UINT64_T"),
    ("f2 f4 f8 f16", "FLOAT16_T FLOAT DOUBLE LONG_DOUBLE"),
    ("c8 c16 c32", "C_FLOAT_COMPLEX C_DOUBLE_COMPLEX C_LONG_DOUBLE_COMPLEX"),
    ("c S S1 p", "CHAR CHAR CHAR AINT"),
):
    CODES.update(zip(_codes.split(), (PREDEFINED[name] for name in _names.split()), strict=True))

BYTE = PREDEFINED["BYTE"]


def of_format(format: str) -> Datatype:
    """The type of a buffer's format.

    Raises:
        BufferError: its bytes are in the other order.
    """
    if format == "B":
        return BYTE
    if format[:1] in ("@", "=", "<"):
        return lookup(format[1:])
    if format[:1] in (">", "!"):
        raise BufferError(f"format string {format!r} with non-native byte order")
    return lookup(format)
