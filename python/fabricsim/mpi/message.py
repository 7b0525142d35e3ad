"""`MPI.Message`: messages that a matched probe took."""

from __future__ import annotations

from typing import Any

from fabricsim.mpi import constants
from fabricsim.mpi.buffers import EMPTY, Data, data_of, target_of
from fabricsim.mpi.communicator import Communicator, probe
from fabricsim.mpi.errors import Exception
from fabricsim.mpi.handles import Handle, Null, Referent
from fabricsim.mpi.operations import DoneOperation, Operation, ReceiveOperation
from fabricsim.mpi.pickling import pickle
from fabricsim.mpi.process import current, measured
from fabricsim.mpi.request import Request
from fabricsim.mpi.status import Status, check_status


class _Taken(Referent):
    __slots__ = ("comm", "length", "message", "source", "tag")

    def __init__(self, comm: Communicator, source: int, tag: int, length: int, message: int) -> None:
        self.comm, self.source, self.tag, self.length, self.message = comm, source, tag, length, message


class Message(Handle):
    """A message that only its holder can receive."""

    NULL = Null("MPI_MESSAGE_NULL")
    NO_PROC = Null("MPI_MESSAGE_NO_PROC")

    def _take(self) -> Any:
        taken = self._ref
        if taken is self.NULL:
            raise Exception(constants.ERR_REQUEST, "the message is MPI.MESSAGE_NULL")
        if self is not MESSAGE_NO_PROC:
            self._ref = self.NULL
        return taken

    def _start(self, taken: Any, block: Data, keep: Any) -> Operation:
        process = current()
        if taken is self.NO_PROC:
            return DoneOperation("Mrecv of PROC_NULL", constants.PROC_NULL)
        call = f"{process.call}(source={taken.source}, tag={taken.tag})"
        target, packed = target_of(block)
        operation = ReceiveOperation(call, taken.comm, target, packed)
        operation.keep = (block, keep)
        operation.partners = (taken.comm.ranks[taken.source],)
        operation.pending = [process.endpoint.imrecv(target, taken.message, call)]
        return operation

    def _start_block(self, buf: Any) -> Any:
        block = EMPTY if self._ref is self.NO_PROC else data_of(buf, writable=True)
        return Request._of(self._start(self._take(), block, buf))

    def _start_object(self) -> Any:
        taken = self._take()
        data = bytearray(0 if taken is self.NO_PROC else taken.length)
        operation = self._start(taken, memoryview(data), data)
        operation.result = lambda: pickle.loads(data) if data else None
        return Request._of(operation)

    @measured
    def Recv(self, buf: Any, status: Status | None = None) -> None:
        """Receives the message."""
        self._start_block(buf)._wait(status)

    @measured
    def Irecv(self, buf: Any) -> Any:
        """Starts the receive of the message."""
        return self._start_block(buf)

    @measured
    def recv(self, status: Status | None = None) -> Any:
        """Receives the message, an object."""
        return self._start_object()._wait(status)

    @measured
    def irecv(self) -> Any:
        """Starts the receive of the message, an object."""
        return self._start_object()

    @classmethod
    def Probe(
        cls, comm: Any, source: int = constants.ANY_SOURCE, tag: int = constants.ANY_TAG, status: Any = None
    ) -> Any:
        """Waits for a message, and takes it."""
        return comm.Mprobe(source, tag, status)

    @classmethod
    def Iprobe(
        cls, comm: Any, source: int = constants.ANY_SOURCE, tag: int = constants.ANY_TAG, status: Any = None
    ) -> Any:
        """Takes a message if one is here."""
        return comm.Improbe(source, tag, status)

    probe = Probe
    iprobe = Iprobe


def take(comm: Communicator, source: int, tag: int, waits: bool, status: Status | None) -> Any:
    """A message that is here, or None."""
    if status is not None:
        check_status(status)
    if source == constants.PROC_NULL:
        if status is not None:
            status._set(constants.PROC_NULL, constants.ANY_TAG, constants.SUCCESS, 0, False)
        return MESSAGE_NO_PROC
    found = probe(current(), comm, source, tag, take=True, waits=waits)
    if found is None:
        if status is not None:
            status._clear()
        return None
    if status is not None:
        status._set(found[0], found[1], constants.SUCCESS, found[2], False)
    return Message._of(_Taken(comm, *found))


MESSAGE_NULL = Message._constant(Message.NULL, "MESSAGE_NULL")
MESSAGE_NO_PROC = Message._constant(Message.NO_PROC, "MESSAGE_NO_PROC")
