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


def _buffers(runs: Runs, name: str) -> dict[str, str | float]:
    return {
        "out of order": f"{OURS['reordered'](runs, name):.1%}",
        "most in the buffer": int(OURS["largest"](runs, name, "most_reordering")),
        "most connections": int(OURS["largest"](runs, name, "most_connections")),
    }


def _cells(runs: Runs) -> list[str]:
    """The runs without their seeds."""
    return list(dict.fromkeys(name.rpartition("/")[0] for name in runs))
