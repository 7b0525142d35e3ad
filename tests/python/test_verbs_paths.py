"""Paths of queue pairs: service levels, LIDs, partitions, and migration to a second path."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from verbs_cases import ALL

import fabricsim as fs
import fabricsim.verbs as v
from fabricsim.captures import dissect
from fabricsim.verbs import cm

pytest.importorskip("greenlet")
pytestmark = pytest.mark.usefixtures("real")
ROOT = Path(__file__).parents[2]
PEER = {"H0": "H3", "H3": "H0"}
MIGRATION = runpy.run_path(str(ROOT / "experiments/programs/migration.py"))
FABRIC = fs.Experiment.from_text(MIGRATION["FABRIC"])
LANES = [0, 1, 1, 0]
LEVELS: dict[str, Any] = {"faults.plan": [], "switch.virtual_lanes": 2, "switch.sl2vl": LANES}


def _queue_pair(ctx: v.Context, kind: int = v.IBV_QPT_RC) -> tuple[v.MR, v.CQ, v.QP]:
    pd, cq = v.PD(ctx), v.CQ(ctx, 16)
    return v.MR(pd, 8192, ALL), cq, v.QP(pd, v.QPInitAttr(qp_type=kind, scq=cq, rcq=cq))


def _write(ctx: v.Context, attr: v.QPAttr, own: int = 0, **path: Any) -> str:
    """Connects with LID number `own` of the other end, and H0 writes 5000 B. Returns the status."""
    mr, cq, qp = _queue_pair(ctx)
    peer = PEER[ctx.host]
    lid = ctx.exchange(peer, ctx.lid)
    attr.ah_attr = v.AHAttr(dlid=lid + own, **path)
    theirs = v.connect(qp, peer, (mr.rkey, mr.buf), attr)
    status = ""
    if ctx.host == "H0":
        wr = v.SendWR(opcode=v.IBV_WR_RDMA_WRITE, sg=[v.SGE(mr.buf, 5000, mr.lkey)])
        wr.set_wr_rdma(*theirs)
        qp.post_send(wr)
        while not (found := cq.poll()):
            pass
        status = found.wcs[0].status.name
    ctx.exchange(peer, None)
    return status


@pytest.mark.parametrize(
    ("sl", "own", "spine"), [(0, 0, "L2S1"), (1, 1, "L2S0"), (2, 1, "L2S0"), (3, 0, "L2S1")]
)
def test_packets_take_the_lanes_and_the_route_of_their_address_vector(
    tmp_path: Path, sl: int, own: int, spine: str
) -> None:
    def program(ctx: v.Context) -> str:
        if ctx.host == "H0":
            return _write(ctx, v.QPAttr(), own, sl=sl, src_path_bits=1)
        return _write(ctx, v.QPAttr(), sl=0)

    file = tmp_path / "paths.pcapng"
    run = v.run(FABRIC, dict.fromkeys(PEER, program), set=LEVELS, capture=file)
    assert run.values["H0"] == "IBV_WC_SUCCESS"
    data = [record for record in dissect(file) if record["payload_length"] > 0]
    # Three packets on four links, all on one route.
    assert len(data) == 12
    lrh = {
        (record["lrh"]["sl"], record["lrh"]["vl"], record["lrh"]["dlid"], record["lrh"]["slid"])
        for record in data
    }
    assert lrh == {(sl, LANES[sl], 12 + own, 3)}
    switches = {name.split(":")[0] for record in data for name in record["interface"].split(" -> ")}
    assert switches == {"H0", "L1S0", spine, "L1S1", "H3"}
    answers = [record["lrh"] for record in dissect(file) if record["payload_length"] == 0]
    assert {(lrh["sl"], lrh["slid"], lrh["dlid"]) for lrh in answers} == {(0, 12, 2)}


def test_datagrams_report_the_path_of_their_sender() -> None:
    def sender(ctx: v.Context) -> None:
        mr, cq, qp = _queue_pair(ctx, v.IBV_QPT_UD)
        lid, number = v.connect(qp, "H3", None) or ctx.exchange("H3", None)
        ah = v.AH(qp.pd, v.AHAttr(dlid=lid + 1, sl=2, src_path_bits=1))
        wr = v.SendWR(sg=[v.SGE(mr.buf, 64, mr.lkey)])
        wr.set_wr_ud(ah, number, 0x11111111)
        qp.post_send(wr)
        while not cq.poll():
            pass

    def receiver(ctx: v.Context) -> tuple[int, int, int, int]:
        mr, cq, qp = _queue_pair(ctx, v.IBV_QPT_UD)
        v.connect(qp, "H0", None)
        qp.post_recv(v.RecvWR(sg=[v.SGE(mr.buf, 200, mr.lkey)]))
        ctx.exchange("H0", (ctx.lid, qp.qp_num))
        while not (found := cq.poll()):
            pass
        wc = found.wcs[0]
        return wc.slid, wc.sl, wc.dlid_path_bits, wc.src_qp

    run = v.run(FABRIC, {"H0": sender, "H3": receiver}, set=LEVELS)
    assert run.values["H3"] == (3, 2, 1, 2)


@pytest.mark.parametrize(
    ("set", "path", "text"),
    [
        (LEVELS, {"dlid": 12, "sl": 4}, "ah_attr.sl = 4: must be 0 to 3"),
        (LEVELS, {"dlid": 12, "src_path_bits": 2}, "ah_attr.src_path_bits = 2: must be 0 to 1"),
        (LEVELS, {"dlid": 99}, "ah_attr.dlid = 99: no host has this LID"),
        (LEVELS, {"dlid": 12, "sl": -1}, "ah_attr.sl = -1: must be 0 to 255"),
        (LEVELS, {"dlid": 1 << 16}, "ah_attr.dlid = 65536: must be 0 to 65535"),
        (
            {"faults.plan": []},
            {"dlid": 12, "sl": 1},
            "ah_attr.sl = 1: must be 0: the experiment has one service level",
        ),
        (
            {"faults.plan": [], "routing.paths": "first"},
            {"dlid": 13},
            "ah_attr.dlid: path 1: must be 0: packets go to the first LID of a host",
        ),
    ],
)
def test_wrong_paths_are_refused(set: dict[str, Any], path: dict[str, Any], text: str) -> None:
    def program(ctx: v.Context) -> None:
        _, _, qp = _queue_pair(ctx)
        with pytest.raises(v.PyverbsRDMAError) as error:
            v.AH(qp.pd, v.AHAttr(**path))
        assert text in error.value.message
        assert error.value.errno == 22
        qp.to_init(v.QPAttr(qp_access_flags=v.ibv_access_flags(ALL)))
        attr = v.QPAttr(ah_attr=v.AHAttr(**path), path_mtu=v.IBV_MTU_1024, dest_qp_num=2, rq_psn=0)
        attr.max_dest_rd_atomic, attr.min_rnr_timer = 1, 1
        with pytest.raises(v.PyverbsRDMAError) as error:
            qp.to_rtr(attr)
        assert text in error.value.message
        assert qp.qp_state == v.IBV_QPS_INIT

    v.run(FABRIC, {"H0": program}, set=set)


def test_a_connection_goes_on_over_its_second_path() -> None:
    run = MIGRATION["run"]
    messages = MIGRATION["MESSAGES"]
    seen = []
    for partitions in (1, 2, 3, 7):
        values = run(True, **{"run.partitions": partitions}).values
        client, (memory, lid) = values["H0"], values["H3"]
        assert client["statuses"] == ["IBV_WC_SUCCESS"] * messages
        assert (client["state"], client["event"]) == ("IBV_QPS_RTS", "IBV_EVENT_PATH_MIG")
        assert memory == bytes([messages - 1]) * MIGRATION["LENGTH"]
        # The second LID of H3, and the first one of H0.
        assert (client["lid"], lid) == (13, 2)
        # Three times the time-out of 131 us.
        assert 393_216 < client["slowest"] < 400_000
        seen.append(values)
    assert all(values == seen[0] for values in seen)


def test_without_a_second_path_the_connection_fails() -> None:
    values = MIGRATION["run"](False).values["H0"]
    first = values["statuses"].index("IBV_WC_RETRY_EXC_ERR")
    assert values["statuses"][:first] == ["IBV_WC_SUCCESS"] * first
    assert set(values["statuses"][first + 1 :]) == {"IBV_WC_WR_FLUSH_ERR"}
    assert (values["state"], values["lid"]) == ("IBV_QPS_ERR", 12)


def test_packets_report_that_their_sender_has_migrated(tmp_path: Path) -> None:
    file = tmp_path / "migration.pcapng"
    programs = {"H0": MIGRATION["client"](True), "H3": MIGRATION["server"](True)}
    v.run(FABRIC, programs, capture=file)
    bits: dict[tuple[int, int], list[bool]] = {}
    for record in dissect(file):
        if record["interface"].startswith(("H0:", "H3:")):
            bits.setdefault((record["lrh"]["slid"], record["lrh"]["dlid"]), []).append(
                record["bth"]["migrated"]
            )
    # The first path while both ends are armed or wait for the other one; then the second.
    assert set(bits) == {(3, 12), (12, 3), (2, 13), (13, 2)}
    assert not any(bits[3, 12] + bits[12, 3])
    assert all(bits[2, 13] + bits[13, 2])


def test_path_records_have_the_least_of_the_links() -> None:
    """The MTU and the rate of the slowest link on the way, and of the route to that LID only."""
    set = {
        "faults.plan": [],
        "links.named": {"L1S0-L2S1": {"rate": "10 Gb/s", "mtu": "1100 B"}},
    }

    def program(ctx: v.Context) -> list[tuple[int, int, int, int]]:
        found = [cm.path_record(ctx, lid) for lid in (12, 13)]
        return [(of.slid, of.mtu, of.rate, of.ack_timeout) for of in found]

    run = v.run(FABRIC, {"H0": program}, set=set)
    assert run.values["H0"] == [(2, v.IBV_MTU_1024, 10**10, 14), (2, v.IBV_MTU_4096, 54_545_000_000, 14)]


LAYERED = """
title = "Levels of paths"
topology.torus = { dimensions = [4, 4] }
[links.all]
rate = "54.545 Gb/s"
latency = "10 ns"
buffer = "64 KiB"
[switch]
virtual_lanes = 4
[routing]
algorithm = "opensm"
engine = "dfsssp"
[host]
mtu = "4142 B"
[run]
duration = "1 ms"
"""


def test_packets_have_the_level_of_their_path() -> None:
    """An engine with layers gives each path a level, which its record has; datagrams with another one are refused."""
    far = "H(0,2).0"

    def sender(ctx: v.Context) -> int:
        mr, cq, qp = _queue_pair(ctx, v.IBV_QPT_UD)
        lid, number = v.connect(qp, far) or ctx.exchange(far, None)
        record = cm.path_record(ctx, lid)
        assert record.sl > 1
        with pytest.raises(
            v.PyverbsRDMAError, match="sl = 1: must be 2, that of the path to LID 25, or 0 for the same"
        ):
            v.AH(qp.pd, v.AHAttr(dlid=lid, sl=1))
        for level in (0, record.sl):
            wr = v.SendWR(sg=[v.SGE(mr.buf, 64, mr.lkey)])
            wr.set_wr_ud(v.AH(qp.pd, v.AHAttr(dlid=lid, sl=level)), number, 0x11111111)
            qp.post_send(wr)
            while not cq.poll():
                pass
        return record.sl

    def receiver(ctx: v.Context) -> list[int]:
        mr, cq, qp = _queue_pair(ctx, v.IBV_QPT_UD)
        v.connect(qp, "H(0,0).0")
        for _ in range(2):
            qp.post_recv(v.RecvWR(sg=[v.SGE(mr.buf, 200, mr.lkey)]))
        ctx.exchange("H(0,0).0", (ctx.lid, qp.qp_num))
        levels: list[int] = []
        while len(levels) < 2:
            levels += [wc.sl for wc in cq.poll(2).wcs]
        return levels

    run = v.run(fs.Experiment.from_text(LAYERED), {"H(0,0).0": sender, far: receiver})
    assert run.values[far] == [run.values["H(0,0).0"]] * 2
