"""InfiniBand subnets: what a fabric's files say, and what OpenSM's routing engines, or given tables, do with it.

`read_subnet("fabric.ibnetdiscover")` counts nodes and cables and finds what is wrong with them;
`route("fabric.ibnetdiscover", engine="minhop")` computes the forwarding tables that OpenSM would, and analyses them.
"""

from fabricsim.subnets.experiment import experiment_text
from fabricsim.subnets.matrix import read_matrix
from fabricsim.subnets.reading import FORMATS, Finding, Subnet, read_subnet
from fabricsim.subnets.routing import ENGINES, CannotRouteError, Routed, route

__all__ = [
    "ENGINES",
    "FORMATS",
    "CannotRouteError",
    "Finding",
    "Routed",
    "Subnet",
    "experiment_text",
    "read_matrix",
    "read_subnet",
    "route",
]
