"""What numbers of rank programs ask for. Each function takes the runs by name first."""

from __future__ import annotations

import pandas as pd

from fabricsim.reproduce.quantities import Runs, chosen


def quantile(runs: Runs, percent: float, column: str = "call_ns", *, run: str | None = None) -> float:
    """Percentile of the durations of a ping-pong's sends, ns: of the calls, or of completions (`completion_ns`)."""
    return float(chosen(runs, run).table("returned")[column].quantile(percent / 100))


def skewness(runs: Runs, column: str = "call_ns", *, run: str | None = None) -> float:
    """Skewness of the same durations: the third central moment over that of the standard deviation; 0 of constants."""
    of = chosen(runs, run).table("returned")[column]
    centred = of - of.mean()
    spread = float((centred**2).mean()) ** 0.5
    return float((centred**3).mean()) / spread**3 if spread > 1e-3 else 0.0


def half_trip(runs: Runs, size: int, *, run: str | None = None) -> float:
    """Half of the time to and fro of messages of a size, ns."""
    table = chosen(runs, run).table("returned")
    return float(table.loc[table["bytes"] == size, "half_trip_ns"].mean())


def in_mpi(runs: Runs, *, run: str | None = None) -> float:
    """Time of the sender in calls of MPI, ns."""
    return float(chosen(runs, run).table("returned")["in_mpi_ns"].iloc[0])


def departures(runs: Runs, *, run: str | None = None) -> pd.Series[float]:
    """Times at which the messages of a stream leave rank 0, in microseconds, by number."""
    posted = chosen(runs, run).table("posted")
    times = posted.loc[(posted["from"] == 0) & (posted["bytes"] > 8000), "time_ns"] / 1000
    return times.reset_index(drop=True)


def left_before(runs: Runs, time_us: float, *, run: str | None = None) -> int:
    """Number of messages of a stream that leave before a time."""
    return int((departures(runs, run=run) < time_us).sum())


def stalled(runs: Runs, *, run: str | None = None) -> float:
    """Time for which messages of rank 0 waited for credits or places in a send queue, in microseconds."""
    return float(chosen(runs, run).table("mpi_ranks")["stalled_ns"].iloc[0]) / 1000


def operations(runs: Runs, *, run: str | None = None) -> int:
    """Operations of verbs that the ranks posted."""
    return len(chosen(runs, run).table("posted"))


def rounds(runs: Runs, *, run: str | None = None) -> pd.DataFrame:
    """Messages of one collective with the column `round`, from 1.

    In an exchange it is the number of the message at its sender. Where each rank sends once, it is one more than the
    rounds of all messages that the sender has got.
    """
    posted = chosen(runs, run).table("posted").sort_values("time_ns", kind="stable")
    if posted["from"].duplicated().any():
        return posted.assign(round=posted.groupby("from").cumcount() + 1)
    got: dict[int, int] = {}
    numbers = []
    for source, to in zip(posted["from"], posted["to"], strict=True):
        numbers.append(got.get(source, 0) + 1)
        got[to] = max(got.get(to, 0), numbers[-1])
    return posted.assign(round=numbers)


def in_round(runs: Runs, number: int, *, run: str | None = None) -> int:
    """Messages of a round."""
    return int((rounds(runs, run=run)["round"] == number).sum())


def symmetric(runs: Runs, *, run: str | None = None) -> int:
    """Messages for which there is one the other way in the same round."""
    found = rounds(runs, run=run)
    ways = set(zip(found["round"], found["from"], found["to"], strict=True))
    return sum((number, to, source) in ways for number, source, to in ways)


def to_root(runs: Runs, *, run: str | None = None) -> int:
    """Messages to rank 0."""
    return int((chosen(runs, run).table("posted")["to"] == 0).sum())


def follows(runs: Runs, *, run: str | None = None) -> int:
    """Messages from the rank x to x - 2^i in round i, from 0, where x has its lowest 1 at position i: figure 25."""
    found = rounds(runs, run=run)
    steps = found["from"] - found["to"]
    lowest = found["from"].map(lambda rank: rank & -rank)
    return int(((steps == 2 ** (found["round"] - 1)) & (steps == lowest)).sum())
