"""Running from Python, run folders, and reading them without the compiled module."""

from __future__ import annotations

import _thread
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import fake_native
import pandas as pd
import pyarrow.parquet as pq
import pytest
from conftest import SMALL
from hypothesis import given, settings
from hypothesis import strategies as st

import fabricsim as fs
from fabricsim.results import column_notes, destination_share, final_destination_share, set_column_notes
from fabricsim.store import Reservation, read_table, write_table


@pytest.mark.usefixtures("fake")
def test_result_as_frames(small: Path) -> None:
    run = fs.run(small, set={"traffic.0.load": 0.4})
    assert run.status == "ok"
    assert run.summary["accepted_load"] == 0.4
    assert run.summary["latency_ns.p99"] == 2 * run.summary["latency_ns.mean"]
    assert list(run.flows["accepted_gbps"]) == [40.0, 20.0]
    assert run.columns("flows").loc["accepted_gbps", "unit"] == "Gb/s"
    assert run.flows["packets"].dtype == "int64"
    with pytest.raises(fs.InputError, match="did you mean links"):
        run.table("link")


@pytest.mark.usefixtures("fake")
def test_shares_of_the_destination(small: Path) -> None:
    run = fs.run(small, set={"traffic.0.load": 0.4})
    assert list(destination_share(run)) == [0.4, 0.2]
    assert list(final_destination_share(run)) == [0.4, 0.2]
    assert list(final_destination_share(run, part=1.0)) == pytest.approx(
        [0.3, 0.15]
    )  # in the first half it was half
    # The run ends after a fifth of the last bin.
    series = run.series.assign(gbps=[10.0, 10.0, 40.0, 40.0])
    shorter = {**run.manifest, "summary": {**run.manifest["summary"], "simulated_s": 0.6e-3}}
    short = replace(run, manifest=shorter, frames={**run.frames, "series": series})
    weighted = (10.0 * 5 + 40.0 * 1) / 6 / 100
    assert list(final_destination_share(short, part=1.0)) == pytest.approx([weighted, weighted])
    assert final_destination_share(replace(run, frames={"flows": run.flows})).isna().all()


@pytest.mark.usefixtures("fake")
def test_run_folder_round_trip(small: Path, tmp_path: Path) -> None:
    run = fs.run(small, out=tmp_path / "out")
    again = fs.load(tmp_path / "out")
    assert again.manifest == {"format": 1, **run.manifest}
    assert again.manifest["experiment"] == SMALL
    for name, frame in run.frames.items():
        pd.testing.assert_frame_equal(again.table(name), frame)
        assert column_notes(again.table(name)) == column_notes(frame)
    field = pq.read_schema(tmp_path / "out" / "series.parquet").field("gbps")
    assert field.metadata == {b"unit": b"Gb/s", b"description": b"the gbps"}


@pytest.mark.usefixtures("fake")
def test_reading_works_without_the_compiled_module(small: Path, tmp_path: Path) -> None:
    fs.run(small, out=tmp_path / "out")
    code = (
        "import sys; sys.modules['fabricsim._native'] = None\n"
        f"import fabricsim as fs; print(fs.load({str(tmp_path / 'out')!r}).flows['source'][0])\n"
        "try: fs.version()\n"
        "except fs.NativeMissingError as error: print('make run' in str(error))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["H0", "True"]


@pytest.mark.usefixtures("fake")
def test_progress_and_stop(small: Path) -> None:
    seen: list[fs.Progress] = []
    run = fs.run(small, set={"title": "slow"}, on_progress=seen.append, stop=lambda: len(seen) > 1)
    assert run.status == "interrupted"
    assert seen[0].fraction == 0.5
    assert seen[0].remaining_s == pytest.approx(seen[0].wall_s)
    assert seen[0].packet_hops_per_s > 0


@pytest.mark.usefixtures("fake")
def test_control_c_returns_what_there_is(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake_native, "WHEN_SLOW", [_thread.interrupt_main])
    assert fs.run(small, set={"title": "slow"}).status == "interrupted"


@pytest.mark.usefixtures("fake")
def test_a_failed_run_leaves_no_folder(small: Path, tmp_path: Path) -> None:
    with pytest.raises(fs.InputError, match=r"traffic\.0\.load"):
        fs.run(small, set={"traffic.0.load": -1}, out=tmp_path / "deep" / "out")
    assert list((tmp_path / "deep").iterdir()) == []


def test_a_folder_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    reservation = Reservation(tmp_path / "out")
    (tmp_path / "out").mkdir()
    with pytest.raises(fs.StoreError, match="this exists"):  # so that the results go elsewhere
        reservation.commit({"kind": "run"}, {})
    reservation.discard()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "new"}', "\x00"])
def test_a_broken_manifest_is_bad_input(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(fs.InputError, match="not the manifest"):
        fs.load(tmp_path)


def test_a_later_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"format": 99}')
    with pytest.raises(fs.InputError, match="later fabricsim"):
        fs.load(tmp_path)


def test_a_truncated_table_is_named(tmp_path: Path) -> None:
    (tmp_path / "flows.parquet").write_bytes(b"PAR1")
    with pytest.raises(fs.StoreError, match=r"flows\.parquet"):
        read_table(tmp_path / "flows.parquet")


@settings(max_examples=50, deadline=None)
@given(
    reals=st.lists(st.floats(allow_nan=True), max_size=5),
    unit=st.text(max_size=5),
    description=st.text(max_size=20),
)
def test_any_column_survives_the_store(
    tmp_path_factory: pytest.TempPathFactory, reals: list[float], unit: str, description: str
) -> None:
    frame = pd.DataFrame(
        {"a": pd.Series(reals, dtype=float), "b": pd.Series(range(len(reals)), dtype="int64")}
    )
    set_column_notes(frame, {"a": (unit, description)})
    path = tmp_path_factory.mktemp("table") / "t.parquet"
    write_table(path, frame)
    pd.testing.assert_frame_equal(read_table(path), frame)
    assert column_notes(read_table(path)) == column_notes(frame)
