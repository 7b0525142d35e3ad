"""Receivers whose adapters lack translations of addresses slow their senders down."""

from __future__ import annotations

from typing import Any

import pytest
from verbs_cases import CORNERS, PEER, connected

import fabricsim.verbs as v
from fabricsim import Experiment

pytest.importorskip("greenlet")
pytestmark = pytest.mark.usefixtures("real")
PAGE, WRITES = 4096, 60
MISS_NS = 2000.0
CACHE = {"adapter.translation_cache": {"entries": 8, "miss": f"{MISS_NS:.0f} ns"}}
LEAST = (WRITES - 2) * MISS_NS
"""Of 60 pages the first is known, and the last packet is acknowledged when its page is still to be looked up."""

MESH = """
topology.mesh = { dimensions = [3, 3], hosts_per_switch = 1 }
[links.all]
rate = "54.545 Gb/s"
latency = "10 ns"
buffer = "16 KiB"
[host]
mtu = "4142 B"
[[traffic]]
sources = ["H(1,*).0"]
pattern = { to = "H(2,2).0" }
load = 0.1
message = "2 KiB"
[[traffic]]
sources = ["H(2,0).0"]
pattern = { to = "H(0,2).0" }
load = 0.8
message = "2 KiB"
[run]
duration = "20 ms"
"""


def _sender(ctx: v.Context, step: int) -> float:
    """WRITEs to pages `step` bytes apart, and the time that they take."""
    side = connected(ctx, PAGE, depth=WRITES)
    side.mr.write(bytes(range(256)) * 8)
    side.post(v.IBV_WR_RDMA_WRITE, 2048)
    side.wait()
    begin = ctx.now
    for number in range(WRITES):
        side.post(v.IBV_WR_RDMA_WRITE, 2048, to=number * step)
    side.wait(WRITES)
    took = ctx.now - begin
    ctx.exchange(PEER[ctx.host], None)
    return took


def _receiver(ctx: v.Context) -> bytes:
    side = connected(ctx, WRITES * PAGE)
    ctx.exchange(PEER[ctx.host], None)
    return side.mr.read(WRITES * PAGE)


def _run(changes: dict[str, Any], step: int = PAGE) -> tuple[float, bytes]:
    programs = {"H0": lambda ctx: _sender(ctx, step), "H1": _receiver}
    values = v.run(None, programs, set=changes).values
    return values["H0"], values["H1"]


def test_a_receiver_that_lacks_translations_slows_the_link_down() -> None:
    took, memory = _run(CACHE)
    assert all(memory[at : at + 2048] == bytes(range(256)) * 8 for at in range(0, len(memory), PAGE))
    assert LEAST < took < 1.05 * LEAST
    # Controls: one page, which is known; and an adapter that knows all.
    known, _ = _run(CACHE, step=0)
    free, _ = _run({})
    assert known == free < 0.3 * LEAST


@pytest.mark.parametrize("change", [{"switch.virtual_lanes": 2}, {"links.all.buffer": "8 KiB"}])
def test_the_rate_is_that_of_the_translations_on_other_links(change: dict[str, Any]) -> None:
    took, _ = _run({**CACHE, **change})
    assert took == pytest.approx(LEAST, rel=0.05)


def test_a_slow_sink_has_times_of_its_own() -> None:
    took, _ = _run({**CACHE, "host.sink": {"rate": "20 Gb/s"}})
    assert took < 0.5 * LEAST


def test_packets_that_wait_are_the_same_in_partitions() -> None:
    programs = dict(zip(CORNERS, (lambda ctx: _sender(ctx, PAGE), _receiver), strict=True))
    found = []
    for seed, partitions in ((2, 1), (1, 1), (1, 2), (1, 3), (1, 7)):
        changes = {"seed": seed, "run.partitions": partitions, **CACHE}
        run = v.run(Experiment.from_text(MESH), programs, set=changes)
        assert run.values[CORNERS[0]] > LEAST
        # H(0,2).0 has no program, and so no translations to wait for.
        assert run.result.manifest["summary"]["invariants"]["credits_ok"]
        packets = run.links["packets"].tolist()
        found.append((run.end_ns, run.values, run.result.manifest["fingerprint"], packets))
    assert found[1:] == [found[1]] * 4
    assert found[0] != found[1], "the other traffic is drawn anew"
