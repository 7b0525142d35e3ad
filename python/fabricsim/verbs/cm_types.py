"""Events, addresses and parameters of communication management, with the names of librdmacm."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from fabricsim.verbs.addr import AHAttr
from fabricsim.verbs.errors import PyverbsRDMAError, PyverbsUserError

if TYPE_CHECKING:
    from fabricsim.verbs.cm import CMID

RDMA_UDP_QKEY = 0x01234567
"""Queue key of the queue pairs of `RDMA_PS_UDP`."""
_MOST_READS = 16
"""READs and atomic operations of an adapter's queue pair at a time."""
_ALL_READS = 0xFF
"""`RDMA_MAX_RESP_RES`, `RDMA_MAX_INIT_DEPTH`."""


class rdma_port_space(IntEnum):
    """Space of ports, with librdmacm's numbers."""

    RDMA_PS_TCP = 0x0106
    RDMA_PS_UDP = 0x0111


RDMA_PS_TCP = rdma_port_space.RDMA_PS_TCP
RDMA_PS_UDP = rdma_port_space.RDMA_PS_UDP


class rdma_cm_event_type(IntEnum):
    """Events of a connection, with librdmacm's numbers."""

    RDMA_CM_EVENT_ADDR_RESOLVED = 0
    RDMA_CM_EVENT_ADDR_ERROR = 1
    RDMA_CM_EVENT_ROUTE_RESOLVED = 2
    RDMA_CM_EVENT_ROUTE_ERROR = 3
    RDMA_CM_EVENT_CONNECT_REQUEST = 4
    RDMA_CM_EVENT_CONNECT_RESPONSE = 5
    RDMA_CM_EVENT_CONNECT_ERROR = 6
    RDMA_CM_EVENT_UNREACHABLE = 7
    RDMA_CM_EVENT_REJECTED = 8
    RDMA_CM_EVENT_ESTABLISHED = 9
    RDMA_CM_EVENT_DISCONNECTED = 10
    RDMA_CM_EVENT_TIMEWAIT_EXIT = 15
    # Of alternate paths, which librdmacm does not have: 256 and the number of ib_cm.
    IB_CM_LAP_ERROR = 268
    IB_CM_LAP_RECEIVED = 269
    IB_CM_APR_RECEIVED = 270


RDMA_CM_EVENT_ADDR_RESOLVED = rdma_cm_event_type.RDMA_CM_EVENT_ADDR_RESOLVED
RDMA_CM_EVENT_ADDR_ERROR = rdma_cm_event_type.RDMA_CM_EVENT_ADDR_ERROR
RDMA_CM_EVENT_ROUTE_RESOLVED = rdma_cm_event_type.RDMA_CM_EVENT_ROUTE_RESOLVED
RDMA_CM_EVENT_CONNECT_REQUEST = rdma_cm_event_type.RDMA_CM_EVENT_CONNECT_REQUEST
RDMA_CM_EVENT_CONNECT_RESPONSE = rdma_cm_event_type.RDMA_CM_EVENT_CONNECT_RESPONSE
RDMA_CM_EVENT_CONNECT_ERROR = rdma_cm_event_type.RDMA_CM_EVENT_CONNECT_ERROR
RDMA_CM_EVENT_UNREACHABLE = rdma_cm_event_type.RDMA_CM_EVENT_UNREACHABLE
RDMA_CM_EVENT_REJECTED = rdma_cm_event_type.RDMA_CM_EVENT_REJECTED
RDMA_CM_EVENT_ESTABLISHED = rdma_cm_event_type.RDMA_CM_EVENT_ESTABLISHED
RDMA_CM_EVENT_DISCONNECTED = rdma_cm_event_type.RDMA_CM_EVENT_DISCONNECTED
RDMA_CM_EVENT_TIMEWAIT_EXIT = rdma_cm_event_type.RDMA_CM_EVENT_TIMEWAIT_EXIT
IB_CM_LAP_ERROR = rdma_cm_event_type.IB_CM_LAP_ERROR
IB_CM_LAP_RECEIVED = rdma_cm_event_type.IB_CM_LAP_RECEIVED
IB_CM_APR_RECEIVED = rdma_cm_event_type.IB_CM_APR_RECEIVED

Event = rdma_cm_event_type


@dataclass(frozen=True)
class AddrInfo:
    """Address of a service (`rdma_addrinfo`).

    Args:
        dst: name of the host, or its LID; none for an end that listens.
        service: port, 0 to 65535.
        port_space: `RDMA_PS_TCP` for connections, `RDMA_PS_UDP` for datagrams.
    """

    dst: str | int | None = None
    service: int = 0
    port_space: rdma_port_space = rdma_port_space.RDMA_PS_TCP

    @property
    def service_id(self) -> int:
        """Service identifier: the port space in the upper half of 32 bits, and the port (annex A11)."""
        if not 0 <= self.service <= 0xFFFF:
            raise PyverbsUserError(f"service = {self.service}: must be 0 to 65535")
        return self.port_space << 16 | self.service

    @property
    def is_datagram(self) -> bool:
        """True in the port space UDP."""
        return self.port_space == rdma_port_space.RDMA_PS_UDP


@dataclass
class ConnParam:
    """Parameters of a connection (`rdma_conn_param`)."""

    responder_resources: int = 1
    """READs and atomic operations of the other end at a time, 0 to 16; 255 (`RDMA_MAX_RESP_RES`): the most."""
    initiator_depth: int = 1
    """READs and atomic operations of its own at a time, 0 to 16; 255 (`RDMA_MAX_INIT_DEPTH`): the most."""
    retry: int = 7
    """Retransmissions after time-outs; more than 7 count as 7, as in Linux."""
    rnr_retry: int = 7
    """Retransmissions after RNR NAKs, 7: without end; more than 7 count as 7."""
    private_data: bytes = b""
    """At most 92 B in a request, 196 B in an acceptance; of datagrams 216 and 136 B."""
    alternate_path: AHAttr | None = None
    """Of a request: second path to the same host, which both ends load (`alternate_path` of `ib_cm_req_param`)."""
    alternate_timeout: int = 14
    """Local ACK timeout on that path, 4.096 us x 2^n."""
    failover_accepted: int = 0
    """Of an acceptance: 0 loads the request's second path, if there is one; 1: this end has none, 2: it refuses that
    one (`failover_accepted` of `ib_cm_rep_param`)."""

    def reads(self) -> tuple[int, int]:
        """Responder resources and initiator depth.

        Raises:
            PyverbsRDMAError: the adapter does not have that many.
        """
        for name in ("responder_resources", "initiator_depth"):
            value = getattr(self, name)
            if not 0 <= value <= _MOST_READS and value != _ALL_READS:
                text = f"{name} = {value}: must be 0 to {_MOST_READS}, or {_ALL_READS} for the most"
                raise PyverbsRDMAError(text, errno.EINVAL)
        return min(self.responder_resources, _MOST_READS), min(self.initiator_depth, _MOST_READS)

    def retries(self) -> tuple[int, int]:
        """Retry counts as a request carries them."""
        return min(self.retry, 7), min(self.rnr_retry, 7)


@dataclass(frozen=True)
class UDParam:
    """Where datagrams to a service go (`rdma_ud_param`)."""

    ah_attr: AHAttr
    qp_num: int
    qkey: int


@dataclass(frozen=True)
class CMEvent:
    """An event (`rdma_cm_event`)."""

    event_type: rdma_cm_event_type
    id: CMID
    """Of `RDMA_CM_EVENT_CONNECT_REQUEST`: the new end."""
    listen_id: CMID | None = None
    status: int = 0
    """Of `RDMA_CM_EVENT_ADDR_ERROR`: -EHOSTUNREACH. Reason of a rejection: 28 that of the program, 8 without a
    listener, 10 stale. Of datagrams, of `RDMA_CM_EVENT_UNREACHABLE`: 1 without a listener, 2 rejected by the program.
    Of `IB_CM_APR_RECEIVED`: 0 if the path is loaded."""
    private_data: bytes = b""
    ud: UDParam | None = None
    """Of `RDMA_CM_EVENT_ESTABLISHED` of datagrams: where they go."""
    path: AHAttr | None = None
    """Of `IB_CM_LAP_RECEIVED`, and of `RDMA_CM_EVENT_CONNECT_REQUEST` if the request has one: the alternate path."""

    def ack_cm_event(self) -> None:
        """Acknowledges the event."""
