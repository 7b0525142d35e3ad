"""Paths of connections: path records, and alternate paths to which a connection can migrate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabricsim.verbs import enums as e
from fabricsim.verbs.addr import AHAttr
from fabricsim.verbs.errors import PyverbsUserError
from fabricsim.verbs.migration import IBV_MIG_REARM
from fabricsim.verbs.qp import QP, QPAttr

if TYPE_CHECKING:
    from fabricsim.native_types import NativeConnectionAdapter
    from fabricsim.verbs.cm_types import ConnParam
    from fabricsim.verbs.context import Context


@dataclass(frozen=True)
class PathRecord:
    """Path record of subnet administration (`ibv_sa_path_rec`)."""

    dlid: int
    slid: int
    sl: int
    """Service level."""
    mtu: e.ibv_mtu
    """Largest MTU that all links of the path carry."""
    rate: int
    """Rate of the slowest link, in bits per second."""
    packet_life_time: int
    """Longest time of a packet on the path: 4.096 us x 2^n."""

    @property
    def ack_timeout(self) -> int:
        """Local ACK timeout of a connection: there and back, 4.096 us x 2^n."""
        return self.packet_life_time + 1


def path_record(context: Context, dlid: int) -> PathRecord:
    """The path from the program's host to a LID. It takes no time."""
    sl, mtu, rate, life_time, slid = context.call(context.adapter.connections().path_record, dlid)
    return PathRecord(dlid, slid, sl, e.ibv_mtu((mtu // 256).bit_length()), rate, life_time)


class AlternatePaths:
    """Calls of an end of a connection for its second path, with the names of `ib_cm`: librdmacm has none."""

    context: Context
    qp: QP | None
    _adapter: NativeConnectionAdapter
    failover_accepted: int | None = None
    """Answer of the other end to the second path of a request: 0 loaded, 1 it has none, 2 refused."""
    _offered: tuple[AHAttr, int] | None = None
    """Path of a LAP that is not answered."""
    _second: tuple[AHAttr, int] | None = None
    """Path of a request that is not answered."""

    @property
    def number(self) -> int:
        """Number of the connection at this end (communication ID)."""
        raise NotImplementedError

    @property
    def _is_datagram(self) -> bool:
        raise NotImplementedError

    def send_lap(self, ah_attr: AHAttr, timeout: int = 14) -> None:
        """Asks the other end to load an alternate path: `IB_CM_APR_RECEIVED` or `IB_CM_LAP_ERROR` follows.

        When `IB_CM_APR_RECEIVED` with status 0 is taken, this end loads the path as well. Both ends are in the state
        REARM then, and in ARMED as soon as each has received a packet of the other one. Only the end that has called
        `connect` may call it.

        Args:
            ah_attr: path to another LID of the host at the other end.
            timeout: local ACK timeout on that path, 4.096 us x 2^n.
        """
        self.context.call(self._adapter.load_path, self.number, ah_attr.row(), timeout)
        self._offered = (ah_attr, timeout)

    def send_apr(self, status: int = 0) -> None:
        """Answers `IB_CM_LAP_RECEIVED`: loads the alternate path, or refuses it.

        Args:
            status: 0, or the reason of the refusal, 1 to 255.
        """
        if self._offered is None:
            raise PyverbsUserError("send_apr: no IB_CM_LAP_RECEIVED was taken")
        if status == 0:
            self._load(self._offered)
        self._offered = None
        self.context.call(self._adapter.answer_path, self.number, status)

    def _path_offered(self, of: dict[str, int]) -> AHAttr:
        path = path_to(self.context, of)
        self._offered = (path, of["timeout"])
        return path

    def _path_answered(self, status: int) -> None:
        if status == 0 and self._offered is not None:
            self._load(self._offered)
        self._offered = None

    def _request_second(self, param: ConnParam) -> tuple[tuple[int, int, int], int, int, int] | None:
        """The second path of a request, as the adapter takes it."""
        path, timeout = param.alternate_path, param.alternate_timeout
        if path is None:
            return None
        if self._is_datagram:
            raise PyverbsUserError("connect: alternate_path: a service for datagrams has no second path")
        self._second = (path, timeout)
        return path.row(), 0, 1, timeout

    def _second_requested(self, of: dict[str, int]) -> AHAttr | None:
        if not of.get("alt_dlid"):
            return None
        path = path_to(self.context, {name: of[f"alt_{name}"] for name in ("dlid", "own_lid", "sl")})
        self._second = (path, of["alt_timeout"])
        return path

    def _second_answered(self, failover_accepted: int) -> None:
        """Loads the second path of a request, of which one end has told the other whether it loads it."""
        if self._second is None:
            return
        self.failover_accepted = failover_accepted
        if failover_accepted == 0:
            self._load(self._second)
        self._second = None

    def _own(self) -> QP:
        if self.qp is None:
            raise PyverbsUserError("the end has no queue pair: call create_qp before")
        return self.qp

    def _load(self, second: tuple[AHAttr, int]) -> None:
        path, timeout = second
        attr = QPAttr(alt_ah_attr=path, alt_timeout=timeout, path_mig_state=IBV_MIG_REARM)
        self._own().modify(attr, e.IBV_QP_ALT_PATH | e.IBV_QP_PATH_MIG_STATE)


def path_to(context: Context, of: dict[str, int]) -> AHAttr:
    """The path to the other end, by what it has sent of it."""
    bits = of.get("own_lid", context.lid) - context.lid
    return AHAttr(dlid=of["dlid"], sl=of.get("sl", 0), src_path_bits=bits)
