"""Tables of the paper's page beyond those of its numbers. Each function takes the runs of its figure by name."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fabricsim.reproduce.quantities import Runs, load_hooks

OURS = load_hooks(Path(__file__).parent)
SENDERS = range(7)


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


def _place(name: str) -> dict[str, str]:
    network, arbiter = name.split("/")
    return {"network": network, "arbiter": arbiter}
