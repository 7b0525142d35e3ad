"""What the paper's numbers ask for beyond the common functions. Each function takes the runs by name first."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from fabricsim.age_parameters import AgeParameters, age_parameters
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
STALLED = {
    ROUND_ROBIN: (18.6, 43.0, 13.2, 12.7, 43.1, 19.2),
    "4; 1, 1, 1": (20.0, 36.9, 11.7, 11.2, 37.0, 19.9),
    "4; 3, 2, 1": (17.4, 31.4, 11.7, 11.5, 31.6, 17.8),
    "8; 1, 1, 1": (21.4, 44.1, 13.2, 13.0, 44.1, 20.5),
    BEST: (15.8, 24.6, 11.6, 11.4, 24.7, 15.7),
    "16; 1, 1, 1": (24.7, 41.2, 14.5, 14.3, 41.5, 24.6),
    "16; 3, 2, 1": (17.2, 30.5, 10.9, 10.8, 30.6, 17.1),
}
"""The paper's stalled cycles a packet, in the order of `DIRECTIONS`, by age clock period and bias."""
DIRECTIONS = ("+y", "+x", "+z", "-z", "-x", "-y")
"""The order of table 5's columns."""
HOPS = {"x": 11 / 4, "y": 12 / 4, "z": 16 / 4}
"""Mean hops of uniform traffic (equation 5)."""
PACKET_FLITS = 9
"""Flits of the largest packet (footnote 3)."""
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


def part(runs: Runs, sender: int, *, run: str | None = None) -> float:
    """A sender's share of what P7 receives in figure 4."""
    rates = chosen(runs, run).flows.set_index("source")["accepted_gbps"]
    return float(rates[f"H({sender}).0"] / rates.sum())


def cycles(runs: Runs, sender: int, *, run: str | None = None) -> float:
    """Mean latency of what a sender of figure 4 sends, from where it leaves its host, in cycles of the router."""
    flows = chosen(runs, run).flows.set_index("source")
    return float(flows["network_mean_ns"][f"H({sender}).0"]) / CYCLE_NS


def slowest(runs: Runs, *, run: str | None = None) -> float:
    """Largest mean latency of a sender of figure 4, in cycles of the router."""
    return float(chosen(runs, run).flows["network_mean_ns"].max()) / CYCLE_NS


def fastest(runs: Runs, *, run: str | None = None) -> float:
    """Smallest mean latency of a sender of figure 4, in cycles of the router."""
    return float(chosen(runs, run).flows["network_mean_ns"].min()) / CYCLE_NS


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


def phases_rank_correlation(runs: Runs) -> float:
    """Spearman's rank correlation of the settings' latencies with age clocks in phase and with phases of their own."""
    settings = [setting for setting in TABLE_5 if setting != ROUND_ROBIN]
    common = pd.Series([request_latency(runs, setting) for setting in settings])
    own = pd.Series([request_latency(runs, f"{setting}; own phases") for setting in settings])
    return float(common.rank().corr(own.rank()))


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


def blocked(runs: Runs, setting: str, dimension: str) -> float:
    """Cycles for which the head of an input buffer of a dimension is blocked, per packet received on VC0 and VC1; mean
    over the seeds.
    """
    return _mean(
        [_mean(_by_dimension(run, "blocked_per_packet", dimension)) for run in _seeds(runs, setting)]
    )


def from_queueing(runs: Runs, setting: str) -> float:
    """Latency as table 5 has it, ns, from Q; mean over the seeds, or over the runs that `under` selects."""
    return _mean(
        [_latency({name: _of_dimension(run, name) for name in HOPS}) for run in _seeds(runs, setting)]
    )


def from_blocked(runs: Runs, setting: str) -> float:
    """The same from blocked cycles in the place of Q."""
    return _latency({name: blocked(runs, setting, name) for name in HOPS})


def formula_error(_: Runs) -> float:
    """Largest difference between a latency of the paper's table 5 and what the formula gives for its Q, ns."""
    differences = (abs(_latency(dict(zip("xyz", row[:3], strict=True))) - row[3]) for row in TABLE_5.values())
    return max(differences)


def under_mix(runs: Runs, traffic: str, setting: str) -> float:
    """Latency as table 5 has it, ns, mean over the runs whose traffic's name begins so."""
    waits = [{name: _of_dimension(run, name) for name in HOPS} for run in under(runs, traffic, setting)]
    return _mean([_latency(wait) for wait in waits])


def change_under(runs: Runs, traffic: str, setting: str, dimension: str) -> float:
    """Q under a traffic and a setting less Q under it with round robin, cycles."""
    values, before = (
        _mean([_of_dimension(run, dimension) for run in under(runs, traffic, name)])
        for name in (setting, ROUND_ROBIN)
    )
    return values - before


def under(runs: Runs, traffic: str, setting: str) -> list[Result]:
    """The runs of a setting whose traffic's name begins so."""
    names = [name for name in runs if name.startswith(traffic) and name.endswith(f"/{setting}")]
    if not names:
        raise InputError(f"the figure has no run of {traffic!r} with the setting {setting!r}")
    return [runs[name] for name in names]


def stalled(runs: Runs, setting: str, direction: str) -> float:
    """Equation 17 of the outputs of a direction, or of a dimension, cycles a packet; mean over the seeds."""
    values = [_by_dimension(run, "stalled_per_packet", direction) for run in _seeds(runs, setting)]
    return _mean([_mean(value) for value in values])


def stalled_deviation(runs: Runs, setting: str, dimension: str) -> float:
    """Standard deviation of equation 17 over the ports of a dimension, cycles; mean over the seeds."""
    values = [_by_dimension(run, "stalled_per_packet_deviation", dimension) for run in _seeds(runs, setting)]
    return _mean([_mean(value) for value in values])


def stalled_correlation(runs: Runs) -> float:
    """Spearman's rank correlation of our 42 stalled cycles and the paper's."""
    from scipy.stats import spearmanr  # noqa: PLC0415 - takes long

    pairs = [
        (stalled(runs, setting, direction), printed)
        for setting, row in STALLED.items()
        for direction, printed in zip(DIRECTIONS, row, strict=True)
    ]
    return float(spearmanr(*zip(*pairs, strict=True)).statistic)


def utilisation(runs: Runs, setting: str, dimension: str) -> float:
    """Part of the cycles in which an output of a dimension sends a flit, as section 4 has it from equation 17."""
    return PACKET_FLITS / (PACKET_FLITS + stalled(runs, setting, dimension))


def queued(runs: Runs, setting: str, dimension: str) -> float:
    """Packets that wait for an output of a dimension: Q over the cycles in which one leaves, if it is never idle."""
    return queueing(runs, setting, dimension) / (PACKET_FLITS + stalled(runs, setting, dimension))


def printed_queued(_: Runs, setting: str, dimension: str) -> float:
    """The same from the paper's numbers."""
    columns = [at for at, name in enumerate(DIRECTIONS) if name.endswith(dimension)]
    wait = _mean([STALLED[setting][at] for at in columns])
    return TABLE_5[setting]["xyz".index(dimension)] / (PACKET_FLITS + wait)


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
    counts = _age_counts(runs, setting)
    return [count / sum(counts) for count in counts]


def youngest(runs: Runs, setting: str) -> float:
    """Part of the packets that left with an age of 0 to 63."""
    return ages(runs, setting)[0]


def decades(runs: Runs, setting: str) -> float:
    """Decades between the largest and the smallest group of ages; a group without packets counts as one packet."""
    counts = _age_counts(runs, setting)
    return math.log10(max(counts) / max(min(counts), 1.0))


def first_decades(runs: Runs, setting: str) -> float:
    """Decades between the packets with ages 0 to 63 and those with 64 to 127; none of these count as one packet."""
    youngest_count, next_count, *_ = _age_counts(runs, setting)
    return math.log10(youngest_count / max(next_count, 1.0))


def over_next(runs: Runs, setting: str) -> float:
    """Packets with ages 0 to 63 over those of the largest other group; none of these count as one packet."""
    youngest_count, *others = _age_counts(runs, setting)
    return youngest_count / max(*others, 1.0)


def latency_deviation(runs: Runs, setting: str) -> float:
    """Standard deviation of all packets' latency, ns; mean over the seeds."""
    return _mean([deviation_of(run.flows) for run in _seeds(runs, setting)])


def gap_closed(runs: Runs, network: str) -> float:
    """Part of the way from round robin's standard deviation of latency to ideal oldest-first's that ages go."""
    in_turn, ours, ideal = (
        deviation(runs, run=f"{network}/{arbiter}") for arbiter in (ROUND_ROBIN, BEST, "oldest first")
    )
    return (in_turn - ours) / (in_turn - ideal)


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


def all_to_all_rate(runs: Runs, name: str) -> float:
    """What a process of an all-to-all of 2048 sends of 64 bytes to each other one, MB/s."""
    return 2047 * 64 * 1e3 / time_of(runs, name)


def fft_gflops(runs: Runs, name: str) -> float:
    """5 N log2 N operations of an FFT of 2^24 numbers over its time, Gflops."""
    return float(5 * 2**24 * 24 / time_of(runs, name))


def reduction(runs: Runs, benchmark: str) -> float:
    """By how much ages shorten the time, as a fraction of round robin's."""
    return 1.0 - time_of(runs, f"{benchmark}/{BEST}") / time_of(runs, f"{benchmark}/{ROUND_ROBIN}")


def benchmarks(runs: Runs, operation: str) -> list[str]:
    """The jobs whose names begin with an operation."""
    return list(dict.fromkeys(name.rpartition("/")[0] for name in runs if name.startswith(operation)))


def largest_gain(runs: Runs, operation: str) -> float:
    """Largest gain of an operation, over all sizes, algorithms and placements."""
    return max(benefit(runs, benchmark) for benchmark in benchmarks(runs, operation))


def smallest_gain(runs: Runs, operation: str) -> float:
    """Smallest gain of an operation, over all sizes, algorithms and placements."""
    return min(benefit(runs, benchmark) for benchmark in benchmarks(runs, operation))


def benefit(runs: Runs, benchmark: str) -> float:
    """The gain as table 6 computes it: of an all-reduce, of which it prints times, the reduction of the time."""
    return (reduction if benchmark.startswith("all-reduce") else gain)(runs, benchmark)


def age_parameter(runs: Runs, name: str) -> float:
    """A step of section 3 for the torus of the run, by its name in `fabricsim age-parameters --json`."""
    found = _age_parameters(runs)
    steps = {**found.as_dict()["clock"], **found.as_dict()["totals"]}
    return float(steps[name])


def age_dimension(runs: Runs, dimension: str, column: str) -> float:
    """A number of a dimension, by its column in `fabricsim age-parameters --json`."""
    return float(_age_parameters(runs).dimensions.set_index("dimension")[column][dimension])


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


def _age_parameters(runs: Runs) -> AgeParameters:
    topology = dict(chosen(runs, None).manifest["overrides"])["topology"]
    dimensions = tomllib.loads(f"topology = {topology}")["topology"]["torus"]["dimensions"]
    return age_parameters("x".join(map(str, dimensions)))


def _seeds(runs: Runs, setting: str) -> list[Result]:
    names = [name for name in runs if setting in (name, name.split("/", 1)[-1])]
    if not names:
        raise InputError(f"the figure has no run with the setting {setting!r}")
    return [runs[name] for name in names]


def _age_counts(runs: Runs, setting: str) -> list[float]:
    table = _seeds(runs, setting)[0].table("router_dimensions")
    return [float(table[column].sum()) for column in AGE_GROUPS]


def _by_dimension(run: Result, column: str, direction: str) -> list[float]:
    """Values of the directions whose names end so: `+x`, or `x` for both."""
    table = run.table("router_dimensions")
    return [float(value) for value in table[table["direction"].str.endswith(direction)][column]]


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


def _latency(waits: Mapping[str, float]) -> float:
    """2 ns (2.75 Q(x) + 3 Q(y) + 4 Q(z)) and 50 ns for each of 10.75 routers, ns."""
    return CYCLE_NS * sum(HOPS[name] * wait for name, wait in waits.items()) + 50.0 * (
        sum(HOPS.values()) + 1.0
    )


def _mean(values: list[float]) -> float:
    return float(sum(values) / len(values))
