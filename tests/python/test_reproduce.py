"""Published numbers held against ours."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from conftest import SMALL, Command
from hypothesis import given
from hypothesis import strategies as st

import fabricsim as fs
from fabricsim.reproduce import reproduce, write_pages
from fabricsim.reproduce.expressions import evaluate
from fabricsim.reproduce.judge import within
from fabricsim.selection import to_ns

EXPECTED = """
title = "A thesis"
source = "Author, 2016"
differences = ["ours is faster"]

[[figure]]
name = "figure-1"
title = "shares"
text = "What the figure shows."
experiment = "small.toml"
set = { "traffic.0.load" = 0.5 }
plots = ["throughput"]

[[figure.quantity]]
quantity = "share of H0"
published = 0.5
value = 'share("H0->H1", after="0.5 ms")'

[[figure.quantity]]
quantity = "throughput of all"
unit = "Gb/s"
published = 80
value = "accepted(after='0.5 ms')"
note = "a known difference"

[[figure.quantity]]
quantity = "H0 gets twice of H1"
value = "ratio_of(2)"
claim = 'near(cell("flows", "accepted_gbps", "H0->H1"), 2 * cell("flows", "accepted_gbps", "H1->H0"), 1e-9)'

[[figure]]
name = "table-2"

[figure.run.low]
experiment = "small.toml"
set = { "traffic.0.load" = 0.1 }

[figure.run.high]
experiment = "small.toml"
set = { "traffic.0.load" = 0.5 }

[[figure.quantity]]
quantity = "gain"
expected = 5
value = 'accepted_load(run="high") / accepted_load(run="low")'
"""

HOOKS = """
def ratio_of(runs, n):
    return n * 1.0

def _hidden(runs):
    return 0
"""


@pytest.fixture
def experiments(tmp_path: Path) -> Path:
    folder = tmp_path / "experiments" / "thesis"
    folder.mkdir(parents=True)
    (folder / "expected.toml").write_text(EXPECTED)
    (folder / "quantities.py").write_text(HOOKS)
    (folder / "small.toml").write_text(SMALL)
    return folder.parent


@pytest.mark.usefixtures("fake")
def test_json_has_an_entry_for_each_number_and_claim(command: Command, experiments: Path) -> None:
    ran = command("reproduce", "thesis", "--json", "--jobs", 1)
    assert ran.code == 0, ran.err
    entries = json.loads(ran.out)
    keys = {"seed", "figure", "quantity", "unit", "published", "ours", "ratio", "tolerance", "holds", "note"}
    assert all(set(entry) == keys for entry in entries)
    told = [(e["figure"], e["published"], e["ours"], e["ratio"], e["holds"]) for e in entries]
    assert told == [
        ("figure-1", 0.5, 0.5, 1.0, True),
        ("figure-1", 80, 75.0, 0.9375, False),
        ("figure-1", None, 2.0, None, True),
        ("table-2", None, 5.0, 1.0, True),
    ]


@pytest.mark.usefixtures("fake")
def test_one_figure_and_unknown_names(command: Command, experiments: Path) -> None:
    ran = command("reproduce", "thesis", "table-2", "--json", "--jobs", 1)
    assert [entry["figure"] for entry in json.loads(ran.out)] == ["table-2"]
    assert "did you mean figure-1" in command("reproduce", "thesis", "figure-3").err
    assert "did you mean thesis" in command("reproduce", "theses").err


@pytest.mark.usefixtures("fake")
def test_page(experiments: Path, tmp_path: Path) -> None:
    (page,) = write_pages(reproduce(experiments=experiments, jobs=1), tmp_path / "pages")
    text = page.read_text()
    assert text.startswith("# A thesis\n\nAuthor, 2016\n\n3 of 4 numbers and claims hold.")
    assert "| throughput of all | Gb/s | 80 | 75 | 0.938 | 0.02 | **no** |" in text
    assert "- throughput of all: a known difference" in text
    assert "![throughput of figure-1](figures/thesis-figure-1-throughput.svg)" in text
    assert (tmp_path / "pages/figures/thesis-figure-1-throughput.svg").exists()
    assert "- ours is faster" in text


@pytest.mark.usefixtures("fake")
def test_a_page_needs_all_figures(experiments: Path, tmp_path: Path) -> None:
    assert (
        write_pages(reproduce("thesis", "table-2", experiments=experiments, jobs=1), tmp_path / "pages") == []
    )


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"H0->H1", after', '"H9->H1", after', "no flow 'H9->H1'"),
        ("accepted(after='0.5 ms')", "accepted(after='0.5')", "not a time"),
        ("ratio_of(2)", "_hidden()", "there is no function `_hidden`"),
        ("ratio_of(2)", "(1).real", "is not allowed"),
        ("ratio_of(2)", "1 +", "cannot be read"),
        ("ratio_of(2)", "'x'", "not a number"),
    ],
)
def test_a_quantity_that_fails_is_named_and_the_rest_stays(
    command: Command, experiments: Path, old: str, new: str, message: str
) -> None:
    (experiments / "thesis/expected.toml").write_text(EXPECTED.replace(old, new, 1))
    ran = command("reproduce", "--json", "--jobs", 1)
    assert ran.code == 1
    assert len(json.loads(ran.out)) == 3
    assert message in ran.err


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("unit =", "unti =", "did you mean unit"),
        ('value = "ratio_of(2)"\n', "", "`value` is missing"),
        ("[[figure]]", "[[figure", "expected.toml"),
        ('experiment = "small.toml"\nset = { "traffic.0.load" = 0.5 }\nplots', "plots", "it has no run"),
    ],
)
def test_a_wrong_file_is_bad_input(
    command: Command, experiments: Path, old: str, new: str, message: str
) -> None:
    (experiments / "thesis/expected.toml").write_text(EXPECTED.replace(old, new, 1))
    ran = command("reproduce", "--jobs", 1)
    assert ran.code == 2
    assert message in ran.err


def test_expressions() -> None:
    assert evaluate("-2 ** 2 + 3 * (4 - 1) / 2", {}) == 0.5
    assert evaluate("1 < 2 <= 2 and not 3 == 4", {}) is True
    assert evaluate("f(1, b=ours)", {"f": lambda a, b: a + b}, {"ours": 2}) == 3
    for bad in ("__import__('os')", "[x for x in [1]]", "lambda: 1", "f.__class__", "ours", "1 if 2 else 3"):
        with pytest.raises(fs.InputError):
            evaluate(bad, {"f": abs})


@given(st.text(max_size=30))
def test_no_expression_breaks_out(text: str) -> None:
    with contextlib.suppress(fs.InputError):
        evaluate(text, {"f": lambda *a, **k: 1})


def test_within() -> None:
    assert within(51, 50, 0.02)
    assert not within(51.1, 50, 0.02)
    assert within(0.01, 0, 0.02, absolute=True)
    assert within(True, True, 0.0)
    assert not within(1, True, 0.0)


def test_times() -> None:
    assert to_ns("0.6 s") == 0.6e9
    assert to_ns("10us") == 1e4
    with pytest.raises(fs.InputError, match="not a time"):
        to_ns("1.2.3 s")
