"""Published numbers of grids of runs."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from conftest import SMALL, Command

import fabricsim as fs
from fabricsim.reproduce import read_seed, reproduce, write_pages
from fabricsim.reproduce.over import Over, best, mean_error, rank_correlation
from fabricsim.reproduce.page import as_markdown

EXPECTED = """
tolerances = { close = "ten digits are printed" }

[grid.loads]
experiment = "small.toml"

[grid.loads.axis.Load]
key = "traffic.0.load"
values = [0.1, 0.5, 0.7]

[grid.loads.axis.Length.variants]
short = { set = { "run.duration" = "50 us" } }
long = { set = { "run.duration" = "100 us" } }
other = { experiment = "other.toml" }

[[figure]]
name = "table-1"
tolerance = 0.02
because = "close"
control = "traffic.0.load = 0.3"
grids = ["loads"]
where = { Length = ["short", "long"] }
tables = ["by_length"]

[[figure.cells]]
name = "load"
quantity = "load {Load}, {Length}"
value = "accepted_load()"
published = [[0.1, 0.11], [0.5, nan], [0.4, 0.6]]

[[figure.quantity]]
quantity = "rank correlation"
value = 'rank_correlation("load")'
origin = "derived"
expected = 1
tolerance = 0.1

[[figure.quantity]]
quantity = "best load of short ones"
value = 'best("load", "Load", Length="short")'
published = 0.7

[[figure.quantity]]
quantity = "another run than the cell's"
value = 'accepted_load(run="0.7/long") - at("load", Load=0.7, Length="long")'
origin = "derived"
expected = 0

[[figure]]
name = "figure-2"
tolerance = 0.02
because = "close"
control = "traffic.0.load = 0.3"
grids = ["loads"]
where = { Load = 0.5 }

[[figure.cells]]
name = "load"
quantity = "{Length}"
value = "accepted_load()"
published = [0.4, 0.5, 0.3]
judged = false
"""

TABLES = """
import pandas as pd

def by_length(runs):
    frame = pd.DataFrame({"run": list(runs), "load": [run.summary["accepted_load"] for run in runs.values()]})
    frame.attrs["caption"] = "Loads."
    return frame
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "experiments" / "thesis"
    folder.mkdir(parents=True)
    (folder / "expected.toml").write_text(EXPECTED)
    (folder / "tables.py").write_text(TABLES)
    (folder / "small.toml").write_text(SMALL)
    (folder / "other.toml").write_text(SMALL.replace("load = 0.3", "load = 0.3\nname = 'other'"))
    return folder


def test_cells_are_the_combinations(folder: Path) -> None:
    table, figure = read_seed(folder.parent, "thesis").figures
    assert list(table.runs) == ["0.1/short", "0.1/long", "0.5/short", "0.5/long", "0.7/short", "0.7/long"]
    assert table.runs["0.5/short"].set == {"traffic.0.load": 0.5, "run.duration": "50 us"}
    assert table.places["0.7/long"] == {"Load": 0.7, "Length": "long"}
    assert figure.runs["0.5/other"].experiment == "other.toml"
    assert figure.runs["0.5/short"] == table.runs["0.5/short"]


@pytest.mark.usefixtures("fake")
def test_each_cell_is_an_entry_and_runs_are_shared(command: Command, folder: Path) -> None:
    ran = command("reproduce", "thesis", "--json", "--jobs", 1)
    assert ran.code == 0, ran.err
    told = [(e["quantity"], e["published"], e["ours"], e["holds"]) for e in json.loads(ran.out)]
    assert told == [
        ("load 0.1, short", 0.1, 0.1, True),
        ("load 0.1, long", 0.11, 0.1, False),
        ("load 0.5, short", 0.5, 0.5, True),
        ("load 0.5, long", None, 0.5, None),
        ("load 0.7, short", 0.4, 0.6, False),
        ("load 0.7, long", 0.6, 0.6, True),
        ("rank correlation", None, pytest.approx(7.5 / 90**0.5), False),
        ("best load of short ones", 0.7, 0.7, True),
        ("another run than the cell's", None, 0.0, True),
        ("short", 0.4, 0.5, None),
        ("long", 0.5, 0.5, None),
        ("other", 0.3, 0.5, None),
    ]
    done: list[tuple[int, int]] = []
    reproduce(experiments=folder.parent, jobs=1, on_run=lambda n, of: done.append((n, of)))
    assert done[-1] == (7, 7), "nine cells, two of them in both figures"


@pytest.mark.usefixtures("fake")
def test_cells_that_are_not_on_the_page_are_compared_too(
    command: Command, folder: Path, tmp_path: Path
) -> None:
    (folder / "expected.toml").write_text(
        EXPECTED.replace("judged = false", "judged = false\nlisted = false")
    )
    pages = tmp_path / "pages"
    ran = command("reproduce", "--json", "--jobs", 1, "--pages", pages)
    assert "other" not in {entry["quantity"] for entry in json.loads(ran.out)}
    assert "| other |" not in (pages / "thesis.md").read_text()
    assert command("reproduce", "--jobs", 1, "--check", pages).code == 0
    numbers = pages / "thesis.json"
    found = json.loads(numbers.read_text())
    assert [e["ours"] for e in found["figures"]["figure-2"]["entries"]] == [0.5, 0.5, 0.5]
    assert command("reproduce", "--rejudge", pages).code == 0
    assert json.loads(numbers.read_text()) == found
    numbers.write_text(numbers.read_text().replace('"quantity": "other"', '"quantity": "another"'))
    ran = command("reproduce", "--jobs", 1, "--check", pages)
    assert (ran.code, "thesis figure-2: other: the page has no such row" in ran.err) == (1, True)


@pytest.mark.usefixtures("fake")
def test_the_page_has_the_seeds_own_tables(folder: Path, tmp_path: Path) -> None:
    (page,) = write_pages(reproduce(experiments=folder.parent, jobs=1), tmp_path / "pages")
    assert "Loads.\n\n| run | load |\n|---|--:|\n| 0.1/short | 0.1 |" in page.read_text()


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('grids = ["loads"]', 'grids = ["load"]', "did you mean loads"),
        ('key = "traffic.0.load"\n', "", "give `key` and `values`, or `variants`"),
        ("where = { Length =", "where = { Lenght =", "did you mean Length"),
        ('["short", "long"]', '["shrt"]', "did you mean short"),
        ('experiment = "small.toml"\n', "", "has no experiment"),
        ("judged = false", "judge = false", "did you mean judged"),
    ],
)
def test_a_wrong_grid_is_bad_input(command: Command, folder: Path, old: str, new: str, message: str) -> None:
    (folder / "expected.toml").write_text(EXPECTED.replace(old, new, 1))
    ran = command("reproduce", "--jobs", 1)
    assert ran.code == 2
    assert message in ran.err


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[0.4, 0.6]]", "[0.4]]", "5 numbers for 6 cells"),
        ("{Load}, {Length}", "{Loads}", "the axes are Load, Length"),
        ('rank_correlation("load")', 'rank_correlation("loads")', "did you mean load"),
        ('"Load", Length="short"', '"Loud", Length="short"', "there is no axis `Loud`"),
        ('Length="short")', 'Length="none")', "no cell of `load`"),
    ],
)
def test_a_wrong_quantity_is_named(command: Command, folder: Path, old: str, new: str, message: str) -> None:
    (folder / "expected.toml").write_text(EXPECTED.replace(old, new, 1))
    ran = command("reproduce", "--json", "--jobs", 1)
    assert ran.code == 1
    assert message in ran.err


def test_functions_over_cells() -> None:
    labels = [{"t": "20 us"}, {"t": "250 us"}, {"t": "1000 us"}]
    over = {"x": Over(labels, [1.0, 3.0, 2.2], [1.0, 2.0, 2.0])}
    assert rank_correlation(over, "x") == pytest.approx(3**0.5 / 2)
    assert mean_error(over, "x") == pytest.approx((0 + 0.5 + 0.1) / 3)
    assert best(over, "x", "t") == 250
    with pytest.raises(fs.InputError, match="all numbers are the same"):
        rank_correlation({"x": Over(labels, [1.0, 1.0, 1.0], [1.0, 2.0, 2.0])}, "x")
    with pytest.raises(fs.InputError, match="0 of 3 cells"):
        mean_error({"x": Over(labels, [1.0, 1.0, 1.0], [None, None, None])}, "x")


def test_frames_as_markdown() -> None:
    frame = pd.DataFrame({"a|b": ["x", "y"], "n": [1.23456, float("nan")]})
    assert as_markdown(frame) == "| a\\|b | n |\n|---|--:|\n| x | 1.235 |\n| y | – |"
