"""Addresses of datagrams and of connections."""

from __future__ import annotations

from dataclasses import dataclass

from fabricsim.verbs.context import PD, Closable


@dataclass
class AHAttr:
    """Address vector (`ibv_ah_attr`): where a queue pair sends to."""

    dlid: int = 0
    """LID of the other host's port."""
    sl: int = 0
    """Service level: 0."""
    port_num: int = 1


class AH(Closable):
    """Address handle (`ibv_create_ah`): the host to which datagrams go."""

    def __init__(self, pd: PD, attr: AHAttr) -> None:
        self.pd = pd
        self.context = pd.context
        self._handle = self.context.call(self.context.adapter.create_ah, pd.handle, attr.dlid)

    def _destroy(self, handle: int) -> None:
        self.context.call(self.context.adapter.destroy_ah, handle)
