"""What the paper's numbers ask for beyond the common functions. Each function takes the runs by name first."""

from __future__ import annotations

import math
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from fabricsim.errors import InputError
from fabricsim.reproduce.quantities import Runs, chosen
from fabricsim.results import Result
from fabricsim.spec import Experiment

ROUND_ROBIN = "round robin"
BEST = "8; 3, 2, 1"
AGE_GROUPS = ["age_0_63", "age_64_127", "age_128_191", "age_192_255"]
TABLE_5 = {
    ROUND_ROBIN: (737, 227, 169, 7301),
    "4; 1, 1, 1": (607, 246, 153, 6585),
    "4; 3, 2, 1": (421, 247, 189, 5844),
    "8; 1, 1, 1": (611, 255, 167, 6771),
    BEST: (357, 209, 156, 5007),
    "16; 1, 1, 1": (554, 322, 240, 7443),
    "16; 3, 2, 1": (378, 217, 148, 5101),
}
"""The paper's queueing delay in x, y and z, cycles, and average latency, ns, by age clock period and bias."""
TABLE_3 = {
    "+x": ("proc", "-x"),
    "-x": ("proc", "+x"),
    "+y": ("proc", "+x", "-x", "-y"),
    "-y": ("proc", "+x", "-x", "+y"),
    "+z": ("proc", "+x", "-x", "+y", "-y", "-z"),
    "-z": ("proc", "+x", "-x", "+y", "-y", "+z"),
    "proc": ("+x", "-x", "+y", "-y", "+z", "-z"),
}
"""Input ports competing for each output port; of -z, the printed -z is its own, and +z is meant."""
HERE = Path(__file__).parent
CYCLE_NS = 2.0
"""A cycle of the router: 500 MHz."""
SERVICE_NS = 18.0
"""Figure 3's packet of 72 bytes on a link of 32 Gb/s."""
CONSTANT_NS = 52.0
"""What each packet of figure 3 is under way besides waiting and one service: two links of 1 ns, a router of 50 ns."""


def printed_delay(_: Runs, load: float) -> float:
    """Equation 2 as printed, in services."""
    return 1.0 / (1.0 - load)


def waiting(runs: Runs, *, run: str | None = None) -> float:
    """Mean time in the queue of figure 3 before service, in services."""
    latency = chosen(runs, run).manifest["summary"]["latency_ns"]["mean"]
    return float(latency - CONSTANT_NS - SERVICE_NS) / SERVICE_NS


def cycles(runs: Runs, sender: int, *, run: str | None = None) -> float:
    """Mean latency of what a sender of figure 4 sends, from where it leaves its host, in cycles of the router."""
    flows = chosen(runs, run).flows.set_index("source")
    return float(flows["network_mean_ns"][f"H({sender}).0"]) / CYCLE_NS


def spread(runs: Runs, *, run: str | None = None) -> float:
    """Largest mean latency of a sender, from where its packets leave their host, over the smallest."""
    latency = chosen(runs, run).flows["network_mean_ns"]
    return float(latency.max() / latency.min())


def unequal(runs: Runs, *, run: str | None = None) -> float:
    """Largest share of a sender over the smallest."""
    rates = chosen(runs, run).flows["accepted_gbps"]
    return float(rates.max() / rates.min())


def request_latency(runs: Runs, setting: str) -> float:
    """Mean latency of requests from where they are made, ns; mean over the seeds.

    By Little's law: every node always has a whole window on its way, so that a round takes the window over the rate of
    answers; the response's own latency is taken off. So packets that have not come out yet count as well.
    """
    return _mean([_request_latency(run) for run in _seeds(runs, setting)])


def latency_range(runs: Runs, setting: str) -> float:
    """Half of the range of `request_latency` over the seeds, ns."""
    values = [_request_latency(run) for run in _seeds(runs, setting)]
    return (max(values) - min(values)) / 2.0


def of_requests(runs: Runs, setting: str, column: str) -> float:
    """A column of the table of streams, of requests; mean over the seeds."""
    return _mean([_requests(run)[column] for run in _seeds(runs, setting)])


def accepted_per_node(runs: Runs, setting: str) -> float:
    """Requests that arrive, GB/s for each node; mean over the seeds."""
    return _mean(
        [_requests(run)["accepted_gbps"] / 8.0 / len(run.table("hosts")) for run in _seeds(runs, setting)]
    )


def queueing(runs: Runs, setting: str, dimension: str) -> float:
    """Q: mean time that a packet waits in a router for an output of a dimension, cycles; mean over the seeds."""
    return _mean([_of_dimension(run, dimension) for run in _seeds(runs, setting)])


def from_queueing(runs: Runs, traffic: str, setting: str) -> float:
    """Latency as table 5 has it, ns: its last column is 2 ns (2.75 Q(x) + 3 Q(y) + 4 Q(z)) and 50 ns for each of 10.75
    routers, in all rows but for rounding. Mean over the runs whose traffic's name begins so.
    """
    return _mean([_from_queueing(run) for run in under(runs, traffic, setting)])


def change_under(runs: Runs, traffic: str, setting: str, dimension: str) -> float:
    """Q under a traffic and a setting less Q under it with round robin, cycles."""
    values, before = (
        _mean([_of_dimension(run, dimension) for run in under(runs, traffic, name)])
        for name in (setting, ROUND_ROBIN)
    )
    return values - before


def under(runs: Runs, traffic: str, setting: str) -> list[Result]:
    """The runs of a setting whose traffic's name begins so."""
    found = [run for name, run in runs.items() if name.startswith(traffic) and name.endswith(f"/{setting}")]
    if not found:
        raise InputError(f"the figure has no run of {traffic!r} with the setting {setting!r}")
    return found


def stalled(runs: Runs, setting: str, direction: str) -> float:
    """Equation 17 of a direction's outputs, cycles a packet; mean over the seeds."""
    values = [run.table("router_dimensions").set_index("direction") for run in _seeds(runs, setting)]
    return _mean([value["stalled_per_packet"][direction] for value in values])


def paper(_: Runs, setting: str) -> tuple[int, int, int, int]:
    """Table 5 of the paper: queueing delay in x, y and z, cycles, and average latency, ns."""
    return TABLE_5[setting]


def settings(_: Runs) -> list[str]:
    """The rows of table 5."""
    return list(TABLE_5)


def change(runs: Runs, setting: str, dimension: str) -> float:
    """Q of a dimension less that of round robin, cycles."""
    traffic = "".join(setting.rpartition("/")[:2])
    return queueing(runs, setting, dimension) - queueing(runs, traffic + ROUND_ROBIN, dimension)


def ages(runs: Runs, setting: str) -> list[float]:
    """Parts of the packets that left all routers with ages of 0-63, 64-127, 128-191 and 192-255; of the first seed."""
    table = _seeds(runs, setting)[0].table("router_dimensions")
    counts = [float(table[column].sum()) for column in AGE_GROUPS]
    return [count / sum(counts) for count in counts]


def youngest(runs: Runs, setting: str) -> float:
    """Part of the packets that left with an age of 0 to 63."""
    return ages(runs, setting)[0]


def decades(runs: Runs, setting: str) -> float:
    """Decades between the largest and the smallest part of the ages' histogram."""
    parts = ages(runs, setting)
    return math.log10(max(parts) / min(parts)) if min(parts) > 0.0 else math.inf


def deviation(runs: Runs, *, run: str | None = None) -> float:
    """Standard deviation of all packets' latency, ns: within flows and between them."""
    return deviation_of(chosen(runs, run).flows)


def mean_of(flows: pd.DataFrame) -> float:
    """Mean latency of the packets of some flows, ns."""
    seen = flows[flows["latency_packets"] > 0]
    return float((seen["latency_packets"] * seen["latency_mean_ns"]).sum() / seen["latency_packets"].sum())


def deviation_of(flows: pd.DataFrame) -> float:
    """Standard deviation of the latency of the packets of some flows, ns."""
    seen = flows[flows["latency_packets"] > 0]
    squares = seen["latency_deviation_ns"] ** 2 + (seen["latency_mean_ns"] - mean_of(flows)) ** 2
    return math.sqrt((seen["latency_packets"] * squares).sum() / seen["latency_packets"].sum())


def arrived(runs: Runs, *, run: str | None = None) -> float:
    """What arrives from those who do not cause congestion, as a fraction of what they offer."""
    flows = chosen(runs, run).flows
    others = flows[~flows["source"].str.startswith("H(0,")]
    return float(others["accepted_gbps"].sum() / others["offered_gbps"].sum())


def time_of(runs: Runs, name: str) -> float:
    """Time of a job, from its first rank's start to its last rank's end, ns."""
    return float(chosen(runs, name).table("jobs")["time_ns"].mean())


def gain(runs: Runs, benchmark: str) -> float:
    """Round robin's time over that with ages, less 1."""
    return time_of(runs, f"{benchmark}/{ROUND_ROBIN}") / time_of(runs, f"{benchmark}/{BEST}") - 1.0


def competing(runs: Runs, output: str) -> int:
    """Input ports from which packets come to an output of a router in the middle."""
    return len(_competition(runs)[output])


def inputs_as_printed(runs: Runs) -> int:
    """How many of the outputs of table 3 have just the inputs that it lists."""
    ours = _competition(runs)
    return sum(set(ours[output]) == set(inputs) for output, inputs in TABLE_3.items())


def _competition(runs: Runs) -> dict[str, list[str]]:
    run = chosen(runs, None)
    experiment = Experiment.from_text(run.manifest["experiment"], base=HERE)
    values = tuple((key, value) for key, value in run.manifest["overrides"])
    return dict(replace(experiment, overrides=values).describe()["port_competition"])


def _seeds(runs: Runs, setting: str) -> list[Result]:
    found = [run for name, run in runs.items() if setting in (name, name.split("/", 1)[-1])]
    if not found:
        raise InputError(f"the figure has no run with the setting {setting!r}")
    return found


def _requests(run: Result) -> pd.Series[Any]:
    streams = run.table("streams")
    return streams[(streams["stream"] == "requests") & (streams["kind"] == "request")].iloc[0]


def _request_latency(run: Result) -> float:
    streams = run.table("streams")
    response = streams[streams["stream"] == "requests response"].iloc[0]
    seconds = run.manifest["summary"]["measured_ns"]
    outstanding = _window(run) * len(run.table("hosts"))
    return float(outstanding * seconds / _requests(run)["answered"] - response["latency_mean_ns"])


def _window(run: Result) -> int:
    overrides = dict(run.manifest["overrides"])
    key = "traffic.0.window"
    return int(
        overrides[key]
        if key in overrides
        else tomllib.loads(run.manifest["experiment"])["traffic"][0]["window"]
    )


def _of_dimension(run: Result, dimension: str) -> float:
    table = run.table("router_dimensions")
    rows = table[table["direction"].str.endswith(dimension)]
    return float((rows["queueing_cycles"] * rows["granted"]).sum() / rows["granted"].sum())


def _from_queueing(run: Result) -> float:
    hops = {"x": 11 / 4, "y": 12 / 4, "z": 16 / 4}
    waits = sum(count * _of_dimension(run, dimension) for dimension, count in hops.items())
    return CYCLE_NS * waits + 50.0 * (sum(hops.values()) + 1.0)


def _mean(values: list[float]) -> float:
    return float(sum(values) / len(values))
