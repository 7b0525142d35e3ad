"""Tables of the thesis' page beyond those of its numbers. Each function takes the runs of its figure by name."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fabricsim.reproduce.quantities import Runs, load_hooks
from fabricsim.results import Result

OURS = load_hooks(Path(__file__).parent)
COLUMNS: dict[str, tuple[str, dict[str, str]]] = {
    "total (GB/s)": ("total", {}),
    "from 0.05 s (GB/s)": ("total", {"after": "0.05 s"}),
    "of the bound": ("of_bound", {}),
    "hot spots": ("hot_spots", {}),
    "victims": ("victims", {}),
    "Jain, contributors": ("jain", {}),
    "Jain, all": ("jain", {"of": "all"}),
    "oscillation": ("oscillation", {}),
}
EXPLAINED = """\
Total: mean of the whole run, as in the thesis. Oscillation: standard deviation of the total from one 5 ms to the next
over the whole run, over its mean. All others are from 0.05 s on, when all sources have started. Of the bound: the
total over the largest possible one. Hot spots: how much of their links they receive. Victims: their mean rate, over
that of their links. Jain: Jain's index of the rates of the contributors, and of all sources."""


def results(runs: Runs) -> pd.DataFrame:
    """What the total hides."""
    frame = pd.DataFrame([{"run": name or "on", **_row(run)} for name, run in runs.items()])
    frame.attrs["caption"] = EXPLAINED
    return frame


def _row(run: Result) -> dict[str, float]:
    return {title: OURS[function]({"": run}, **options) for title, (function, options) in COLUMNS.items()}


def matrix(runs: Runs) -> pd.DataFrame:
    """Total throughput of the 30 settings of D, ours and in brackets the thesis'."""
    rows = []
    for timer, row in OURS["table_4_9"](runs).items():
        cells = {"CCTI_Timer": timer}
        for rate, published in row.items():
            ours = OURS["total"]({"": runs[f"{timer}/{rate}"]})
            cells[f"Marking_Rate {rate}"] = f"{ours:.1f} ({published})"
        rows.append(cells)
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = "Total throughput in GB/s: ours, and in brackets that of table 4.9."
    return frame


def open_choices(runs: Runs) -> pd.DataFrame:
    """What each open choice is worth."""
    frame = pd.DataFrame([{"choice": choice, **_of_choice(runs, choice)} for choice in _choices(runs)])
    frame.attrs["caption"] = "C1 to C4 in GB/s, in the thesis 20 / 25, 13 / 18, 13 / 15.7, 15.9 / 19.8."
    return frame


def _choices(runs: Runs) -> list[str]:
    return list(dict.fromkeys(name.split("/")[0] for name in runs if name.endswith("/20 us/1")))


def _of_choice(runs: Runs, choice: str) -> dict[str, str | float]:
    row: dict[str, str | float] = {}
    for name, victim in (("A", "H111"), ("B2", "H512")):
        run = {"": runs.get(f"{choice}/{name}", runs[f"as chosen/{name}"])}
        least, largest = OURS["least_share"](run), OURS["largest_share"](run)
        row[f"{name}: contributors"] = f"{least:.2f} to {largest:.2f}"
        row[f"{name}: victim"] = OURS["by_source"](run, victim, after="0.51 s") / 1000.0
    for name in ("C1", "C2", "C3", "C4"):
        off = runs.get(f"{choice}/{name} off", runs[f"as chosen/{name} off"])
        totals = [OURS["total"]({"": run}) for run in (off, runs[f"{choice}/{name}"])]
        row[name] = "{:.1f} / {:.1f}".format(*totals)
    row["D: rank correlation"] = OURS["correlation_with_4_9"](runs, choice)
    row["D: mean error (%)"] = OURS["error_to_4_9"](runs, choice)
    return row


def open_halves(runs: Runs) -> pd.DataFrame:
    """Other halves of the hosts in C2 and C3."""
    halves = dict.fromkeys(name.split("/")[0] for name in runs if name.endswith("/off"))
    rows = []
    for half in sorted(["C2: as chosen", "C3: as chosen", *halves]):
        name = half[:2]
        chosen = half.endswith("as chosen")
        off = runs[f"as chosen/{name} off" if chosen else f"{half}/off"]
        on = runs[f"as chosen/{name}" if chosen else f"{half}/on"]
        rows.append({"half": half, "off": OURS["total"]({"": off}), "on": OURS["total"]({"": on})})
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = (
        "Which half of the hosts sends in C2 (thesis: 13, 18), and receives in C3 (13, 15.7); GB/s."
    )
    return frame


def thresholds(runs: Runs) -> pd.DataFrame:
    """The best setting for each Threshold."""
    rows = []
    for threshold in dict.fromkeys(name.split("/")[0] for name in runs):
        own: dict[str, Result] = {n: run for n, run in runs.items() if n.split("/")[0] == threshold}
        best = max(own, key=lambda name: OURS["total"]({"": own[name]}))
        _, timer, rate = best.split("/")
        named = {"Threshold": threshold, "best CCTI_Timer": timer, "best Marking_Rate": rate}
        thesis = OURS["total"]({"": own[f"{threshold}/250 us/1"]})
        rows.append({**named, "at 250 us, 1 (GB/s)": thesis, **_row(own[best])})
    return pd.DataFrame(rows)


def settings(runs: Runs) -> pd.DataFrame:
    """The same traffic with several settings."""
    rows = []
    for name, run in runs.items():
        what, setting = name.rsplit("/", 1)
        gain = OURS["total"]({"": run}) / OURS["total"]({"": runs[f"{what}/off"]})
        rows.append({"what": what, "setting": setting, "over off": gain, **_row(run)})
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = "Setting: CCTI_Timer and Marking_Rate. Columns as in the tables above."
    return frame


def both_ways(runs: Runs) -> pd.DataFrame:
    """Totals of the 30 settings of D with H512 sending and silent, and the thesis'."""
    rows = []
    for timer, row in OURS["table_4_9"](runs).items():
        cells = {"CCTI_Timer": timer}
        for rate, published in row.items():
            sends, silent = (
                OURS["total"]({"": runs[f"{way}/{timer}/{rate}"]}) for way in ("sends", "silent")
            )
            cells[f"Marking_Rate {rate}"] = f"{sends:.1f}, {silent:.1f} ({published})"
        rows.append(cells)
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = (
        "Total throughput in GB/s: ours with H512 sending, ours with H512 silent, and in brackets that of table 4.9."
    )
    return frame


def over_seeds(runs: Runs) -> pd.DataFrame:
    """C1 to C4 with three seeds: off / on."""
    rows = []
    for experiment in ("C1", "C2", "C3", "C4"):
        cells = {"experiment": experiment}
        for seed in (1, 2, 3):
            off, on = (OURS["total"]({"": runs[f"{experiment}/{c}/{seed}"]}) for c in ("off", "on"))
            cells[f"seed {seed}"] = f"{off:.1f} / {on:.1f}"
        rows.append(cells)
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = "Averages without / with congestion control, GB/s."
    return frame


def accepted_loads(runs: Runs) -> pd.DataFrame:
    """Accepted load of each case with each setting."""
    loads: dict[str, dict[str, float]] = {}
    for name, run in runs.items():
        case, setting, _ = name.rsplit("/", maxsplit=2)
        loads.setdefault(case, {})[setting] = float(run.summary["accepted_load"])
    frame = pd.DataFrame([{"case": case, **row} for case, row in loads.items()])
    frame.attrs["caption"] = "Accepted load, a fraction of the hosts' links."
    return frame
