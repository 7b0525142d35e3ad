"""`fabricsim capture`, `[capture]` in an experiment, and `fabricsim.capture`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Command

import fabricsim as fs
from fabricsim import InputError, StoreError
from fabricsim.captures import dissect
from fabricsim.spec import Capture, Run, Traffic

pytestmark = pytest.mark.usefixtures("real")

EXPERIMENT = """
[topology]
mesh = { dimensions = [2, 2] }
[links.all]
rate = "64 Gb/s"
buffer = "4 KiB"
[host]
mtu = "512 B"
[[traffic]]
name = "all"
pattern = "uniform"
load = 0.3
message = "1000 B"
[run]
duration = "5 us"
drain = "none"
"""


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    path = tmp_path / "mesh.toml"
    path.write_text(EXPERIMENT)
    return path


def test_the_command_writes_what_dissect_reads(experiment: Path, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "F.pcapng"
    done = command("capture", str(experiment), "--links", "S(0,0)-S(1,0)", "--out", str(out), "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    records = dissect(out)
    assert report["packets"] == len(records) > 10
    assert report["status"] == "ok"
    assert report["file"] == str(out)
    names = [interface["name"] for interface in report["interfaces"]]
    assert len(names) == 2
    assert {record["interface"] for record in records} == set(names)
    assert all(record["icrc"]["ok"] and record["vcrc"]["ok"] for record in records)
    again = command("capture", str(experiment), "--links", "S(0,0)-S(1,0)", "--out", str(out))
    assert again.code == 2
    assert "replace it with --force" in again.err
    before = out.read_bytes()
    forced = command("capture", str(experiment), "--links", "S(0,0)-S(1,0)", "--out", str(out), "--force")
    assert forced.code == 0
    assert out.read_bytes() == before
    assert f"{len(records)} packets" in forced.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["F.pcapng", "mesh.toml"]


def test_limits_and_what_is_cut_are_told(experiment: Path, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "F.pcapng"
    done = command(
        "capture", str(experiment), "--links", "*", "--out", str(out), "--packets", "20", "--from", "1us"
    )
    assert done.code == 0, done.err
    assert "the limit of 20 packets was reached" in done.out
    records = dissect(out)
    assert len(records) == 20
    assert all(record["time_ns"] >= 1000 for record in records)
    found = fs.capture(experiment, out, links="*", end="2 us", set={"host.mtu": "20 B"}, force=True)
    assert found.status == "complete"
    assert found.report["cut"] == found.packets == len(dissect(out))
    assert found.report["last_ns"] < 2000


@pytest.mark.parametrize(
    ("window", "message"),
    [
        (["--from", "1 ms"], "no packet crossed these links from 1 ms on: the run ends at 5 us"),
        (["--to", "1 ns"], "no packet crossed these links from 0 ns on: the capture ends at 1 ns"),
    ],
)
def test_a_capture_without_packets_says_where_it_ends(
    experiment: Path, tmp_path: Path, command: Command, window: list[str], message: str
) -> None:
    done = command("capture", experiment, "--links", "S(0,0)->S(1,0)", *window, "--out", "F.pcapng")
    assert done.code == 0, done.err
    assert message in done.out
    settings = {"--from": "capture.from", "--to": "capture.to"}
    options = ["--set", 'capture.links=["S(0,0)->S(1,0)"]', "--set", f"{settings[window[0]]}={window[1]}"]
    assert message in command("run", experiment, *options, "--out", "r").out


def test_bad_captures_are_refused(experiment: Path, tmp_path: Path) -> None:
    out = tmp_path / "F.pcapng"
    with pytest.raises(InputError, match="did you mean `S"):
        fs.capture(experiment, out, links="S(0,0)->S(1,1)")
    with pytest.raises(InputError, match="no links are chosen"):
        fs.capture(experiment, out)
    with pytest.raises(InputError, match="no links are chosen"):
        fs.capture(experiment, out, packets=3)
    with pytest.raises(InputError, match="must be after"):
        fs.capture(experiment, out, links="*", start="2 us", end="1 us")
    with pytest.raises(InputError, match="at most 8190 bytes"):
        fs.capture(experiment, out, links="*", set={"host.mtu": "16 KiB", "links.all.buffer": "64 KiB"})
    with pytest.raises(InputError, match="cannot be written"):
        fs.capture(experiment, tmp_path / "none" / "F.pcapng", links="*")
    with pytest.raises(InputError, match=r"capture.links.0: no link matches"):
        fs.as_experiment(experiment, {"capture.links": ["X"]}).check()
    assert not out.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["mesh.toml"]


def test_a_run_folder_has_the_capture_of_its_experiment(experiment: Path, tmp_path: Path) -> None:
    experiment.write_text(EXPERIMENT + '[capture]\nlinks = ["* -> H*"]\nfile = "last hops.pcapng"\n')
    folder = tmp_path / "run"
    run = fs.run(experiment, out=folder)
    records = dissect(folder / "last hops.pcapng")
    report = run.manifest["capture"]
    assert (report["file"], report["packets"]) == ("last hops.pcapng", len(records))
    assert fs.load(folder).as_dict()["capture"] == report
    links = run.links[run.links["link"].str.contains("->H", regex=False)]
    assert links["packets"].sum() == len(records)
    # A run without a folder has no place for it, and is the same run.
    assert "capture" not in fs.run(experiment).manifest
    assert fs.run(experiment).manifest["fingerprint"] == run.manifest["fingerprint"]


def test_a_damaged_manifest_is_found(experiment: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    fs.run(experiment, out=folder, set={"capture": {"links": ["*"], "packets": 3}})
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["capture"] = 3
    (folder / "SHA256SUMS").unlink()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(StoreError, match="'capture' is missing, or is not"):
        fs.load(folder)


def test_a_capture_of_typed_sections(tmp_path: Path) -> None:
    experiment = fs.Experiment.build(
        topology=fs.spec.Mesh(dimensions=[2, 2]),
        traffic=Traffic(pattern="uniform", load=0.2, message="500 B"),
        run=Run(duration="3 us"),
        capture=Capture(links=["S*"], from_="1 us", packets=7),
    )
    found = fs.capture(experiment, tmp_path / "F.pcapng")
    assert (found.packets, found.report["limit_reached"]) == (7, True)
    assert found.report["first_ns"] >= 1000
