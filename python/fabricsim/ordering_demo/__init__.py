"""The ordering protocols between two processes: the state machines that the simulator uses, as software.

The network between them, a socket of the parent, delays, reorders and drops.
"""

from fabricsim.ordering_demo.demo import DemoResult, ordering_demo
from fabricsim.ordering_demo.options import DemoOptions, Mode

__all__ = ["DemoOptions", "DemoResult", "Mode", "ordering_demo"]
