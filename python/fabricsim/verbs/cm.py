"""Connections by communication management, with the names of librdmacm and of `pyverbs.cmid`.

Hosts have names and LIDs and no IP addresses: `AddrInfo` names a host. Its service is a port of the port space TCP,
whose service identifiers are `0x0000000001060000 | port`, or of UDP, `0x0000000001110000 | port`.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, field

from fabricsim.programs.scheduler import CONNECTION_EVENT
from fabricsim.verbs import enums as e
from fabricsim.verbs.addr import AHAttr
from fabricsim.verbs.cm_messages import Messages
from fabricsim.verbs.cm_paths import AlternatePaths, PathRecord, path_record, path_to
from fabricsim.verbs.cm_types import (
    IB_CM_APR_RECEIVED,
    IB_CM_LAP_ERROR,
    IB_CM_LAP_RECEIVED,
    RDMA_CM_EVENT_ADDR_ERROR,
    RDMA_CM_EVENT_ADDR_RESOLVED,
    RDMA_CM_EVENT_CONNECT_ERROR,
    RDMA_CM_EVENT_CONNECT_REQUEST,
    RDMA_CM_EVENT_CONNECT_RESPONSE,
    RDMA_CM_EVENT_DISCONNECTED,
    RDMA_CM_EVENT_ESTABLISHED,
    RDMA_CM_EVENT_REJECTED,
    RDMA_CM_EVENT_ROUTE_RESOLVED,
    RDMA_CM_EVENT_TIMEWAIT_EXIT,
    RDMA_CM_EVENT_UNREACHABLE,
    RDMA_PS_TCP,
    RDMA_PS_UDP,
    RDMA_UDP_QKEY,
    AddrInfo,
    CMEvent,
    ConnParam,
    Event,
    UDParam,
    rdma_cm_event_type,
    rdma_port_space,
)
from fabricsim.verbs.completion import CQ
from fabricsim.verbs.context import PD, Context
from fabricsim.verbs.errors import PyverbsRDMAError, PyverbsUserError
from fabricsim.verbs.qp import QP, QPAttr, QPCap, QPInitAttr

__all__ = [
    "CMID",
    "IB_CM_APR_RECEIVED",
    "IB_CM_LAP_ERROR",
    "IB_CM_LAP_RECEIVED",
    "RDMA_CM_EVENT_ADDR_ERROR",
    "RDMA_CM_EVENT_ADDR_RESOLVED",
    "RDMA_CM_EVENT_CONNECT_ERROR",
    "RDMA_CM_EVENT_CONNECT_REQUEST",
    "RDMA_CM_EVENT_CONNECT_RESPONSE",
    "RDMA_CM_EVENT_DISCONNECTED",
    "RDMA_CM_EVENT_ESTABLISHED",
    "RDMA_CM_EVENT_REJECTED",
    "RDMA_CM_EVENT_ROUTE_RESOLVED",
    "RDMA_CM_EVENT_TIMEWAIT_EXIT",
    "RDMA_CM_EVENT_UNREACHABLE",
    "RDMA_PS_TCP",
    "RDMA_PS_UDP",
    "RDMA_UDP_QKEY",
    "AddrInfo",
    "CMEvent",
    "CMEventChannel",
    "ConnParam",
    "Event",
    "PathRecord",
    "UDParam",
    "path_record",
    "rdma_cm_event_type",
    "rdma_port_space",
]


_VALID, _REJECTED = 0, 2
"""Status of a reply to a request for a service (IBA volume 1, table 120)."""


@dataclass
class _Channel:
    """State of the ends that share a channel."""

    handle: int
    ends: dict[int, CMID] = field(default_factory=dict)
    listeners: dict[int, CMID] = field(default_factory=dict)
    local: list[CMEvent] = field(default_factory=list)


class CMEventChannel:
    """Channel of events (`rdma_create_event_channel`)."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._state = _Channel(context.new_channel())
        self._adapter = context.adapter.connections()

    def get_cm_event(self) -> CMEvent:
        """Takes the oldest event (`rdma_get_cm_event`); sleeps until there is one, and then needs `adapter.wake_up`."""
        context, state = self.context, self._state
        while True:
            if state.local:
                return state.local.pop(0)
            found = context.call(self._adapter.event, state.handle)
            if found is None:
                context.wait_for([(CONNECTION_EVENT, state.handle)], "CMEventChannel.get_cm_event()")
                continue
            event = self._event(*found)
            if event is not None:
                return event

    def _event(self, kind: int, number: int, values: list[tuple[str, int]], data: bytes) -> CMEvent | None:
        of, event = dict(values), Event(kind)
        if event is Event.RDMA_CM_EVENT_CONNECT_REQUEST:
            listener = self._state.listeners[of["service"]]
            end = CMID(self, pd=listener.pd, qp_init_attr=listener.init_attr)
            end._number, end._peer, end._address = number, of, listener._address
            self._state.ends[number] = end
            return CMEvent(event, end, listener, private_data=data, path=end._second_requested(of))
        end = self._state.ends[number]
        if event is Event.RDMA_CM_EVENT_CONNECT_RESPONSE and end.qp is not None:
            # The library brings the queue pair to RTS and confirms; the program sees ESTABLISHED only.
            end._replied(of, data)
            return None
        if event is Event.RDMA_CM_EVENT_CONNECT_RESPONSE:
            end._peer |= of
        if event is Event.RDMA_CM_EVENT_DISCONNECTED:
            end._disconnected()
        if event is Event.IB_CM_LAP_RECEIVED:
            return CMEvent(event, end, private_data=data, path=end._path_offered(of))
        if event is Event.IB_CM_APR_RECEIVED:
            end._path_answered(of["status"])
        status = of.get("status", -errno.ETIMEDOUT if event is Event.RDMA_CM_EVENT_UNREACHABLE else 0)
        if end._is_datagram:
            ud = UDParam(AHAttr(dlid=end._peer["dlid"]), of["qp_num"], of["qkey"]) if "qkey" in of else None
            return CMEvent(event, end, None, status, data, ud)
        if event is Event.RDMA_CM_EVENT_ESTABLISHED:
            data, end._was_established = end._reply, True
        return CMEvent(event, end, None, status, data)


class CMID(AlternatePaths, Messages):
    """An end of a connection (`rdma_cm_id`).

    Args:
        creator: channel of its events; or the program's `Context`, for an end with a channel of its own.
        pd: protection domain of its queue pair; a new one if it is not given.
        qp_init_attr: arguments of its queue pair; ends that a listener makes have the same.
    """

    def __init__(
        self,
        creator: CMEventChannel | Context,
        pd: PD | None = None,
        qp_init_attr: QPInitAttr | None = None,
    ) -> None:
        self.event_channel = creator if isinstance(creator, CMEventChannel) else CMEventChannel(creator)
        self.context = self.event_channel.context
        self.pd = pd or PD(self.context)
        self.init_attr = qp_init_attr
        self.qp: QP | None = None
        self._adapter = self.context.adapter.connections()
        self._state = self.event_channel._state
        self._number: int | None = None
        self._address: AddrInfo | None = None
        self._peer: dict[str, int] = {}
        self.route: PathRecord | None = None
        self._service: int | None = None
        self._param, self._is_accepted, self._was_established = ConnParam(), False, False
        self._reply = b""

    def resolve_addr(self, address: AddrInfo) -> None:
        """Finds the host's LID: `RDMA_CM_EVENT_ADDR_RESOLVED` follows; of a LID that no host has
        `RDMA_CM_EVENT_ADDR_ERROR`. It takes no time.
        """
        if address.dst is None:
            raise PyverbsUserError("resolve_addr: dst names the host")
        dst = address.dst
        lid = dst if isinstance(dst, int) else self.context.call(self.context.adapter.lid_of, dst)
        try:
            path_record(self.context, lid)
        except PyverbsRDMAError:
            self._address = None
            error = CMEvent(Event.RDMA_CM_EVENT_ADDR_ERROR, self, status=-errno.EHOSTUNREACH)
            self._state.local.append(error)
            return
        self._address, self._peer = address, {"dlid": lid}
        self._state.local.append(CMEvent(Event.RDMA_CM_EVENT_ADDR_RESOLVED, self))

    def resolve_route(self) -> None:
        """Gets the path record, `route`: `RDMA_CM_EVENT_ROUTE_RESOLVED` follows. It takes no time."""
        if self._address is None:
            raise PyverbsUserError("resolve_route: call resolve_addr before")
        self.route = path_record(self.context, self._peer["dlid"])
        self._state.local.append(CMEvent(Event.RDMA_CM_EVENT_ROUTE_RESOLVED, self))

    def create_qp(self, qp_init_attr: QPInitAttr | None = None) -> None:
        """Creates the queue pair, in the state INIT; that of datagrams is in RTS.

        Without arguments it has completion queues of its own.
        """
        attr = qp_init_attr or self.init_attr or QPInitAttr(cap=QPCap(max_send_wr=16, max_recv_wr=16))
        if attr.scq is None or attr.rcq is None:
            cap, srq = attr.cap, attr.srq
            scq, rcq = CQ(self.context, 256), CQ(self.context, 256)
            attr = QPInitAttr(
                qp_type=attr.qp_type, scq=scq, rcq=rcq, srq=srq, cap=cap, sq_sig_all=attr.sq_sig_all
            )
        if self._is_datagram:
            attr.qp_type = e.IBV_QPT_UD
            self.qp = QP(self.pd, attr)
            self.qp.to_rts(QPAttr(qkey=RDMA_UDP_QKEY, sq_psn=0))
        else:
            self.qp = QP(self.pd, attr, QPAttr(qp_access_flags=e.ibv_access_flags(0xF)))

    def bind_addr(self, address: AddrInfo) -> None:
        """Sets the service to listen on."""
        self._address = address

    def listen(self, backlog: int = 0) -> None:
        """Accepts requests for the service of `bind_addr`: `RDMA_CM_EVENT_CONNECT_REQUEST` for each."""
        if self._address is None:
            raise PyverbsUserError("listen: call bind_addr before")
        service = self._address.service_id
        self.context.call(self._adapter.listen, service, self._state.handle)
        self._service = service
        self._state.listeners[service] = self

    def get_request(self) -> CMID:
        """Waits for the next request, and returns the new end (`rdma_get_request`)."""
        event = self.event_channel.get_cm_event()
        if event.event_type is not Event.RDMA_CM_EVENT_CONNECT_REQUEST:
            raise PyverbsUserError(f"get_request: {event.event_type.name}")
        if event.id.qp is None:
            event.id.create_qp()
        return event.id

    def connect(self, param: ConnParam | None = None) -> None:
        """Requests the connection: `ESTABLISHED`, `REJECTED` or `UNREACHABLE` follows.

        With datagrams it asks for the queue pair of the service (SIDR), which `ESTABLISHED` has in `ud`.
        """
        if self._number is not None:
            raise PyverbsRDMAError("connect: the end has or had a connection: use another CMID", errno.EINVAL)
        if self._address is None or self.qp is None:
            raise PyverbsUserError("connect: call resolve_addr, resolve_route and create_qp before")
        self._param = param or ConnParam()
        handle, service, dlid = self._state.handle, self._address.service_id, self._peer["dlid"]
        route = self.route or path_record(self.context, dlid)
        data, second = self._param.private_data, self._request_second(self._param)
        if self._is_datagram:
            self._number = self.context.call(self._adapter.resolve, handle, dlid, service, data)
        else:
            offer, path = self._offer(self.qp), (dlid, route.sl, 0)
            self._peer |= {"sl": route.sl, "timeout": route.ack_timeout, "path_mtu": route.mtu}
            of_path = (128 << route.mtu, route.ack_timeout)
            connect = self._adapter.connect
            self._number = self.context.call(connect, handle, path, second, service, of_path, offer, data)
        self._state.ends[self._number] = self

    def accept(self, param: ConnParam | None = None) -> None:
        """Accepts a request: creates a queue pair if there is none, brings it to RTS and sends the reply.

        `ESTABLISHED` follows at both ends; with datagrams at the other end alone.
        """
        if self._number is None:
            raise PyverbsUserError("accept: the end is that of no request")
        if self._is_accepted:
            raise PyverbsUserError("accept: the request was accepted already")
        if self.qp is None:
            self.create_qp()
        assert self.qp is not None
        self._param, self._is_accepted = param or ConnParam(), True
        if self._is_datagram:
            reply = (_VALID, self.qp.qp_num, RDMA_UDP_QKEY)
            self.context.call(self._adapter.answer, self._number, reply, self._param.private_data)
            return
        self._to_rts(self.qp)
        offer, answer = self._offer(self.qp), self._param.failover_accepted
        self._second_answered(answer)
        self.context.call(self._adapter.accept, self._number, offer, answer, self._param.private_data)

    def establish(self) -> None:
        """Confirms a reply, of an end without queue pair of its own (`rdma_establish`)."""
        self.context.call(self._adapter.confirm, self.number)

    def reject(self, private_data: bytes = b"") -> None:
        """Rejects a request: `RDMA_CM_EVENT_REJECTED` at the other end, with status 28.

        With datagrams it is `RDMA_CM_EVENT_UNREACHABLE`, with status 2.
        """
        if self._is_datagram:
            self.context.call(self._adapter.answer, self.number, (_REJECTED, 0, 0), private_data)
        else:
            self.context.call(self._adapter.reject, self.number, private_data)
        self._state.ends.pop(self.number, None)

    def notify(self, event_type: e.ibv_event_type) -> None:
        """Tells that a queue pair had an asynchronous event (`rdma_notify`).

        With `IBV_EVENT_COMM_EST` an end that has accepted is established although the RTU has not arrived.
        """
        if event_type is not e.IBV_EVENT_COMM_EST:
            raise PyverbsUserError(f"notify: {event_type.name}: must be IBV_EVENT_COMM_EST")
        self.context.call(self._adapter.notify, self.number)

    def delay(self, service_timeout: int) -> None:
        """Asks the other end to wait 4.096 us x 2^n for the answer to its request (MRA)."""
        self.context.call(self._adapter.delay, self.number, service_timeout)

    def disconnect(self) -> None:
        """Releases the connection: `DISCONNECTED` at both ends. The queue pair goes to the error state.

        The other end may have released it already: then nothing is sent, as in Linux.
        """
        try:
            self.context.call(self._adapter.disconnect, self.number)
        except PyverbsRDMAError:
            if not self._was_established:
                raise
        self._disconnected()

    @property
    def number(self) -> int:
        """Number of the connection at this end (communication ID)."""
        if self._number is None:
            raise PyverbsUserError("the end has no connection")
        return self._number

    def close(self) -> None:
        """Ends listening, and destroys the queue pair."""
        if self._service is not None:
            self.context.call(self._adapter.unlisten, self._service)
            self._state.listeners.pop(self._service, None)
            self._service = None
        if self.qp is not None:
            self.qp.close()
            self.qp = None

    @property
    def _is_datagram(self) -> bool:
        return self._address is not None and self._address.is_datagram

    def _offer(self, qp: QP) -> tuple[int, int, int, int, int, int]:
        param = self._param
        return (qp.qp_num, qp.qp_num & 0xFFFFFF, *param.reads(), *param.retries())

    def _to_rts(self, qp: QP) -> None:
        """Brings the queue pair to RTS, with the attributes that the other end has sent."""
        peer, (responder_resources, initiator_depth) = self._peer, self._param.reads()
        qp.to_rts(
            QPAttr(
                qp_access_flags=e.ibv_access_flags(0xF),
                ah_attr=path_to(self.context, peer),
                path_mtu=peer.get("path_mtu") or self.context.query_port(1).active_mtu,
                dest_qp_num=peer["qp_num"],
                rq_psn=peer["psn"],
                sq_psn=qp.qp_num & 0xFFFFFF,
                max_dest_rd_atomic=min(responder_resources, peer["initiator_depth"]),
                max_rd_atomic=min(initiator_depth, peer["responder_resources"]),
                min_rnr_timer=12,
                timeout=peer.get("timeout", 14),
                retry_cnt=peer.get("retry_count", self._param.retries()[0]),
                rnr_retry=peer["rnr_retry_count"],
            )
        )

    def _replied(self, values: dict[str, int], data: bytes) -> None:
        self._peer |= values
        self._reply = data
        self._to_rts(self._own())
        self._second_answered(values["failover"])
        self.context.call(self._adapter.confirm, self.number)

    def _disconnected(self) -> None:
        if self.qp is not None and self.qp.qp_state != e.IBV_QPS_ERR:
            self.qp.modify(QPAttr(qp_state=e.IBV_QPS_ERR), e.IBV_QP_STATE)
