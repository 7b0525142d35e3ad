"""Shared receive queues, and domains of extended reliable connections (XRC)."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field

from fabricsim.verbs.completion import CQ
from fabricsim.verbs.context import PD, Closable, Context
from fabricsim.verbs.errors import PyverbsRDMAError, PyverbsUserError
from fabricsim.verbs.wr import RecvWR, linked, pieces

_SRQ_LIMIT = 2
"""`IBV_SRQ_LIMIT`."""


class XRCD(Closable):
    """Domain of extended reliable connections (`ibv_open_xrcd`)."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._handle = context.call(context.adapter.open_xrcd)

    def _destroy(self, handle: int) -> None:
        self.context.call(self.context.adapter.close_xrcd, handle)


@dataclass
class SrqAttr:
    """Lengths and limit of a shared receive queue (`ibv_srq_attr`)."""

    max_wr: int = 100
    """Receive requests that it holds."""
    max_sge: int = 1
    srq_limit: int = 0
    """`IBV_EVENT_SRQ_LIMIT_REACHED` comes once when fewer requests are left; 0: never."""


@dataclass
class SrqInitAttr:
    """Arguments of the creation (`ibv_srq_init_attr_ex`)."""

    attr: SrqAttr = field(default_factory=SrqAttr)
    xrcd: XRCD | None = None
    """For XRC: the domain of connections whose messages may use it."""
    cq: CQ | None = None
    """For XRC: completions of its messages."""


class SRQ(Closable):
    """Shared receive queue (`ibv_create_srq`): its requests are taken by messages of several queue pairs."""

    def __init__(self, creator: PD, init_attr: SrqInitAttr | None = None) -> None:
        init = init_attr or SrqInitAttr()
        if (init.xrcd is None) != (init.cq is None):
            raise PyverbsUserError("SrqInitAttr: a queue of XRC needs xrcd and cq")
        self.pd = creator
        self.context = creator.context
        xrc = None if init.xrcd is None or init.cq is None else (init.xrcd.handle, init.cq.handle)
        adapter = self.context.adapter
        self._max_wr, self._max_sge = init.attr.max_wr, init.attr.max_sge
        self._handle = self.context.call(
            adapter.create_srq, creator.handle, init.attr.max_wr, init.attr.max_sge, xrc
        )
        if init.attr.srq_limit:
            self.modify(init.attr)

    def modify(self, attr: SrqAttr, comp_mask: int = _SRQ_LIMIT) -> None:
        """Sets the limit (`ibv_modify_srq` with `IBV_SRQ_LIMIT`, 2). Its event comes once after each call.

        Raises:
            PyverbsRDMAError: the mask has something else, such as `IBV_SRQ_MAX_WR`: the queue cannot be resized.
        """
        if comp_mask != _SRQ_LIMIT:
            text = f"modify_srq: srq_attr_mask = {comp_mask:#x}: must be {_SRQ_LIMIT:#x} (IBV_SRQ_LIMIT)"
            raise PyverbsRDMAError(text, errno.EINVAL)
        self.context.call(self.context.adapter.modify_srq, self.handle, attr.srq_limit)

    def query(self) -> SrqAttr:
        """Lengths and limit (`ibv_query_srq`): the limit is 0 after its event."""
        limit, _ = self.context.call(self.context.adapter.query_srq, self.handle)
        return SrqAttr(self._max_wr, self._max_sge, limit)

    def get_srq_num(self) -> int:
        """Number by which messages of XRC name the queue."""
        return self.context.call(self.context.adapter.srq_number, self.handle)

    def post_recv(self, recv_wr: RecvWR, bad_wr: object = None) -> None:
        """Posts a receive request, and those that follow it. Each takes `adapter.post_receive`."""
        context, handle = self.context, self.handle
        for one in linked(recv_wr):
            context.spend(context.post_recv_ps)
            context.call(context.adapter.post_srq_recv, handle, one.wr_id, pieces(one))

    def _destroy(self, handle: int) -> None:
        self.context.call(self.context.adapter.destroy_srq, handle)
