"""Input files of the OMNeT++ model as experiments, and its measured throughput."""

from __future__ import annotations

import contextlib
import itertools
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fabricsim as fs
from fabricsim.importers import import_omnetpp
from fabricsim.importers.ini import Ini, pattern

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
    assert import_omnetpp(thesis / "omnetpp" / case, thesis) == (thesis / f"{name}.toml").read_text()


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


def test_patterns() -> None:
    def matches(key: str, path: str) -> bool:
        return pattern(key).fullmatch(path) is not None

    assert matches("**.SW*.port[2..5].obuf.width", "FABRIC.SW11.port[5].obuf.width")
    assert not matches("**.SW*.port[2..5].obuf.width", "FABRIC.SW11.port[1].obuf.width")
    assert not matches("*.width", "FABRIC.SW11.width")
    assert matches("**ibuf.maxStatic*", "FABRIC.H111.ibuf.maxStatic0")
    assert matches("**.port[2].obuf", "FABRIC.SW11.port[2].obuf")
    assert matches("**.H{1..3}1.gen", "FABRIC.H21.gen")
    assert not matches("**.speed", "FABRICxspeed")


def test_ini_as_in_the_appendix_of_the_thesis(tmp_path: Path) -> None:
    (tmp_path / "more.ini").write_text("**.included = 7\n")
    (tmp_path / "omnetpp.ini").write_text(
        """[General]
sim-time-limit = ${simtime=0.1}s # max seconds
**.width = ${width=4, 8, 12}
**.file = "a#b" # a comment
**.log = run-${simtime}
include more.ini
[Config flood]
**.SW**.width = 1
"""
    )
    ini = Ini.read(tmp_path / "omnetpp.ini")
    assert ini.seconds("sim-time-limit") == pytest.approx(0.1)
    assert ini.number("F.SW1.width") == 4
    assert ini.text("F.file") == "a#b"
    assert ini.text("F.log") == "run-0.1"
    assert ini.number("F.included") == 7
    flood = Ini.read(tmp_path / "omnetpp.ini", "flood")
    assert flood.number("F.SW1.width") == 1
    assert flood.number("F.H1.width") == 4
    with pytest.raises(fs.InputError, match="there is no configuration storm; there are: General, flood"):
        Ini.read(tmp_path / "omnetpp.ini", "storm")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("**.width = 4\n", "", "there is no value for FABRIC.H111.obuf.width"),
        ("**.speed = 2.5", "**.H*.obuf.speed = 5\n**.speed = 2.5", "link .*: rate differs between its ends"),
        ('"trfFlood"', '"trfUniform"', "'trfUniform': only 'trfFlood' can be imported"),
        ("dstLid = 50", "dstLid = 99", "no host has the LID 99"),
        ("genStartTime = 0.0s", "genStartTime = soon", "'soon': a time such as 5ms is needed"),
        ("**.creditSize = 64", "**.creditSize = big", "'big': a number is needed"),
        ("[General]", "[General]\nnonsense", "neither a section nor `key = value`: nonsense"),
        ("[General]", "[General]\ninclude omnetpp.ini", "include each other"),
    ],
)
def test_what_can_not_be_imported_is_named(
    experiments: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    case = experiments / "thesis/omnetpp/single5x5"
    for file in case.iterdir():
        text = file.read_text()
        if file.name == "omnetpp.ini":
            assert old in text
            text = text.replace(old, new)
        (tmp_path / file.name).write_text(text)
    with pytest.raises(fs.InputError, match=message):
        import_omnetpp(tmp_path)


def test_a_folder_without_network(tmp_path: Path) -> None:
    with pytest.raises(fs.InputError, match=r"one \.ned file is needed; there are: none"):
        import_omnetpp(tmp_path)


@given(st.text(max_size=200))
def test_no_ini_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.getbasetemp() / "any.ini"
    file.write_text(text, encoding="utf-8")
    with contextlib.suppress(fs.InputError):
        Ini.read(file).text("a.b")
