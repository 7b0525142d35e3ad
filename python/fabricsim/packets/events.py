"""Packets on links for Perfetto (ui.perfetto.dev) and Chrome, in the Trace Event Format (JSON)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fabricsim.errors import InputError, StoreError
from fabricsim.lazy import pandas as pd


def link_tracks(hops: pd.DataFrame) -> dict[str, int]:
    """Numbers of tracks, from 1, by link: in order of name."""
    return {link: number for number, link in enumerate(sorted(hops["link"].unique()), 1)}


def link_events(hops: pd.DataFrame, tracks: dict[str, int], process: int) -> Iterator[dict[str, Any]]:
    """A process with a track for each link, on which packets are slices from their first byte to their last."""
    common = {"ph": "M", "pid": process}
    yield {**common, "name": "process_name", "args": {"name": "links"}}
    yield {**common, "name": "process_sort_index", "args": {"sort_index": process}}
    for link, track in tracks.items():
        yield {**common, "tid": track, "name": "thread_name", "args": {"name": link}}
        yield {**common, "tid": track, "name": "thread_sort_index", "args": {"sort_index": track}}
    columns = [
        *("source", "destination", "number", "link", "start_ns", "end_ns"),
        *("kind", "entry", "bytes", "lane", "waited_ns", "busy_ns", "input_ns", "behind"),
    ]
    for row in hops[columns].to_dict("records"):
        about = {name: row[name] for name in columns[6:] if row[name] != ""}
        yield {
            "ph": "X",
            "pid": process,
            "tid": tracks[row["link"]],
            "name": f"{row['source']} -> {row['destination']} #{row['number']}",
            "cat": "packet",
            "ts": row["start_ns"] / 1000,
            "dur": (row["end_ns"] - row["start_ns"]) / 1000,
            "args": about,
        }


def packet_paths(hops: pd.DataFrame) -> dict[int, list[tuple[str, float]]]:
    """Links that each packet crossed, in order, and the times in nanoseconds at which its first byte left for them."""
    found: dict[int, list[tuple[str, float]]] = {}
    for packet, link, start in zip(hops["packet"], hops["link"], hops["start_ns"], strict=True):
        found.setdefault(int(packet), []).append((link, start))
    return found


def write_trace(hops: pd.DataFrame, path: Path | str, *, force: bool = False) -> None:
    """Writes packets on their links as a JSON trace, with an arrow from link to link for each packet.

    Args:
        hops: table `packet_hops` of a run.
        path: the file.
        force: True if a file that exists is replaced.

    Raises:
        InputError: the file exists.
        StoreError: the file cannot be written.
    """
    tracks = link_tracks(hops)
    events = [*link_events(hops, tracks, 0), *_paths(hops, tracks)]
    write_events(events, path, force=force)


def _paths(hops: pd.DataFrame, tracks: dict[str, int]) -> Iterator[dict[str, Any]]:
    for packet, ends in packet_paths(hops).items():
        for number, (link, start) in enumerate(ends):
            phase: dict[str, Any] = {"ph": "t"}
            if number == 0:
                phase = {"ph": "s"}
            elif number == len(ends) - 1:
                phase = {"ph": "f", "bp": "e"}
            at = {"pid": 0, "tid": tracks[link], "ts": start / 1000}
            yield {"cat": "path", "id": f"packet {packet}", "name": "path", **phase, **at}


def write_events(events: list[dict[str, Any]], path: Path | str, *, force: bool = False) -> None:
    """Writes events as a file of the Trace Event Format; times in them are microseconds.

    Raises:
        InputError: the file exists, and is not to be replaced.
        StoreError: the file cannot be written.
    """
    text = json.dumps({"displayTimeUnit": "ns", "traceEvents": events}, separators=(",", ":"), default=_plain)
    try:
        with Path(path).open("w" if force else "x", encoding="utf-8") as target:
            target.write(text + "\n")
    except FileExistsError:
        raise InputError(f"{path}: this exists; choose another file, or replace it with --force") from None
    except OSError as error:
        raise StoreError(f"{path}: it cannot be written: {error.strerror}") from error


def _plain(value: Any) -> Any:
    """Numbers of numpy as those of Python."""
    return value.item()
