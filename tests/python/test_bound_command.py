"""The command `bound`, and `run --bound`: what they print, bad input, interruption."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path

import fake_native
import pytest
from bound_cases import CLOSE, mesh_with_hot_spots
from conftest import Command


@pytest.mark.usefixtures("real")
class TestCommand:
    @pytest.fixture
    def hot(self, tmp_path: Path) -> Path:
        path = tmp_path / "hot.toml"
        path.write_text(mesh_with_hot_spots())
        return path

    def test_tables(self, command: Command, hot: Path) -> None:
        ran = command("bound", hot)
        assert ran.code == 0, ran.err
        assert "273.633" in ran.out
        assert "88.058" in ran.out
        assert "SW55->H552" in ran.out
        assert "by traffic entry" in ran.out

    def test_json_is_one_object(self, command: Command, hot: Path) -> None:
        told = json.loads(command("bound", hot, "--json").out)
        assert told["total_gbps"] == pytest.approx(273.633, abs=1e-3)
        assert len(told["flows"]) == 32 * 49 + 15 + 3
        assert {"link", "class", "gbps", "fair_gbps"} <= set(told["links"][0])
        assert [entry["flows"] for entry in told["entries"]] == [1568, 5, 1, 5, 1, 5, 1]

    def test_a_run_says_what_it_reached(self, command: Command, small: Path) -> None:
        ran = command("run", small, "--bound")
        assert ran.code == 0, ran.err
        assert "% of the bound" in ran.out
        told = json.loads(command("run", small, "--bound", "--json").out)
        # 0.3 of nine links of 100 Gb/s: nothing is in the way.
        assert told["bound"]["total_gbps"] == pytest.approx(270, rel=CLOSE)
        assert told["bound"]["fraction"] == pytest.approx(told["accepted_gbps"] / 270, rel=CLOSE)

    def test_a_run_that_reached_nothing_is_printed_all_the_same(
        self, command: Command, tmp_path: Path
    ) -> None:
        """A ring that deadlocks in the warm-up: its cycle is what there is to say."""
        (ring := tmp_path / "ring.toml").write_text(
            "topology.ring = { switches = 6, hosts_per_switch = 3 }\n"
            'links.all = { rate = "8 Gb/s", buffer = "512 B" }\nhost.mtu = "512 B"\n'
            'traffic = [{ pattern = "tornado", injection = "saturating", message = "512 B" }]\n'
            'run = { warmup = "5 ms", duration = "5 ms", allow_deadlock = true }\n'
        )
        ran = command("run", ring, "--bound")
        assert ran.code != 0
        assert "deadlock" in ran.out
        assert "no accepted throughput" in ran.err

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--at", "3 ms"], "--at 3 ms is outside the run, which lasts from 0 to 2 ms"),
            (["--at", "soon"], '--at: "soon" is not a time'),
            (["--set", "traffic=[]"], "no host sends anything: there is nothing to bound"),
            (["--set", "traffic.0.pattern.to=H9"], "traffic.0.pattern"),
            (["--limit", "0"], "--limit"),
        ],
    )
    def test_bad_input(self, command: Command, hot: Path, arguments: list[str], message: str) -> None:
        ran = command("bound", hot, *arguments)
        assert ran.code == 2, ran.err
        assert ran.out == ""
        assert message in " ".join(ran.err.split())
        assert "Traceback" not in ran.err

    def test_too_many_flows(self, command: Command, small: Path) -> None:
        ran = command("bound", small, "--set", "topology.mesh.dimensions=[50, 40]")
        assert ran.code == 2
        assert "3998000 flows" in ran.err
        assert "up to 447 hosts" in ran.err


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("name", ["check", "describe"])
def test_an_interrupted_command_says_so(
    command: Command, small: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    struck = threading.Event()

    def slow(*_: object) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        struck.wait(20)
        return "{}"

    monkeypatch.setattr(fake_native, name, slow)
    ran = command(name, small)
    struck.set()
    assert ran.code == 130
    assert ran.err.strip() == "interrupted"
