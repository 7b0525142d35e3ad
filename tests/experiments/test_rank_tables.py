"""Tables IV and V of the tutorial in short: medians of a few thousand messages are those of the page."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path

import pytest

import fabricsim as fs
from fabricsim.reproduce.page import as_markdown
from fabricsim.reproduce.quantities import load_hooks
from fabricsim.reproduce.ranks import run_ranks
from fabricsim.reproduce.record import read_record

PAGES = Path(__file__).resolve().parents[2] / "docs/reproduction"
MESSAGES = 8000
WITHIN = 0.022
"""Four standard errors of the median: 4 x 1.25 x 0.383 / sqrt(8000), with the spread of `mpi.noise` in ranks.toml."""


@pytest.mark.parametrize(
    ("figure", "limit", "kind", "rows"),
    [
        ("table-iv", "12 KiB", "Isend", ["Isend (calibrated)", "Isend's completion (calibrated)"]),
        ("table-iv", "12 KiB", "Send", ["Send (predicted)"]),
        ("table-iv", "12 KiB", "Ssend", ["Ssend (calibrated)"]),
        ("table-v", "4 KiB", "Isend", ["Isend (calibrated)", "Isend's completion (predicted)"]),
        ("table-v", "4 KiB", "Send", ["Send (predicted)"]),
        ("table-v", "4 KiB", "Ssend", ["Ssend (predicted)"]),
    ],
)
def test_medians(experiments: Path, figure: str, limit: str, kind: str, rows: list[str]) -> None:
    folder = experiments / "infiniband-verbs-mpi"
    experiment = fs.Experiment.from_file(folder / "ranks.toml").with_overrides([("mpi.eager_limit", limit)])
    options = {"program": "programs.py:pingpong", "kind": kind, "messages": MESSAGES}
    returned = run_ranks(folder, experiment, options).frames["returned"]
    page = {row["quantity"]: row["ours"] for row in read_record(PAGES, folder.name)[figure]["entries"]}
    for row, column in zip(rows, ["call_ns", "completion_ns"], strict=False):
        assert returned[column].median() == pytest.approx(page[f"{row}, 50 %"], rel=WITHIN)


@pytest.mark.parametrize("name", ["parameters", "skewness_in_table_iv", "skewness_in_table_v"])
def test_tables_that_need_no_run_are_those_of_the_page(experiments: Path, name: str) -> None:
    table = as_markdown(load_hooks(experiments / "infiniband-verbs-mpi", "tables.py")[name]({}))
    assert table in (PAGES / "infiniband-verbs-mpi.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("table", ["table-iv", "table-v"])
def test_printed_skewness_is_possible(experiments: Path, table: str) -> None:
    """It lies between those of two ways to fill the printed quantiles, as the text of the page says."""
    frame = load_hooks(experiments / "infiniband-verbs-mpi", "tails.py")["skewness"](table)
    assert len(frame) == 4
    for printed, ends in zip(frame["printed"], frame["short or long"], strict=True):
        low, high = map(float, ends.split(" to "))
        assert low < float(printed) < high


def test_skewness_of_an_even_spread_is_none_and_of_one_call_that_of_two_values(experiments: Path) -> None:
    tails = run_path(str(experiments / "infiniband-verbs-mpi/tails.py"))
    moments, piece = tails["_moments"], tails["Piece"]
    assert moments([piece(1.0, 100.0, 220.0)]) == pytest.approx((120 / 12**0.5, 0.0), abs=1e-4)
    # Two values with the parts 1 - p and p: (1 - 2 p) / sqrt(p (1 - p)).
    assert moments([piece(0.99, 5.0, 5.0), piece(0.01, 105.0, 105.0)]) == pytest.approx(
        (100 * (0.0099) ** 0.5, 0.98 / 0.0099**0.5)
    )
