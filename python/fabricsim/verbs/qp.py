"""Queue pairs."""

from __future__ import annotations

import dataclasses
import errno
from dataclasses import dataclass, field
from typing import Any

from fabricsim.verbs import enums as e
from fabricsim.verbs.addr import GID, AHAttr
from fabricsim.verbs.attributes import require_valid
from fabricsim.verbs.completion import CQ
from fabricsim.verbs.context import PD, Closable, Context
from fabricsim.verbs.errors import PyverbsRDMAError, PyverbsUserError
from fabricsim.verbs.migration import IBV_MIG_MIGRATED, ibv_mig_state
from fabricsim.verbs.mw import MW, MWBind
from fabricsim.verbs.srq import SRQ, XRCD
from fabricsim.verbs.wr import RecvWR, SendWR, linked, pieces

Mask = e.ibv_qp_attr_mask
_LOCAL = (e.IBV_WR_BIND_MW, e.IBV_WR_LOCAL_INV)
"""Operations that need no packet."""
_READS = (e.IBV_WR_RDMA_READ, e.IBV_WR_ATOMIC_CMP_AND_SWP, e.IBV_WR_ATOMIC_FETCH_AND_ADD)
"""Operations of which at most `max_rd_atomic` are outstanding."""


@dataclass
class QPCap:
    """Lengths of the queues of a queue pair (`ibv_qp_cap`)."""

    max_send_wr: int = 1
    max_recv_wr: int = 10
    max_send_sge: int = 1
    max_recv_sge: int = 1
    max_inline_data: int = 0


@dataclass
class QPInitAttr:
    """Arguments of the creation of a queue pair (`ibv_qp_init_attr`)."""

    qp_type: int = e.IBV_QPT_RC
    qp_context: object = None
    scq: CQ | None = None
    """Queue of the completions of sends."""
    rcq: CQ | None = None
    """Queue of the completions of receives."""
    srq: SRQ | None = None
    """Shared receive queue, instead of one of its own."""
    xrcd: XRCD | None = None
    """For `IBV_QPT_XRC_RECV`: the domain of the shared receive queues that its messages may name."""
    cap: QPCap = field(default_factory=QPCap)
    sq_sig_all: int = 1
    """1: every work request has a completion; 0: those with `IBV_SEND_SIGNALED`, and those that fail."""


@dataclass
class QPAttr:
    """Attributes of a queue pair (`ibv_qp_attr`). Those that are `None` are not given."""

    qp_state: int | None = None
    path_mtu: int | None = None
    rq_psn: int | None = None
    sq_psn: int | None = None
    dest_qp_num: int | None = None
    qp_access_flags: int | None = None
    qkey: int | None = None
    """Queue key, of datagrams."""
    ah_attr: AHAttr | None = None
    max_rd_atomic: int | None = None
    max_dest_rd_atomic: int | None = None
    min_rnr_timer: int | None = None
    timeout: int | None = None
    retry_cnt: int | None = None
    rnr_retry: int | None = None
    pkey_index: int | None = 0
    port_num: int | None = 1
    alt_ah_attr: AHAttr | None = None
    """Second path, to which the connection can migrate; it goes to a LID of the same host."""
    alt_pkey_index: int = 0
    alt_port_num: int = 1
    alt_timeout: int = 14
    path_mig_state: int | None = None
    en_sqd_async_notify: int | None = None
    """With the step to SQD: not 0 if `IBV_EVENT_SQ_DRAINED` tells that what had begun has ended."""


_FIELDS = {
    Mask.IBV_QP_STATE: "qp_state",
    Mask.IBV_QP_ACCESS_FLAGS: "qp_access_flags",
    Mask.IBV_QP_PKEY_INDEX: "pkey_index",
    Mask.IBV_QP_QKEY: "qkey",
    Mask.IBV_QP_PORT: "port_num",
    Mask.IBV_QP_AV: "ah_attr",
    Mask.IBV_QP_PATH_MTU: "path_mtu",
    Mask.IBV_QP_TIMEOUT: "timeout",
    Mask.IBV_QP_RETRY_CNT: "retry_cnt",
    Mask.IBV_QP_RNR_RETRY: "rnr_retry",
    Mask.IBV_QP_RQ_PSN: "rq_psn",
    Mask.IBV_QP_SQ_PSN: "sq_psn",
    Mask.IBV_QP_MAX_QP_RD_ATOMIC: "max_rd_atomic",
    Mask.IBV_QP_MAX_DEST_RD_ATOMIC: "max_dest_rd_atomic",
    Mask.IBV_QP_MIN_RNR_TIMER: "min_rnr_timer",
    Mask.IBV_QP_DEST_QPN: "dest_qp_num",
    Mask.IBV_QP_ALT_PATH: "alt_ah_attr",
    Mask.IBV_QP_PATH_MIG_STATE: "path_mig_state",
    Mask.IBV_QP_EN_SQD_ASYNC_NOTIFY: "en_sqd_async_notify",
}

_INIT = Mask.IBV_QP_STATE | Mask.IBV_QP_PKEY_INDEX | Mask.IBV_QP_PORT
_TO_CONNECT = (
    Mask.IBV_QP_STATE | Mask.IBV_QP_AV | Mask.IBV_QP_PATH_MTU | Mask.IBV_QP_DEST_QPN | Mask.IBV_QP_RQ_PSN
)
_TO_RESPOND = Mask.IBV_QP_MAX_DEST_RD_ATOMIC | Mask.IBV_QP_MIN_RNR_TIMER
_TO_SEND = Mask.IBV_QP_STATE | Mask.IBV_QP_SQ_PSN
_TO_RETRY = Mask.IBV_QP_TIMEOUT | Mask.IBV_QP_RETRY_CNT | Mask.IBV_QP_RNR_RETRY | Mask.IBV_QP_MAX_QP_RD_ATOMIC
_MASKS = {
    e.IBV_QPT_RC: (
        _INIT | Mask.IBV_QP_ACCESS_FLAGS,
        _TO_CONNECT | _TO_RESPOND,
        _TO_SEND | _TO_RETRY,
    ),
    e.IBV_QPT_UC: (_INIT | Mask.IBV_QP_ACCESS_FLAGS, _TO_CONNECT, _TO_SEND),
    e.IBV_QPT_UD: (_INIT | Mask.IBV_QP_QKEY, Mask.IBV_QP_STATE, _TO_SEND),
    e.IBV_QPT_XRC_SEND: (_INIT | Mask.IBV_QP_ACCESS_FLAGS, _TO_CONNECT, _TO_SEND | _TO_RETRY),
    e.IBV_QPT_XRC_RECV: (
        _INIT | Mask.IBV_QP_ACCESS_FLAGS,
        _TO_CONNECT | _TO_RESPOND,
        _TO_SEND | Mask.IBV_QP_TIMEOUT,
    ),
}
"""Attributes of the steps to INIT, RTR and RTS, by type of the queue pair."""


class QP(Closable):
    """Queue pair (`ibv_create_qp`), in the state RESET; with `qp_attr` in the state INIT."""

    def __init__(self, creator: PD, init_attr: QPInitAttr, qp_attr: QPAttr | None = None) -> None:
        if init_attr.scq is None or init_attr.rcq is None:
            raise PyverbsUserError("QPInitAttr: scq and rcq are needed")
        self.pd = creator
        self.context: Context = creator.context
        self.init_attr = dataclasses.replace(init_attr)
        self._attr = QPAttr()
        self._has_no_reads = False
        cap = init_attr.cap
        self._handle = self.context.call(
            self.context.adapter.create_qp,
            int(init_attr.qp_type),
            creator.handle,
            (init_attr.scq.handle, init_attr.rcq.handle),
            (cap.max_send_wr, cap.max_recv_wr, cap.max_send_sge, cap.max_recv_sge, cap.max_inline_data),
            bool(init_attr.sq_sig_all),
            (
                None if init_attr.srq is None else init_attr.srq.handle,
                None if init_attr.xrcd is None else init_attr.xrcd.handle,
            ),
        )
        if qp_attr is not None:
            self.to_init(qp_attr)

    @property
    def qp_num(self) -> int:
        """Number of the queue pair."""
        return self.handle

    @property
    def qp_type(self) -> e.ibv_qp_type:
        """Transport service."""
        return e.ibv_qp_type(self.init_attr.qp_type)

    @property
    def qp_state(self) -> e.ibv_qp_state:
        """State now."""
        return e.ibv_qp_state(self.context.call(self.context.adapter.qp_state, self.handle))

    def to_init(self, qp_attr: QPAttr) -> None:
        """Goes to the state INIT, in which it takes receive requests."""
        self._step(qp_attr, 0, e.IBV_QPS_INIT)

    def to_rtr(self, qp_attr: QPAttr) -> None:
        """Goes to the state RTR, in which it receives; before that to INIT, if it has not been there."""
        if self.qp_state != e.IBV_QPS_INIT:
            self.to_init(qp_attr)
        self._step(qp_attr, 1, e.IBV_QPS_RTR)

    def to_rts(self, qp_attr: QPAttr) -> None:
        """Goes to the state RTS, in which it sends; before that to RTR, if it has not been there."""
        if self.qp_state != e.IBV_QPS_RTR:
            self.to_rtr(qp_attr)
        self._step(qp_attr, 2, e.IBV_QPS_RTS)

    def _step(self, qp_attr: QPAttr, step: int, state: e.ibv_qp_state) -> None:
        qp_attr.qp_state = state
        self.modify(qp_attr, _MASKS[self.qp_type][step])

    def modify(self, qp_attr: QPAttr, comp_mask: int) -> None:
        """Changes the attributes of a mask of `IBV_QP_*` (`ibv_modify_qp`). It takes no time.

        Raises:
            PyverbsUserError: the mask has a bit that is not supported.
            PyverbsRDMAError: an attribute of the mask is not set or invalid, or the adapter refuses the change.
        """
        given = self._masked(qp_attr, comp_mask)
        require_valid(self.handle, given)
        path, alternate = given.get("ah_attr"), given.get("alt_ah_attr")
        numbers = [(name, int(value)) for name, value in given.items() if not isinstance(value, AHAttr)]
        second = None
        if alternate is not None:
            of_path = ("alt_pkey_index", "alt_port_num", "alt_timeout")
            given |= {name: getattr(qp_attr, name) for name in of_path}
            second = (alternate.row(), qp_attr.alt_pkey_index, qp_attr.alt_port_num, qp_attr.alt_timeout)
        row = None if path is None else path.row()
        self.context.call(self.context.adapter.modify_qp, self.handle, numbers, row, second)
        self._attr = dataclasses.replace(self._attr, **given)
        self._has_no_reads = self._attr.max_rd_atomic == 0

    def _masked(self, qp_attr: QPAttr, comp_mask: int) -> dict[str, Any]:
        """The attributes of a mask, by name."""
        if unknown := int(comp_mask) & ~sum(_FIELDS):
            raise PyverbsUserError(f"modify_qp: {Mask(unknown)!r} is not supported")
        given = {name: getattr(qp_attr, name) for bit, name in _FIELDS.items() if comp_mask & bit}
        if unset := [name for name, value in given.items() if value is None]:
            text = f"modify_qp: queue pair {self.handle}: {', '.join(unset)}: in the mask and not set"
            raise PyverbsRDMAError(text, errno.EINVAL)
        return given

    def query(self, attr_mask: int = 0) -> tuple[QPAttr, QPInitAttr]:
        """The attributes (`ibv_query_qp`): all, whatever the mask."""
        state, path = self.context.call(self.context.adapter.qp_path, self.handle)
        attr, second = self._attr, self._attr.alt_ah_attr
        if second is not None and state == IBV_MIG_MIGRATED and path is not None and path[0] == second.dlid:
            # It has migrated since.
            attr = dataclasses.replace(
                attr,
                ah_attr=second,
                alt_ah_attr=None,
                timeout=attr.alt_timeout,
                pkey_index=attr.alt_pkey_index,
            )
        attr = dataclasses.replace(attr, qp_state=self.qp_state, path_mig_state=ibv_mig_state(state))
        return attr, dataclasses.replace(self.init_attr)

    def post_send(self, wr: SendWR, bad_wr: object = None) -> None:
        """Posts a work request, and those that follow it by `next_wr` (`ibv_post_send`). Each takes `adapter.post`."""
        context, handle = self.context, self.handle
        for one in linked(wr):
            context.spend(context.post_ps)
            if one.opcode in _LOCAL:
                self._post_local(one)
                continue
            if self._has_no_reads and one.opcode in _READS:
                text = (
                    f"post_send: queue pair {handle}: max_rd_atomic = 0 allows no READ and no atomic operation: "
                    "set 1 or more"
                )
                raise PyverbsRDMAError(text, errno.EINVAL)
            flags, sges = int(one.send_flags), pieces(one)
            data = None
            if flags & e.IBV_SEND_INLINE:
                data = b"".join(context.bytes_at(addr, length) for addr, length, _ in sges)
                sges = []
            try:
                context.call(
                    context.adapter.post_send,
                    *(handle, one.wr_id, int(one.opcode), flags, sges, data),
                    *(one.imm_data, one.remote, one.atomic, one.to),
                )
            except PyverbsRDMAError as error:
                error.add_note(f"work request {one.wr_id}")
                raise

    def _post_local(self, wr: SendWR) -> None:
        """Posts a request that needs no packet."""
        adapter, window, key = self.context.adapter, None, wr.imm_data
        if wr.opcode == e.IBV_WR_BIND_MW:
            if wr.bind is None:
                raise PyverbsUserError("IBV_WR_BIND_MW: SendWR.set_bind_wr names the window and its memory")
            mw, info, key = wr.bind
            window = (mw.handle, info.row())
        self.context.call(adapter.post_local, self.handle, wr.wr_id, int(wr.send_flags), key, window)
        if wr.bind is not None and window is not None:
            wr.bind[0].rkey = key

    def bind_mw(self, mw: MW, mw_bind: MWBind) -> None:
        """Posts a bind of a memory window of type 1 (`ibv_bind_mw`); its `rkey` is a new one. It takes `adapter.post`.

        A length of 0 unbinds the window.
        """
        context, info = self.context, mw_bind.info
        context.spend(context.post_ps)
        memory = info.row() if info.length else None
        flags = int(mw_bind.send_flags)
        mw.rkey = context.call(context.adapter.bind_mw, self.handle, mw_bind.wr_id, flags, mw.handle, memory)

    def post_recv(self, wr: RecvWR, bad_wr: object = None) -> None:
        """Posts a receive request, and those that follow it (`ibv_post_recv`). Each takes `adapter.post_receive`."""
        context, handle = self.context, self.handle
        for one in linked(wr):
            context.spend(context.post_recv_ps)
            context.call(context.adapter.post_recv, handle, one.wr_id, pieces(one))

    def attach_mcast(self, gid: GID | str, lid: int) -> None:
        """Attaches a queue pair of UD to a multicast group (`ibv_attach_mcast`), of which its host is a member.

        It receives the datagrams of others to the group, those of other queue pairs of its host included.
        """
        adapter = self.context.adapter
        self.context.call(adapter.attach_mcast, self.handle, int(_gid(gid).address), lid)

    def detach_mcast(self, gid: GID | str, lid: int) -> None:
        """Detaches it from a multicast group (`ibv_detach_mcast`)."""
        adapter = self.context.adapter
        self.context.call(adapter.detach_mcast, self.handle, int(_gid(gid).address), lid)

    def query_drops(self) -> Drops:
        """Datagrams and unreliable messages that were executed and dropped so far."""
        return Drops(*self.context.call(self.context.adapter.unreliable_counters, self.handle))

    def _destroy(self, handle: int) -> None:
        self.context.call(self.context.adapter.destroy_qp, handle)


@dataclass(frozen=True)
class Drops:
    """What a queue pair of UD or UC has executed and dropped."""

    messages: int
    """Messages executed."""
    no_receive: int
    """Messages without a receive request."""
    wrong_qkey: int
    """Datagrams of another queue key."""
    dropped: int
    """Packets in a state in which it does not receive, and packets of other hosts or partitions."""


def _gid(gid: GID | str) -> GID:
    return gid if isinstance(gid, GID) else GID(gid)


def connect(qp: QP, peer: str, value: Any = None, attr: QPAttr | None = None) -> Any:
    """Connects a queue pair with one of another program, which calls `connect` as well, and brings it to RTS.

    The programs exchange LID, number and first PSN outside the fabric, and a value of their choice: a key and an
    address, say. Attributes that `attr` does not give are usual ones. Returns the other program's value.
    """
    context = qp.context
    usual = {
        "qp_access_flags": e.ibv_access_flags(0xF),
        "qkey": 0x11111111,
        "path_mtu": e.IBV_MTU_2048,
        "sq_psn": 0,
        "max_rd_atomic": 16,
        "max_dest_rd_atomic": 16,
        "min_rnr_timer": 12,
        "timeout": 14,
        "retry_cnt": 7,
        "rnr_retry": 7,
    }
    chosen = dataclasses.replace(attr or QPAttr())
    for name, default in usual.items():
        if getattr(chosen, name) is None:
            setattr(chosen, name, default)
    theirs = context.exchange(peer, (context.lid, qp.qp_num, chosen.sq_psn, value))
    lid, chosen.dest_qp_num, chosen.rq_psn, answer = theirs
    path = chosen.ah_attr or AHAttr()
    chosen.ah_attr = dataclasses.replace(path, dlid=path.dlid or lid)
    qp.to_rts(chosen)
    # A packet that arrives before its receiver is ready would be lost.
    context.exchange(peer, None)
    return answer
