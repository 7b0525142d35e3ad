"""The command line: exit codes, streams, messages."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import sys
from pathlib import Path

import fake_native
import pytest
from conftest import SMALL, Command

import fabricsim as fs
from fabricsim import plots

pytestmark = pytest.mark.usefixtures("fake")


def test_run_prints_a_table_and_writes_a_folder(command: Command, small: Path, tmp_path: Path) -> None:
    ran = command("run", small)
    assert ran.code == 0
    assert "H0" in ran.out
    assert "30.000" in ran.out  # 0.3 of 100 Gb/s
    assert "30.0%" in ran.out  # of the destination's link
    assert "results: runs/small" in ran.out
    assert (tmp_path / "runs/small/manifest.json").exists()


def test_run_again_without_out_takes_the_next_name(command: Command, small: Path) -> None:
    command("run", small)
    assert "results: runs/small-2" in command("run", small).out


def test_json_is_one_object_and_nothing_else(command: Command, small: Path) -> None:
    ran = command("run", small, "--json", "--plot", "--set", "traffic.0.load=0.4", "--out", "here")
    summary = json.loads(ran.out)
    assert summary["offered_load"] == 0.4
    assert summary["folder"] == "here"
    assert summary["wall_s"] >= 0
    assert "here/throughput.png" in ran.err


def test_existing_folder_is_refused_before_the_run(command: Command, small: Path, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    ran = command("run", small, "--out", "here")
    assert ran.code == 2
    assert ran.out == ""
    assert "here: this exists" in ran.err
    assert "--force" in ran.err


def test_force_replaces_results_but_nothing_else(command: Command, small: Path, tmp_path: Path) -> None:
    command("run", small, "--out", "here")
    assert command("run", small, "--out", "here", "--force").code == 0
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("precious")
    ran = command("run", small, "--out", "other", "--force")
    assert ran.code == 2
    assert "not a folder of results" in ran.err
    assert (tmp_path / "other" / "thesis.tex").exists()
    (tmp_path / "link").symlink_to("here")
    ran = command("run", small, "--out", "link", "--force")
    assert ran.code == 2
    assert "link: this is a symbolic link, which --force does not replace" in ran.err
    assert (tmp_path / "link" / "manifest.json").exists()


def test_unwritable_folder_is_refused_before_the_run(command: Command, small: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = command("run", small, "--out", "file/here")
    assert ran.code == 2
    assert "cannot be written" in ran.err


def test_results_survive_a_folder_that_breaks_during_the_run(
    command: Command, small: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("fabricsim.store.Reservation._rename", lambda self: full(self.folder, self.folder))
    ran = command("run", small, "--out", "here")
    assert ran.code == 1
    assert "No space left on device" in ran.err
    rescued = next(tmp_path.glob("fabricsim-*"))
    assert str(rescued) in ran.err
    assert (rescued / "flows.parquet").exists()
    assert not list(tmp_path.glob(".here*"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nowhere.toml"], "no such file"),
        (["run", "smal.toml"], "did you mean small.toml"),
        (["check", "latin.toml"], "not UTF-8 text (byte 2)"),
        (["run", "."], "this is a folder, not an experiment file"),
        (["run", "small.toml", "--set", "traffic.0.load"], "not an assignment"),
        (["run", "small.toml", "--set", "traffic.0.load=-1"], "small.toml:7: traffic.0.load"),
        (["run", "small.toml", "--colour"], "No such option"),
        (["sweep", "small.toml"], "nothing to sweep over"),
        (["sweep", "small.toml", "--vary", "traffic.0.load="], "it has no values"),
        (["sweep", "small.toml", "--vary", "traffic.0.load=0.1,0.1"], "0.1 is there twice"),
        (["sweep", "small.toml", "--vary", "traffic.0.load=0.1,-2"], "traffic.0.load: -2"),
        (["plot", "small.toml"], "this is a file, not a folder of results"),
        (["plot", "nowhere"], "it does not exist"),
        (["export", "small.toml", "--format", "word"], "there are: dot"),
        (["reproduce", "thesis"], "experiments"),
    ],
)
def test_bad_input_gives_one_message_and_code_2(
    command: Command, small: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "latin.toml").write_bytes(b"#\xe4")
    if arguments[0] == "reproduce":
        arguments = [*arguments, "--experiments", str(tmp_path)]
        message = "there is no seed"
    ran = command(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_deadlock_keeps_results_and_names_the_cycle(command: Command, small: Path, tmp_path: Path) -> None:
    small.write_text('title = "deadlock"\n' + SMALL)
    ran = command("run", small)
    assert ran.code == 3
    assert "S0 port 1 lane 0: packet 7 of H0 to H1" in ran.out
    assert (tmp_path / "runs/small/series.parquet").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_run_and_keeps_results(
    command: Command, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    small.write_text('title = "slow"\n' + SMALL)
    monkeypatch.setattr(fake_native, "WHEN_SLOW", [lambda: os.kill(os.getpid(), number)])
    before = signal.signal(number, signal.default_int_handler)  # nohup may ignore it
    ran = command("run", small, "--json")
    signal.signal(number, before)
    assert ran.code == 130
    assert json.loads(ran.out)["status"] == "interrupted"
    assert (tmp_path / "runs/small/manifest.json").exists()


def test_a_defect_says_how_to_report_it(command: Command, small: Path) -> None:
    small.write_text('title = "panic"\n' + SMALL)
    ran = command("run", small)
    assert ran.code == 1
    assert "internal error: PanicException: index out of bounds" in ran.err
    assert "report it" in ran.err
    assert "Traceback" not in ran.err
    assert "Traceback" in command("--debug", "run", small).err


def test_describe_names_a_cycle(command: Command, small: Path) -> None:
    assert "free of deadlock" in command("describe", small).out
    small.write_text('title = "deadlock"\n' + SMALL)
    assert "cyclic: S0->S1" in command("describe", small).out
    assert json.loads(command("describe", small, "--json").out)["deadlock"]["free"] is False


def test_check_and_schema_and_export(command: Command, small: Path, tmp_path: Path) -> None:
    assert "good" in command("check", small).out
    assert json.loads(command("check", small, "--json").out)["seed"] == 1
    assert json.loads(command("schema").out) == {"type": "object"}
    assert command("export", small, "--format", "dot").out == "graph {}\n"
    assert command("export", small, "--format", "dot", "--out", "x.dot").code == 0
    assert (tmp_path / "x.dot").read_text() == "graph {}\n"
    assert "this exists" in command("export", small, "--format", "dot", "--out", "x.dot").err


def test_a_sweep_that_is_saturated_from_the_lowest_load_has_no_saturation_point(
    command: Command, small: Path, tmp_path: Path
) -> None:
    ran = command("sweep", small, "--vary", "traffic.0.load=0.8,0.9", "--jobs", "1", "--out", "high")
    assert "saturated at the lowest load: the saturation point is below" in ran.out
    axes = plots.load_latency(fs.load_sweep(tmp_path / "high")).axes
    labels = [line.get_label() for axis in axes for line in axis.lines]
    assert "saturation point" not in labels


def test_sweep_prints_the_saturation_point_and_draws(command: Command, small: Path, tmp_path: Path) -> None:
    ran = command("sweep", small, "--vary", "traffic.0.load=0.05,0.2,0.8", "--jobs", "1")
    assert ran.code == 0
    assert "saturation point: load 0.200" in ran.out
    assert (tmp_path / "runs/small-sweep/load-latency.png").stat().st_size > 0
    ran = command("plot", "runs/small-sweep", "--format", "svg", "--out", "pictures")
    assert "pictures/load-latency.svg" in ran.out


def test_sweep_json(command: Command, small: Path) -> None:
    ran = command(
        "sweep", small, "--vary", "traffic.0.load=0.1,0.2", "--vary", "seed=1,2", "--jobs", "1", "--json"
    )
    told = json.loads(ran.out)
    assert [(p["traffic.0.load"], p["seed"]) for p in told["points"]] == [
        (0.1, 1),
        (0.1, 2),
        (0.2, 1),
        (0.2, 2),
    ]
    assert told["complete"] is True


def test_version(command: Command) -> None:
    parts = r"fabricsim 0\.0\.0-fake \((build [0-9a-f]{12}, )?Python 3\.\d+\.\d+\S*, \S+ \S+\)\n"
    assert re.fullmatch(parts, command("--version").out)


def test_an_experiment_comes_from_standard_input(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def given(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="ascii"))

    given(('title = "über"\n' + SMALL).encode())
    ran = command("run", "-", "--set", "traffic.0.load=0.4", "--json")
    assert (ran.code, json.loads(ran.out)["offered_load"]) == (0, 0.4), ran
    assert (tmp_path / "runs/stdin/manifest.json").exists()
    given(SMALL.encode())
    assert command("check", "-").out == "stdin: good\n"
    given(b"\xff\xfe")
    ran = command("check", "-")
    assert (ran.code, "standard input: it is no text in UTF-8" in ran.err) == (2, True), ran


def test_the_seed_is_an_option(command: Command, small: Path) -> None:
    seeds = [json.loads(command("run", small, "--json", "--seed", seed).out)["seed"] for seed in (1, 7)]
    assert seeds == [1, 7]
    ran = command("run", small, "--json", "--set", "seed=5", "--seed", "5")
    assert json.loads(ran.out)["seed"] == 5
    ran = command("run", small, "--set", "seed=3", "--set", "seed = 4", "--seed", "3")
    assert (ran.code, ran.out) == (2, "")
    assert "--seed 3 and --set seed = 4 have different values: give one of them" in ran.err
    ran = command("run", small, "--set", "run.threads=1", "--threads", "2")
    assert "--threads 2 and --set run.threads=1 have different values" in ran.err
    assert command("run", small, "--seed", "-1").code == 2
