"""What the figures of verbs ask for: packets and calls of programs. Each function takes the runs by name first."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from fabricsim.reproduce.quantities import Runs, chosen


def in_order(runs: Runs, *steps: str, run: str | None = None) -> int:
    """How many of some steps happen after the one before them; the first one counts if it happens.

    A step is what a program says, `"H0: rdma_connect"`, or the name of a packet, `"ComMgt REQ"`: each for the
    first time.
    """
    times = dict(reversed(list(_events(runs, run))))
    found = [times.get(step) for step in steps]
    pairs = zip([0.0, *found], found, strict=False)
    return sum(before is not None and at is not None and at >= before for before, at in pairs)


def calls(runs: Runs, host: str, *, run: str | None = None) -> int:
    """Calls of a host's program: `rdma_...` and `ibv_...`."""
    notes = chosen(runs, run).table("notes")
    texts = notes.loc[notes["host"] == host, "text"]
    return int(texts.str.startswith(("rdma_", "ibv_")).sum())


def packets_named(runs: Runs, name: str, *, run: str | None = None) -> int:
    """Packets whose names begin so."""
    return int(_packets(runs, run)["name"].str.startswith(name).sum())


def payload(runs: Runs, source: str, *, run: str | None = None) -> int:
    """Bytes of messages in all packets from a host, without management datagrams."""
    packets = _packets(runs, run)
    chosen_rows = (packets["source"] == source) & (packets["kind"] != "management datagram")
    return int(packets.loc[chosen_rows, "payload"].sum())


def header_bytes(runs: Runs, name: str, *, run: str | None = None) -> int:
    """Bytes around the payload of the first packet whose name ends so, without padding; 0 if there is none."""
    packets = _packets(runs, run)
    found = packets[packets["name"].str.endswith(name)]
    if found.empty:
        return 0
    first = found.iloc[0]
    return int(first["bytes"] - -(-first["payload"] // 4) * 4)


def between(runs: Runs, first: str, second: str, *, run: str | None = None) -> float:
    """Nanoseconds from a step to another, as `in_order` names them."""
    times = dict(reversed(list(_events(runs, run))))
    return times[second] - times[first]


def _packets(runs: Runs, run: str | None) -> pd.DataFrame:
    """A row for each packet: its first crossing."""
    return chosen(runs, run).table("crossings").drop_duplicates("packet")


def _events(runs: Runs, run: str | None) -> Iterator[tuple[str, float]]:
    """Steps and their times, in order."""
    notes = chosen(runs, run).table("notes")
    steps = [(f"{host}: {text}", time) for host, text, time in notes[["host", "text", "time_ns"]].to_numpy()]
    packets = _packets(runs, run)
    steps += list(zip(packets["name"], packets["time_ns"].astype(float), strict=True))
    yield from sorted(steps, key=lambda step: step[1])
