"""Tables of a run as columns and as frames: they say the same, in memory and in the run folder."""

from __future__ import annotations

import io
import math
import pickle
import struct
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

import fabricsim as fs
from fabricsim.cli.tables import print_result
from fabricsim.frames import Columns, Frames, columns_of, descending, lists_of, records, rows_in
from fabricsim.store import Reservation

MADE: dict[str, list[tuple[str, str, str, str, Any]]] = {
    "flows": [
        ("flow", "", "ends", "str", ["A->B", "Zürich->京都", "A->"]),
        ("gbps", "Gb/s", "throughput", "f8", struct.pack("<3d", 1.5, math.nan, -0.0)),
        ("packets", "", "count", "i8", struct.pack("<3q", 1, 2**62, -1)),
    ],
    "many": [
        ("name", "", "a name", "str", [f"H{number % 70}" for number in range(3000)]),
        ("at", "ns", "time", "f8", struct.pack("<3000d", *(math.nan if n % 9 else n for n in range(3000)))),
    ],
    "none": [("name", "", "a name", "str", []), ("at", "ns", "time", "f8", b""), ("n", "", "", "i8", b"")],
}


def made() -> Frames:
    return Frames({name: Columns(columns) for name, columns in MADE.items()})


def same_files(one: Path, other: Path) -> bool:
    names = sorted(path.name for path in one.glob("*.parquet"))
    assert names == sorted(path.name for path in other.glob("*.parquet"))
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in names)


def test_columns_and_frames_give_the_same_files(tmp_path: Path) -> None:
    manifest = {"kind": "run", "name": "made"}
    frames = {**made()}
    Reservation.create(tmp_path / "columns", manifest, made(), force=False)
    Reservation.create(tmp_path / "frames", manifest, frames, force=False)
    assert same_files(tmp_path / "columns", tmp_path / "frames")
    for name, frame in frames.items():
        again = pd.read_parquet(tmp_path / "columns" / f"{name}.parquet")
        pd.testing.assert_frame_equal(again, frame, check_exact=True)


@pytest.mark.usefixtures("real")
def test_the_folder_of_a_run_is_that_of_its_frames(small: Path, tmp_path: Path) -> None:
    run = fs.run(small, out=tmp_path / "columns")
    assert all(columns_of(run.frames, name) is not None for name in run.frames), "no frame was made"
    Reservation.create(tmp_path / "frames", run.manifest, {**run.frames}, force=False)
    assert same_files(tmp_path / "columns", tmp_path / "frames")


@pytest.mark.usefixtures("real")
def test_a_run_and_its_folder_print_the_same(small: Path, tmp_path: Path) -> None:
    text = small.read_text() + '\n[[traffic]]\npattern = { to = "H(1,1).0" }\nload = 0.4\nmessage = "4 KiB"\n'
    small.write_text(text)
    run = fs.run(small, out=tmp_path / "out")
    printed = []
    for result in (run, fs.load(tmp_path / "out")):
        written = io.StringIO()
        print_result(result, Console(width=100, file=written))
        printed.append(written.getvalue())
    assert printed[0] == printed[1]
    assert "was the root of a congestion tree" in printed[0]
    assert "single flows" in printed[0]


def test_the_columns_of_a_flow_are_its_ends() -> None:
    table = lists_of(made(), "flows", "source", "destination", "packets", "nowhere")
    assert table == {
        "source": ["A", "Zürich", "A"],
        "destination": ["B", "京都", ""],
        "packets": [1, 2**62, -1],
    }
    assert made()["flows"].attrs["columns"]["source"] == ["", "source of the flow"]


def test_a_frame_that_was_used_is_the_table() -> None:
    frames = made()
    assert "flows" in frames
    assert len(frames) == 3
    assert columns_of(frames, "flows") is not None
    frames["flows"].loc[0, "packets"] = 7
    assert columns_of(frames, "flows") is None
    assert (lists_of(frames, "flows") or {})["packets"] == [7, 2**62, -1]
    assert lists_of(frames, "nothing") is None
    assert "nothing" not in frames


def test_tables_go_to_other_processes() -> None:
    again = pickle.loads(pickle.dumps(made()))
    for name, frame in made().items():
        pd.testing.assert_frame_equal(again[name], frame)


def test_rows_of_a_table() -> None:
    table = lists_of(made(), "flows", "source", "packets") or {}
    assert records(table, [2]) == [{"source": "A", "packets": -1}]
    assert len(records(table)) == rows_in(table) == 3
    assert rows_in({}) == 0
    assert sorted([math.nan, 1.0, 3.0, 2.0], key=descending)[:3] == [3.0, 2.0, 1.0]
