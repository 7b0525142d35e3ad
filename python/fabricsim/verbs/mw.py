"""Memory windows: keys for parts of regions."""

from __future__ import annotations

from dataclasses import dataclass

from fabricsim.verbs.context import PD, Closable
from fabricsim.verbs.enums import ibv_mw_type, ibv_send_flags
from fabricsim.verbs.memory import MR


@dataclass(slots=True)
class MWBindInfo:
    """Memory and permissions of a window (`ibv_mw_bind_info`)."""

    mr: MR
    """Region, with `IBV_ACCESS_MW_BIND`."""
    addr: int
    """Address of the first byte."""
    length: int
    """Bytes; 0 unbinds a window of type 1."""
    mw_access_flags: int
    """`IBV_ACCESS_REMOTE_*`; with `IBV_ACCESS_ZERO_BASED`, of type 2, remote addresses begin at 0."""

    def row(self) -> tuple[int, int, int, int]:
        """The fields, for the adapter."""
        return self.mr.handle, self.addr, self.length, int(self.mw_access_flags)


@dataclass(slots=True)
class MWBind:
    """Arguments of `QP.bind_mw` (`ibv_mw_bind`)."""

    info: MWBindInfo
    wr_id: int = 0
    send_flags: int = ibv_send_flags.IBV_SEND_SIGNALED


class MW(Closable):
    """Memory window (`ibv_alloc_mw`). It is not bound, and its key is not valid yet.

    Args:
        creator: protection domain.
        mw_type: `IBV_MW_TYPE_1`, for `QP.bind_mw`, or `IBV_MW_TYPE_2`, for work requests with `IBV_WR_BIND_MW`.
    """

    def __init__(self, creator: PD, mw_type: int = ibv_mw_type.IBV_MW_TYPE_1) -> None:
        self.pd = creator
        self.context = creator.context
        self.type = mw_type
        self._handle, self.rkey = self.context.call(
            self.context.adapter.alloc_mw, creator.handle, int(mw_type)
        )

    def _destroy(self, handle: int) -> None:
        self.context.call(self.context.adapter.dealloc_mw, handle)


def inc_rkey(rkey: int) -> int:
    """The next key of a window (`ibv_inc_rkey`): its lowest eight bits count up."""
    return rkey & 0xFFFFFF00 | (rkey + 1) & 0xFF
