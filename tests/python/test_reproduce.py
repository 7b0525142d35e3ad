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
from fabricsim.reproduce import digest, read_seed, reproduce, write_pages
from fabricsim.reproduce.evaluation import within
from fabricsim.reproduce.expressions import evaluate
from fabricsim.selection import to_ns

EXPECTED = """
title = "A thesis"
source = "Author, 2016"
differences = ["ours is faster"]
tolerances = { close = "ten digits are printed" }
choice.load = { parameter = "traffic.0.load", value = "0.5", when = "at last", rows = "the gain", others = "0.4: 4" }

[[figure]]
name = "figure-1"
title = "shares"
text = "What the figure shows."
experiment = "small.toml"
set = { "traffic.0.load" = 0.5 }
plots = ["throughput"]
tolerance = 0.02
because = "close"
control = "traffic.0.load = 0.2"

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
independent = "a ratio"
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
origin = "derived"
expected = 5
tolerance = 0.02
because = "close"
control = { "traffic.0.load" = 0.1 }
control_on = ["high"]
calibrated = "load"
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
    contract = {
        "seed",
        "figure",
        "quantity",
        "unit",
        "published",
        "ours",
        "ratio",
        "tolerance",
        "holds",
        "note",
    }
    judging = {"origin", "expected", "absolute", "because", "claim", "verdict"}
    control = {"control", "control_ours", "control_holds"}
    assert all(set(entry) == contract | judging | control | {"value"} for entry in entries)
    rows = [
        (e["figure"], e["published"], e["ours"], e["ratio"], e["tolerance"], e["verdict"]) for e in entries
    ]
    assert rows == [
        ("figure-1", 0.5, 0.5, 1.0, 0.02, "yes"),
        ("figure-1", 80, 75.0, 0.9375, 0.02, "no"),
        ("figure-1", None, 2.0, None, None, "independent"),
        ("table-2", None, 5.0, 1.0, 0.02, "calibrated"),
    ]


@pytest.mark.usefixtures("fake")
def test_controls_run_with_the_feature_off(command: Command, experiments: Path) -> None:
    ran = command("reproduce", "thesis", "--controls", "--json", "--jobs", 1)
    assert ran.code == 0, ran.err
    entries = json.loads(ran.out)
    assert [(e["control"], e["control_ours"], e["control_holds"]) for e in entries] == [
        ("traffic.0.load = 0.2", pytest.approx(0.2), False),
        ("traffic.0.load = 0.2", pytest.approx(30.0), False),
        ("", None, None),
        ("traffic.0.load = 0.1", 1.0, False),
    ]


@pytest.mark.usefixtures("fake")
def test_a_row_that_holds_under_its_control_shows_nothing(command: Command, experiments: Path) -> None:
    path = experiments / "thesis/expected.toml"
    path.write_text(EXPECTED.replace("traffic.0.load = 0.2", "seed = 9"))
    ran = command("reproduce", "thesis", "figure-1", "--controls", "--jobs", 1)
    assert ran.code == 1
    assert "share of H0: control seed = 9: the row holds without its feature" in ran.err
    assert "throughput of all: control" not in ran.err


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("published", "claim", "verdict"),
    [("0.1", "ours > 0", "sign"), ("true", "ours > 0", "yes"), ("0.1", "ours < 0", "no")],
)
def test_a_printed_number_judged_by_its_sign_is_called_so(
    experiments: Path, published: str, claim: str, verdict: str
) -> None:
    row = f"published = {published}\nclaim = '{claim}'\n"
    path = experiments / "thesis/expected.toml"
    path.write_text(EXPECTED.replace("published = 0.5\n", row, 1))
    (entry, *_) = reproduce("thesis", "figure-1", experiments=experiments, jobs=1).entries
    assert (entry.verdict, entry.tolerance, entry.claim) == (verdict, None, claim)


@pytest.mark.usefixtures("fake")
def test_one_figure_and_unknown_names(command: Command, experiments: Path) -> None:
    ran = command("reproduce", "thesis", "table-2", "--json", "--jobs", 1)
    assert [entry["figure"] for entry in json.loads(ran.out)] == ["table-2"]
    assert "did you mean figure-1" in command("reproduce", "thesis", "figure-3").err
    assert "did you mean thesis" in command("reproduce", "theses").err


@pytest.mark.usefixtures("fake")
def test_page(experiments: Path, tmp_path: Path) -> None:
    (page,) = write_pages(reproduce(experiments=experiments, jobs=1, controls=True), tmp_path / "pages")
    text = page.read_text()
    assert text.startswith(
        "# A thesis\n\nAuthor, 2016\n\n- Printed numbers and claims: 2: 1 hold; 1 do not hold."
    )
    assert "Not counted: 1 do not depend on a feature." in text
    assert (
        "- Derived from the publication: 1: 1 hold with a parameter that was chosen with them at hand."
        in text
    )
    row = (
        "| throughput of all | Gb/s | 80 | 75 | 0.938 | 2 % (close) | **no** | `traffic.0.load = 0.2` | 30 |"
    )
    assert row in text
    assert "| gain |  | (5) | 5 | 1.000 | 2 % (close) | calibrated | `traffic.0.load = 0.1` | 1 |" in text
    assert "- *close*: ten digits are printed" in text
    assert "| traffic.0.load | 0.5 | at last | the gain | 0.4: 4 |" in text
    assert "- throughput of all: a known difference" in text
    assert "![throughput of figure-1](figures/thesis-figure-1-throughput.svg)" in text
    assert (tmp_path / "pages/figures/thesis-figure-1-throughput.svg").exists()
    assert "- ours is faster" in text


@pytest.mark.usefixtures("fake")
def test_one_figure_changes_only_its_section(experiments: Path, tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    (page,) = write_pages(reproduce(experiments=experiments, jobs=1, controls=True), pages)
    before = page.read_text()
    write_pages(reproduce("thesis", "table-2", experiments=experiments, jobs=1), pages)
    assert page.read_text() == before, "the result of the control stays while the definition is the same"
    path = experiments / "thesis/expected.toml"
    path.write_text(EXPECTED.replace('"gain"', '"the gain"'))
    write_pages(reproduce("thesis", "table-2", experiments=experiments, jobs=1), pages)
    after = page.read_text()
    assert (
        "| the gain |  | (5) | 5 | 1.000 | 2 % (close) | calibrated | `traffic.0.load = 0.1` | not run |"
        in after
    )
    assert "| gain |" not in after
    assert before.split("figure: table-2")[0] == after.split("figure: table-2")[0]


@pytest.mark.usefixtures("fake")
def test_numbers_are_compared_with_the_page_value_by_value(
    command: Command, experiments: Path, tmp_path: Path
) -> None:
    pages = tmp_path / "pages"
    assert command("reproduce", "--controls", "--jobs", 1, "--pages", pages).code == 0
    assert command("reproduce", "--controls", "--jobs", 1, "--check", pages).code == 0
    path = pages / "thesis.json"
    path.write_text(path.read_text().replace('"ours": 75.0', '"ours": 75.1').replace('"gain"', '"win"'))
    ran = command("reproduce", "--jobs", 1, "--check", pages)
    assert ran.code == 1
    assert "thesis figure-1: throughput of all: 75.1 on the page, now 75.0" in ran.err
    assert "thesis table-2: gain: the page has no such row" in ran.err
    assert "thesis table-2: win: only on the page" in ran.err
    moved = path.read_text()
    ran = command("reproduce", "--jobs", 1, "--check", pages, "--pages", pages)
    assert ran.code == 1
    assert path.read_text() == moved, "numbers that moved do not replace the committed ones"
    assert "the new results are in runs/pages" in ran.err
    accepted = json.loads(Path("runs/pages/thesis.json").read_text())["figures"]["figure-1"]["entries"]
    assert {entry["quantity"]: entry["ours"] for entry in accepted}["throughput of all"] == 75.0
    path.write_text("{")
    assert command("reproduce", "--jobs", 1, "--check", pages).code == 2


def test_a_digest_changes_with_rows_runs_and_files(experiments: Path) -> None:
    def found() -> list[str]:
        seed = read_seed(experiments, "thesis")
        return [digest(seed, figure) for figure in seed.figures]

    first, second = found()
    path = experiments / "thesis/expected.toml"
    path.write_text(EXPECTED.replace("published = 80", "published = 81"))
    assert found()[0] != first
    assert found()[1] == second
    (experiments / "thesis/small.toml").write_text(SMALL + "# other\n")
    assert found()[1] != second


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
        ('because = "close"\ncontrol = {', 'because = "colse"\ncontrol = {', "did you mean close"),
        ('because = "close"\ncontrol = {', "control = {", "`because` is missing"),
        ('independent = "a ratio"\nclaim', 'control = "seed"\nclaim', "not an assignment"),
        ('control = { "traffic.0.load" = 0.1 }\n', "", "give `control`"),
        ('origin = "derived"', 'origin = "derivd"', "did you mean derived"),
        ('origin = "derived"\nexpected = 5', 'origin = "own"\npublished = 5', "the origin is own"),
        ('calibrated = "load"', 'calibrated = "lode"', "did you mean load"),
        (
            'tolerance = 0.02\nbecause = "close"\ncontrol = {',
            'tolerance = -1\nbecause = "close"\ncontrol = {',
            "at least 0",
        ),
        ('"throughput of all"', '"share of H0"', "two rows are called"),
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


@pytest.mark.usefixtures("fake")
def test_rows_are_judged_anew_without_a_run(
    command: Command, experiments: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tolerances, names, origins and texts may change; values, controls, claims on other numbers and runs may not."""
    pages = tmp_path / "pages"
    (page,) = write_pages(reproduce(experiments=experiments, jobs=1, controls=True), pages)
    before = page.read_text()
    monkeypatch.setattr("fabricsim.reproduce.compute._run", lambda *_: pytest.fail("it runs"))
    again = ("reproduce", "--rejudge", pages)
    assert command(*again).code == 0
    assert page.read_text() == before
    path = experiments / "thesis/expected.toml"
    path.write_text(
        EXPECTED.replace("tolerance = 0.02\nbecause", "tolerance = 0.1\nbecause", 1)
        .replace('"share of H0"', '"what H0 gets"')
        .replace("What the figure shows.", "Another text.")
    )
    assert command(*again).code == 0
    after = page.read_text()
    assert "| throughput of all | Gb/s | 80 | 75 | 0.938 | 10 % (close) | yes |" in after
    assert "| what H0 gets |" in after
    assert "| share of H0 |" not in after
    assert "Another text." in after
    assert "What the figure shows." not in after
    assert before.count("![") == after.count("![")
    path.write_text(EXPECTED)
    assert command(*again).code == 0
    assert page.read_text() == before
    for change, message in [
        (
            ("\"accepted(after='0.5 ms')\"", '"accepted()"'),
            "throughput of all: the page has no numbers of this row",
        ),
        (("traffic.0.load = 0.2", "traffic.0.load = 0.3"), "share of H0: the control is another"),
        (("1e-9)'", "1e-6)'"), "H0 gets twice of H1: its claim is another"),
        (
            ('"traffic.0.load" = 0.5 }', '"traffic.0.load" = 0.6 }'),
            "figure-1: its runs, experiments or functions",
        ),
    ]:
        assert change[0] in EXPECTED
        path.write_text(EXPECTED.replace(*change))
        ran = command(*again)
        assert ran.code == 2
        assert message in ran.err


@pytest.mark.usefixtures("fake")
def test_what_is_not_counted_is_not_counted_whether_or_not_it_holds(
    experiments: Path, tmp_path: Path
) -> None:
    path = experiments / "thesis/expected.toml"
    path.write_text(EXPECTED.replace('note = "a known difference"', 'repeats = "table-2"'))
    (page,) = write_pages(reproduce(experiments=experiments, jobs=1), tmp_path / "pages")
    text = page.read_text()
    assert "1 repeat a number of another figure (1 of these do not hold)" in text
    assert "| 2 % (close) | repeated: no |" in text
    assert "- Printed numbers and claims: 1: 1 hold." in text
