"""Addresses of datagrams and of connections."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field

from fabricsim.verbs.context import PD, Closable
from fabricsim.verbs.errors import PyverbsRDMAError
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
    """LID of the other host's port, or of a multicast group. With `routing.lmc` a port has several, each with
    routes of its own."""
    sl: int = 0
    """Service level: the virtual lanes of packets, by the SL2VL tables of the experiment, or its service class."""
    src_path_bits: int = 0
    """LID of the own port from which packets come: its number from the first LID on."""
    port_num: int = 1
    is_global: int = 0
    """Datagrams to multicast groups have a global route header in any case, others have none."""
    gr: GlobalRoute | None = None

    def row(self) -> tuple[int, int, int]:
        """LID, service level and source path bits, for the adapter.

        Raises:
            PyverbsRDMAError: the adapter has no such port.
        """
        if self.port_num != 1:
            text = f"ah_attr.port_num = {self.port_num}: the adapter has port 1"
            raise PyverbsRDMAError(text, errno.EINVAL)
        return (self.dlid, self.sl, self.src_path_bits)


class AH(Closable):
    """Address handle (`ibv_create_ah`): the host, or the multicast group, to which datagrams go."""

    def __init__(self, pd: PD, attr: AHAttr) -> None:
        self.pd = pd
        self.context = pd.context
        self._handle = self.context.call(self.context.adapter.create_ah, pd.handle, attr.row())

    def _destroy(self, handle: int) -> None:
        self.context.call(self.context.adapter.destroy_ah, handle)
