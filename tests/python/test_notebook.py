"""Views of values in notebooks."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest
from picture_cases import failing, study
from sums_cases import LOAD, MERGED, write_mesh

import fabricsim as fs
from fabricsim.compare import compare_repeated
from fabricsim.notebook import html

pytestmark = pytest.mark.usefixtures("real")

TEXT = """
title = "Four <hosts> & a switch"
topology.single-switch.hosts = 4
[[traffic]]
name = "pairs"
pattern = "random-permutation"
load = 0.6
message = "2 KiB"
[run]
duration = "20 us"
"""


class Page(HTMLParser):
    """Checks that elements are closed in order, and collects texts."""

    EMPTY = frozenset({"img", "br"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.pictures = 0
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.pictures += tag == "img"
        if tag == "img":
            assert dict(attrs)["alt"]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def page(value: object) -> Page:
    shown = value._repr_html_()  # type: ignore[attr-defined]
    assert shown == html(value)
    return Page(shown)


@pytest.fixture
def experiment() -> fs.Experiment:
    return fs.Experiment.from_text(TEXT)


def test_a_run_has_numbers_entries_and_a_picture(experiment: fs.Experiment) -> None:
    run = fs.run(experiment, set={"routing.load": "credits"})
    found = page(run)
    assert found.texts[0] == "Four <hosts> & a switch: ok"
    assert {"accepted throughput (Gb/s)", "pairs", "run.flows"} <= set(found.texts)
    assert any("routing.load has no effect" in text for text in found.texts)
    assert found.pictures == 1


def test_a_run_without_packets_has_a_picture_of_its_links() -> None:
    shown = fs.run(
        fs.Experiment.from_text('topology.ring = { switches = 4 }\nrun.duration = "10 us"')
    )._repr_html_()
    assert 'alt="links"' in shown


JOBS = """
topology.single-switch.hosts = 4
[[jobs]]
name = "exchange"
iterations = 2
program = { all-to-all = { message = "4 KiB" } }
[run]
duration = "20 us"
"""


def test_jobs_alone_have_bounds_of_their_own() -> None:
    assert "fs.job_bounds(experiment)" in page(fs.Experiment.from_text(JOBS)).texts


def test_a_run_of_jobs_has_the_time_of_an_iteration_and_a_picture_of_them() -> None:
    run = fs.run(fs.Experiment.from_text(JOBS))
    shown = page(run)
    assert "mean iteration" in shown.texts
    assert "2" in shown.texts
    assert 'alt="jobs"' in run._repr_html_()
    noise = '\n[[traffic]]\npattern = "uniform"\nload = 0.1\nmessage = "1 KiB"\n'
    beside = fs.run(fs.Experiment.from_text(JOBS + noise))
    assert "mean iteration" in page(beside).texts
    assert 'alt="throughput"' in beside._repr_html_()


def test_entries_have_the_share_of_the_links_at_both_ends(experiment: fs.Experiment) -> None:
    texts = page(fs.run(experiment)).texts
    assert {"source share", "destination share"} <= {*texts}


def test_an_experiment_is_shown_without_being_built() -> None:
    large = fs.Experiment.from_text(TEXT.replace("hosts = 4", "hosts = 900000000"))
    found = page(large)
    assert {"single-switch: hosts = 900000000", "pairs", "experiment.describe()"} <= set(found.texts)
    assert page(fs.Experiment.from_text("this is = no TOML [")).texts


def test_sweeps_studies_bounds_comparisons_and_failures(experiment: fs.Experiment, tmp_path: Path) -> None:
    sweep = fs.sweep(experiment, vary={"traffic.pairs.load": [0.2, 0.4]}, out=tmp_path / "sweep", jobs=1)
    found = page(sweep)
    assert found.texts[0] == "Four <hosts> & a switch: 2 of 2 points"
    assert found.pictures == 1
    bound = page(fs.bound(experiment))
    assert {"largest total", "found.links"} <= set(bound.texts)
    runs = [fs.run(experiment, set={"seed": seed}) for seed in (1, 2)]
    compared = page(fs.compare(runs))
    assert compared.texts[0] == "Comparison of runs"
    assert {"A", "B", "seed = 1", "accepted throughput (Gb/s)", "found.totals"} <= set(compared.texts)
    assert compared.pictures == 1
    mesh = experiment.with_values(
        {"topology": {"mesh": {"dimensions": [2, 2]}}, "routing.algorithm": "shortest-path"}
    )
    failing_links = fs.what_if(
        mesh.with_values({"routing.lane_policy": "hops", "switch.virtual_lanes": 4}), jobs=1
    )
    failures = page(failing_links)
    assert (
        repr(failing_links)
        == f"WhatIf('Four <hosts> & a switch', {len(failing_links.failures)} failures of a link)"
    )
    assert failures.texts[0] == "Every single link fails, worst first"
    assert {"accepted throughput (Gb/s)", "mean latency", "flows worse"} <= set(failures.texts)
    assert "time of all jobs" not in failures.texts, "columns without a value are left out"
    assert "latency mean ns" not in failures.texts, "names of columns are in words"


def test_values_are_short_on_the_prompt(experiment: fs.Experiment, tmp_path: Path) -> None:
    run = fs.run(experiment, out=tmp_path / "run")
    accepted = f"{run.manifest['summary']['accepted_gbps']:,.5g}"
    place = f"folder={str(tmp_path / 'run')!r}"
    assert repr(run) == f"Result('Four <hosts> & a switch', ok, seed 1, accepted {accepted} Gb/s, {place})"
    sweep = fs.sweep(experiment, vary={"seed": [1, 2]}, jobs=1)
    assert repr(sweep) == "SweepResult('Four <hosts> & a switch', 2 points of seed)"
    assert repr(study(1)).startswith("TuneResult('Congestion control of the incast', 23 trials, ")
    assert page(study(1)).texts[0] == "Congestion control of the incast: 23 trials"
    assert {"victim rate", "latency mean"} <= set(page(study(2)).texts), "names of metrics are in words"
    assert any(text.endswith(" µs") for text in page(study(2)).texts), "times have their unit"
    many = fs.Experiment.from_text(TEXT + "# comment\n" * 1000)
    assert repr(fs.bound(experiment)).startswith("Bound('Four <hosts> & a switch', at most ")
    compared = repr(fs.compare([run, run]))
    assert compared.startswith("Comparison('Four <hosts> & a switch', 'Four <hosts> & a switch'; ")
    for value in (many, study(1), fs.bound(experiment), fs.compare([run, run]), failing()):
        assert len(repr(value)) < 500, repr(value)


def test_repetitions_begin_with_what_differs(experiment: fs.Experiment) -> None:
    sets = [
        fs.sweep(experiment, set={"traffic.pairs.load": load}, seeds=3, jobs=1) for load in (0.2, 0.2, 0.6)
    ]
    same, other = (page(compare_repeated([sets[0], beside], ["a", "b"])) for beside in sets[1:])
    assert same.texts[0] == other.texts[0] == "2 sets of 3 seeds"
    assert "larger" in other.texts
    assert other.texts.index("larger") < len(other.texts) / 2
    assert "larger" not in same.texts
    assert "equal" in same.texts
    assert other.pictures == 1


def test_age_parameters_have_their_settings() -> None:
    found = page(fs.age_parameters("4x4"))
    assert {"switch.age.period", "longest", "found.dimensions"} <= set(found.texts)


def test_runs_without_a_common_flow_are_compared_by_totals(experiment: fs.Experiment) -> None:
    ring = experiment.with_values({"topology": {"ring": {"switches": 4}}, "switch.virtual_lanes": 2})
    found = page(fs.compare([fs.run(experiment), fs.run(ring)]))
    assert any(text.startswith("these runs have no flow in common") for text in found.texts)
    assert "mean latency" in found.texts
    assert found.pictures == 1


def test_other_values_have_no_view() -> None:
    with pytest.raises(TypeError, match="int has no view"):
        html(1)


@pytest.fixture
def mesh(tmp_path: Path) -> Path:
    return write_mesh(tmp_path)


def rows_of(found: Page, title: str) -> list[str]:
    """Cells of the table below a title."""
    begin = found.texts.index(title)
    return found.texts[begin : begin + 200]


def test_a_run_has_sums_by_entry_and_by_group(mesh: Path) -> None:
    run = fs.run(mesh)
    found = page(run)
    cells = rows_of(found, "Groups of hosts: the 4 largest and the 4 smallest of 9")
    largest = run.by("group").nlargest(1, "accepted_gbps").reset_index().iloc[0]
    assert {largest["source_group"], largest["destination_group"]} <= set(cells)
    assert f"{largest['accepted_gbps']:,.4g}" in cells
    assert {"background", "incast"} <= set(found.texts)
    merged = page(fs.run(mesh, set={"measure.flows": "sources"}))
    assert any(MERGED in text for text in merged.texts)
    assert (
        "Groups of hosts" not in page(fs.run(mesh, set={"groups": {}, "traffic.incast.sources": ["*"]})).texts
    )


def test_a_sweep_has_its_entries_and_sums(mesh: Path) -> None:
    sweep = fs.sweep(mesh, vary={LOAD: [0.1, 0.3]}, by="destination", jobs=1)
    cells = rows_of(page(sweep), "Entries of the traffic list")
    for name in ("background", "incast"):
        for value in sweep.points[f"traffic.{name}.accepted_gbps"]:
            assert f"{value:,.4g}" in cells
    cells = rows_of(page(sweep), "Destinations: the 4 largest and the 4 smallest of 9")
    table = sweep.by("destination")
    hot = table[table["destination"] == "H(2,2).0"]["accepted_gbps"]
    assert f"{hot.iloc[0]:,.4g}" in cells
    repeated = fs.sweep(mesh, seeds=3, by="destination", jobs=1)
    table = repeated.by("destination")
    mean = table[table["destination"] == "H(2,2).0"]["accepted_gbps"].mean()
    assert f"{mean:,.4g}" in rows_of(page(repeated), "Destinations: the 4 largest and the 4 smallest of 9")


def test_comparisons_have_sums_by_group(mesh: Path) -> None:
    runs = [fs.run(mesh, set={LOAD: load}) for load in (0.1, 0.4)]
    compared = fs.compare(runs)
    cells = rows_of(page(compared), "Groups of hosts: the 4 largest and the 4 smallest of 9")
    assert "accepted throughput (Gb/s), B" in cells
    for run in runs:
        assert f"{run.by('group')['accepted_gbps'].max():,.4g}" in cells
    sets = [fs.sweep(mesh, set={LOAD: load}, seeds=2, by="group", jobs=1) for load in (0.1, 0.4)]
    found = compare_repeated(sets, ["low", "high"], by="group")
    texts = page(found).texts
    assert any(text.startswith("Groups of hosts") for text in texts)
    assert texts.count("clients") > 1
    assert not any(text.startswith("Groups of hosts") for text in page(compare_repeated(sets)).texts)
