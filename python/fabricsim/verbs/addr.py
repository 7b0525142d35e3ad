"""Addresses of datagrams and of connections."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv6Address

from fabricsim.verbs.context import PD, Closable
from fabricsim.verbs.errors import PyverbsUserError


class GID:
    """Global identifier of a port or of a multicast group, written as an IPv6 address."""

    def __init__(self, gid: str | int = 0) -> None:
        try:
            self.address = IPv6Address(gid)
        except AddressValueError as error:
            raise PyverbsUserError(f"gid = {gid!r}: {error}") from None

    @property
    def gid(self) -> str:
        """The identifier in eight groups of four digits."""
        return self.address.exploded

    def __str__(self) -> str:
        return self.gid

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GID) and self.address == other.address

    def __hash__(self) -> int:
        return hash(self.address)


@dataclass(frozen=True)
class McastGroup:
    """Addresses of a multicast group of the experiment."""

    mgid: GID
    mlid: int


@dataclass
class GlobalRoute:
    """Fields of the global route header (`ibv_global_route`)."""

    dgid: GID = field(default_factory=GID)
    flow_label: int = 0
    sgid_index: int = 0
    hop_limit: int = 1
    traffic_class: int = 0


@dataclass
class AHAttr:
    """Address vector (`ibv_ah_attr`): where a queue pair sends to."""

    dlid: int = 0
    """LID of the other host's port, or of a multicast group."""
    sl: int = 0
    """Service level: 0."""
    port_num: int = 1
    is_global: int = 0
    """Datagrams to multicast groups have a global route header in any case, others have none."""
    gr: GlobalRoute | None = None


class AH(Closable):
    """Address handle (`ibv_create_ah`): the host, or the multicast group, to which datagrams go."""

    def __init__(self, pd: PD, attr: AHAttr) -> None:
        self.pd = pd
        self.context = pd.context
        self._handle = self.context.call(self.context.adapter.create_ah, pd.handle, attr.dlid)

    def _destroy(self, handle: int) -> None:
        self.context.call(self.context.adapter.destroy_ah, handle)
