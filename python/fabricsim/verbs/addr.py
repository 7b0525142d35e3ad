"""Addresses of datagrams and of connections."""

from __future__ import annotations

from dataclasses import dataclass, field

from fabricsim.verbs.context import PD, Closable
from fabricsim.verbs.gid import GID, McastGroup

__all__ = ["AH", "GID", "AHAttr", "GlobalRoute", "McastGroup"]


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
