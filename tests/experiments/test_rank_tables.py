"""Tables IV and V of the tutorial in short: medians of a few thousand messages are those of the page, of 300 000."""

from __future__ import annotations

from pathlib import Path

import pytest

import fabricsim as fs
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
