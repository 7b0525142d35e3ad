"""What the paper's numbers ask for beyond the common functions. Each function takes the runs by name first.

A figure's runs are called by mode, or by what else is varied, then by the number that is varied, then by seed; what is
asked for is the mean over the seeds.
"""

from __future__ import annotations

import pandas as pd

from fabricsim.errors import InputError
from fabricsim.exchanges import read_trace
from fabricsim.reproduce.quantities import Runs
from fabricsim.results import Result, flatten

ROUND_TRIP_NS = 1150.0
"""Mean round trip from one router's endpoint to the 32 of another group: twice 40 + 500 + 7/8 x 40 ns."""
FLIT_NS = 1.0
RECEIVERS = ("H(20,0).0", "H(20,1).0")
"""Of figures 11 and 12."""
LENGTHS = (16, 32, 64, 128)
"""Packets of a stream in figure 9."""
STREAMS = (10, 20, 30, 40)
"""Packets of a stream in figures 8(b) and 10."""
BEGUN_NS = 20_000.0
"""When their streams are well under way."""
CONNECTION = {"ordered": 12, "go-back-n": 12, "selective": 20, "selective-ordered": 20}
"""Bytes that a target keeps for a connection: source (4), CID (2), SEQ (2), counts and flags (4), bitmap (8)."""
PACKET = 256
"""Bytes of a packet in the reorder buffer."""
HOT = "H(0,0).0"
"""The target of the incast."""


def order(runs: Runs, step: str, kind: str) -> str:
    """Numbers of packets, from 1 on as in the paper, in the order in which they were `sent`, `received`, ..."""
    return " ".join(
        str(number) for _, what, packet, number in _events(runs) if (what, packet) == (step, kind)
    )


def outstanding(runs: Runs) -> int:
    """The most requests that were sent and not acknowledged at a time."""
    waiting: set[int] = set()
    most = 0
    for _, what, packet, number in _events(runs):
        if (what, packet) == ("sent", "REQ"):
            waiting.add(number)
        elif (what, packet) == ("received", "ACK"):
            waiting.discard(number)
        most = max(most, len(waiting))
    return most


def closes_after_all_acknowledgements(runs: Runs) -> bool:
    """True if one FIN is sent, and every request was acknowledged before."""
    events = _events(runs)
    fins = [at for at, (_, what, packet, _) in enumerate(events) if (what, packet) == ("sent", "FIN")]
    requests = {number for _, what, packet, number in events if (what, packet) == ("sent", "REQ")}
    if len(fins) != 1:
        return False
    before = events[: fins[0]]
    return requests == {number for _, what, packet, number in before if (what, packet) == ("received", "ACK")}


def delivered_after(runs: Runs, later: int, earlier: int) -> float:
    """Time from the delivery of one request to that of another one, ns."""
    times = {n: time for time, what, packet, n in _events(runs) if (what, packet) == ("delivered", "REQ")}
    return times[later] - times[earlier]


def one_at_a_time_load(_: Runs, flits: int) -> float:
    """Load of a source that has one packet outstanding: one, and an answer of a flit, in each round trip."""
    return flits / (ROUND_TRIP_NS + flits + FLIT_NS)


def one_at_a_time(_: Runs, packets: int) -> float:
    """Time of a stream of 16-flit packets with one packet outstanding, ns."""
    return (packets - 1) * (ROUND_TRIP_NS + 16.0 + FLIT_NS) + ROUND_TRIP_NS / 2.0 + 16.0


def back_to_back(_: Runs, packets: int) -> float:
    """Time of a stream of 16-flit packets, one right after the other on minimal paths, ns."""
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


def smallest(runs: Runs, name: str, counter: str) -> float:
    """The smallest over the seeds of a number of the summary's `transport`."""
    return min(_scalar(run, f"transport.{counter}") for run in seeds(runs, name))


def hops(runs: Runs, name: str) -> float:
    """Mean number of links between switches on the path of a packet."""
    return _mean([_scalar(run, "hops.mean") for run in seeds(runs, name)])


def skew(runs: Runs, name: str) -> float:
    """Largest less smallest latency in the network, in packets of 16 flits that are sent in it."""
    found = seeds(runs, name)
    longest = max(_scalar(run, "network_latency_ns.max") for run in found)
    shortest = min(_scalar(run, "network_latency_ns.min") for run in found)
    return (longest - shortest) / (16.0 * FLIT_NS)


def total(runs: Runs, name: str, to: str = "received") -> float:
    """From the first request's injection at a source until the last one is `received` at the destination, or
    `delivered`, ns; mean over sources and seeds.
    """
    return float(pd.concat(_totals(run, to) for run in seeds(runs, name)).mean())


def total_deviation(runs: Runs, name: str, to: str = "received") -> float:
    """Standard deviation of `total`, ns."""
    return float(pd.concat(_totals(run, to) for run in seeds(runs, name)).std(ddof=0))


def request(runs: Runs, name: str, to: str = "received") -> float:
    """Mean time of a request from its injection until it is `received`, or `delivered`, ns."""
    return float(pd.concat(_requests(run, to) for run in seeds(runs, name)).mean())


def longest_over_shortest(runs: Runs, what: str, streams: str, to: str = "received") -> float:
    """Of the four lengths of figure 9's streams, the largest `total` or `request` over the smallest."""
    measure = {"total": total, "request": request}[what]
    values = [measure(runs, f"{streams}/{packets}", to) for packets in LENGTHS]
    return max(values) / min(values)


def wait(runs: Runs, name: str) -> float:
    """Mean time that a request waits for others at the target, ns."""
    return request(runs, name, "delivered") - request(runs, name, "received")


def synchronized_after(runs: Runs, name: str, which: str = "mean") -> float:
    """Time from the injection of a stream's first packet to the delivery of its last request, the synchronization
    operation, ns: `mean`, `min` or `max` of all streams and seeds.
    """
    times = pd.concat(_synchronized_after(run) for run in seeds(runs, name))
    return float(times.agg(which))


def last_to_be_delivered(runs: Runs, mode: str) -> float:
    """Share of the streams whose last request, the synchronization operation, is delivered last; the smallest of the
    four lengths.
    """
    return min(
        float(pd.concat(_is_last(run) for run in seeds(runs, f"{mode}/{packets}")).mean())
        for packets in STREAMS
    )


def data_out_of_order(runs: Runs, mode: str) -> float:
    """Share of the streams whose data is not delivered in the order in which it was sent; the smallest of the four
    lengths.
    """
    return min(
        float(pd.concat(_is_shuffled(run) for run in seeds(runs, f"{mode}/{packets}")).mean())
        for packets in STREAMS
    )


def request_deviation(runs: Runs, name: str, to: str = "received") -> float:
    """Standard deviation of `request`, ns."""
    return float(pd.concat(_requests(run, to) for run in seeds(runs, name)).std(ddof=0))


def held(runs: Runs, name: str, column: str = "reorder_buffer") -> float:
    """Packets in a receiver's reorder buffer, or its `connections`; mean from 20 us on."""
    return _mean([float(_levels(run)[column].mean()) for run in seeds(runs, name)])


def exceeded(runs: Runs, name: str, part: float) -> float:
    """Packets in a receiver's reorder buffer that are exceeded in this part of the time, in bins of 100 ns."""
    return _mean([float(_levels(run)["reorder_buffer"].quantile(1.0 - part)) for run in seeds(runs, name)])


def fluctuation(runs: Runs, name: str) -> float:
    """Standard deviation over time of the packets in a receiver's reorder buffer, bins of 100 ns; mean of all runs."""
    return _mean([float(_levels(run)["reorder_buffer"].std()) for run in seeds(runs, name)])


def longest_above(runs: Runs, name: str, packets: int) -> float:
    """Longest time with at least `packets` packets in a receiver's reorder buffer, in round trips; of all runs."""
    return max(_longest_above(run, packets) for run in seeds(runs, name))


def levels(runs: Runs, name: str) -> pd.DataFrame:
    """What the first receiver holds over time, of the first seed."""
    table = seeds(runs, name)[0].table("transport_series")
    return table[table["host"] == RECEIVERS[0]]


def seeds(runs: Runs, name: str) -> list[Result]:
    """The runs of a cell that differ in their seed alone."""
    found = [runs[own] for own in runs if own.rpartition("/")[0] == name]
    if not found:
        raise InputError(f"the figure has no run {name!r} with a seed")
    return found


def target_state(runs: Runs, name: str) -> float:
    """The most bytes that a target needed: for its connections, and for packets in its reorder buffer."""
    run = runs[name]
    mode = dict(run.manifest["overrides"]).get("transport.mode", "ordered").strip("\"'")
    table = run.table("transport")
    of_host = table["connections_max"] * CONNECTION.get(mode, 0) + table["reorder_buffer_max"] * PACKET
    return float(of_host.max())


def dropped(runs: Runs, name: str) -> float:
    """Share of the requests received that were dropped: buffer full, no connection, out of sequence."""
    reasons = ("buffer_full", "no_connection", "out_of_sequence")
    lost = sum(_scalar(runs[name], f"transport.{reason}") for reason in reasons)
    return lost / _scalar(runs[name], "transport.received")


def load_of(runs: Runs, name: str) -> float:
    """Accepted load of a single run."""
    return _scalar(runs[name], "accepted_load")


def most(runs: Runs, name: str) -> float:
    """The most packets in a reorder buffer of a single run."""
    return _scalar(runs[name], "transport.most_reordering")


def hot_share(runs: Runs, name: str) -> float:
    """What is delivered to the target of the incast, as a fraction of its link."""
    hosts = runs[name].hosts
    hot = hosts[hosts["host"] == HOT]
    return float((hot["delivered_gbps"] / hot["link_gbps"]).iloc[0])


def others(runs: Runs, name: str, column: str) -> float:
    """A number of the table of messages, of the traffic that is not the incast."""
    return float(runs[name].table("messages").iloc[0][column])


def _events(runs: Runs) -> list[tuple[float, str, str, int]]:
    """Time, step, packet and number, from 1 on, of all events of the first run."""
    first = runs[next(iter(runs))]
    return [(time, what, p.kind, p.number + 1) for time, _, what, p in read_trace(first.exchanges).events]


def _levels(run: Result) -> pd.DataFrame:
    table = run.table("transport_series")
    return table[table["host"].isin(RECEIVERS) & (table["time_ns"] >= BEGUN_NS)]


def _longest_above(run: Result, packets: int) -> float:
    longest = 0.0
    for _, curve in _levels(run).groupby("host"):
        above = curve["reorder_buffer"] >= packets
        stretches = curve[above].groupby((~above).cumsum())["time_ns"]
        longest = max(longest, float((stretches.max() - stretches.min()).max()) if above.any() else 0.0)
    return longest / ROUND_TRIP_NS


def _steps(run: Result) -> pd.DataFrame:
    """When each request was first sent, received and delivered, ns."""
    table = run.table("exchanges")
    requests = table[table["packet"] == "REQ"]
    at_source = requests["step"] == "sent"
    keys = ["source", "message", "number"]
    named = requests.assign(source=requests["host"].where(at_source, requests["peer"]))
    return named.pivot_table(index=keys, columns="step", values="time_ns", aggfunc="min")


def _totals(run: Result, to: str) -> pd.Series[float]:
    by_source = _steps(run).groupby("source")
    return by_source[to].max() - by_source["sent"].min()


def _streams(run: Result) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Deliveries of the requests of each complete stream, ns: of all but the last one, and of the last one with
    `sent`, the injection of the first.
    """
    steps = _steps(run).reset_index()
    last = steps["number"].max()
    complete = steps.groupby(["source", "message"])["delivered"].transform("count") == last + 1
    steps = steps[complete].set_index(["source", "message"])
    final = steps[steps["number"] == last].assign(sent=steps[steps["number"] == 0]["sent"])
    return steps[steps["number"] < last], final


def _synchronized_after(run: Result) -> pd.Series[float]:
    _, final = _streams(run)
    return final["delivered"] - final["sent"]


def _is_last(run: Result) -> pd.Series[bool]:
    data, final = _streams(run)
    return final["delivered"] >= data.groupby(["source", "message"])["delivered"].max()


def _is_shuffled(run: Result) -> pd.Series[bool]:
    data, _ = _streams(run)
    in_order = data.sort_values("number").groupby(["source", "message"])["delivered"]
    return ~in_order.agg(lambda times: bool(times.is_monotonic_increasing))


def _requests(run: Result, to: str) -> pd.Series[float]:
    steps = _steps(run)
    return steps[to] - steps["sent"]


def _scalar(run: Result, name: str) -> float:
    scalars = flatten(run.manifest["summary"])
    if name not in scalars:
        raise InputError(f"the summary has no {name!r}")
    return float(scalars[name])


def _mean(values: list[float]) -> float:
    return float(sum(values) / len(values))
