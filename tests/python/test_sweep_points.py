"""The points of a sweep: keys together, spelled out, drawn at random; bad ones; failed ones."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import fake_native
import pandas as pd
import pyarrow.parquet as pq
import pytest
from conftest import SMALL, Command
from dask_processes import wait_for
from jsonschema import Draft202012Validator
from test_spec import SCHEMA

import fabricsim as fs
from fabricsim import plots
from fabricsim.spec import RandomPoints, Range
from fabricsim.sweep import load_sweep, plan
from fabricsim.sweep.execution import run_point
from fabricsim.sweep.journal import read_journal
from fabricsim.sweep.table import rows_of

LOAD = "traffic.0.load"


@pytest.mark.usefixtures("fake")
def test_all_kinds_are_combined(small: Path) -> None:
    experiment = fs.Experiment.from_file(small)
    found = plan(
        experiment,
        vary={"seed": [1, 2]},
        zip={LOAD: [0.1, 0.2], "run.duration": ["'1 us'", "2 us"]},
        list=[{"title": "'a'"}, {"title": "'b'", "host.mtu": "1 KiB"}],
        random=RandomPoints(samples=3, keys={"switch.virtual_lanes": Range(1, 4, integer=True)}),
    )
    points = found.points()
    assert len(points) == 2 * 2 * 2 * 3
    assert found.parameters == ["seed", LOAD, "run.duration", "title", "host.mtu", "switch.virtual_lanes"]
    assert {(p[LOAD], p["run.duration"]) for p in points} == {("0.1", "'1 us'"), ("0.2", "2 us")}
    assert {(p["title"], p.get("host.mtu")) for p in points} == {("'a'", None), ("'b'", "1 KiB")}
    assert [p["seed"] for p in points] == ["1"] * 12 + ["2"] * 12


@pytest.mark.usefixtures("fake")
def test_the_file_and_the_command_line_mean_the_same(small: Path, command: Command, tmp_path: Path) -> None:
    ran = command("sweep", small, "--vary", f"{LOAD}=0.1,0.2", "--zip", "seed=1,2", "--zip", "title=x,y",
                  "--random", "host.mtu=1 KiB..2 KiB,integer", "--samples", "2", "--random-seed", "5",
                  "--jobs", "1", "--out", "typed")  # fmt: skip
    assert ran.code == 0, ran.err
    small.write_text(
        SMALL
        + f"""
[sweep]
"{LOAD}" = [0.1, 0.2]
[sweep.zip]
seed = [1, 2]
title = ["x", "y"]
[sweep.random]
samples = 2
seed = 5
keys = {{ "host.mtu" = {{ low = "1 KiB", high = "2 KiB", integer = true }} }}
"""
    )
    assert command("sweep", small, "--jobs", "1", "--out", "written").code == 0
    typed, written = (load_sweep(tmp_path / name).points for name in ("typed", "written"))
    pd.testing.assert_frame_equal(typed.drop(columns="wall_s"), written.drop(columns="wall_s"))


@pytest.mark.usefixtures("fake")
def test_what_is_given_replaces_the_files_own(small: Path) -> None:
    small.write_text(
        SMALL
        + f'[sweep]\n"{LOAD}" = [0.1, 0.2]\nseed = [1]\n[sweep.random]\nsamples = 2\nkeys = {{title = ["a"]}}\n'
    )
    experiment = fs.Experiment.from_file(small)
    found = plan(experiment, zip={LOAD: [0.3], "title": ["'z'"]})
    assert found.points() == [{"seed": "1", LOAD: "0.3", "title": "'z'"}]


MANY = ",".join(map(str, range(1001)))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "there is not enough memory for this point"),
        (MemoryError("12 GB are too much"), "12 GB are too much"),
    ],
)
def test_a_point_without_memory_says_so(
    error: MemoryError, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(sys.modules["fabricsim.sweep.execution"], "run", fail)
    row = run_point((0, None), lambda: False)  # type: ignore[arg-type]
    assert row is not None
    assert (row["status"], row["message"]) == ("failed", message)


@pytest.mark.usefixtures("fake")
def test_parameters_with_units_have_a_column_of_numbers(small: Path, tmp_path: Path) -> None:
    fs.sweep(
        small,
        list=[{"links.all.latency": "20 ns"}, {"links.all.latency": "1 us", "seed": 3}],
        set={"seed": 2},
        jobs=1,
        out=tmp_path / "out",
    )
    points = load_sweep(tmp_path / "out").points
    assert list(points.columns[:5]) == [
        "links.all.latency",
        "links.all.latency_ns",
        "seed",
        "status",
        "message",
    ]
    assert list(points["links.all.latency_ns"]) == [20.0, 1000.0]
    assert list(points["seed"]) == [2, 3]  # the first point has the experiment's own
    field = pq.read_schema(tmp_path / "out/sweep.parquet").field("links.all.latency_ns")
    assert field.metadata[b"unit"] == b"ns"


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--zip", "seed=1,2", "--zip", f"{LOAD}=0.1"], "sweep.zip: its keys need equally many values"),
        (["--vary", "seed=1,2", "--zip", "seed=1"], "seed is varied twice"),
        (["--vary", "traffic=[]", "--vary", f"{LOAD}=0.1"], f"{LOAD} is a part of traffic"),
        (["--random", f"{LOAD}=0.1..0.9"], "give --samples"),
        (["--samples", "3"], "there is nothing to draw"),
        (["--random", f"{LOAD}=0.9..0.1", "--samples", "2"], "low must be less than high"),
        (["--random", f"{LOAD}=0..1,log", "--samples", "2"], "on the log scale low must be above 0"),
        (["--random", f"{LOAD}=0..1,lag", "--samples", "2"], "'lag' is not allowed after a range"),
        (["--random", "host.mtu=1 KiB..1 ms", "--samples", "2"], "two values with units of the same kind"),
        (["--random", "seed=0.1..0.9,integer", "--samples", "2"], "no whole number"),
        (["--random", f"{LOAD}=0.1..0.9", "--samples", "0"], "sweep.random.samples: 0 is not allowed"),
        (["--point", "seed"], "is not an assignment"),
        (["--vary", "sweep.seed=1"], "sweep.seed is no key of a run"),
        (["--vary", f"seed={MANY}", "--vary", f"title={MANY}"], "1,002,001 points"),
    ],
)  # fmt: skip
def test_bad_sweeps_are_one_clear_message(
    command: Command, small: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    ran = command("sweep", small, "--jobs", "1", *arguments)
    assert ran.code == 2, ran.err
    assert message in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()


NAMED = SMALL.replace("[[traffic]]", '[[traffic]]\nname = "all"')


def test_a_key_by_number_is_that_by_name(command: Command, small: Path) -> None:
    small.write_text(NAMED + '[sweep]\n"traffic.all.load" = [0.1, 0.2]\n')
    assert plan(fs.Experiment.from_file(small), vary={LOAD: [0.3]}).points() == [{LOAD: "0.3"}]
    ran = command("sweep", small, "--vary", f"{LOAD}=0.1", "--zip", "traffic.all.load=0.2")
    assert ran.code == 2
    assert f"{LOAD} and traffic.all.load are the same key, which is varied twice" in ran.err


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("swich.virtual_lanes", "did you mean `switch`?"),
        ("switch.virtual_lane", "did you mean `virtual_lanes`?"),
        ("traffic.0.laod", "did you mean `load`?"),
        ("traffic.3.load", "it has 1"),
    ],
)
@pytest.mark.parametrize("option", ["--vary", "--zip", "--point"])
def test_a_key_that_is_none_is_told_before_anything_runs(
    command: Command, small: Path, tmp_path: Path, key: str, hint: str, option: str
) -> None:
    ran = command("sweep", small, option, f"{key}=1")
    assert ran.code == 2
    assert hint in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.usefixtures("fake")
def test_failed_points_are_rows_each_time(command: Command, small: Path, tmp_path: Path) -> None:
    arguments = ("sweep", small, "--vary", "title=good,panic,deadlock", "--jobs", "1", "--out", "out")
    ran = command(*arguments)
    assert ran.code == 1
    assert "failed: title panic: internal error: PanicException: index out of bounds" in ran.err
    points = load_sweep(tmp_path / "out").points
    assert list(points["status"]) == ["ok", "failed", "deadlock"]
    assert points["accepted_load"].isna().tolist() == [False, True, False]
    assert "waits for output 2" in points["message"][2]
    again = command(*arguments)
    assert again.code == 1
    assert list(load_sweep(tmp_path / "out").points["status"]) == ["ok", "failed", "deadlock"]
    assert command("sweep", small, "--vary", "title=good,deadlock", "--jobs", "1", "--out", "two").code == 3
    shown = json.loads(command(*arguments, "--json").out)
    assert [p["status"] for p in shown["points"]] == ["ok", "failed", "deadlock"]


@pytest.mark.usefixtures("fake")
def test_only_failed_points_run_again(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    fails = True
    whole = fake_native.Simulation.run

    def run(simulation: fake_native.Simulation, *arguments: Any) -> fake_native.Outcome:
        ran.append(simulation._tree["title"])
        if fails and ran[-1] == "b":
            raise fake_native.NativeError("no license")
        return whole(simulation, *arguments)

    monkeypatch.setattr(fake_native.Simulation, "run", run)
    vary = {"title": ["'a'", "'b'", "'deadlock'"]}
    first = fs.sweep(small, vary=vary, jobs=1, out=tmp_path / "out")
    assert ran == ["a", "b", "deadlock"]
    assert list(first.points["status"]) == ["ok", "failed", "deadlock"]
    fails = False
    ran.clear()
    second = fs.sweep(small, vary=vary, jobs=1, out=tmp_path / "out")
    assert ran == ["b"]
    assert list(second.points["status"]) == ["ok", "ok", "deadlock"]
    assert list(load_sweep(tmp_path / "out").points["status"]) == ["ok", "ok", "deadlock"]


@pytest.mark.usefixtures("fake")
def test_a_point_with_a_defect_has_failed(small: Path) -> None:
    points = fs.sweep(small, vary={"title": ["'good'", "'defect'"]}, jobs=1).points
    assert list(points["status"]) == ["ok", "failed"]
    assert points["message"][1] == "a defect of the simulator, please report it: credits are missing"
    assert points["accepted_load"].isna().tolist() == [False, True]


@pytest.mark.usefixtures("fake")
def test_no_load_no_saturation_point(command: Command, small: Path, tmp_path: Path) -> None:
    ran = command("sweep", small, "--vary", "seed=1,2,3", "--jobs", "1")
    assert ran.code == 0
    assert "saturat" not in ran.out
    names = {path.name for path in (tmp_path / "runs/small-sweep").glob("*.png")}
    assert names == {"accepted_load.png", "latency_ns.mean.png"}


@pytest.mark.usefixtures("fake")
def test_what_varies_together_with_the_load_does_not_part_its_curve(small: Path) -> None:
    tied = fs.sweep(
        small, zip={LOAD: [0.1, 0.4, 0.8], "seed": [1, 2, 3]}, vary={"title": ["'a'", "'b'"]}, jobs=1
    )
    assert tied.saturation().to_dict("records") == [
        {"title": t, "load": 0.4, "accepted": 0.4, "throughput": 0.6, "reached": True} for t in ("a", "b")
    ]
    drawn = fs.sweep(
        small, random={"samples": 5, "keys": {LOAD: Range(0.1, 0.9), "seed": Range(1, 10**6)}}, jobs=1
    )
    assert drawn.saturation().empty


@pytest.mark.usefixtures("real")
def test_loads_that_vary_on_their_own_have_curves_of_their_own(small: Path) -> None:
    other = LOAD.replace("0", "1")
    small.write_text(
        small.read_text() + '\n[[traffic]]\npattern = "uniform"\nload = 0.1\nmessage = "1 KiB"\n'
    )
    sweep = fs.sweep(small, vary={"seed": [1], other: [0.1, 0.2], LOAD: [0.1, 0.3]}, jobs=1)
    assert (sweep.loads, sweep.others) == ([other], ["seed", LOAD])
    assert [key[LOAD] for key, _ in sweep.curves()] == [0.1, 0.3]
    assert sweep.saturation()[LOAD].tolist() == [0.1, 0.3]
    legend = plots.load_latency(sweep).legends[0]
    assert [text.get_text() for text in legend.get_texts()][:2] == [
        "traffic 0 load 0.1",
        "traffic 0 load 0.3",
    ]
    one = fs.sweep(small, vary={other: [0.1], LOAD: [0.1, 0.3]}, jobs=1)
    assert one.loads == [LOAD], "a load with one value does not vary"
    together = fs.sweep(small, zip={other: [0.1, 0.2], LOAD: [0.1, 0.2]}, jobs=1)
    assert len(together.curves()) == 1


@pytest.mark.usefixtures("fake")
def test_a_metric_that_is_none_names_the_nearest(command: Command, small: Path) -> None:
    ran = command("sweep", small, "--vary", "seed=1,2", "--jobs", "1", "--plot", "latency_ns.maen")
    assert ran.code == 2
    assert "did you mean latency_ns.mean?" in ran.err


@pytest.mark.usefixtures("real")
def test_a_killed_sweep_loses_at_most_the_point_under_way(small: Path, tmp_path: Path) -> None:
    small.write_text(SMALL.replace('"100 us"', '"1 ms"'))
    vary = {"seed": list(range(300))}
    command = [sys.executable, "-m", "fabricsim", "sweep", str(small), "--jobs", "1", "--out", "out"]
    command += ["--vary", "seed=" + ",".join(map(str, vary["seed"]))]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    out = tmp_path / "out"
    try:
        wait_for(lambda: (out / "sweep.jsonl").exists() and len(_rows(out)) >= 5)
        other = fs.Experiment.from_file(small)
        with pytest.raises(fs.InputError, match=f"in use by process {process.pid}"):
            fs.sweep(other, vary={"seed": [str(n) for n in vary["seed"]]}, jobs=1, out=out)
        process.send_signal(signal.SIGKILL)
        process.wait()
    finally:
        process.kill()
    kept = _rows(out)
    assert 5 <= len(kept) < 300
    with (out / "sweep.jsonl").open("a") as journal:
        journal.write('[299, {"status": "ok", "acce')  # half a line
    before = load_sweep(out).points
    assert len(before) == len(kept)
    told: list[int] = []
    stop_after = len(kept) + 3
    fs.sweep(
        small, vary=vary, jobs=1, out=out,
        on_point=lambda done, total: told.append(done), stop=lambda: bool(told) and told[-1] >= stop_after,
    )  # fmt: skip
    assert told[0] == len(kept)
    after = load_sweep(out).points
    assert len(after) == stop_after
    same = after.merge(before, on="seed", suffixes=("", "_before"))
    assert list(same["wall_s"]) == list(same["wall_s_before"])
    assert not (out / "sweep.jsonl").exists()


def _rows(folder: Path) -> dict[int, Any]:
    return read_journal(folder / "sweep.jsonl", 300).rows


@pytest.mark.usefixtures("fake")
def test_a_changed_input_file_is_another_sweep(small: Path, tmp_path: Path) -> None:
    (tmp_path / "net.toml").write_text("a")
    small.write_text(SMALL + '[extra]\nfile = "net.toml"\n')
    fs.sweep(small, vary={"seed": [1, 2]}, jobs=1, out=tmp_path / "out")
    fs.sweep(small, vary={"seed": [1, 2]}, jobs=1, out=tmp_path / "out")
    (tmp_path / "net.toml").write_text("b")
    with pytest.raises(fs.InputError, match="this exists"):
        fs.sweep(small, vary={"seed": [1, 2]}, jobs=1, out=tmp_path / "out")


def test_rows_are_read_back(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"point": [0, 3], "status": ["ok", "ok"], "a": [1.0, float("nan")], "b": ["x", None]}
    )
    rows = rows_of(table, 4)
    assert rows == {
        0: {"point": 0, "status": "ok", "a": 1.0, "b": "x"},
        3: {"point": 3, "status": "ok", "a": None, "b": None},
    }
    assert rows_of(table, 3) is None, "there is no point 3"
    assert rows_of(table.drop(columns="status"), 4) is None
    assert rows_of(table.assign(point=[0, 0]), 4) is None
    assert rows_of(table.assign(status=[1, 2]), 4) is None


def test_typed_points_are_those_of_the_schema() -> None:
    names = {name: set(SCHEMA["$defs"][name]["properties"]) for name in ("RandomPoints", "Range")}
    assert names == {
        "RandomPoints": {"samples", "keys", "seed", "method"},
        "Range": {"low", "high", "scale", "integer"},
    }
    experiment = fs.Experiment.build(
        topology=fs.spec.Ring(4),
        traffic=[],
        run=fs.spec.Run("1 ms"),
        sweep={
            "seed": [1],
            "zip": {"host.mtu": ["1 KiB"]},
            "list": [{"title": "a"}],
            "random": RandomPoints(2, {"switch.virtual_lanes": [1, 2], LOAD: Range(0.1, 0.2)}),
        },
    )
    Draft202012Validator(SCHEMA).validate(tomllib.loads(experiment.text))
