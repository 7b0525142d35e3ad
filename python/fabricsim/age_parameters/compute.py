"""From a topology to its age parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fabricsim.age_parameters import bias as age_bias
from fabricsim.age_parameters.clock import age_clock
from fabricsim.age_parameters.network import Network, is_file, of_experiment, parse_topology
from fabricsim.age_parameters.result import AgeParameters
from fabricsim.age_parameters.router import Router
from fabricsim.spec import Experiment, as_experiment
from fabricsim.spec.values import require_text


def age_parameters(
    topology: str | Path | Network | Experiment,
    *,
    set: Mapping[str, Any] | None = None,
    bias: Sequence[int] | None = None,
    router: Router | None = None,
) -> AgeParameters:
    """Settings of age-based arbitration for a k-ary n-cube, by equations 1 to 16 of the SC07 paper. Runs nothing.

    Args:
        topology: `"11x12x16"` (a torus), `"11x12x16:mesh"`, `"16tx12tx8m"` (torus or mesh for each dimension); an
            experiment file or an `Experiment` with a grid; or a `Network`. The first dimension is routed first, in an
            experiment `routing.order` says which.
        set: values of the experiment to replace, by key.
        bias: age bias of each dimension, in the order of routing; by default one is recommended.
        router: buffers, packet size, bandwidths and clock; by default the SeaStar's.

    Raises:
        InputError: the topology is no mesh or torus, or a value is out of range.
    """
    network = _network(topology, set)
    chosen = age_bias.recommended(network) if bias is None else age_bias.checked(network, list(bias))
    used = router or Router()
    return AgeParameters(network, used, age_clock(network, used, chosen))


def _network(topology: str | Path | Network | Experiment, set: Mapping[str, Any] | None) -> Network:
    if isinstance(topology, Network):
        return topology
    if isinstance(topology, str) and not is_file(topology):
        require_text(topology, "the topology")
        return parse_topology(topology)
    return of_experiment(as_experiment(topology, set))
