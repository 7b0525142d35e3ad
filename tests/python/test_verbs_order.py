"""Connections over adaptive routing: packets overtake others, and memory and completions are right all the same."""

from __future__ import annotations

from typing import Any

import pytest
from verbs_cases import ALL, chunks, open_side, pattern

import fabricsim as fs
import fabricsim.verbs as v

pytest.importorskip("greenlet")
pytestmark = pytest.mark.usefixtures("real")
LENGTH = 1 << 17
PEER = {"H(0,0).0": "H(1,1).0", "H(1,1).0": "H(0,0).0"}
DRAGONFLY = """\
[topology.dragonfly]
p = 2
a = 4
h = 2
[links.all]
rate = "64 Gb/s"
latency = "5 ns"
buffer = "4 KiB"
[links.kind.global]
latency = "200 ns"
buffer = "8 KiB"
[switch]
router_delay = "10 ns"
virtual_lanes = 6
[routing]
algorithm = "par-6/2"
lane_selection = "by-flow"
[host]
mtu = "302 B"
[[traffic]]
name = "others"
sources = ["H(0,0).1", "H(0,1).*", "H(0,2).*", "H(0,3).*"]
pattern = { group-offset = 1 }
load = 0.6
injection = "poisson"
message = "256 B"
[run]
warmup = "5 us"
duration = "2 ms"
"""


def _program(ctx: v.Context) -> tuple[float, bytes]:
    """WRITEs half of the memory of the one end to the other, which SENDs half of it back: time and memory."""
    side, half = open_side(ctx, LENGTH), LENGTH // 2
    mr, qp = side.mr, side.qp
    qp.to_init(v.QPAttr(qp_access_flags=ALL))
    pieces = list(chunks(half, 4096))
    if ctx.host == "H(0,0).0":
        mr.write(pattern(half, 3))
        for number, (at, size) in enumerate(pieces):
            side.receive(size, half + at, number)
    peer = PEER[ctx.host]
    side.addr, side.rkey = v.connect(qp, peer, (mr.buf, mr.rkey), v.QPAttr(timeout=5))
    begin = ctx.now
    if ctx.host == "H(0,0).0":
        for number, (at, size) in enumerate(pieces):
            side.post(v.IBV_WR_RDMA_WRITE, size, at, at, wr_id=number)
        assert [wc.wr_id for wc in side.wait(len(pieces))] == list(range(len(pieces)))
        took = ctx.now - begin
        ctx.send_info(peer, "written")
        assert [wc.wr_id for wc in side.wait(len(pieces))] == list(range(len(pieces)))
    else:
        ctx.recv_info(peer)
        took = 0.0
        for at, size in pieces:
            side.post(v.IBV_WR_SEND, size, at)
        side.wait(len(pieces))
    ctx.exchange(peer, None)
    return took, mr.read(LENGTH)


def _run(**changes: Any) -> tuple[float, int]:
    """Time of the WRITEs in nanoseconds, and packets that were sent anew."""
    run = v.run(fs.Experiment.from_text(DRAGONFLY), dict.fromkeys(PEER, _program), set=changes)
    (took, first), (_, second) = (run.values[host] for host in PEER)
    half = pattern(LENGTH // 2, 3)
    assert first == half + half
    assert second[: LENGTH // 2] == half
    assert run.result.summary["invariants.packets_ok"]
    return took, int(run.queue_pairs["retransmitted"].sum())


def test_adapters_that_hold_or_place_need_no_packet_anew() -> None:
    """Without that, the sender goes back again and again; over minimal routes nothing overtakes. Times of the guide."""
    dropped, anew = _run()
    assert anew > 30
    minimal, none = _run(**{"routing.algorithm": "minimal"})
    assert none == 0
    assert [round(took / 1000) for took in (dropped, minimal)] == [37, 14]
    for rule in ("hold", "place"):
        took, none = _run(**{"adapter.out_of_order": rule})
        assert (none, round(took / 1000)) == (0, 15)
    _, some = _run(**{"adapter.out_of_order": "place", "adapter.reorder_packets": 4})
    assert 0 < some < anew, "what is further ahead is dropped"


def test_results_do_not_depend_on_partitions() -> None:
    changes = {"adapter.out_of_order": "place", "adapter.reorder_packets": 16}
    results = {_run(**changes, **{"run.partitions": count}) for count in (1, 2, 3)}
    assert len(results) == 1
