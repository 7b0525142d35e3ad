"""Tables of the paper's page beyond those of its numbers. Each function takes the runs of its figure by name."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fabricsim.reproduce.quantities import Runs, load_hooks

OURS = load_hooks(Path(__file__).parent)
SENDERS = range(7)
STEADY = 0.01
"""Where what arrives differs more from what is offered, queues grow or shrink, and latency says how long a run was."""
CLOCK_OFF = ", clock off"
DIRECTIONS = ("+x", "-x", "+y", "-y", "+z", "-z")


def shares(runs: Runs) -> pd.DataFrame:
    """Shares of P7's link in figure 4."""
    rows = []
    for name, run in runs.items():
        rates = run.flows.set_index("source")["accepted_gbps"]
        own = {f"P{sender}": float(rates[f"H({sender}).0"] / rates.sum()) for sender in SENDERS}
        rows.append({**_place(name), **own, "largest / smallest": OURS["unequal"](runs, run=name)})
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = "Shares of P7's link. Ages: period of the age clock in cycles of 2 ns, bias 1."
    return frame


def latencies(runs: Runs) -> pd.DataFrame:
    """Mean latencies in figure 4."""
    rows = []
    for name in runs:
        own = {f"P{sender}": OURS["cycles"](runs, sender, run=name) for sender in SENDERS}
        rows.append({**_place(name), **own, "largest / smallest": OURS["spread"](runs, run=name)})
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = "Mean latency, from where a packet leaves its host, in cycles of 2 ns."
    return frame


def table_5(runs: Runs) -> pd.DataFrame:
    """Table 5: ours, and the paper's latency beside it."""
    base = OURS["request_latency"](runs, "round robin")
    rows = []
    for setting in OURS["settings"](runs):
        latency = OURS["request_latency"](runs, setting)
        row: dict[str, str | float] = {"period; bias": setting}
        row |= {f"stalled {name}": round(OURS["stalled"](runs, setting, name), 2) for name in DIRECTIONS}
        row |= {f"Q({name})": round(OURS["queueing"](runs, setting, name), 1) for name in "xyz"}
        row |= {"mean (ns)": f"{latency:.0f} ± {OURS['latency_range'](runs, setting):.0f}"}
        for title, column in (("p99 (ns)", "latency_p99_ns"), ("max (ns)", "latency_max_ns")):
            row[title] = round(OURS["of_requests"](runs, setting, column))
        row |= {"GB/s a node": OURS["accepted_per_node"](runs, setting), "over round robin": latency / base}
        row["in the paper"] = OURS["paper"](runs, setting)[-1] / OURS["paper"](runs, "round robin")[-1]
        rows.append(row)
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = (
        "Stalled: cycles of 2 ns for which an idle output had a packet but no credits, per packet on VC0 and VC1 "
        "(equation 17). Q: cycles of 2 ns that a packet waits in a router, beyond its delay. Latency: of requests, "
        "from where they are made; the mean by Little's law, ± half the range of three seeds; p99 and max of requests "
        "that were made and arrived within the measured 12 us, so that they are too small, most under round robin."
    )
    return frame


def table_5_paper(runs: Runs) -> pd.DataFrame:
    """The paper's queueing delays beside each other."""
    columns = ("Q(x)", "Q(y)", "Q(z)", "latency (ns)")
    rows = [
        {"period; bias": setting, **dict(zip(columns, OURS["paper"](runs, setting), strict=True))}
        for setting in OURS["settings"](runs)
    ]
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = "The paper's, measured under a mix of production jobs."
    return frame


def table_5_counters(runs: Runs) -> pd.DataFrame:
    """What the counters of table 4 say of waiting, by dimension."""
    rows = []
    for setting in OURS["settings"](runs):
        row: dict[str, str | float] = {"period; bias": setting}
        row |= {f"blocked {name}": round(OURS["blocked"](runs, setting, name), 1) for name in "xyz"}
        row |= {f"queued {name}": round(OURS["queued"](runs, setting, name), 1) for name in "xyz"}
        row |= {f"paper {name}": round(OURS["printed_queued"](runs, setting, name), 1) for name in "xyz"}
        rows.append(row)
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = (
        "Blocked: cycles for which the head of an input buffer waited for space in its staging buffer, per packet "
        "received on VC0 and VC1. Queued: packets that wait for an output, Q over 9 flits plus the stalled cycles; "
        "ours, and from the paper's numbers."
    )
    return frame


def open_traffic(runs: Runs) -> pd.DataFrame:
    """The settings of table 5 with other traffic."""
    rows = []
    for traffic in dict.fromkeys(name.split("/")[0] for name in runs):
        own = {name: runs[name] for name in runs if name.split("/")[0] == traffic}
        base = OURS["request_latency"](own, "round robin")
        for setting in OURS["settings"](runs):
            if not any(name.endswith(f"/{setting}") for name in own):
                continue
            latency = OURS["request_latency"](own, setting)
            row: dict[str, str | float] = {"traffic": traffic, "period; bias": setting}
            row |= {f"Q({name})": round(OURS["queueing"](own, setting, name), 1) for name in "xyz"}
            row |= {"mean (ns)": round(latency), "over round robin": latency / base}
            row |= {
                "GB/s a node": OURS["accepted_per_node"](own, setting),
                "ages 0-63": OURS["youngest"](own, setting),
            }
            rows.append(row)
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = "One seed each; columns as above."
    return frame


def jobs(runs: Runs) -> pd.DataFrame:
    """The settings of table 5 under mixes of jobs."""
    rows = []
    for traffic in dict.fromkeys(name.split("/")[0].split(", seed")[0] for name in runs):
        base = OURS["under_mix"](runs, traffic, "round robin")
        for setting in dict.fromkeys(name.split("/")[1] for name in runs if name.startswith(traffic)):
            own = [
                OURS["from_queueing"]({"one": run}, "one") for run in OURS["under"](runs, traffic, setting)
            ]
            spread = f" ± {round((max(own) - min(own)) / 2, -1):.0f}" if len(own) > 1 else ""
            latency = sum(own) / len(own)
            first = {f"one/{setting}": OURS["under"](runs, traffic, setting)[0]}
            row: dict[str, str | float] = {"traffic": traffic, "period; bias": setting}
            row |= {f"Q({name})": round(OURS["queueing"](first, setting, name), 1) for name in "xyz"}
            row |= {"latency (ns)": f"{round(latency, -1):.0f}{spread}"}
            row |= {"over round robin": round(latency / base, 3)}
            parts = [round(part, 3) for part in OURS["ages"](first, setting)]
            row |= {"ages 0-63": parts[0], "ages 192-255": parts[-1]} if setting != "round robin" else {}
            rows.append(row)
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = (
        "Q and ages: of the first seed. Latency: by the paper's formula, mean of the seeds ± half their range."
    )
    return frame


def collectives(runs: Runs) -> pd.DataFrame:
    """Times of jobs with round robin and with ages."""
    rows = []
    for benchmark in OURS["benchmarks"](runs, ""):
        job, _, placement = benchmark.rpartition("/")
        times = [
            OURS["time_of"](runs, f"{benchmark}/{arbiter}") / 1e3 for arbiter in ("round robin", "8; 3, 2, 1")
        ]
        row: dict[str, str | float] = {"job": job, "nodes": placement.removesuffix(" nodes")}
        row |= {"round robin (us)": times[0], "8; 3, 2, 1 (us)": times[1]}
        rows.append({**row, "gain": f"{OURS['benefit'](runs, benchmark):+.1%}"})
    return pd.DataFrame(rows)


def sizes(runs: Runs) -> pd.DataFrame:
    """Latency against size."""
    rows = []
    for name, run in runs.items():
        network, _, arbiter = name.rpartition("/")
        if network.endswith(CLOCK_OFF):
            if arbiter != "8; 3, 2, 1":
                continue  # the same run as without the suffix
            network, arbiter = network.removesuffix(CLOCK_OFF), "3, 2, 1, age clock off"
        latency = run.manifest["summary"]["latency_ns"]
        row: dict[str, str | float] = {
            "network": network,
            "arbiter": arbiter,
            "accepted": run.summary["accepted_load"],
        }
        row |= {"mean (ns)": round(latency["mean"]), "deviation (ns)": round(OURS["deviation"]({"": run}))}
        row |= {
            title: round(latency[key]) for title, key in (("p99", "p99"), ("p99.9", "p999"), ("max", "max"))
        }
        rows.append(row)
    return pd.DataFrame(rows)


def congestion(runs: Runs) -> pd.DataFrame:
    """What those lose who do not cause congestion."""
    rows = []
    for name, run in runs.items():
        traffic, control, arbiter = name.split("/")
        arrived = OURS["arrived"]({"": run})
        row: dict[str, str | float] = {"traffic": traffic, "congestion control": control, "arbiter": arbiter}
        row["others: arrived"] = arrived
        if abs(arrived - 1.0) < STEADY:
            others = run.flows[~run.flows["source"].str.startswith("H(0,")]
            row |= {
                "mean (ns)": round(OURS["mean_of"](others)),
                "deviation (ns)": round(OURS["deviation_of"](others)),
            }
            row["max (ns)"] = round(others["latency_max_ns"].max())
        rows.append(row)
    return pd.DataFrame(rows)


def _place(name: str) -> dict[str, str]:
    network, arbiter = name.split("/")
    return {"network": network, "arbiter": arbiter}
