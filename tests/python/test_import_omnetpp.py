"""`fabricsim import omnetpp`: every key of a simulation is in the experiment, or is named with the reason."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Command
from hypothesis import given, settings
from hypothesis import strategies as st
from omnetpp_cases import CC, FDBS, INI, NED, RUNS, changed, reason, sections, small, thesis

import fabricsim as fs
from fabricsim.importers import Imported, import_omnetpp
from fabricsim.importers.unread import NO_MODULE, PARAMETERS, UNKNOWN, by_reason

pytestmark = pytest.mark.usefixtures("real")

CASES = sorted(path.name for path in RUNS.iterdir())


def keys(ini: Path) -> set[tuple[str, int, str]]:
    """File, line and key of every `key = value`, read with other code than the import's, includes as well."""
    found = set()
    for number, line in enumerate(ini.read_text().splitlines(), 1):
        text = line.partition("#")[0].strip()
        if text.startswith("include"):
            found |= keys((ini.parent / text.split()[1]).resolve())
        elif "=" in text:
            found.add((str(ini.resolve()), number, text.partition("=")[0].strip()))
    return found


def accounted(imported: Imported) -> set[tuple[str, int, str]]:
    """File, line and key of what was read or named."""
    read = {(one.file, one.line, one.key) for one in imported.read}
    named = {(one.file, one.line, one.key) for one in imported.not_read}
    return {(str(Path(file).resolve()), line, key) for file, line, key in read | named}


@pytest.mark.parametrize("case", CASES)
def test_every_key_of_the_measured_runs_is_read_or_named(case: str) -> None:
    imported = import_omnetpp(RUNS / case)
    expected = keys(RUNS / case / "omnetpp.ini")
    assert len(expected) > 100
    assert accounted(imported) == expected
    assert not [one.key for one in imported.not_read if one.why in (UNKNOWN, NO_MODULE)]
    assert not {(one.file, one.line) for one in imported.read} & {
        (one.file, one.line) for one in imported.not_read
    }


def test_every_key_of_the_thesis_is_read_or_named(tmp_path: Path) -> None:
    ini = thesis(tmp_path)
    imported = import_omnetpp(ini, config="flood")
    assert accounted(imported) == keys(ini)
    assert not [one.key for one in imported.not_read if one.why in (UNKNOWN, NO_MODULE)]


def test_the_thesis_with_its_configuration(tmp_path: Path) -> None:
    imported = import_omnetpp(thesis(tmp_path), config="flood")
    experiment = sections(imported)
    assert [(one["name"], one["start"]) for one in experiment["traffic"]] == [
        ("H511", "0.02 s"),
        ("H541", "0.01 s"),
        ("H551", "0 s"),
    ]
    assert experiment["traffic"][0]["destinations"] == ["H552", "H152"]
    assert experiment["traffic"][0]["message"] == "69632 B"
    assert experiment["run"]["duration"] == "0.1 s"
    assert experiment["measure"]["bin"] == "5000 us"
    assert experiment["links"]["all"]["rate"] == "32 Gb/s"
    assert experiment["links"]["hosts"] == {"rate": "8 Gb/s", "reads": 1}
    assert experiment["congestion_control"]["infiniband"]["marking_rate"] == 40
    assert reason(imported, "**.H112.gen.genStartTime").startswith(
        "an entry that comes first gives the value: "
    )


MODE = '**.gen.dstSeqMode = "dstLid"'


@pytest.mark.parametrize(
    ("mode", "sequences", "first", "second"),
    [
        ("dstLid", "", {"pattern": {"to": "H3"}}, {"pattern": {"to": "H4"}}),
        ("dstRandom", "0: 2 3,4\n1: 1 3 4\n", {"pattern": "uniform"}, {"pattern": "uniform"}),
        (
            "dstRandom",
            "0: 2\n0: 4\n1: 1 2 3 4",
            {"pattern": "uniform", "destinations": ["H2", "H4"]},
            {"pattern": "uniform-with-self"},
        ),
        (
            "dstSeqLoop",
            "0: 2 4\n1: 3",
            {"pattern": "uniform", "destinations": ["H2", "H4"]},
            {"pattern": {"to": "H3"}},
        ),
        (
            "dstSeqOnce",
            "0: 2\n1: 3",
            {"pattern": {"to": "H2"}, "messages": 1},
            {"pattern": {"to": "H3"}, "messages": 1},
        ),
        (
            "dstHotSpot",
            "0: 2 4\n1: 3",
            {"pattern": {"hot-spot": {"hosts": ["H3"], "fraction": 0.25}}, "destinations": ["H2", "H4"]},
            {"pattern": {"hot-spot": {"hosts": ["H4"], "fraction": 0.25}}, "destinations": ["H3"]},
        ),
    ],
)
def test_destinations(
    tmp_path: Path, mode: str, sequences: str, first: dict[str, Any], second: dict[str, Any]
) -> None:
    folder = small(tmp_path, changed(MODE, f'**.gen.dstSeqMode = "{mode}"'), sequences)
    imported = import_omnetpp(folder, folder)
    parts = [
        {key: one[key] for key in ("pattern", "destinations", "messages") if key in one}
        for one in sections(imported)["traffic"]
    ]
    assert parts == [first, second]
    result = fs.run(fs.Experiment.from_text(imported.text, tmp_path))
    assert result.status == "ok"
    assert result.summary["accepted_gbps"] > 0


def test_random_destinations_without_a_file_are_all_hosts(tmp_path: Path) -> None:
    """As in the published examples, whose `dstSeqVecFile` is empty."""
    ini = changed('"small.dstSeq"', '""', changed(MODE, '**.gen.dstSeqMode = "dstRandom"'))
    imported = import_omnetpp(small(tmp_path, ini))
    assert [one["pattern"] for one in sections(imported)["traffic"]] == ["uniform", "uniform"]
    assert reason(imported, "**.gen.dstSeqVecFile").startswith(
        "no file of sequences: destinations are all hosts"
    )


def test_a_sequence_in_turn_is_named(tmp_path: Path) -> None:
    imported = import_omnetpp(small(tmp_path, changed(MODE, '**.gen.dstSeqMode = "dstSeqLoop"')))
    assert reason(imported, "**.gen.dstSeqMode").startswith("the order of the sequence is not kept")


@pytest.mark.parametrize(
    ("old", "new", "path", "value"),
    [
        ("sim-time-limit = 1ms", "sim-time-limit = 0.0020000001", ("run", "duration"), "0.0020000001 s"),
        (
            "sim-time-limit = 1ms",
            "sim-time-limit = 1ms\nwarmup-period = 100us",
            ("run", "warmup"),
            "0.0001 s",
        ),
        ("H2.gen.genStartTime = 10us", "H2.gen.genStartTime = 7ns", ("traffic", 1, "start"), "0.000000007 s"),
        ("msgLengthInMTUs = 32", "msgLengthInMTUs = 1000", ("traffic", 0, "message"), "2176000 B"),
        ("GenModel = 0", "GenModel = 1", ("traffic", 0, "message"), "5000 B"),
        ("packetlength = 34", "packetlength = 18", ("host", "mtu"), "1152 B"),
        ("creditSize = 64", "creditSize = 32B", ("switch", "flow_control_unit"), "32 B"),
        ("**.speed = 2.5", "**.speed = 5", ("links", "hosts", "rate"), "16 Gb/s"),
        ("**.width = 4", "**.obuf.width = 8\n**.width = 4", ("links", "all", "rate"), "64 Gb/s"),
        ("**.ibuf.maxStatic* = 1000", "**.ibuf.maxStatic* = 96", ("links", "all", "buffer"), "6144 B"),
        ("**.ibuf.maxStatic* = 1000\n", "", ("links", "all", "buffer"), "64000 B"),
        ("**.width = 4", "**.ibuf.width = 8\n**.width = 4", ("links", "all", "buffer"), "128000 B"),
        ("port[2].ibuf.maxBeingSent = 2", "port[2].ibuf.maxBeingSent = 3", ("links", "all", "reads"), 3),
        ("pciExpTransferRate = 5.0", "pciExpTransferRate = 2.5", ("host", "sink", "rate"), "15.2381 Gb/s"),
        ("pciExpWidth = 8", "pciExpWidth = 4", ("host", "sink", "rate"), "15.2381 Gb/s"),
        ("hiccupDelay_us = 0.1", "hiccupDelay_us = 10000", ("host", "sink", "pause_every"), "10000000 ns"),
        ("hiccupDuration_us = 0.0125", "hiccupDuration_us = 20ns", ("host", "sink", "pause_for"), "20 ns"),
        ("ISWDelay = 50", "ISWDelay = 0.06us", ("switch", "router_delay"), "60 ns"),
        ("**.ISWDelay = 50", "**.ISWDelay = 50\n**.iswMode = 0", ("links", "all", "rate"), "10.24 Gb/s"),
        ("intraBurstDelay = 26", "intraBurstDelay = 256", ("traffic", 0, "rate"), "2 Gb/s"),
        ("logInterval = 10us", "logInterval = 0.25ms", ("measure", "bin"), "250 us"),
    ],
)
def test_each_other_key(
    tmp_path: Path, old: str, new: str, path: tuple[str | int, ...], value: object
) -> None:
    def at(tree: Any) -> object:
        for key in path:
            try:
                tree = tree[key]
            except KeyError:
                return None
        return tree

    after = import_omnetpp(small(tmp_path / "after", changed(old, new)))
    assert at(sections(after)) == value
    if new and "maxStatic" not in old:
        assert at(sections(import_omnetpp(small(tmp_path / "before")))) != value


@pytest.mark.parametrize(
    ("old", "new", "key", "why"),
    [
        ("intraBurstDelay = 26", "intraBurstDelay = 256", "**.gen.intraBurstDelay", "slower than its link"),
        ("**.width = 4", "**.width = ${w=4, 8, 12}", "**.width", "it has 3 values or more: only the first"),
        (
            "coreFreq_MH = 800",
            "coreFreq_MH = 200",
            "**.SW*.**.vlarb.coreFreq_MH",
            "passes 12.8 Gb/s, less than",
        ),
        (
            "**.maxVL = 0",
            "**.maxVL = 0\n**.unheardOf = 3",
            "**.unheardOf",
            "the import knows no such parameter",
        ),
        (
            "**.maxVL = 0",
            "**.maxVL = 0\n**.H9.gen.srcLid = 9",
            "**.H9.gen.srcLid",
            "the module path before its name matches no host, switch, port or buffer of the network",
        ),
        (
            "**.maxVL = 0",
            "**.maxVL = 0\n**.speed = 10",
            "**.speed",
            "an entry that comes first gives the value",
        ),
        ("**.maxVL = 0", "**.maxVL = 0\nrepeat = 5", "repeat", "vary its seed with `fabricsim sweep`"),
        ("**.gen.mtu = 34", "**.gen.mtu = 32", "**.gen.mtu", "packets have the length packetlength = 34"),
        (
            "**.ISWDelay",
            "[Config other]\n**.a.b = 3\n[General]\n**.ISWDelay",
            "**.a.b",
            "which was not chosen",
        ),
    ],
)
def test_what_is_not_expressed_is_named(tmp_path: Path, old: str, new: str, key: str, why: str) -> None:
    imported = import_omnetpp(small(tmp_path, changed(old, new)))
    found = [one for one in imported.not_read if one.key == key and why in one.why]
    lines = (tmp_path / "omnetpp.ini").read_text().splitlines()
    assert len(found) == 1
    assert found[0].file == str(tmp_path / "omnetpp.ini")
    assert lines[found[0].line - 1].startswith(key)


def test_a_message_says_whether_a_key_is_left_out_or_altered(tmp_path: Path) -> None:
    ini = changed("**.width = 4", "**.width = ${w=4, 8}\n**.H9.gen.srcLid = 9\n**.H9.sink.maxVL = 1")
    messages = by_reason(import_omnetpp(small(tmp_path, ini)).not_read)
    (several,) = [message for message in messages if "**.width" in message]
    assert "**.width is imported, but not as it stands: it has 2 values or more" in several
    (unmatched,) = [message for message in messages if "srcLid" in message]
    assert (
        "**.H9.gen.srcLid, **.H9.sink.maxVL are not read: the import needs this parameter, but" in unmatched
    )


def test_parameters_without_counterpart_have_a_reason(tmp_path: Path) -> None:
    """Each parameter of the catalogue, alone in a configuration that does not use it."""
    for names, why in PARAMETERS.items():
        for name in names.split("|"):
            if not name.isidentifier() or f".{name} =" in INI:
                continue
            imported = import_omnetpp(small(tmp_path, f"{INI}**.some.{name} = 1\n"))
            assert reason(imported, f"**.some.{name}") == why


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("**.width = 4\n", "", "there is no value for FABRIC.H1.obuf.width"),
        (
            "**.speed = 2.5",
            "**.H1.obuf.speed = 5\n**.speed = 2.5",
            "link H1-SW1: rate differs between its ends",
        ),
        ('"trfFlood"', '"trfUniform"', "'trfUniform': only 'trfFlood' can be imported"),
        (
            MODE,
            '**.gen.dstSeqMode = "dstBurstHotSpot"',
            "'dstBurstHotSpot': only dstLid, dstSeqOnce, .* can be",
        ),
        (MODE, '**.gen.dstSeqMode = "dstSeqOnce"', "'dstSeqOnce' with 3 destinations"),
        (
            MODE,
            '**.gen.dstSeqMode = "dstRandom"\n**.H1.gen.floodVLs = "0 1"',
            "'0 1': only '0' can be imported",
        ),
        ("H1.gen.dstLid = 3", "H1.gen.dstLid = 99", "no host has the LID 99"),
        ("H1.gen.dstLid = 3", "H1.gen.dstLid = intuniform(1,2)", r"'intuniform\(1,2\)': a number is needed"),
        (
            "H1.gen.srcLid = 1",
            "H1.gen.srcLid = 2",
            "srcLid is 2: forwarding tables count LIDs from 1 in the order",
        ),
        ("SW1.fdbIndex = 0", "SW1.fdbIndex = 1", r"omnetpp.ini:\d+: .*SW1.fdbIndex is 1: .* SW1 is number 0"),
        ('"small.fdbs"', '"other.fdbs"', r"omnetpp.ini:\d+: .*fdbsVecFile is 'other.fdbs': there is only"),
        (
            "genStartTime = 10us",
            "genStartTime = soon",
            "omnetpp.ini:5: .*'soon': a time such as 5ms is needed",
        ),
        ("creditSize = 64", "creditSize = big", "omnetpp.ini:25: .*'big': a number is needed"),
        ("creditSize = 64", "creditSize = 0", "bytes"),
        ("packetlength = 34", "packetlength = 0.3", "whole number of bytes is needed"),
        ("pciExpWidth = 8", "pciExpWidth = -8", "not allowed: .*rate"),
        ("totalBufferSize = 1000", "totalBufferSize = 999", "maxStatic of all virtual lanes is 1000 credits"),
        (
            "**.sink.hiccupDelay_us",
            "**.H1.sink.hiccupDelay_us = 1\n**.sink.hiccupDelay_us",
            r"omnetpp.ini:\d+: .*hiccupDelay_us is 1.0 at",
        ),
        ("network = small.FABRIC\n", "", "there is no value for network"),
        ("[General]", "[General]\nnonsense", "neither a section nor `key = value`: nonsense"),
        ("[General]", "[General]\ninclude omnetpp.ini", "include each other"),
    ],
)
def test_what_cannot_be_imported_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(fs.InputError, match=message):
        import_omnetpp(small(tmp_path, changed(old, new)))


@pytest.mark.parametrize(
    ("sequences", "message"),
    [
        ("0: 2 2\n1: 1", "a destination occurs more than once"),
        ("0: 2 3", "there is no sequence 1, which H2 has"),
        ("0: 9\n1: 1", "no host has the LID 9"),
        ("0: 2\nnonsense", r"small.dstSeq:2: `index: lid lid ...` is needed: nonsense"),
        ("0: x", r"small.dstSeq:1: `index: lid lid ...` is needed: 0: x"),
    ],
)
def test_sequences_that_cannot_be_imported(tmp_path: Path, sequences: str, message: str) -> None:
    with pytest.raises(fs.InputError, match=message):
        import_omnetpp(small(tmp_path, changed(MODE, '**.gen.dstSeqMode = "dstRandom"'), sequences))


def test_a_folder_without_network_or_sequences(tmp_path: Path) -> None:
    with pytest.raises(fs.InputError, match=r"one \.ned file is needed; there are: none"):
        import_omnetpp(tmp_path)
    with pytest.raises(fs.InputError, match="nowhere: no such file or folder"):
        import_omnetpp(tmp_path / "nowhere")
    folder = small(tmp_path, changed(MODE, '**.gen.dstSeqMode = "dstRandom"'))
    (folder / "small.dstSeq").unlink()
    with pytest.raises(fs.InputError, match=r"small\.dstSeq: it cannot be read: .*No such file"):
        import_omnetpp(folder)


def test_the_command_warns_and_prints_json(command: Command, tmp_path: Path) -> None:
    folder = small(
        tmp_path / "case", INI + "**.recordVectors = 1\nnum-rngs = 3\n[Config other]\n**.maxVL = 1\n"
    )
    ran = command("import", "omnetpp", folder, "--out", "e.toml")
    assert (ran.code, ran.out) == (0, "")
    warnings = [line for line in ran.err.splitlines() if line.startswith("warning: ")]
    assert any(
        "omnetpp.ini:45: **.recordVectors is not read: it says what the model records" in line
        for line in warnings
    )
    assert any("omnetpp.ini:46: num-rngs is not read: " in line for line in warnings)
    assert any("which was not chosen: choose it with --config" in line for line in warnings)
    assert (tmp_path / "e.toml").read_text().startswith("# Transcribed from case/omnetpp.ini")
    told = json.loads(command("import", "omnetpp", folder, "--json").out)
    assert told["experiment"].startswith("# Transcribed from case/omnetpp.ini")
    named = {(one["line"], one["key"], one["value"]) for one in told["not_read"]}
    assert {(45, "**.recordVectors", "1"), (46, "num-rngs", "3"), (48, "**.maxVL", "1")} <= named
    assert all(one["file"].endswith("omnetpp.ini") and one["why"] for one in told["not_read"])
    (folder / "other.ini").write_text((folder / "omnetpp.ini").read_text())
    chosen = command("import", "omnetpp", folder / "other.ini", "--config", "other")
    assert chosen.code == 2
    assert "other.ini" in chosen.err
    assert command("import", "omnetpp", folder, "--config", "none").code == 2


LINES = [line for line in (INI + CC).splitlines() if line]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(0, len(LINES) - 1), max_size=3),
    st.lists(st.tuples(st.integers(0, len(LINES) - 1), st.text(max_size=12)), max_size=3),
    st.one_of(st.just(b""), st.binary(max_size=100)),
)
def test_any_bytes_give_an_experiment_or_a_message(
    tmp_path_factory: pytest.TempPathFactory, left_out: list[int], values: list[tuple[int, str]], more: bytes
) -> None:
    """Lines left out, values replaced by any text, and any bytes at the end: never anything but an `InputError`."""
    lines = dict(enumerate(LINES))
    for number, value in values:
        lines[number] = f"{lines[number].partition('=')[0]}= {value}"
    text = "\n".join(line for number, line in lines.items() if number not in left_out) + "\n"
    folder = tmp_path_factory.getbasetemp() / "any"
    folder.mkdir(exist_ok=True)
    (folder / "FABRIC.ned").write_text(NED)
    (folder / "small.fdbs").write_text(FDBS)
    (folder / "omnetpp.ini").write_bytes(text.encode("utf-8", "surrogatepass") + more)
    with contextlib.suppress(fs.InputError):
        imported = import_omnetpp(folder, folder)
        fs.Experiment.from_text(imported.text, folder).check()
