"""Programs that several tests of verbs use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import fabricsim.verbs as v

ALL = (
    v.IBV_ACCESS_LOCAL_WRITE
    | v.IBV_ACCESS_REMOTE_WRITE
    | v.IBV_ACCESS_REMOTE_READ
    | v.IBV_ACCESS_REMOTE_ATOMIC
)
CORNERS = "H(0,0).0", "H(2,2).0"
PEER = {"H0": "H1", "H1": "H0", CORNERS[0]: CORNERS[1], CORNERS[1]: CORNERS[0]}

LOSSY = {"links.errors": "lose", "links.all.bit_error_rate": 3e-6}
"""Links that lose about one packet of 20 with 2 KiB."""


@dataclass
class Side:
    """One end of a connection, and the memory of the other."""

    ctx: v.Context
    pd: v.PD
    mr: v.MR
    cq: v.CQ
    qp: v.QP
    addr: int = 0
    rkey: int = 0
    channel: v.CompChannel | None = None

    def sge(self, length: int, offset: int = 0) -> v.SGE:
        return v.SGE(self.mr.buf + offset, length, self.mr.lkey)

    def post(self, opcode: int, length: int, at: int = 0, to: int = 0, **changes: Any) -> None:
        """Posts a request for `length` bytes of the own memory from `at`, and those of the other end from `to`."""
        wr = v.SendWR(opcode=opcode, sg=[self.sge(length, at)], **changes)
        wr.set_wr_rdma(self.rkey, self.addr + to)
        self.qp.post_send(wr)

    def receive(self, length: int, at: int = 0, wr_id: int = 0) -> None:
        self.qp.post_recv(v.RecvWR(wr_id, sg=[self.sge(length, at)]))

    def wait(self, count: int = 1) -> list[v.WC]:
        """Polls until there are `count` completions."""
        found: list[v.WC] = []
        while len(found) < count:
            found += self.cq.poll(count - len(found)).wcs
        return found


def open_side(
    ctx: v.Context, length: int = 4096, *, sleeps: bool = False, signal_all: int = 1, depth: int = 64
) -> Side:
    pd = v.PD(ctx)
    mr = v.MR(pd, length, ALL)
    channel = v.CompChannel(ctx) if sleeps else None
    cq = v.CQ(ctx, 4 * depth, None, channel)
    cap = v.QPCap(max_send_wr=depth, max_recv_wr=depth, max_send_sge=4, max_recv_sge=4, max_inline_data=220)
    qp = v.QP(pd, v.QPInitAttr(scq=cq, rcq=cq, cap=cap, sq_sig_all=signal_all))
    return Side(ctx, pd, mr, cq, qp, channel=channel)


def connected(ctx: v.Context, length: int = 4096, attr: v.QPAttr | None = None, **changes: Any) -> Side:
    """A side that is connected with the program of the other host."""
    side = open_side(ctx, length, **changes)
    side.addr, side.rkey = v.connect(side.qp, PEER[ctx.host], (side.mr.buf, side.mr.rkey), attr)
    return side


def pattern(length: int, seed: int) -> bytes:
    """Bytes without a short period."""
    return bytes((seed + 7 * i + (i >> 8) * 13) & 0xFF for i in range(length))


def chunks(length: int, size: int) -> Iterator[tuple[int, int]]:
    """Offset and length of pieces."""
    for at in range(0, length, size):
        yield at, min(size, length - at)
