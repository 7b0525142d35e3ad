"""Work requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from fabricsim.verbs.addr import AH
from fabricsim.verbs.enums import ibv_send_flags, ibv_wr_opcode
from fabricsim.verbs.errors import PyverbsUserError
from fabricsim.verbs.mw import MW, MWBindInfo, inc_rkey


@dataclass(slots=True)
class SGE:
    """A piece of local memory of a work request (`ibv_sge`)."""

    addr: int
    length: int
    lkey: int


@dataclass(slots=True)
class RecvWR:
    """A receive request (`ibv_recv_wr`). `num_sge` is the length of `sg` if it is not given."""

    wr_id: int = 0
    num_sge: int | None = None
    sg: Sequence[SGE] = ()
    next_wr: RecvWR | None = None


@dataclass(slots=True)
class SendWR:
    """A work request of a send queue (`ibv_send_wr`)."""

    wr_id: int = 0
    opcode: int = ibv_wr_opcode.IBV_WR_SEND
    num_sge: int | None = None
    imm_data: int = 0
    """Immediate data, or the key to invalidate, of `IBV_WR_SEND_WITH_INV` and `IBV_WR_LOCAL_INV`."""
    sg: Sequence[SGE] = ()
    send_flags: int = ibv_send_flags.IBV_SEND_SIGNALED
    next_wr: SendWR | None = None
    remote: tuple[int, int] = field(default=(0, 0), init=False)
    """Address and key at the other end."""
    atomic: tuple[int, int] = field(default=(0, 0), init=False)
    """The compared or added value, and the new one."""
    to: tuple[tuple[int, int, int] | None, int | None] = field(default=(None, None), init=False)
    """Address handle, queue pair and queue key of a datagram; number of a shared receive queue of XRC."""

    bind: tuple[MW, MWBindInfo, int] | None = field(default=None, init=False)
    """Window, its memory and its new key, of `IBV_WR_BIND_MW`."""

    def set_bind_wr(self, mw: MW, bind_info: MWBindInfo, rkey: int | None = None) -> None:
        """Sets the window of type 2 that is bound, and its memory.

        Args:
            mw: window. Its `rkey` is the new key when the request is posted.
            bind_info: memory and permissions.
            rkey: the new key, which has the same upper 24 bits; `inc_rkey(mw.rkey)` if it is not given.
        """
        self.bind = (mw, bind_info, inc_rkey(mw.rkey) if rkey is None else rkey)

    def set_wr_ud(self, ah: AH, rqpn: int, rqkey: int) -> None:
        """Sets the receiver of a datagram: its address, queue pair and queue key."""
        self.to = ((ah.handle, rqpn, rqkey), None)

    def set_qp_type_xrc(self, remote_srqn: int) -> None:
        """Sets the shared receive queue at the other end of an extended reliable connection."""
        self.to = (None, remote_srqn)

    def set_wr_rdma(self, rkey: int, addr: int) -> None:
        """Sets the memory at the other end of an RDMA WRITE or READ."""
        self.remote = (addr, rkey)

    def set_wr_atomic(self, rkey: int, addr: int, compare_add: int, swap: int = 0) -> None:
        """Sets the memory at the other end and the values of an atomic operation."""
        self.remote = (addr, rkey)
        self.atomic = (compare_add, swap)


W = TypeVar("W", "SendWR", "RecvWR")


def linked(wr: W | None) -> Iterator[W]:
    """A request and those that follow it by `next_wr`."""
    while wr is not None:
        yield wr
        wr = wr.next_wr


def pieces(wr: SendWR | RecvWR) -> list[tuple[int, int, int]]:
    """The pieces of memory of a request, for the adapter.

    Raises:
        PyverbsUserError: there are not `num_sge` pieces.
    """
    used = wr.sg
    if wr.num_sge is not None:
        if not 0 <= wr.num_sge <= len(wr.sg):
            raise PyverbsUserError(f"num_sge = {wr.num_sge}: must be 0 to {len(wr.sg)}, the pieces of sg")
        used = wr.sg[: wr.num_sge]
    return [(sge.addr, sge.length, sge.lkey) for sge in used]
