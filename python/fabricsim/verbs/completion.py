"""Completion queues, their channels, and completions."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import NamedTuple

from fabricsim.programs.scheduler import COMPLETION, EVENT
from fabricsim.shown import number_of
from fabricsim.verbs.context import Closable, Context
from fabricsim.verbs.enums import ibv_wc_flags, ibv_wc_opcode, ibv_wc_status
from fabricsim.verbs.errors import PyverbsRDMAError, PyverbsUserError

Row = tuple[int, int, int, int, int, int | None, int | None, tuple[int, int, bool, int, int] | None]

_STATUSES = {int(status): status for status in ibv_wc_status}
_OPCODES = {int(opcode): opcode for opcode in ibv_wc_opcode}
_NO_FLAGS = ibv_wc_flags(0)


@dataclass(frozen=True, slots=True)
class WC:
    """A work completion (`ibv_wc`). If its status is not success, `wr_id` and `qp_num` are valid besides."""

    wr_id: int
    status: ibv_wc_status
    opcode: ibv_wc_opcode
    byte_len: int
    qp_num: int
    imm_data: int = 0
    """Immediate data, or the key that was invalidated."""
    wc_flags: ibv_wc_flags = _NO_FLAGS
    src_qp: int = 0
    """Queue pair that sent a datagram."""
    slid: int = 0
    """LID of the host that sent a datagram."""
    sl: int = 0
    """Service level of a datagram."""
    dlid_path_bits: int = 0
    """LID of this port to which a datagram came: its number from the first LID on."""

    @property
    def invalidated_rkey(self) -> int:
        """The key that was invalidated, with `IBV_WC_WITH_INV`; the same field as `imm_data`."""
        return self.imm_data


class Polled(NamedTuple):
    """What a poll found. It is false if that is nothing."""

    npolled: int
    wcs: list[WC]

    def __bool__(self) -> bool:
        return self.npolled > 0


class CompChannel(Closable):
    """Completion channel (`ibv_create_comp_channel`): a program sleeps until one of its queues has an event."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._handle = 0
        self.cqs: list[CQ] = []

    def get_cq_event(self, expected_cq: CQ | None = None) -> CQ:
        """Takes an event; sleeps until there is one, and then needs `adapter.wake_up`. Returns its queue.

        Args:
            expected_cq: the queue whose event it must be.
        """
        context, _ = self.context, self.handle
        while True:
            for cq in self.cqs:
                if context.call(context.adapter.take_cq_event, cq.handle):
                    cq.unacknowledged += 1
                    context.has_acted()
                    if expected_cq is not None and cq is not expected_cq:
                        raise PyverbsUserError(
                            f"the event is of completion queue {cq.handle}, not of {expected_cq.handle}"
                        )
                    return cq
            context.wait_for([(EVENT, cq.handle) for cq in self.cqs], "CompChannel.get_cq_event()")

    def _destroy(self, handle: int) -> None:
        if self.cqs:
            raise PyverbsRDMAError("destroy_comp_channel: completion queues use it", errno.EBUSY)


class CQ(Closable):
    """Completion queue (`ibv_create_cq`).

    Args:
        context: adapter.
        cqe: completions that it can hold; one more is an error of its queue pairs.
        cq_context: any object of the program.
        channel: channel of its events.
        comp_vector: 0.
    """

    def __init__(
        self,
        context: Context,
        cqe: int,
        cq_context: object = None,
        channel: CompChannel | None = None,
        comp_vector: int = 0,
    ) -> None:
        if comp_vector != 0:
            text = f"create_cq: comp_vector = {comp_vector}: must be 0: the adapter has one completion vector"
            raise PyverbsRDMAError(text, errno.EINVAL)
        if channel is not None:
            _ = channel.handle  # raises if it was closed
        self.context = context
        self.cqe = cqe
        self.cq_context = cq_context
        self.channel = channel
        self.comp_vector = comp_vector
        self.unacknowledged = 0
        """Events that were taken and not acknowledged."""
        self._handle = context.call(context.adapter.create_cq, cqe)
        if channel is not None:
            channel.cqs.append(self)

    def poll(self, num_entries: int = 1) -> Polled:
        """Takes up to `num_entries` completions (`ibv_poll_cq`): their number, and a list of them.

        A call that finds any takes `adapter.poll`. One that finds none takes as long, or until something becomes
        visible that the program has polled for; if it is repeated with no other call between, at most 1 us instead.
        """
        context, handle = self.context, self.handle
        rows = context.call(context.adapter.poll_cq, handle, num_entries)
        if not rows:
            context.look((COMPLETION, handle), "CQ.poll()")
            return Polled(0, [])
        context.spend(context.poll_ps)
        return Polled(len(rows), [_completion(row) for row in rows])

    def req_notify(self, solicited_only: bool = False) -> None:
        """Requests an event for the next completion (`ibv_req_notify_cq`).

        A completion that is there already raises none: poll once more after the request.
        """
        self.context.has_acted()
        self.context.call(self.context.adapter.req_notify_cq, self.handle, bool(solicited_only))

    def ack_events(self, num_events: int) -> None:
        """Acknowledges events (`ibv_ack_cq_events`). A queue with others cannot be destroyed."""
        if not 0 <= num_events <= self.unacknowledged:
            raise PyverbsUserError(
                f"num_events = {num_events}: must be 0 to {self.unacknowledged}, the number of events that are not "
                "acknowledged"
            )
        self.unacknowledged -= num_events

    def _destroy(self, handle: int) -> None:
        if self.unacknowledged:
            count = number_of(self.unacknowledged, "event")
            text = f"destroy_cq: completion queue {handle} has {count} without acknowledgement"
            raise PyverbsRDMAError(text, errno.EBUSY)
        self.context.call(self.context.adapter.destroy_cq, handle)
        if self.channel is not None:
            self.channel.cqs.remove(self)


def _completion(row: Row) -> WC:
    wr_id, status, opcode, byte_len, qp_num, immediate, invalidated, source = row
    if immediate is not None:
        data, flags = immediate, ibv_wc_flags.IBV_WC_WITH_IMM
    elif invalidated is not None:
        data, flags = invalidated, ibv_wc_flags.IBV_WC_WITH_INV
    else:
        data, flags = 0, _NO_FLAGS
    slid, src_qp, has_grh, *path = source or (0, 0, False, 0, 0)
    if has_grh:
        flags |= ibv_wc_flags.IBV_WC_GRH
    return WC(wr_id, _STATUSES[status], _OPCODES[opcode], byte_len, qp_num, data, flags, src_qp, slid, *path)


def wc_status_to_str(status: int) -> str:
    """Name of a status: `IBV_WC_SUCCESS`, ..."""
    return ibv_wc_status(status).name
