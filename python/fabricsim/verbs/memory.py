"""Memory regions."""

from __future__ import annotations

from fabricsim.programs.scheduler import WRITE
from fabricsim.verbs.context import PD, Closable
from fabricsim.verbs.errors import PyverbsUserError


class MR(Closable):
    """Registered memory (`ibv_reg_mr`), filled with zeros at first.

    Args:
        creator: protection domain.
        length: bytes.
        access: `IBV_ACCESS_*`.
    """

    def __init__(self, creator: PD, length: int, access: int) -> None:
        self.pd = creator
        self.context = creator.context
        self.length = length
        made = self.context.call(self.context.adapter.reg_mr, creator.handle, length, int(access))
        self._handle, self._key, self._address = made
        self.context.add_region(self)

    @property
    def lkey(self) -> int:
        """Key for work requests of the program."""
        return self._key

    @property
    def rkey(self) -> int:
        """Key for the other end."""
        return self._key

    @property
    def buf(self) -> int:
        """Address of the first byte."""
        return self._address

    def read(self, length: int, offset: int = 0) -> bytes:
        """Copies bytes out of the region. It takes no time, unless the same bytes are read again at the same time.

        Then the program polls memory, and each look takes the time of a poll. Bytes of a remote WRITE are there when
        the packet arrives; `wait_write` returns when the model's adapter has written them.
        """
        self.context.look_at_memory((self.handle, offset, length))
        return self.context.call(self.context.adapter.read_memory, self.handle, offset, length)

    def write(
        self, data: bytes | bytearray | memoryview | str, length: int | None = None, offset: int = 0
    ) -> None:
        """Copies the first `length` bytes of `data`, by default all, into the region. It takes no time."""
        taken = data.encode() if isinstance(data, str) else memoryview(data).tobytes()
        if length is not None and not 0 <= length <= len(taken):
            raise PyverbsUserError(
                f"MR.write: length = {length}: must be 0 to {len(taken)}, the bytes of data"
            )
        self.context.call(self.context.adapter.write_memory, self.handle, offset, taken[:length])

    def wait_write(self) -> None:
        """Polls memory until another remote WRITE to the region is visible: each call waits for one WRITE.

        So a receiver of WRITEs, which get no completion, polls the last byte of a message.
        """
        context = self.context
        while not context.call(context.adapter.take_write, self.handle):
            context.wait_for([(WRITE, self.handle)], "MR.wait_write()")
        context.spend(context.poll_ps)

    def _destroy(self, handle: int) -> None:
        self.context.call(self.context.adapter.dereg_mr, handle)
