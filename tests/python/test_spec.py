"""Experiments built in Python, held against the schema of experiment files."""

from __future__ import annotations

import json
import math
import tomllib
from dataclasses import MISSING, fields
from inspect import signature
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import fabricsim as fs
from fabricsim import spec
from fabricsim.spec import traffic as traffic_module
from fabricsim.spec.plain import to_plain

SCHEMA: dict[str, Any] = json.loads((ROOT / "schema" / "experiment.schema.json").read_text())
DEFS: dict[str, Any] = SCHEMA["$defs"]
SECTIONS = [
    spec.LinkParameters,
    spec.LinkOverride,
    spec.LinkRetry,
    spec.Links,
    spec.Age,
    spec.Bias,
    spec.Staging,
    spec.Switch,
    spec.Sink,
    spec.Host,
    spec.Routing,
    spec.Notification,
    spec.PortCongestion,
    spec.InfiniBandCongestion,
    spec.Dcqcn,
    spec.Swift,
    spec.Hpcc,
    spec.Nscc,
    spec.CongestionControl,
    spec.Fault,
    spec.Faults,
    spec.HotSpot,
    spec.Response,
    spec.Traffic,
    spec.Transport,
    spec.TransportTarget,
    spec.Job,
    *get_args(spec.Program),
    spec.SteadyState,
    spec.Run,
    spec.Measure,
    spec.Tune,
    spec.TuneConstraint,
    spec.TuneObjective,
    spec.TuneParameter,
    spec.TuneReport,
    spec.TuneScenario,
]
TOPOLOGIES: tuple[Any, ...] = get_args(spec.Topology)


def variants(name: str) -> dict[str, Any]:
    """Alternatives of a tagged union in the schema: plain names with None, others with their content's schema."""
    found: dict[str, Any] = {}
    for option in DEFS[name]["oneOf"]:
        if "properties" in option:
            ((tag, content),) = option["properties"].items()
            found[tag] = DEFS[content["$ref"].rpartition("/")[2]] if "$ref" in content else content
        else:
            found |= dict.fromkeys(option.get("enum", [option.get("const")]))
    return found


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.__name__)
def test_section_has_the_keys_of_the_schema(section: Any) -> None:
    schema = DEFS[section.__name__]
    assert {f.name for f in fields(section)} == set(schema["properties"])
    assert {f.name for f in fields(section) if f.default is MISSING} == set(schema.get("required", []))


def test_topologies_are_those_of_the_schema() -> None:
    found = variants("Topology")
    assert {kind.kind for kind in TOPOLOGIES} == set(found)
    for kind in TOPOLOGIES:
        names = {f.name for f in fields(kind)}
        unused = {"wrap"} if kind in (spec.Mesh, spec.Torus) else set()
        assert names == set(found[kind.kind]["properties"]) - unused, kind
        assert {f.name for f in fields(kind) if f.default is MISSING} == set(found[kind.kind]["required"]), (
            kind
        )


def test_programs_are_those_of_the_schema() -> None:
    assert {kind.kind for kind in get_args(spec.Program)} == set(variants("Program"))
    named = {
        choice for option in get_args(get_type_hints(spec.Job)["placement"]) for choice in get_args(option)
    }
    found = variants("Placement")
    assert named >= {name for name, content in found.items() if content is None}
    assert {name for name, content in found.items() if content is not None} == {"strided"}


def test_patterns_are_those_of_the_schema() -> None:
    found = variants("Pattern")
    assert set(get_args(traffic_module.PatternName)) == {
        name for name, content in found.items() if content is None
    }
    tagged = {"to", "multicast", "permutation", "hot-spot", "group-offset"}
    assert {name for name, content in found.items() if content is not None} == tagged


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.__name__)
def test_choices_are_those_of_the_schema(section: Any) -> None:
    for name, hint in get_type_hints(section).items():
        choices = {c for option in get_args(hint) for c in get_args(option) if isinstance(c, str)}
        if not choices or name in ("pattern", "program", "placement"):
            continue
        content = DEFS[section.__name__]["properties"][name]
        target = next(
            c["$ref"] for c in [content, *content.get("allOf", []), *content.get("anyOf", [])] if "$ref" in c
        )
        assert choices == set(variants(target.rpartition("/")[2])), name


def test_sections_of_an_experiment_are_those_of_the_schema() -> None:
    keys = set(signature(fs.Experiment.build).parameters) - {"base"}
    assert keys == set(SCHEMA["properties"])


def test_a_full_experiment_is_valid() -> None:
    experiment = fs.Experiment.build(
        title="all",
        description="every section",
        seed=3,
        topology=spec.Grid([4, 4], wrap=[True, False], hosts_per_switch=2),
        links=spec.Links(
            all=spec.LinkParameters(rate="32 Gb/s", latency="10 ns", buffer="64 KiB", reads=2),
            dimension={"x": spec.LinkOverride(rate="8 Gb/s", bit_error_rate=1e-9)},
            retry=spec.LinkRetry(data="16 B", bits=168, window=64, delay="2 ns"),
        ),
        switch=spec.Switch(queueing="voq", virtual_lanes=4, arbiter="oldest-first"),
        host=spec.Host(mtu="2 KiB", sink=spec.Sink(rate="8 Gb/s", pause_every="1 ms", pause_for="1 us")),
        routing=spec.Routing(algorithm="dimension-order", order=[1, 0]),
        faults=spec.Faults(
            plan=[spec.Fault(link="S(0,0)-S(1,0)", at="10 us", until="20 us")], waiting="hold"
        ),
        groups={"left": ["S(0,*)"]},
        traffic=[
            spec.Traffic(pattern="uniform", load=0.2, message="2 KiB"),
            spec.Traffic(
                pattern="uniform",
                injection="window",
                window=4,
                message="2 KiB",
                response=spec.Response("8 B", delay="1 us"),
            ),
            spec.Traffic(
                pattern=spec.HotSpot(["left"], 0.5), message={"uniform": {"min": "64 B", "max": "1 KiB"}}
            ),
            spec.Traffic(pattern=spec.To("H(0,0).0"), injection="saturating", message="1 KiB"),
            spec.Traffic(pattern=spec.Permutation(["H(0,0).0"]), rate="1 Gb/s", message="1 KiB"),
        ],
        run=spec.Run(duration="1 ms", steady_state=spec.SteadyState(precision=0.05), drain="measured"),
        measure=spec.Measure(bin="10 us", flows="pairs"),
        sweep={"traffic.0.load": [0.1, 0.2]},
        tune=spec.Tune(
            parameters={
                "links.all.buffer": spec.TuneParameter(low="4 KiB", high="64 KiB", scale="log"),
                "switch.arbiter": spec.TuneParameter(choices=["random", "oldest-first"]),
            },
            objectives=[spec.TuneObjective("throughput", "maximize", weight=2.0)],
            constraints=[spec.TuneConstraint("victim_rate", at_least=0.95, flows=["H1->*"], after="1 us")],
            report=[spec.TuneReport("fairness", by="flow")],
            scenarios=[spec.TuneScenario("low", {"traffic.0.load": 0.1})],
            starts=[{"links.all.buffer": "8 KiB"}],
        ),
    )
    Draft202012Validator(SCHEMA).validate(tomllib.loads(experiment.text))


@pytest.mark.usefixtures("real")
def test_the_engine_reads_what_python_builds() -> None:
    experiment = fs.Experiment.build(
        topology=spec.Torus([4, 4]),
        switch=spec.Switch(virtual_lanes=2),
        traffic=spec.Traffic(pattern=spec.To("H(0,0).0"), load=0.1, message="1 KiB"),
        run=spec.Run(duration="10 us"),
    )
    checked = experiment.with_values({"seed": 9, "host.mtu": "512 B"}).check()
    assert checked["seed"] == 9
    assert checked["host"]["mtu"] == "512 B"
    assert checked["traffic"][0]["pattern"] == {"to": "H(0,0).0"}


def test_the_schema_refuses_an_unknown_key() -> None:
    plain = to_plain({"topology": spec.Ring(4), "run": spec.Run("1 ms"), "colour": 1})
    assert [e.message for e in Draft202012Validator(SCHEMA).iter_errors(plain)]


PLAIN = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('ab." é', max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(PLAIN)
def test_toml_value_is_read_back(value: Any) -> None:
    assert tomllib.loads(f"value = {spec.toml_value(value)}")["value"] == value


def test_what_toml_cannot_say_is_refused() -> None:
    assert tomllib.loads(f"v = {spec.toml_value(math.inf)}")["v"] == math.inf
    with pytest.raises(fs.InputError, match="cannot be written"):
        spec.toml_value(None)


def test_from_text_and_names(tmp_path: Path) -> None:
    assert fs.Experiment.from_text("x = 1").name == "experiment"
    path = tmp_path / "a-off.toml"
    path.write_text("x = 1")
    experiment = fs.Experiment.from_file(path, {"a.b": "c d"})
    assert experiment.name == "a-off"
    assert experiment.arguments() == ("x = 1", str(path), str(tmp_path), [("a.b", '"c d"')])
