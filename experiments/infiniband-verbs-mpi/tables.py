"""Tables of the reproduction page. Each function takes the runs of its figure by name."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pandas as pd

from fabricsim.reproduce.quantities import Runs, load_hooks

FOLDER = Path(__file__).parent
ASSUMED = "none: assumed"
JITTER = "[sysjitter](https://docs.amd.com/r/en-US/ug1586-onload-user/Sysjitter)"
"""Manual of Onload: an idle system of four cores, with a timer interrupt each millisecond, for 10 s."""
PARAMETERS = {
    "call": (
        "150 to 500 ns",
        "fitted; a call of MPI, with its request",
        "one rank sends 4.0 million messages of 1 B a second, 250 ns for each (Open MPI 1.10.3, PML yalla, "
        "another adapter): [ompi 1831](https://github.com/open-mpi/ompi/issues/1831)",
    ),
    "wait": ("80 to 300 ns", "fitted; a call of MPI that polls", ASSUMED),
    "copy_rate": (
        "80 to 400 Gb/s",
        "fitted; a copy within caches of a core of that time",
        "x += y on a Xeon E5-2680 v3 moves 170, 54 and 32 GiB/s in L1, L2 and L3; a copy, which reads and "
        "writes, has half of it, 730, 232 and 137 Gb/s: [Intel's forum]"
        "(https://community.intel.com/t5/Intel-Moderncode-for-Parallel/L1-L2-and-L3-bandwidth-of-E5-2680-v3-i-e-Haswell/td-p/1118044)",
    ),
    "noise.spread": ("0 to 1", "fitted; misses of caches and TLB", ASSUMED),
    "noise.arrival": ("0 to 1500 ns", "fitted; polling of several queues, memory and bus", ASSUMED),
    "noise.interruption_probability": ("0.005 to 0.2", "fitted", ASSUMED),
    "noise.interruption": (
        "100 to 3000 ns",
        "fitted; tracing by Extrae, interrupts",
        f"interruptions by the timer take 1.3 to 1.5 us (medians of four cores): {JITTER}; none of Extrae",
    ),
    "noise.tick_period": (
        "1 s",
        "given; the tutorial omits ticks, one a second remains",
        "a residual tick of 1 Hz: [Linux' parameter nohz_full]"
        "(https://www.mail-archive.com/linux-kernel@vger.kernel.org/msg1570227.html)",
    ),
    "noise.tick": (
        "5 to 30 us",
        "chosen; a tick with its deferred work",
        f"one interruption of 1000 takes 4 to 23 us or more; a usual one, 1.4 us, is below the range: {JITTER}",
    ),
    "noise.pause": (
        "10 to 200 us",
        "chosen; daemons, machine checks",
        f"longest interruption of 10 s: 41, 45, 50 and 347 us on four cores: {JITTER}; interrupts of the "
        "firmware take 10 to 15 us, some above 100: [Linux Foundation]"
        "(https://wiki.linuxfoundation.org/realtime/documentation/howto/debugging/smi-latency/detection)",
    ),
    "noise.pause_period": (
        "1 to 100 s",
        "chosen",
        f"10 s have at least one interruption above 30 us on each of four cores: {JITTER}",
    ),
}
"""Range in which each parameter is plausible, what it stands for, and what a source says of it."""


def parameters(runs: Runs) -> pd.DataFrame:
    """Parameters of tables IV and V, with their values in ranks.toml."""
    settings = tomllib.loads((FOLDER / "ranks.toml").read_text(encoding="utf-8"))["mpi"]
    rows = []
    for name, (limits, stands_for, source) in PARAMETERS.items():
        value = settings
        for part in name.split("."):
            value = value[part]
        rows.append(
            {
                "mpi.": name,
                "value": str(value),
                "plausible": limits,
                "how, and what it stands for": stands_for,
                "source": source,
            }
        )
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = (
        "Eleven parameters of ranks.toml. All ranges were assumed; sources were looked up after the fit"
    )
    return frame


def skewness_in_table_iv(runs: Runs) -> pd.DataFrame:
    """Skewness that follows from the quantiles of table IV."""
    found: pd.DataFrame = load_hooks(FOLDER, "tails.py")["skewness"]("table-iv")
    return found


def skewness_in_table_v(runs: Runs) -> pd.DataFrame:
    """Skewness that follows from the quantiles of table V."""
    found: pd.DataFrame = load_hooks(FOLDER, "tails.py")["skewness"]("table-v")
    return found
