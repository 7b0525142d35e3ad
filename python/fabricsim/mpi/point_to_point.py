"""Calls of communicators that exchange messages between two ranks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from fabricsim.mpi import constants
from fabricsim.mpi.attached import attach, detach, flush, iflush
from fabricsim.mpi.buffers import EMPTY, Block, Data, check_data, data_of, simple
from fabricsim.mpi.communicator import (
    TAG_UB,
    Communicator,
    check_send,
    describe,
    expected_of,
    probe,
    refuse,
    start_receive,
    start_send,
)
from fabricsim.mpi.endpoint import BUFFERED, READY, STANDARD, SYNCHRONOUS
from fabricsim.mpi.errors import Exception
from fabricsim.mpi.memory import Memory
from fabricsim.mpi.message import Message, take
from fabricsim.mpi.operations import CombinedOperation, Operation, too_long
from fabricsim.mpi.persistent import PersistentOperation
from fabricsim.mpi.pickling import buffer_of_object, pickle
from fabricsim.mpi.process import current, measured, running
from fabricsim.mpi.request import Prequest, Request
from fabricsim.mpi.status import Status, check_status

ANY_SOURCE, ANY_TAG, PROC_NULL = constants.ANY_SOURCE, constants.ANY_TAG, constants.PROC_NULL


def _data_of(buf: Any, peer: int, writable: bool = False) -> Data:
    return EMPTY if peer == PROC_NULL else data_of(buf, writable)


def _pickled(obj: Any, peer: int) -> Any:
    return None if peer == PROC_NULL else pickle.dumps(obj)


class PointToPoint:
    """Mixed into `Comm`."""

    _data: Callable[[], Communicator]

    def _start_send(self, message: Data, dest: int, tag: int, mode: int = STANDARD) -> Operation:
        return start_send(running(), self._data(), message, dest, tag, mode)

    def _finish(self, operation: Operation, status: Status | None = None) -> Any:
        if status is not None:
            check_status(status)
        if not operation.is_done:
            running().wait_all([operation], operation.call)
        return Request._of(operation)._settle(status)

    def _start_receive(self, message: Data, source: int, tag: int) -> Operation:
        return start_receive(running(), self._data(), message, source, tag)

    def _send(self, buf: Any, dest: int, tag: int, mode: int) -> None:
        process, data = running(), EMPTY if dest == PROC_NULL else data_of(buf)
        if type(data) is not memoryview or process.schedules:
            self._finish(self._start_send(data, dest, tag, mode))
            return
        # Nothing else is in progress in this call: it needs no operation.
        comm = self._data()
        name, call = process.call, None
        if type(dest) is int and type(tag) is int:
            call = comm.texts.get((name, False, dest, tag))
        call = call or describe(comm, name, False, dest, tag)
        if not (0 <= tag <= TAG_UB and 0 <= dest < comm.size):
            refuse(comm, "dest", dest, tag)
        world = comm.ranks[dest]
        process.messages += 1
        process.bytes += len(data)
        process.endpoint.send(data, world, tag, 2 * comm.number, mode, call)

    def _receive(self, buf: Any, source: int, tag: int, status: Status | None) -> None:
        if status is not None:
            check_status(status)
        process, target = running(), EMPTY if source == PROC_NULL else data_of(buf, True)
        if type(target) is not memoryview or process.schedules:
            self._finish(self._start_receive(target, source, tag), status)
            return
        comm = self._data()
        name, call = process.call, None
        if type(source) is int and type(tag) is int:
            call = comm.texts.get((name, True, source, tag))
        call = call or describe(comm, name, True, source, tag)
        world, peers = expected_of(comm, source, tag)
        fields = process.endpoint.receive(target, world, tag, 2 * comm.number, call, peers)
        sender, sent_tag, length, is_truncated, is_cancelled = fields
        if status is not None:
            error = constants.ERR_TRUNCATE if is_truncated else constants.SUCCESS
            nbytes = min(length, len(target))
            status._set(comm.rank_of(sender), sent_tag, error, nbytes, is_cancelled)
        if is_truncated:
            raise Exception(constants.ERR_TRUNCATE, too_long(call, length, len(target)))

    def _isend(self, buf: Any, dest: int, tag: int, mode: int) -> Request:
        made: Request = Request._of(self._start_send(_data_of(buf, dest), dest, tag, mode))
        return made

    @measured
    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Sends; returns when the buffer may be reused."""
        self._send(buf, dest, tag, STANDARD)

    @measured
    def Bsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Sends by way of the attached buffer."""
        self._isend(buf, dest, tag, BUFFERED)

    @measured
    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Sends; returns when a receive has matched."""
        self._send(buf, dest, tag, SYNCHRONOUS)

    @measured
    def Rsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Sends to a receive that is posted."""
        self._send(buf, dest, tag, READY)

    @measured
    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Starts a send."""
        return self._isend(buf, dest, tag, STANDARD)

    @measured
    def Ibsend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Starts a send by way of the attached buffer."""
        return self._isend(buf, dest, tag, BUFFERED)

    @measured
    def Issend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Starts a synchronous send."""
        made: Request = Request._of(
            self._start_send(data_of(buf) if dest != PROC_NULL else EMPTY, dest, tag, SYNCHRONOUS)
        )
        return made

    @measured
    def Irsend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Starts a send to a receive that is posted."""
        made: Request = Request._of(
            self._start_send(data_of(buf) if dest != PROC_NULL else EMPTY, dest, tag, READY)
        )
        return made

    @measured
    def Recv(
        self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> None:
        """Receives."""
        self._receive(buf, source, tag, status)

    @measured
    def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Starts a receive."""
        made: Request = Request._of(self._start_receive(_data_of(buf, source, True), source, tag))
        return made

    @measured
    def Sendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> None:
        """Sends and receives."""
        self._finish(self._sendrecv(sendbuf, dest, sendtag, recvbuf, source, recvtag), status)

    @measured
    def Isendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
    ) -> Request:
        """Starts a send and a receive."""
        made: Request = Request._of(self._sendrecv(sendbuf, dest, sendtag, recvbuf, source, recvtag))
        return made

    def _sendrecv(
        self, sendbuf: Any, dest: int, sendtag: int, recvbuf: Any, source: int, recvtag: int
    ) -> Operation:
        out, into = _data_of(sendbuf, dest), _data_of(recvbuf, source, True)
        received = self._start_receive(into, source, recvtag)
        return CombinedOperation(received.call, [self._start_send(out, dest, sendtag), received])

    @measured
    def Sendrecv_replace(
        self,
        buf: Any,
        dest: int,
        sendtag: int = 0,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> None:
        """Sends and receives with one buffer."""
        self._finish(self._replace(buf, dest, sendtag, source, recvtag), status)

    @measured
    def Isendrecv_replace(
        self, buf: Any, dest: int, sendtag: int = 0, source: int = ANY_SOURCE, recvtag: int = ANY_TAG
    ) -> Request:
        """Starts a send and a receive with one buffer."""
        made: Request = Request._of(self._replace(buf, dest, sendtag, source, recvtag))
        return made

    def _replace(self, buf: Any, dest: int, sendtag: int, source: int, recvtag: int) -> Operation:
        both = dest == PROC_NULL and source == PROC_NULL
        block = EMPTY if both else simple(buf, writable=source != PROC_NULL)
        copied = EMPTY if dest == PROC_NULL else memoryview(bytes(block.pack()))
        received = self._start_receive(EMPTY if source == PROC_NULL else block, source, recvtag)
        return CombinedOperation(received.call, [self._start_send(copied, dest, sendtag), received])

    def _persistent(self, name: str, starts: Callable[[], Operation]) -> Prequest:
        made: Prequest = Prequest._of(PersistentOperation(name, starts))
        return made

    def _send_init(self, buf: Any, dest: int, tag: int, mode: int) -> Prequest:
        data = _data_of(buf, dest)
        check_send(self._data(), dest, tag)
        check_data(data)
        return self._persistent("Send_init", lambda: self._start_send(data, dest, tag, mode))

    def Send_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A persistent send."""
        return self._send_init(buf, dest, tag, STANDARD)

    def Bsend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A persistent buffered send."""
        return self._send_init(buf, dest, tag, BUFFERED)

    def Ssend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A persistent synchronous send."""
        return self._send_init(buf, dest, tag, SYNCHRONOUS)

    def Rsend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A persistent send to receives that are posted."""
        return self._send_init(buf, dest, tag, READY)

    def Recv_init(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Prequest:
        """A persistent receive."""
        data = _data_of(buf, source, True)
        expected_of(self._data(), source, tag)
        check_data(data, True)
        return self._persistent("Recv_init", lambda: self._start_receive(data, source, tag))

    def _probe(self, source: int, tag: int, status: Status | None, waits: bool) -> bool:
        if status is not None:
            check_status(status)
        if source == PROC_NULL:
            if status is not None:
                status._set(PROC_NULL, ANY_TAG, constants.SUCCESS, 0, False)
            return True
        found = probe(current(), self._data(), source, tag, take=False, waits=waits)
        if status is not None:
            if found is None:
                status._clear()
            else:
                status._set(found[0], found[1], constants.SUCCESS, found[2], False)
        return found is not None

    @measured
    def Probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Waits for a message."""
        return self._probe(source, tag, status, waits=True)

    @measured
    def Iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """True if a message is here."""
        return self._probe(source, tag, status, waits=False)

    @measured
    def Mprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Message:
        """Waits for a message, and takes it."""
        found: Message = take(self._data(), source, tag, True, status)
        return found

    @measured
    def Improbe(
        self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> Message | None:
        """Takes a message if one is here."""
        found: Message | None = take(self._data(), source, tag, False, status)
        return found

    probe, iprobe, mprobe, improbe = Probe, Iprobe, Mprobe, Improbe

    @measured
    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Sends an object."""
        self._send(_pickled(obj, dest), dest, tag, STANDARD)

    @measured
    def bsend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Sends an object by way of the attached buffer."""
        self._isend(_pickled(obj, dest), dest, tag, BUFFERED)

    @measured
    def ssend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Sends an object; returns when a receive has matched."""
        self._send(_pickled(obj, dest), dest, tag, SYNCHRONOUS)

    @measured
    def isend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Starts the send of an object."""
        return self._isend(_pickled(obj, dest), dest, tag, STANDARD)

    @measured
    def ibsend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Starts the send of an object by way of the attached buffer."""
        return self._isend(_pickled(obj, dest), dest, tag, BUFFERED)

    @measured
    def issend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Starts the synchronous send of an object."""
        return self._isend(_pickled(obj, dest), dest, tag, SYNCHRONOUS)

    def _irecv_object(self, buf: Any, source: int, tag: int) -> Operation:
        if source == PROC_NULL:
            return self._start_receive(EMPTY, source, tag)
        memory = Memory.of(buffer_of_object(buf), writable=True)
        block = Block(memory, memory.address, memory.nbytes, EMPTY.layout)
        operation = self._start_receive(block, source, tag)

        def result() -> Any:
            return pickle.loads(block.pack()[: operation.nbytes]) if operation.nbytes else None

        operation.result = result
        return operation

    @measured
    def irecv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Starts the receive of an object, of at most 32 KiB or the size of `buf`."""
        made: Request = Request._of(self._irecv_object(buf, source, tag))
        return made

    def _recv_object(self, buf: Any, source: int, tag: int, status: Status | None) -> Any:
        if buf is not None:
            warnings.warn("the 'buf' argument is deprecated", UserWarning, stacklevel=4)
            return self._finish(self._irecv_object(buf, source, tag), status)
        taken = take(self._data(), source, tag, True, None)
        return taken._start_object()._wait(status)

    @measured
    def recv(
        self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> Any:
        """Receives an object."""
        return self._recv_object(buf, source, tag, status)

    @measured
    def sendrecv(
        self,
        sendobj: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> Any:
        """Sends and receives an object."""
        sent = self._start_send(_data_of(_pickled(sendobj, dest), dest), dest, sendtag)
        found = self._recv_object(recvbuf, source, recvtag, status)
        self._finish(sent)
        return found

    def Attach_buffer(self, buf: Any) -> None:
        """Attaches memory of buffered sends of this communicator."""
        attach(self._data(), "space", buf)

    def Detach_buffer(self) -> Any:
        """Waits for the buffered sends, and returns the memory."""
        return detach(self._data(), "space")

    def Flush_buffer(self) -> None:
        """Waits for the buffered sends."""
        flush(self._data(), "space")

    def Iflush_buffer(self) -> Request:
        """Starts waiting for the buffered sends."""
        return iflush(self._data(), "space")
