"""Settings of age-based arbitration computed from a topology: sections 2 and 3 of Abts and Weisser, SC07.

D. Abts, D. Weisser: Age-Based Packet Arbitration in Large-Radix k-ary n-cubes. SC07, Reno, 2007. Equation, table and
section numbers in this package are that paper's.
"""

from fabricsim.age_parameters.clock import AgeClock
from fabricsim.age_parameters.compute import age_parameters
from fabricsim.age_parameters.network import Dimension, Network, parse_topology
from fabricsim.age_parameters.result import AgeParameters
from fabricsim.age_parameters.router import Router

__all__ = [
    "AgeClock",
    "AgeParameters",
    "Dimension",
    "Network",
    "Router",
    "age_parameters",
    "parse_topology",
]
