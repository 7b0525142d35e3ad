"""`fabricsim import omnetpp`: congestion control, key by key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from omnetpp_cases import CC, INI, RUNS, changed, reason, sections, small, with_congestion_control

import fabricsim as fs
from fabricsim.importers import import_omnetpp
from fabricsim.importers.unread import by_reason

pytestmark = pytest.mark.usefixtures("real")


def quadratic(nodes: float, divisor: float, entries: int) -> dict[str, Any]:
    """A table of delays."""
    return {"quadratic": {"nodes": nodes, "divisor": divisor, "entries": entries}}


def test_congestion_control_is_that_of_the_thesis_experiments(tmp_path: Path) -> None:
    """Key by key as in the file that was transcribed by hand, but for a default that is written out."""
    imported = import_omnetpp(with_congestion_control(tmp_path / "a"))
    by_hand = fs.Experiment.from_file(RUNS.parent / "a.toml").check()["congestion_control"]
    tree = sections(imported)["congestion_control"]
    assert tree["infiniband"].pop("reset_threshold") == 3
    assert by_hand["infiniband"].get("reset_threshold") is None
    for key, value in tree["infiniband"].items():
        assert value == by_hand["infiniband"][key], key
    assert {**by_hand["notification"], **tree["notification"]} == by_hand["notification"]


def test_the_victim_gets_its_link_with_congestion_control(tmp_path: Path) -> None:
    """Experiment A: 249 MB/s without, as measured; with it more than 0.95 of the link, as the thesis has it."""
    folder = with_congestion_control(tmp_path / "a")
    (folder / "on.toml").write_text(import_omnetpp(folder, folder).text)

    def victim(**values: str) -> float:
        hosts = fs.run(folder / "on.toml", set=values).table("hosts_series")
        series = hosts[(hosts["host"] == "H111") & (hosts["time_ns"] >= 0.02375e9)]
        return float(series["injected_gbps"].mean() * 125)

    assert victim(**{"congestion_control.algorithm": "none"}) == pytest.approx(249, rel=0.01)
    assert victim() > 950


@pytest.mark.parametrize(
    ("old", "new", "key", "value"),
    [
        ("qp=true", "qp=false", "control", "service-level"),
        ("singleThr=true", "singleThr=false", "threshold_on", "buffer"),
        ("thr=2", "thr=1", "threshold", 1),
        ("thrlow=3", "thrlow=9", "reset_threshold", 9),
        ("mr=1}", "mr=30}", "marking_rate", 30),
        ("Packet_Size = 1", "Packet_Size = 4", "packet_size", 4),
        ("cctitimer=20}us", "cctitimer=250}us", "ccti_timer", "250 us"),
        ("cctitimer=20}us", "cctitimer=2}ms", "ccti_timer", "2000 us"),
        ("cctitimer=20}us", "cctitimer=150}", "ccti_timer", 150),
        ("CCTI_Limit = 128", "CCTI_Limit = 90", "ccti_limit", 90),
        ("CCTI_Limit = 128", "CCTI_Limit = 127", "ccti_limit", 127),
        ("CCTI_Limit = 128", "CCTI_Limit = 300", "ccti_limit", 300),
        (
            "CCTI_Limit = 128",
            "CCTI_Limit = 300",
            "cct",
            {"quadratic": {"nodes": 6.25, "divisor": 95.0, "entries": 320}},
        ),
        ("CCTI_Min = 0", "CCTI_Min = 3", "ccti_min", 3),
        ("cctiinc=1", "cctiinc=2", "ccti_increase", 2),
        ("cctdiv=95", "cctdiv=106", "cct", quadratic(6.25, 106, 128)),
        ("nn=50", "nn=80", "cct", quadratic(10, 95, 128)),
        ("**.Victim_Mask = 1", "**.Victim_Mask = 0", "victim_mask", "none"),
        ("**.SW*.port[2].ccmgr.Victim_Mask = 0", "", "victim_mask", "all"),
        (
            "**.Threshold = ${thr=2}",
            "**.SW1.port[2].**.Threshold = 5\n**.Threshold = 2",
            "ports",
            [{"ports": ["SW1->SW2"], "threshold": 5}],
        ),
        (
            "**.SW*.port[2].ccmgr.Victim_Mask = 0",
            "**.SW*.port[2].ccmgr.Victim_Mask = 0\n**.SW1.port[0].**.Victim_Mask = 0",
            "ports",
            [{"ports": ["SW1->H1"], "victim_mask": False}],
        ),
    ],
)
def test_each_key_of_congestion_control(tmp_path: Path, old: str, new: str, key: str, value: object) -> None:
    before = sections(import_omnetpp(small(tmp_path / "before", INI + CC)))
    after = sections(import_omnetpp(small(tmp_path / "after", INI + changed(old, new, CC))))
    section = after["congestion_control"]["infiniband"]
    assert section[key] == value
    other = before["congestion_control"]["infiniband"]
    if (key, value) != ("ccti_limit", 127):
        assert other.get(key) != value
    linked = {"ccti_limit", "cct", "ports", "victim_mask"}
    assert {k: v for k, v in section.items() if k not in {key, *linked}} == {
        k: v for k, v in other.items() if k not in {key, *linked}
    }


def test_without_cc_enabled_its_parameters_are_named(tmp_path: Path) -> None:
    for line in ("", "**.cc_enabled = false\n"):
        cc = CC.replace("**.cc_enabled = true\n", line)
        imported = import_omnetpp(small(tmp_path, INI + cc))
        assert "congestion_control" not in sections(imported)
        for key in (
            "**.Threshold",
            "**.CCTI_Timer",
            "**.num_nodes",
            "**.qp_level",
            "**.CCT_Div",
            "**.Victim_Mask",
        ):
            assert reason(imported, key) == "congestion control is off: cc_enabled is not true"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("CCTI_Timer = ${cctitimer=20}us", "CCTI_Timer = often", "'often': a time such as 5ms is needed"),
        ("CCT_Algorithm = 0", "CCT_Algorithm = 1", "CCT_Algorithm is 1: only 0"),
        (
            "**.CCTI_Min = 0",
            "**.H1.**.CCTI_Min = 1\n**.CCTI_Min = 0",
            "CCTI_Min is 1 at FABRIC.H1 and 0 at FABRIC.H2",
        ),
        (
            "**.cc_enabled = true",
            "**.SW1.**.cc_enabled = false\n**.cc_enabled = true",
            "cc_enabled is True at",
        ),
        ("**.cc_enabled = true", "**.cc_enabled = maybe", "'maybe': true or false is needed"),
        ("thr=2", "thr=99", "not allowed: .*threshold"),
        ("mr=1}", "mr=1.5}", "Marking_Rate is 1.5: a whole number of 0 or more is needed"),
        ("cctdiv=95", "cctdiv=0", "both must be above 0"),
    ],
)
def test_congestion_control_that_cannot_be_imported(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(fs.InputError, match=message):
        import_omnetpp(small(tmp_path, INI + changed(old, new, CC)))


def test_parameters_that_are_not_given_are_those_of_the_thesis_and_named(tmp_path: Path) -> None:
    alone = import_omnetpp(small(tmp_path / "alone", INI + "**.cc_enabled = true\n"))
    everything = import_omnetpp(small(tmp_path / "all", INI + CC))
    assert sections(alone)["congestion_control"] == sections(everything)["congestion_control"]
    why = reason(alone, "**.cc_enabled")
    assert why.startswith(
        "it switches congestion control on, but the configuration does not set all parameters of congestion control; "
        "the import takes these values from Zeru's thesis: "
    )
    assert [one.altered for one in alone.not_read if one.key == "**.cc_enabled"] == [True]
    (message,) = [text for text in by_reason(alone.not_read) if "cc_enabled" in text]
    assert ": **.cc_enabled is imported, but not as it stands: it switches congestion control on" in message
    for value in ("Threshold = 2", "Marking_Rate = 1", "CCTI_Timer = 20us", "CCT_Div = 95", "num_nodes = 50"):
        assert value in why
    for value in (
        "Reset_Threshold = Threshold + 1",
        "Victim_Mask = 1 at ports to hosts",
        "CCT_Algorithm = 0",
    ):
        assert value in why
    for value in ("qp_level = true", "cc_single_thr_per_outport = true", "cc_single_thr_devide = false"):
        assert value in why
    one = import_omnetpp(small(tmp_path / "one", INI + CC.replace("**.CCTI_Timer = ${cctitimer=20}us\n", "")))
    assert reason(one, "**.cc_enabled").endswith("from Zeru's thesis: CCTI_Timer = 20us")
    assert not [line for line in everything.not_read if line.key == "**.cc_enabled"]


def test_thresholds_that_are_divided_are_named(tmp_path: Path) -> None:
    imported = import_omnetpp(small(tmp_path, INI + changed("singleThrDev=false", "singleThrDev=true", CC)))
    assert "no counterpart" in reason(imported, "**.cc_single_thr_devide")
