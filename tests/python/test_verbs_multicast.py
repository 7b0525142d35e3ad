"""Datagrams to multicast groups, by programs in Python."""

from __future__ import annotations

from typing import Any

import pytest
from verbs_cases import ALL

import fabricsim as fs
import fabricsim.verbs as v

pytest.importorskip("greenlet")
pytestmark = [pytest.mark.usefixtures("real")]
KEY = 0x77
EXPERIMENT = """
topology.fat-tree = { arity = 4, levels = 2 }
run.duration = "20 ms"
links.all = { rate = "54.545 Gb/s", latency = "10 ns", buffer = "64 KiB" }
host.mtu = "4142 B"
[[multicast_groups]]
name = "half"
members = ["H0", "H5", "H10", "H15"]
"""


def _fabric(tmp_path: Any, more: str = "") -> Any:
    path = tmp_path / "groups.toml"
    path.write_text(EXPERIMENT + more)
    return path


def _side(ctx: v.Context, receives: int = 1) -> tuple[v.PD, v.MR, v.CQ, v.QP]:
    pd, cq = v.PD(ctx), v.CQ(ctx, 64)
    mr = v.MR(pd, 4096, ALL)
    qp = v.QP(pd, v.QPInitAttr(qp_type=v.IBV_QPT_UD, scq=cq, rcq=cq))
    qp.to_rts(v.QPAttr(qkey=KEY, sq_psn=0))
    for place in range(receives):
        qp.post_recv(v.RecvWR(wr_id=place, sg=[v.SGE(mr.buf + 100 * place, 100, mr.lkey)]))
    return pd, mr, cq, qp


def _send(pd: v.PD, mr: v.MR, qp: v.QP, group: v.McastGroup, text: bytes) -> None:
    mr.write(text, offset=4000)
    attr = v.AHAttr(dlid=group.mlid, is_global=1, gr=v.GlobalRoute(dgid=group.mgid))
    wr = v.SendWR(sg=[v.SGE(mr.buf + 4000, len(text), mr.lkey)])
    wr.set_wr_ud(v.AH(pd, attr), 0xFFFFFF, KEY)
    qp.post_send(wr)


def test_a_datagram_reaches_every_attached_queue_pair_of_the_members(tmp_path: Any) -> None:
    def sender(ctx: v.Context) -> tuple[int, int, list[int]]:
        pd, mr, cq, qp = _side(ctx)
        group = ctx.multicast_group("half")
        assert str(group.mgid).startswith("ff15:a01b:")
        assert group.mlid == 0xC000
        qp.attach_mcast(group.mgid, group.mlid)
        ctx.sleep("10 us")
        _send(pd, mr, qp, group, b"to all members")
        ctx.sleep("20 us")
        # Its own queue pair has no copy.
        return ctx.lid, qp.qp_num, [int(wc.opcode) for wc in cq.poll(8).wcs]

    def member(ctx: v.Context) -> tuple[Any, ...]:
        _, mr, cq, qp = _side(ctx, receives=1 if ctx.host != "H15" else 0)
        group = ctx.multicast_group("half")
        qp.attach_mcast(group.mgid, group.mlid)
        if ctx.host == "H10":
            qp.detach_mcast(group.mgid, group.mlid)
        ctx.sleep("30 us")
        found = [(wc.slid, wc.src_qp, wc.byte_len, wc.wc_flags) for wc in cq.poll(8).wcs]
        return found, mr.read(14, 40), v.GID(int.from_bytes(mr.read(16, 24), "big")), qp.query_drops()

    def outsider(ctx: v.Context) -> str:
        pd, _, _, qp = _side(ctx)
        group = ctx.multicast_group("half")
        with pytest.raises(v.PyverbsRDMAError, match="lid = 0xc000: the port is a member of no group"):
            v.AH(pd, v.AHAttr(dlid=group.mlid))
        with pytest.raises(v.PyverbsRDMAError, match="the port is a member of no group"):
            qp.attach_mcast(group.mgid, group.mlid)
        with pytest.raises(
            v.PyverbsRDMAError, match=r"no multicast group .all.; those of the experiment are: .half"
        ):
            ctx.multicast_group("all")
        with pytest.raises(v.PyverbsUserError, match=r"gid = .ff15.:"):
            v.GID("ff15")
        return str(group.mgid)

    programs: Any = {"H0": [sender, member], "H5": member, "H10": member, "H15": member, "H1": outsider}
    run = fs.verbs.run(_fabric(tmp_path), programs)
    lid, number, own = run.values["H0.0"]
    mgid = v.GID(run.values["H1"])
    assert own == [int(v.IBV_WC_SEND)]
    for host in ("H5", "H0.1"):
        found, data, dgid, drops = run.values[host]
        assert found == [(lid, number, 54, v.IBV_WC_GRH)], host
        assert (data, dgid, drops.messages, drops.no_receive) == (b"to all members", mgid, 1, 0)
    found, data, _, drops = run.values["H10"]
    assert (found, data, drops.messages) == ([], bytes(14), 0)
    found, data, _, drops = run.values["H15"]
    assert (found, data, drops.messages, drops.no_receive) == ([], bytes(14), 0, 1)


@pytest.mark.parametrize("partitions", [2, 3])
def test_copies_do_not_depend_on_partitions(tmp_path: Any, partitions: int) -> None:
    def program(ctx: v.Context) -> list[tuple[int, float, bytes]]:
        pd, mr, cq, qp = _side(ctx, receives=8)
        group = ctx.multicast_group("half")
        qp.attach_mcast(group.mgid, group.mlid)
        ctx.sleep("10 us")
        _send(pd, mr, qp, group, ctx.host.encode())
        found: list[tuple[int, float, bytes]] = []
        while len(found) < 3:
            wcs = [wc for wc in cq.poll(8).wcs if wc.opcode == v.IBV_WC_RECV]
            found += [(wc.slid, ctx.now, mr.read(wc.byte_len - 40, 100 * wc.wr_id + 40)) for wc in wcs]
        return found

    programs = dict.fromkeys(("H0", "H5", "H10", "H15"), program)
    one, many = (
        fs.verbs.run(_fabric(tmp_path), programs, set={"run.partitions": count}).values
        for count in (1, partitions)
    )
    assert one == many
    assert {data for _, _, data in one["H0"]} == {b"H5", b"H10", b"H15"}
