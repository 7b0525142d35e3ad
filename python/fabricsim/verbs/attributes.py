"""Attributes of queue pairs that no adapter has: numbers of more than 24 bits, and unknown permissions."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any

from fabricsim.verbs.enums import ibv_access_flags
from fabricsim.verbs.errors import PyverbsRDMAError

_BITS_24 = ("rq_psn", "sq_psn", "dest_qp_num")
_MOST = (1 << 24) - 1
_ACCESS = sum(ibv_access_flags)


def require_valid(handle: int, given: Mapping[str, Any]) -> None:
    """Refuses values of attributes that have no place in headers, or no meaning.

    Raises:
        PyverbsRDMAError: there is one (EINVAL).
    """
    for name in _BITS_24:
        if name in given and not 0 <= given[name] <= _MOST:
            _refuse(handle, f"{name} = {given[name]}: must be 0 to {_MOST} (24 bits)")
    flags = int(given.get("qp_access_flags", 0))
    if flags & ~_ACCESS:
        _refuse(
            handle,
            f"qp_access_flags = {flags:#x}: must be a combination of IBV_ACCESS_*, bits of {_ACCESS:#x}",
        )


def _refuse(handle: int, text: str) -> None:
    raise PyverbsRDMAError(f"modify_qp: queue pair {handle}: {text}", errno.EINVAL)
