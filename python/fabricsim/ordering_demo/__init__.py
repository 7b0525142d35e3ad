"""The ordering protocols between two processes: the state machines that the simulator uses, as software.

The network between them, a socket of the parent, delays, reorders and drops.
"""

from fabricsim.ordering_demo.demo import DemoResult, Mode, ordering_demo

__all__ = ["DemoResult", "Mode", "ordering_demo"]
