"""Messages of connections, with the names of librdmacm's `rdma_verbs.h`."""

from __future__ import annotations

from fabricsim.verbs import enums as e
from fabricsim.verbs.addr import AH
from fabricsim.verbs.cm_types import RDMA_UDP_QKEY
from fabricsim.verbs.completion import CQ, WC
from fabricsim.verbs.context import PD
from fabricsim.verbs.memory import MR
from fabricsim.verbs.qp import QP
from fabricsim.verbs.wr import SGE, RecvWR, SendWR


class Messages:
    """Calls of an end of a connection for its messages."""

    pd: PD

    def _own(self) -> QP:
        """The queue pair of the end."""
        raise NotImplementedError

    def reg_msgs(self, size: int) -> MR:
        """Memory for messages (`rdma_reg_msgs`)."""
        return MR(self.pd, size, e.IBV_ACCESS_LOCAL_WRITE)

    def post_recv(self, mr: MR, length: int | None = None) -> None:
        """Posts a receive request (`rdma_post_recv`)."""
        self._own().post_recv(RecvWR(sg=[SGE(mr.buf, mr.length if length is None else length, mr.lkey)]))

    def post_send(self, mr: MR, flags: int = e.IBV_SEND_SIGNALED, length: int | None = None) -> None:
        """Posts a SEND (`rdma_post_send`)."""
        piece = SGE(mr.buf, mr.length if length is None else length, mr.lkey)
        self._own().post_send(SendWR(sg=[piece], send_flags=flags))

    def post_ud_send(
        self, mr: MR, ah: AH, rqpn: int, flags: int = e.IBV_SEND_SIGNALED, length: int | None = None
    ) -> None:
        """Posts a datagram to a queue pair (`rdma_post_ud_send`)."""
        piece = SGE(mr.buf, mr.length if length is None else length, mr.lkey)
        request = SendWR(sg=[piece], send_flags=flags)
        request.set_wr_ud(ah, rqpn, RDMA_UDP_QKEY)
        self._own().post_send(request)

    def get_send_comp(self) -> WC:
        """Polls for the next completion of a send (`rdma_get_send_comp`)."""
        return _poll(self._own().init_attr.scq)

    def get_recv_comp(self) -> WC:
        """Polls for the next completion of a receive request (`rdma_get_recv_comp`)."""
        return _poll(self._own().init_attr.rcq)


def _poll(cq: CQ | None) -> WC:
    assert cq is not None
    while not (found := cq.poll()):
        pass
    return found.wcs[0]
