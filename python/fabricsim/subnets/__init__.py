"""InfiniBand subnets: what a fabric's files say, and what OpenSM's routing engines, or given tables, do with it.

`read_subnet("fabric.ibnetdiscover")` counts nodes and cables and finds what is wrong with them;
`route("fabric.ibnetdiscover", engine="minhop")` computes the forwarding tables that OpenSM would, and analyses them.
"""

from fabricsim.subnets.advice import Advice, advice, compared
from fabricsim.subnets.experiment import experiment_text
from fabricsim.subnets.matrix import Demand, read_matrix
from fabricsim.subnets.reading import FORMATS, Finding, Subnet, read_subnet
from fabricsim.subnets.routing import (
    ENGINES,
    FABRIC_FORMS,
    TABLE_FORMS,
    WITHOUT_LMC,
    CannotRouteError,
    Routed,
    Settings,
    lmc_of,
    route,
    without_lmc,
)
from fabricsim.subnets.simulation import PATTERNS, Simulated, simulate

__all__ = [
    "ENGINES",
    "FABRIC_FORMS",
    "FORMATS",
    "PATTERNS",
    "TABLE_FORMS",
    "WITHOUT_LMC",
    "Advice",
    "CannotRouteError",
    "Demand",
    "Finding",
    "Routed",
    "Settings",
    "Simulated",
    "Subnet",
    "advice",
    "compared",
    "experiment_text",
    "lmc_of",
    "read_matrix",
    "read_subnet",
    "route",
    "simulate",
    "without_lmc",
]
