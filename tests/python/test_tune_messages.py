"""What is wrong with a study: one message, an exit code, and no folder where nothing was found out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Command
from tune_cases import FAIR, GRID, MUCH, SEARCH, TWO_FLOWS

import fabricsim as fs

pytestmark = pytest.mark.usefixtures("real")
GOOD = TWO_FLOWS + SEARCH + FAIR


def case(old: str, new: str, *parts: str) -> tuple[str, tuple[str, ...]]:
    assert old in GOOD, old
    return GOOD.replace(old, new), parts


RANGE = '"links.all.buffer" = { low = "8 KiB", high = "32 KiB" }'
WRONG = {
    "no section": (TWO_FLOWS, ("e.toml: there is nothing to tune", "[tune]")),
    "a key that does not exist": case(
        "links.all.buffer",
        "links.all.bufer",
        "e.toml: links.all.bufer: unknown field `bufer`",
        "did you mean `buffer`?",
        "parameter of [tune]",
    ),
    "an entry that does not exist": case(
        "traffic.1.load", "traffic.2.load", "traffic.2.load", "it has 2", "parameter of [tune]"
    ),
    "a key by number and by name": case(
        RANGE,
        RANGE + '\n"traffic.b.load" = { choices = [0.1] }',
        "tune.parameters: traffic.1.load and traffic.b.load are the same key",
    ),
    "an empty range": case('high = "32 KiB"', 'high = "8 KiB"', "e.toml:32: ", "the range is empty"),
    "no value that is allowed": case(
        RANGE, '"switch.virtual_lanes" = { low = 17, high = 20 }', "switch.virtual_lanes", "of [tune]"
    ),
    "a metric that does not exist": case(
        "fairness", "fairnes", "no run measures 'fairnes'", "did you mean fairness?"
    ),
    "flows that do not exist": case(
        '"fairness"', '"fairness"\nflows = ["c"]', "'c' is neither source->destination nor the name"
    ),
    "flows that are not there": case('"fairness"', '"fairness"\nflows = ["H2->H1"]', "no flow 'H2->H1'"),
    "a sampler that does not exist": case(
        "window = 4", 'sampler = "tpee"', "tune.sampler: unknown variant `tpee`", "did you mean `tpe`?"
    ),
    "a grid without steps": case("window = 4", 'sampler = "grid"', "the grid needs a `step`"),
    "a start outside of the range": case(
        "window = 4",
        'starts = [{ "traffic.1.load" = 0.9 }]',
        "tune.starts: traffic.1.load: 0.9 is not between",
    ),
    "a scenario that sets a parameter by its entry's name": case(
        "[tune.parameters]",
        '[[tune.scenarios]]\nname = "s"\nset = { "traffic.b.load" = 0.1 }\n[tune.parameters]',
        "tune.scenario 's': traffic.b.load is the parameter traffic.1.load: a scenario cannot set it",
    ),
    "a scenario that is wrong": case(
        "[tune.parameters]",
        '[[tune.scenarios]]\nname = "s"\nset = { "switch.arbitr" = "random" }\n[tune.parameters]',
        "tune.scenario 's': switch.arbitr: ",
        "did you mean `arbiter`?",
    ),
    "a goal that is none": case('"maximize"', '"maximise"', "did you mean `maximize`?"),
}


@pytest.mark.parametrize("name", WRONG)
def test_one_message_says_what_is_wrong(command: Command, tmp_path: Path, name: str) -> None:
    text, parts = WRONG[name]
    (tmp_path / "e.toml").write_text(text)
    ran = command("tune", "e.toml", "--json", "--jobs", "1", "--out", "out")
    assert ran.code == 2, ran
    assert ran.out == ""
    assert ran.err.startswith("fabricsim: ")
    assert ran.err.strip().count("\n") == 0, "one line"
    for part in parts:
        assert part in ran.err
    assert not (tmp_path / "out").exists()


STORAGES = {
    "sqlite:////nowhere/at/all/study.db": "unable to open database file",
    "postgresql://me:secret@nowhere.invalid/db": "postgresql://me@nowhere.invalid/db: this storage cannot be opened",
    "nonsense": "nonsense: this storage cannot be opened",
}


@pytest.mark.parametrize("url", STORAGES)
def test_a_storage_that_cannot_be_opened(command: Command, tmp_path: Path, url: str) -> None:
    (tmp_path / "e.toml").write_text(GOOD)
    ran = command("tune", "e.toml", "--jobs", "1", "--out", "out", "--storage", url)
    assert ran.code == 2, ran
    assert STORAGES[url] in ran.err
    assert "secret" not in ran.err
    assert ran.err.strip().count("\n") == 0, "one line"
    assert not (tmp_path / "out").exists()


def test_a_tuner_whose_every_trial_fails(command: Command, tmp_path: Path) -> None:
    choices = GRID.replace("{ low = 0.05, high = 0.65, step = 0.05 }", "{ choices = [1e-9, 2e-9] }")
    of_b = MUCH.replace('"throughput"', '"latency_p99"\nflows = ["b"]')
    (tmp_path / "e.toml").write_text(TWO_FLOWS + choices + of_b)
    ran = command("tune", "e.toml", "--jobs", "1", "--out", "out")
    assert ran.code == 1, ran
    assert "e.toml: all 2 trials failed; the first, with traffic.1.load = 1e-09: " in ran.err
    assert "latency_p99 (b): this run has no value of it" in ran.err
    assert len(fs.load_tune(tmp_path / "out").trials) == 3, "what was found out is kept"


def test_some_trials_fail_and_the_rest_counts(command: Command, tmp_path: Path) -> None:
    choices = GRID.replace("{ low = 0.05, high = 0.65, step = 0.05 }", "{ choices = [1e-9, 0.2, 0.3] }")
    report = '[[tune.report]]\nmetric = "latency_p99"\nflows = ["b"]\n'
    (tmp_path / "e.toml").write_text(TWO_FLOWS + choices + FAIR + report)
    ran = command("tune", "e.toml", "--jobs", "1", "--out", "out")
    assert ran.code == 0, ran
    assert "1 of 3 trials failed, the first: latency_p99 (b): this run has no value" in ran.err
    result = fs.load_tune(tmp_path / "out")
    assert result.settings == {"traffic.1.load": 0.3}


def test_the_folder_of_another_study_is_not_touched(command: Command, tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(TWO_FLOWS + GRID + FAIR)
    assert command("tune", "e.toml", "--jobs", "1", "--out", "out").code == 0
    (tmp_path / "e.toml").write_text(TWO_FLOWS + GRID + MUCH)
    ran = command("tune", "e.toml", "--jobs", "1", "--out", "out")
    assert ran.code == 2
    assert "out: this is the study of another experiment, or of other parameters or objectives" in ran.err
    assert command("tune", "e.toml", "--jobs", "1", "--out", "out", "--force").code == 0
    assert fs.load_tune(tmp_path / "out").settings == {"traffic.1.load": 0.65}


def test_a_shared_storage_keeps_studies_apart(command: Command, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/shared.db"
    (tmp_path / "e.toml").write_text(TWO_FLOWS + GRID + FAIR)
    arguments = ("tune", "e.toml", "--jobs", "1", "--storage", url)
    first = command(*arguments, "--out", "one", "--json")
    assert first.code == 0, first
    again = command(*arguments, "--out", "two", "--json")
    assert again.code == 0
    assert json.loads(first.out)["best"] == json.loads(again.out)["best"]
    (tmp_path / "e.toml").write_text(TWO_FLOWS + GRID + MUCH)
    other = command(*arguments, "--out", "three")
    assert other.code == 2
    assert "the study 'e' there is of another experiment" in other.err
    assert command(*arguments, "--out", "three", "--study", "much").code == 0


CONTROLLED = TWO_FLOWS + '[congestion_control]\nalgorithm = "infiniband"\n'


def test_the_best_setting_is_written_for_a_fabric_manager(command: Command, tmp_path: Path) -> None:
    threshold = GRID.replace("traffic.1.load", "congestion_control.infiniband.threshold").replace(
        "low = 0.05, high = 0.65, step = 0.05", "low = 7, high = 9"
    )
    starts = 'starts = [{ "congestion_control.infiniband.threshold" = 8 }]\ntrials = 1\n'
    text = CONTROLLED + threshold.replace("[tune]\n", f"[tune]\n{starts}") + FAIR
    (tmp_path / "e.toml").write_text(text)
    ran = command("tune", "e.toml", "--jobs", "1", "--out", "out")
    assert ran.code == 0, ran.err
    lines = (tmp_path / "out/opensm.conf").read_text().splitlines()
    assert "congestion_control TRUE" in lines
    assert "cc_sw_cong_setting_threshold 0x08" in lines
    experiment = fs.Experiment.from_file(tmp_path / "e.toml")
    assert "cc_sw_cong_setting_threshold 0x02" in fs.opensm_options(experiment)
    exported = command("export", "e.toml", "--format", "opensm")
    assert exported.out == fs.opensm_options(experiment)


def test_options_for_opensm_need_infinibands_congestion_control(command: Command, tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(TWO_FLOWS)
    ran = command("export", "e.toml", "--format", "opensm")
    assert ran.code == 2
    assert "congestion_control.algorithm: OpenSM sets InfiniBand's congestion control only" in ran.err
