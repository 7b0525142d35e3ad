"""Tables of the paper's page beyond those of its numbers. Each function takes the runs of its figure by name."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fabricsim.reproduce.quantities import Runs, load_hooks

OURS = load_hooks(Path(__file__).parent)


def loads(runs: Runs) -> pd.DataFrame:
    """Figure 8(a) in numbers."""
    rows = []
    for name in _cells(runs):
        mode, flits = name.split("/")
        row: dict[str, str | float] = {"ordering": mode, "flits": flits}
        row["accepted load"] = OURS["load"](runs, name)
        row["±"] = f"{OURS['half_range'](runs, name, 'accepted_load'):.1e}"
        if mode == "target-side":
            row |= _buffers(runs, name)
        rows.append(row)
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = (
        "Mean of three seeds, ± half of their range. Out of order: packets that waited in the reorder buffer. "
        "Most in the buffer, most connections: at one receiver at a time."
    )
    return frame


def times(runs: Runs) -> pd.DataFrame:
    """Times of single streams."""
    rows = []
    for name in _cells(runs):
        mode, packets = name.split("/")
        row: dict[str, str | float] = {"mode": mode, "packets": packets}
        for which in ("mean", "min", "p50", "max"):
            row[f"{which} (ns)"] = round(OURS["completion"](runs, name, which))
        row["±"] = round(OURS["half_range"](runs, name, "transport.completion_ns.mean"), 1)
        row |= _buffers(runs, name)
        rows.append(row)
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = (
        "Times of 200 streams and three seeds, ± half of the range of the three means. "
        "Out of order: packets that waited in the reorder buffer."
    )
    return frame


def synchronization(runs: Runs) -> pd.DataFrame:
    """Figure 10 in numbers."""
    rows = []
    for name in _cells(runs):
        mode, packets = name.split("/")
        row: dict[str, str | float] = {"mode": mode, "packets": packets}
        for which in ("mean", "min", "max"):
            row[f"{which} (ns)"] = round(OURS["synchronized_after"](runs, name, which))
        row |= _buffers(runs, name)
        rows.append(row)
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = (
        "Times until the synchronization operation is delivered, of 200 streams and three seeds. "
        "Out of order: packets that waited in the reorder buffer."
    )
    return frame


def granularity(runs: Runs) -> pd.DataFrame:
    """Figure 9 in numbers."""
    rows = []
    for name in _cells(runs):
        streams, packets = name.split("/")
        row: dict[str, str | float] = {"streams": streams, "packets of each": packets}
        row["total (ns)"] = _with_deviation(runs, "total", name)
        row["request (ns)"] = _with_deviation(runs, "request", name)
        row["request until delivery (ns)"] = _with_deviation(runs, "request", name, "delivered")
        row |= _buffers(runs, name)
        rows.append(row)
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = (
        "Means over 16 sources (all requests) and five seeds, ± standard deviation, until requests are received. "
        "Out of order: packets that waited in the reorder buffer."
    )
    return frame


def thresholds(runs: Runs) -> pd.DataFrame:
    """Shares out of order with other thresholds."""
    cells = [name.split("/") for name in _cells(runs)]
    routings = dict.fromkeys(routing for _, routing in cells)
    figures = dict.fromkeys(figure for figure, _ in cells)
    rows = [
        {"routing": routing}
        | {name: f"{OURS['reordered'](runs, f'{name}/{routing}'):.0%}" for name in figures}
        for routing in routings
    ]
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = (
        "Packets that waited in the reorder buffer. Printed: 33 % in 8(a) and 8(b), 31 % and 67 % in 9, "
        "33 % (4 sources) and 25 % (16 sources) in 11."
    )
    return frame


def receivers(runs: Runs) -> pd.DataFrame:
    """Figure 11(a) and (b) in numbers."""
    return _receivers(runs, "")


def receivers_of_bursts(runs: Runs) -> pd.DataFrame:
    """Figure 11(c) in numbers."""
    return _receivers(_of_grid(runs), "trigger")


def receivers_with_two(runs: Runs) -> pd.DataFrame:
    """Figure 12 in numbers."""
    return _receivers(_of_grid(runs), "outstanding")


def single_runs(runs: Runs) -> pd.DataFrame:
    """Packets dropped in each run of figure 12."""
    rows = []
    for name in _cells(_of_grid(runs)):
        cap, sources, packets = name.split("/")
        row: dict[str, str | float] = {"outstanding": cap, "sources": sources, "packets of a stream": packets}
        for number, run in enumerate(OURS["seeds"](runs, name), 1):
            row[f"seed {number}"] = f"{run.summary['transport.dropped_share']:.1%}"
        rows.append(row)
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = "Packets dropped, in each run."
    return frame


def over_seeds(runs: Runs) -> pd.DataFrame:
    """Figures 9 and 11 with one seed at a time."""
    rows = []
    for name in _cells(runs):
        found = [{f"{name}/1": run} for run in OURS["seeds"](runs, name)]
        shares = [100.0 * OURS["reordered"](run, name) for run in found]
        rows.append(_spread(name, "out of order", "%", shares))
        if name.startswith("11"):
            rows.append(
                _spread(name, "in the buffer, mean", "packets", [OURS["held"](run, name) for run in found])
            )
            most = [OURS["largest"](run, name, "most_reordering") for run in found]
            rows.append(_spread(name, "most in the buffer", "packets", most))
            rows.append(_spread(name, "accepted", "%", [100.0 * OURS["load"](run, name) for run in found]))
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = "Deviation: standard deviation of the five seeds; relative: over their mean."
    return frame


def _spread(name: str, what: str, unit: str, values: list[float]) -> dict[str, str]:
    """A row of single runs."""
    series = pd.Series(values)
    row = {"figure": name, "quantity": what, "unit": unit}
    row |= {f"seed {seed}": f"{value:.3g}" for seed, value in enumerate(values, start=1)}
    return row | {
        "deviation": f"{series.std():.2g}",
        "relative": f"{100.0 * series.std() / series.mean():.2g}%",
    }


def _of_grid(runs: Runs) -> Runs:
    """The runs that are not those of figure 11(a), which stand beside for comparison."""
    return {name: run for name, run in runs.items() if name.count("/") == 3}


def _receivers(runs: Runs, first: str) -> pd.DataFrame:
    rows = []
    for name in _cells(runs):
        *others, sources, packets = name.split("/")
        row: dict[str, str | float] = {first: others[0]} if others else {}
        row |= {"sources": sources, "packets of a stream": packets}
        row["out of order"] = _with_range(runs, "reordered", name, "reordered_share")
        row["dropped"] = _with_range(runs, "counted", name, "dropped_share", "dropped_share")
        row["links between switches"] = round(OURS["hops"](runs, name), 2)
        row["in the buffer, mean"] = OURS["held"](runs, name)
        row["1 % of the time"] = OURS["exceeded"](runs, name, 0.01)
        row["most"] = int(OURS["largest"](runs, name, "most_reordering"))
        row["connections, mean"] = OURS["held"](runs, name, "connections")
        row["most connections"] = int(OURS["largest"](runs, name, "most_connections"))
        row["accepted load"] = OURS["load"](runs, name)
        rows.append(row)
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = (
        "Means of five seeds, ± half of their range. Out of order: packets that waited in the reorder buffer. "
        "1 % of the time: packets in the buffer that are exceeded for so long. "
        "Accepted load: of a source's link."
    )
    return frame


def transports(runs: Runs) -> pd.DataFrame:
    """Transports beside each other, with each traffic."""
    rows = []
    for name in runs:
        traffic, transport = name.split("/")
        rows.append({"traffic": traffic, "transport": transport, **_transport(runs, name)})
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = (
        "Accepted: useful data, as a fraction of the endpoints' links; of the incast: what its target gets of its "
        "link. Times of the messages of 16 packets that were made in the measurement and are complete, of the incast "
        "without its own; where much less is accepted than offered, these are the few that were complete within the "
        "drain. Buffer, connections and state: the most at one target. A connection counts 12 "
        "bytes, 20 with a bitmap, a packet in the reorder buffer as 256."
    )
    return frame


def interplay(runs: Runs) -> pd.DataFrame:
    """Ordered transfers with congestion control and with ages."""
    rows = []
    for name in runs:
        traffic, transport, control, arbiter = name.split("/")
        row = {"traffic": traffic, "transport": transport, "congestion control": control, "arbiter": arbiter}
        rows.append({**row, **_transport(runs, name)})
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = "Columns as above."
    return frame


def _transport(runs: Runs, name: str) -> dict[str, str | float]:
    summary = runs[name].manifest["summary"]
    transport = summary["transport"]
    incast = name.startswith("incast")
    row: dict[str, str | float] = {
        "accepted": OURS["hot_share"](runs, name) if incast else summary["accepted_load"]
    }
    for title, column in (("p50", "p50"), ("p99", "p99"), ("p99.9", "p999")):
        row[f"{title} (us)"] = round(OURS["others"](runs, name, f"completion_{column}_ns") / 1e3, 2)
    row |= {
        "out of order": f"{transport['reordered_share']:.1%}",
        "dropped": f"{OURS['dropped'](runs, name):.2%}",
        "buffer (packets)": transport["most_reordering"],
        "connections": transport["most_connections"],
        "target state (B)": round(OURS["target_state"](runs, name)),
    }
    return row


def _with_range(runs: Runs, what: str, name: str, scalar: str, *more: str) -> str:
    spread = OURS["half_range"](runs, name, f"transport.{scalar}")
    return f"{OURS[what](runs, name, *more):.1%} ± {spread:.1%}"


def _with_deviation(runs: Runs, what: str, name: str, *more: str) -> str:
    return f"{OURS[what](runs, name, *more):.0f} ± {OURS[f'{what}_deviation'](runs, name, *more):.0f}"


def _buffers(runs: Runs, name: str) -> dict[str, str | float]:
    return {
        "out of order": f"{OURS['reordered'](runs, name):.1%}",
        "most in the buffer": int(OURS["largest"](runs, name, "most_reordering")),
        "most connections": int(OURS["largest"](runs, name, "most_connections")),
    }


def _cells(runs: Runs) -> list[str]:
    """The runs without their seeds."""
    return list(dict.fromkeys(name.rpartition("/")[0] for name in runs))
