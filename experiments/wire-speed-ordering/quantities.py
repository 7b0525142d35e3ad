"""What the paper's numbers ask for beyond the common functions. Each function takes the runs by name first.

A figure's runs are called by mode, or by what else is varied, then by the number that is varied, then by seed; what is
asked for is the mean over the seeds.
"""

from __future__ import annotations

from fabricsim.errors import InputError
from fabricsim.exchanges import read_trace
from fabricsim.reproduce.quantities import Runs
from fabricsim.results import Result, flatten

ROUND_TRIP_NS = 1150.0
"""Mean round trip from one router's endpoint to the 32 of another group: twice 40 + 500 + 7/8 x 40 ns."""
FLIT_NS = 1.0


def order(runs: Runs, step: str, kind: str) -> str:
    """Numbers of packets, from 1 on as in the paper, in the order in which they were `sent`, `received`, ..."""
    events = read_trace(next(iter(runs.values())).exchanges).events
    return " ".join(str(p.number + 1) for _, _, what, p in events if (what, p.kind) == (step, kind))


def one_at_a_time_load(_: Runs, flits: int) -> float:
    """Load of a source that has one packet outstanding: one, and an answer of a flit, in each round trip."""
    return flits / (ROUND_TRIP_NS + flits + FLIT_NS)


def one_at_a_time(_: Runs, packets: int) -> float:
    """Time of a stream of 16-flit packets with one packet outstanding, ns."""
    return (packets - 1) * (ROUND_TRIP_NS + 16.0 + FLIT_NS) + ROUND_TRIP_NS / 2.0 + 16.0


def back_to_back(_: Runs, packets: int) -> float:
    """Time of a stream of 16-flit packets, one right after the other on minimal ways, ns."""
    return ROUND_TRIP_NS / 2.0 + 16.0 * packets


def load(runs: Runs, name: str) -> float:
    """Accepted load of the sources, a fraction of their links."""
    return _mean([_scalar(run, "accepted_load") for run in seeds(runs, name)])


def completion(runs: Runs, name: str, which: str = "mean") -> float:
    """Time of a stream, first packet in to last packet out, ns: `mean`, `min`, `p50`, `p99` or `max` of all."""
    return _mean([_scalar(run, f"transport.completion_ns.{which}") for run in seeds(runs, name)])


def reordered(runs: Runs, name: str) -> float:
    """Share of the packets that waited in the reorder buffer."""
    return _mean([_scalar(run, "transport.reordered_share") for run in seeds(runs, name)])


def counted(runs: Runs, name: str, counter: str) -> float:
    """A number of the summary's `transport`; mean over the seeds."""
    return _mean([_scalar(run, f"transport.{counter}") for run in seeds(runs, name)])


def largest(runs: Runs, name: str, counter: str) -> float:
    """The largest over the seeds of a number of the summary's `transport`."""
    return max(_scalar(run, f"transport.{counter}") for run in seeds(runs, name))


def half_range(runs: Runs, name: str, scalar: str) -> float:
    """Half of the range of a number of the summary over the seeds."""
    values = [_scalar(run, scalar) for run in seeds(runs, name)]
    return (max(values) - min(values)) / 2.0


def seeds(runs: Runs, name: str) -> list[Result]:
    """The runs of a cell that differ in their seed alone."""
    found = [run for own, run in runs.items() if own.rpartition("/")[0] == name]
    if not found:
        raise InputError(f"the figure has no run {name!r} with a seed")
    return found


def _scalar(run: Result, name: str) -> float:
    scalars = flatten(run.manifest["summary"])
    if name not in scalars:
        raise InputError(f"the summary has no {name!r}")
    return float(scalars[name])


def _mean(values: list[float]) -> float:
    return float(sum(values) / len(values))
