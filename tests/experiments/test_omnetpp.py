"""Input files of the OMNeT++ model as experiments, and its measured throughput."""

from __future__ import annotations

import itertools
from pathlib import Path

import pandas as pd
import pytest

import fabricsim as fs
from fabricsim.importers import import_omnetpp

CASES = {
    "expA_nocc_fast": "omnetpp-a-fast",
    "single5x5": "omnetpp-single-5x5",
    "linkcap_isw1": "omnetpp-linkcap-2013",
    "linkcap_isw0": "omnetpp-linkcap-2004",
}
# Two streams into SW11: see the text of figure omnetpp-link in expected.toml.
TWO_STREAMS = {"links.named.SW11-SW12.rate": "10.48675 Gb/s"}
CHANGES_S = {"expA_nocc_fast": [0.0, 0.005, 0.01, 0.02, 0.035]}
PLATEAU = 0.75
"""The last part of an interval, when buffers no longer fill or empty."""


@pytest.mark.parametrize(("case", "name"), CASES.items())
def test_experiments_are_those_of_the_files(experiments: Path, case: str, name: str) -> None:
    thesis = experiments / "thesis"
    assert import_omnetpp(thesis / "omnetpp" / case, thesis).text == (thesis / f"{name}.toml").read_text()


@pytest.mark.parametrize(("case", "name"), CASES.items())
def test_files_are_those_of_the_measured_runs(
    experiments: Path, reference: Path, case: str, name: str
) -> None:
    for file in ("omnetpp.ini", "FABRIC.ned", "mesh.fdbs"):
        own = experiments / "thesis/omnetpp" / case / file
        assert own.read_bytes() == (reference / "omnetpp-infiniband" / case / file).read_bytes()


@pytest.mark.parametrize(("case", "name"), CASES.items())
def test_throughput_is_as_measured(experiments: Path, reference: Path, case: str, name: str) -> None:
    """Of each generator and sink, between starts of hosts, within 1 %."""
    measured = pd.read_csv(reference / "omnetpp-infiniband" / case / "throughput.csv")
    run = fs.run(experiments / f"thesis/{name}.toml", set=TWO_STREAMS if case == "linkcap_isw0" else {})
    ours = run.table("hosts_series")
    edges = CHANGES_S.get(case, [0.0, 0.002])
    compared = 0
    for module, rows in measured.groupby("module"):
        _, host, part = str(module).split(".")
        column = {"gen": "injected_gbps", "sink": "delivered_gbps"}[part]
        own = ours[ours["host"] == host].set_index("time_ns")[column] * 0.125e9
        for start, end in itertools.pairwise(edges):
            first = end - PLATEAU * (end - start)
            # The model writes down a bin at its end, we at its start.
            theirs = rows[(rows["t_s"] > first + 1e-9) & (rows["t_s"] <= end + 1e-9)]["bytes_per_s"]
            mine = own[(own.index >= first * 1e9 - 1) & (own.index < end * 1e9 - 1)]
            assert mine.mean() == pytest.approx(theirs.mean(), rel=0.01), f"{module} {start}..{end} s"
            compared += bool(theirs.mean() > 0)
    assert compared >= 2
