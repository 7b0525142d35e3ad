"""Captures of runs with programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from verbs_cases import connected, pattern

import fabricsim as fs
import fabricsim.verbs as v
from fabricsim.captures import dissect
from fabricsim.errors import InputError

pytestmark = pytest.mark.usefixtures("real")


def _send(ctx: v.Context) -> float:
    side = connected(ctx, 8192)
    side.mr.write(pattern(5000, 1))
    begin = ctx.now
    side.post(v.IBV_WR_SEND, 5000)
    side.wait()
    return begin


def _receive(ctx: v.Context) -> bytes:
    side = connected(ctx, 8192)
    side.receive(5000)
    side.wait()
    return side.mr.read(5000)


def test_packets_of_programs_are_captured_whole(tmp_path: Path) -> None:
    file = tmp_path / "send.pcapng"
    run = v.run(None, {"H0": _send, "H1": _receive}, capture=file)
    assert run.values["H1"] == pattern(5000, 1)
    assert run.capture is not None
    records = dissect(file)
    assert run.capture["packets"] == len(records)
    assert all(record["icrc"]["ok"] and record["vcrc"]["ok"] for record in records)
    # Packets of 2048 bytes at most, on both links: three with data, and the acknowledgement.
    sizes = sorted(record["payload_length"] for record in records)
    assert sizes == [0, 0, 904, 904, 2048, 2048, 2048, 2048]
    assert min(record["time_ns"] for record in records) > run.values["H0"]
    with pytest.raises(InputError, match="this exists"):
        v.run(None, {"H0": _send, "H1": _receive}, capture=file)


def test_a_capture_has_the_links_that_the_experiment_names(tmp_path: Path) -> None:
    file = tmp_path / "one.pcapng"
    chosen = {"capture.links": ["H0->S0"], "run.partitions": 2}
    run = v.run(None, {"H0": _send, "H1": _receive}, set=chosen, capture=file)
    assert run.capture is not None
    assert [interface["packets"] for interface in run.capture["interfaces"]] == [3]


def test_nothing_is_left_of_a_capture_whose_programs_fail(tmp_path: Path) -> None:
    def fails(ctx: v.Context) -> None:
        raise ValueError(ctx.host)

    with pytest.raises(fs.FabricsimError):
        v.run(None, {"H0": fails}, capture=tmp_path / "a.pcapng")
    assert not list(tmp_path.iterdir())
