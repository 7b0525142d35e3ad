"""Names, units and texts of results."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import fabricsim as fs
from fabricsim import catalogue
from fabricsim.cli import sweep_tables
from fabricsim.cli.numbers import shown, stacked
from fabricsim.compare import totals
from fabricsim.report import of_run, of_sweep
from fabricsim.results import column_notes, flatten
from fabricsim.sweep.table import entry
from fabricsim.tune.metrics import METRICS
from fabricsim.tune.metrics.registry import unit

ROOT = Path(__file__).parents[2]
EVERYTHING = """
[topology]
single-switch = { hosts = 4 }
[[traffic]]
name = "put"
pattern = "uniform"
load = 0.5
message = "2 KiB"
[congestion_control]
algorithm = "dcqcn"
[measure]
link_series = true
router_counters = true
[run]
duration = "20 us"
"""


def test_a_key_has_label_unit_and_text() -> None:
    found = catalogue.key("latency_ns.p999")
    assert (found.label, found.unit, found.heading) == ("p99.9 latency", "ns", "p99.9 latency")
    assert found.text.startswith("From creation to delivery")
    assert catalogue.key("accepted_gbps").heading == "accepted throughput (Gb/s)"
    assert catalogue.key("accepted_load").unit == catalogue.FRACTION


def test_keys_of_lists_and_maps_have_the_name_of_the_entry() -> None:
    name = "routers.+x.queueing_cycles"
    found = catalogue.key(name)
    assert (found.name, found.label, found.unit) == (name, "queueing delay, +x", "cycles")
    assert catalogue.key("jobs.fft.iteration_ns.mean").label == "mean iteration, fft"
    assert [entry.name for entry in catalogue.keys("jobs[]", "done")] == ["done"]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("traffic.incast", "incast"),
        ("traffic.0", "traffic.0"),
        ("traffic.12.response", "traffic.12 response"),
        ("traffic.read.response", "read response"),
        ('traffic."v1.2".response', "v1.2 response"),
        ("traffic.2nd", "2nd"),
        ("jobs.solver", "solver"),
    ],
)
def test_entries_are_named_and_those_without_a_name_have_their_key(key: str, text: str) -> None:
    assert catalogue.entry_name(key) == text
    assert catalogue.key(f"{key}.accepted_load").label == f"accepted load, {text}"


def test_what_the_catalogue_lacks_has_its_own_name() -> None:
    assert catalogue.key("a.new_key") == catalogue.Entry("a.new_key", "a new key")
    assert catalogue.column("flows", "new") == catalogue.Entry("new", "new")
    assert catalogue.columns("no_table") == {}


def test_values_have_the_unit_that_suits_them() -> None:
    assert shown(1500.0, catalogue.key("latency_ns.mean")) == "1.5 µs"
    assert shown(2e-3, catalogue.key("simulated_s")) == "2 ms"
    assert shown(0.25, catalogue.key("accepted_load")) == "25.0%"
    assert shown(None, catalogue.key("jain")) == "-"
    assert stacked(catalogue.column("flows", "offered_gbps")) == "offered\nthroughput\nGb/s"


@pytest.mark.parametrize(
    "name", sorted({*totals.FIRST, *of_run._SUMMARY, *of_sweep._METRICS, *sweep_tables._SWEPT})
)
def test_keys_of_commands_and_reports_have_texts_or_labels_of_their_own(name: str) -> None:
    derived = {item.name for item in totals._DERIVED}
    assert name in derived or entry(name).text


def test_metrics_have_the_units_of_their_keys() -> None:
    for metric in METRICS.values():
        assert not metric.key or catalogue.key(metric.key).text
    assert (unit("throughput"), unit("latency_p99"), unit("fairness")) == ("Gb/s", "ns", "")
    assert (unit("latency_ns.max"), unit("accepted_load")) == ("ns", "")


@pytest.mark.parametrize(
    ("table", "names"),
    [("flows", of_run._FLOWS + of_run._FURTHER), ("messages", of_run._MESSAGES)],
)
def test_columns_of_reports_are_in_the_catalogue(table: str, names: tuple[str, ...]) -> None:
    assert set(names) <= set(catalogue.columns(table))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> fs.Result:
    path = tmp_path_factory.mktemp("catalogue") / "e.toml"
    path.write_text(EVERYTHING, encoding="utf-8")
    return fs.run(path)


def test_a_run_has_what_the_catalogue_says(run: fs.Result) -> None:
    assert set(run.frames) <= set(catalogue.tables())
    assert {"flows", "link_series", "congestion_series", "router_ports", "nodes"} <= set(run.frames)
    for name, frame in run.frames.items():
        known = catalogue.columns(name)
        for column, note in column_notes(frame).items():
            if column in ("source", "destination") and "flow" in known:
                continue  # one column of the engine
            assert (known[column].unit, known[column].text) == note, (name, column)


def test_a_summary_has_the_keys_of_the_catalogue_and_fits_the_schema(run: fs.Result) -> None:
    summary = json.loads(json.dumps(run.manifest["summary"]))
    for name in flatten(summary):
        assert catalogue.key(name).text, name
    schema = json.loads((ROOT / "schema/results.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(summary, schema)
    del summary["accepted_gbps"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(summary, schema)


@pytest.mark.usefixtures("real")
def test_the_reference_lists_the_columns_that_frames_have() -> None:
    page = (ROOT / "docs/reference/results.md").read_text(encoding="utf-8")
    sections = {part.split("`")[0]: part for part in page.split("### Table `")[1:]}
    run = fs.run(fs.Experiment.from_text(EVERYTHING), set={"congestion_control.algorithm": "infiniband"})
    assert {"congestion_flows", "congestion_series", "series"} <= set(run.frames)
    for table, frame in run.frames.items():
        listed = {line.split("`")[1] for line in sections[table].splitlines() if line.startswith("| `")}
        assert set(frame.columns) <= listed, table
