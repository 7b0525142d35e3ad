"""The scripts of `examples/` run as they are; conclusions turn when the feature that causes them is off."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
from conftest import ROOT

import fabricsim as fs

FOLDER = ROOT / "examples"
SCRIPTS = sorted(FOLDER.glob("*.py"))
SVG = "{http://www.w3.org/2000/svg}"
SAID = {
    "01_victims": r"Victims are H7 to H12 and H11 to H4: down to \d\.\d of 60 Gb/s\. With swift",
    "02_engines": r"ftree gives 6\d\.\d % of full bisection; without the cable it refuses the fabric",
    "03_saturation": r"the shape makes a factor of 4\.\d\. It is 8\d to 8\d % of 8 / k\.",
    "04_allreduce": r"Fastest: recursive-doubling for 256 B.* The closed form holds: 0\.\d % off",
    "05_placement": r"slows down my job by up to \d\d % on every second host with minimal routing\. Best: own groups",
    "06_difference": r"oldest-first, 99th percentile: smaller by \d+ to \d+ ns",
    "07_own_graph": r"shortest may deadlock \(S0->S1 .*\)\. Best of the others: shortest, 2 lanes, \d\d %",
    "08_writes": r"takes more than 32 of 256 B, 4 of 4096 B, 2 of 65536 B\.",
    "09_overlap": r"Hidden part of the exchange: .* Least at 2048 cells\.",
    "10_tune": r"With .*threshold = .* the incast gets \d+ to \d+ Gb/s more",
}
"""The conclusion of each script."""

pytestmark = pytest.mark.usefixtures("real")


def example(name: str) -> ModuleType:
    """The script as a module: only its functions are defined."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_concludes_and_draws(script: Path, tmp_path: Path) -> None:
    paths = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "new")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    assert re.search(SAID[script.stem], ran.stdout.splitlines()[-1]), ran.stdout
    assert len(ran.stdout.splitlines()) >= 3  # a table
    drawn = tmp_path / "new" / f"{script.stem}.svg"
    texts = texts_of(drawn)
    assert words(texts) == words(texts_of(FOLDER / "pictures" / drawn.name)), (
        "examples/pictures has another one"
    )
    for label in labels_of(script):
        assert label in texts
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def texts_of(picture: Path) -> list[str]:
    root = ET.parse(picture).getroot()
    assert root.tag == f"{SVG}svg"
    return ["".join(text.itertext()).strip() for text in root.iter(f"{SVG}text")]


def words(texts: list[str]) -> list[str]:
    """The texts without those of ticks, which are numbers."""
    return [text for text in texts if re.search("[A-Za-z]", text)]


def labels_of(script: Path) -> list[str]:
    found = re.findall(r"[xy]label=\"([^\"]+)\"", script.read_text())
    assert len(found) == 2, "both axes have labels"
    return found


def test_scripts_are_short_and_listed() -> None:
    assert len(SCRIPTS) == 10
    assert {script.stem for script in SCRIPTS} == set(SAID)
    page = (FOLDER / "README.md").read_text()
    for script in SCRIPTS:
        assert len(script.read_text().splitlines()) < 60
        assert f"[`{script.name}`]({script.name})" in page
        assert f"(pictures/{script.stem}.svg)" in page
    for target in re.findall(r"\]\(([\w./-]+)\)", page):
        assert (FOLDER / target).exists(), target
    assert len(list((FOLDER / "pictures").glob("*.svg"))) == len(SCRIPTS)


def test_victims_without_the_incast_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    study = example("01_victims")
    monkeypatch.setattr(study, "EXPERIMENT", study.EXPERIMENT.with_values({"traffic.incast.stop": "1 us"}))
    assert study.conclude(study.measure("none")).startswith("No flow is a victim")


def test_without_congestion_control_no_algorithm_helps() -> None:
    study = example("01_victims")
    assert study.conclude(study.measure("none")).endswith("No algorithm helps.")


def test_without_ftree_the_best_engine_stays_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = example("02_engines")
    fabric = tmp_path / "fabric.txt"
    fabric.write_text(study.TREE.export("ibnetdiscover"))
    monkeypatch.setattr(study, "ENGINES", ("minhop", "sssp"))
    said = study.conclude(study.measure(fabric, "L1S0->L2S0"))
    assert said.startswith("sssp gives 5")
    assert said.endswith("still the best.")


def test_engines_that_may_deadlock_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = example("02_engines")
    torus = study.TREE.with_values({"topology": {"torus": {"dimensions": [5, 5]}}})
    fabric = tmp_path / "fabric.txt"
    fabric.write_text(torus.export("ibnetdiscover"))
    monkeypatch.setattr(study, "ENGINES", ("minhop", "dor", "ftree"))
    assert study.conclude(study.measure(fabric, "S(0,0)->S(1,0)")).startswith("No engine")


def test_shapes_with_equal_longest_dimensions_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    study = example("03_saturation")
    monkeypatch.setattr(study, "PARTS", (0.1, 1.0))
    said = study.conclude(study.measure(([16, 1], [1, 16])))
    assert "the shape makes no difference" in said


def test_the_closed_form_fails_where_messages_share_links() -> None:
    study = example("04_allreduce")
    said = study.conclude(*study.measure("random", 32768))
    assert "The closed form fails" in said
    assert "rabenseifner for 32768 B" in said


def test_jobs_that_share_no_links_do_not_slow_down_each_other() -> None:
    study = example("05_placement")
    table = study.measure({"own groups": study.HOSTS})
    said = study.conclude(table[table["routing"] == "minimal"])
    assert said.startswith("The neighbour does not slow down my job")


def test_the_same_arbiter_makes_no_difference() -> None:
    study = example("06_difference")
    table = study.measure("round-robin", "round-robin", seeds=2)
    assert set(table["verdict"]) == {"equal"}
    assert study.conclude(table).count("no difference") == 2


def test_no_tables_without_a_cycle(tmp_path: Path) -> None:
    study = example("07_own_graph")
    rows = {"shortest": study.measure("shortest", tmp_path / "own.fdbs")}
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["accepted", "cycle"])
    assert study.conclude(table).endswith("No others.")
    assert study.conclude(table.assign(cycle="")).startswith("Best of the others: shortest")


def test_a_window_of_one_write_is_not_enough() -> None:
    study = example("08_writes")
    table = pd.DataFrame({size: {"1": study.measure(size, 1)} for size in (4096, 65536)})
    assert study.conclude(table).endswith("takes more than 1 of 4096 B, 1 of 65536 B.")


def test_overlap_hides_nothing_without_computation() -> None:
    study = example("09_overlap")
    table = pd.DataFrame({mode: {2: study.measure(2, mode)} for mode in study.MODES})
    assert "exchange: overlap 0 to 0 %," in study.conclude(table)


def test_a_gain_whose_interval_contains_zero_is_none() -> None:
    study = example("10_tune")
    gains = pd.DataFrame({"low": [-1.0, 0.0], "high": [2.0, 0.0], "best": [99.0, 60.0]})
    assert study.conclude(gains, {"a.threshold": 3}).startswith("No setting")
    assert "1 to 2 Gb/s more" in study.conclude(gains.abs(), {"a.threshold": 3})


def test_tuning_without_a_choice_gains_nothing() -> None:
    """The only value is that of the file."""
    study = example("10_tune")
    only = {"congestion_control.infiniband.threshold": {"choices": [2]}}
    values = {"tune.parameters": only, "tune.trials": 1, "tune.fresh_seeds": 2}
    found = fs.tune(study.EXPERIMENT, set=values, jobs=1)
    assert study.conclude(found.gains, found.settings).startswith("No setting")
