"""The adapter of a program's host, and protection domains."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from fabricsim.native import native
from fabricsim.programs import ProgramContext, Scheduler
from fabricsim.programs.scheduler import ASYNC_EVENT
from fabricsim.verbs.enums import ibv_event_type, ibv_mtu
from fabricsim.verbs.errors import PyverbsRDMAError, PyverbsUserError
from fabricsim.verbs.gid import GID, McastGroup

if TYPE_CHECKING:
    from fabricsim.verbs.memory import MR

P = ParamSpec("P")
T = TypeVar("T")


class Closable:
    """An object of the adapter, which `close` or the end of a `with` block destroys."""

    _handle: int | None = None

    @property
    def handle(self) -> int:
        """Number of the object."""
        if self._handle is None:
            raise PyverbsUserError(f"the {type(self).__name__} was closed")
        return self._handle

    def close(self) -> None:
        """Destroys the object. A second call does nothing."""
        if self._handle is not None:
            self._destroy(self._handle)
            self._handle = None

    def _destroy(self, handle: int) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()


@dataclass(frozen=True)
class PortAttr:
    """Attributes of the adapter's port (`ibv_query_port`)."""

    lid: int
    """LID of the port."""
    active_mtu: ibv_mtu = ibv_mtu.IBV_MTU_4096
    lmc: int = 0
    """LID mask control: the port has 2^`lmc` LIDs, from `lid` on."""


@dataclass(frozen=True)
class AsyncEvent:
    """An asynchronous event (`ibv_async_event`)."""

    event_type: ibv_event_type
    element: int
    """Number of its queue pair, or handle of its completion queue."""

    def ack(self) -> None:
        """Acknowledges the event."""


class Context(ProgramContext):
    """The adapter of a program's host (`ibv_context`), and the program's place in the run: its argument."""

    def __init__(self, scheduler: Scheduler, number: int, host: str) -> None:
        super().__init__(scheduler, number, host)
        self.adapter = scheduler.native.adapter(number)
        self._error, self._bad_input = native().VerbsCallError, native().NativeError
        self.post_ps, self.post_recv_ps, poll_ps, self.max_inline_data = self.adapter.costs()
        self.poll_ps = max(poll_ps, 1000)
        self._regions: list[MR] = []
        self._channels = number << 16

    @property
    def name(self) -> str:
        """Name of the device."""
        return f"{self.host}-hca"

    def query_port(self, port_num: int = 1) -> PortAttr:
        """Attributes of the port."""
        if port_num != 1:
            raise PyverbsUserError(f"port_num = {port_num}: the adapter has port 1")
        return PortAttr(self.lid, lmc=self.call(self.adapter.connections().lmc))

    def query_pkey(self, index: int, port_num: int = 1) -> int:
        """P_Key with an index of the port's table (`ibv_query_pkey`): that of the default partition, then those of the
        experiment's partitions of which the host is a member, in their order.
        """
        if port_num != 1:
            raise PyverbsUserError(f"port_num = {port_num}: the adapter has port 1")
        return self.call(self.adapter.connections().p_key, index)

    @property
    def lid(self) -> int:
        """LID of the port."""
        return self.call(self.adapter.lid)

    def multicast_group(self, name: str) -> McastGroup:
        """Addresses of a multicast group of the experiment (`[[multicast_groups]]`)."""
        mlid, mgid = self.call(self.adapter.group, name)
        return McastGroup(GID(mgid), mlid)

    def get_async_event(self) -> AsyncEvent:
        """Takes the oldest asynchronous event; sleeps until there is one."""
        while (found := self.adapter.take_async_event()) is None:
            self.wait_for([(ASYNC_EVENT, 0)], "get_async_event()")
        return AsyncEvent(ibv_event_type(found[0]), found[1])

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls the adapter; what it refuses becomes a `PyverbsRDMAError`."""
        try:
            return function(*args, **kwargs)
        except self._error as error:
            number, text = error.args
            raise PyverbsRDMAError(text, number) from None
        except self._bad_input as error:
            raise PyverbsUserError(str(error)) from None
        except OverflowError as error:
            name = getattr(function, "__name__", "the adapter")
            raise PyverbsUserError(f"{name}: a number is negative or too large ({error})") from None

    def new_channel(self) -> int:
        """Number of a new channel of events of connections."""
        self._channels += 1
        return self._channels

    def set_cm_options(self, response_timeout: int = 20, retries: int = 15, time_wait: int = 16) -> None:
        """Sets time-outs of communication management, of the host, before its first connection.

        The first two are those of the connections that the host requests, at both ends: the REQ carries them.

        Args:
            response_timeout: time for an answer, 4.096 us x 2^n.
            retries: retransmissions, 0 to 15.
            time_wait: time for which an ended connection is remembered, 4.096 us x 2^n.
        """
        self.call(self.adapter.connections().set_options, response_timeout, retries, time_wait)

    def add_region(self, region: MR) -> None:
        """Notes a region, by address: addresses grow."""
        self._regions.append(region)

    def bytes_at(self, address: int, length: int) -> bytes:
        """Bytes of registered memory, as a work request with `IBV_SEND_INLINE` copies them. The key does not count."""
        place = bisect_right(self._regions, address, key=_address) - 1
        region = self._regions[place] if place >= 0 else None
        if region is None or address + length > region.buf + region.length:
            raise PyverbsUserError(f"{length} B at {address:#x} are not in a memory region of {self.host}")
        return self.call(self.adapter.read_memory, region.handle, address - region.buf, length)


def _address(region: Any) -> int:
    return int(region.buf)


class PD(Closable):
    """Protection domain (`ibv_alloc_pd`)."""

    def __init__(self, creator: Context) -> None:
        self.context = creator
        self._handle = creator.call(creator.adapter.alloc_pd)

    def _destroy(self, handle: int) -> None:
        self.context.call(self.context.adapter.dealloc_pd, handle)
