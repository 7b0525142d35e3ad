"""Events of packets of a transport one by one, from the table `exchanges`."""

from fabricsim.exchanges.packets import Message, Operation, Packet
from fabricsim.exchanges.trace import Trace, read_trace

__all__ = ["Message", "Operation", "Packet", "Trace", "read_trace"]
