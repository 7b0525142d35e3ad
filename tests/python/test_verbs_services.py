"""Services of queue pairs besides RC, address handles and shared receive queues, by programs in Python."""

from __future__ import annotations

import pytest
from verbs_cases import ALL, LOSSY

import fabricsim as fs
import fabricsim.verbs as v

pytest.importorskip("greenlet")
pytestmark = [pytest.mark.usefixtures("real")]
KEY = 0x77


def _memory(ctx: v.Context, length: int = 8192) -> tuple[v.PD, v.MR, v.CQ]:
    pd = v.PD(ctx)
    return pd, v.MR(pd, length, ALL), v.CQ(ctx, 64)


def _wait(cq: v.CQ, count: int = 1) -> list[v.WC]:
    found: list[v.WC] = []
    while len(found) < count:
        found += cq.poll(count).wcs
    return found


def _datagram_side(ctx: v.Context) -> tuple[v.PD, v.MR, v.CQ, v.QP]:
    pd, mr, cq = _memory(ctx)
    qp = v.QP(pd, v.QPInitAttr(qp_type=v.IBV_QPT_UD, scq=cq, rcq=cq))
    qp.to_rts(v.QPAttr(qkey=KEY, sq_psn=0))
    return pd, mr, cq, qp


@pytest.mark.parametrize("wrong", [False, True])
def test_a_datagram_names_its_sender(wrong: bool) -> None:
    def client(ctx: v.Context) -> tuple[int, int, str]:
        pd, mr, cq, qp = _datagram_side(ctx)
        lid, number = ctx.exchange("H1", None)
        mr.write(b"datagram")
        wr = v.SendWR(sg=[v.SGE(mr.buf, 8, mr.lkey)])
        wr.set_wr_ud(v.AH(pd, v.AHAttr(dlid=lid)), number, KEY + wrong)
        qp.post_send(wr)
        return ctx.lid, qp.qp_num, _wait(cq)[0].status.name

    def server(ctx: v.Context) -> tuple[int, int, int, bytes] | None:
        _, mr, cq, qp = _datagram_side(ctx)
        qp.post_recv(v.RecvWR(sg=[v.SGE(mr.buf, 100, mr.lkey)]))
        ctx.exchange("H0", (ctx.lid, qp.qp_num))
        ctx.sleep("20 us")
        found = cq.poll()
        if not found:
            return None
        wc = found.wcs[0]
        return wc.slid, wc.src_qp, wc.byte_len, mr.read(8, 40)

    run = fs.verbs.run(None, {"H0": client, "H1": server})
    lid, number, status = run.values["H0"]
    assert status == "IBV_WC_SUCCESS"  # there is no acknowledgement
    assert run.values["H1"] == (None if wrong else (lid, number, 48, b"datagram"))


@pytest.mark.parametrize("kind", ["IBV_QPT_UC", "IBV_QPT_RC"])
def test_an_unreliable_connection_loses_messages(kind: str) -> None:
    count = 40

    def side(ctx: v.Context, peer: str) -> tuple[v.MR, v.CQ, v.QP]:
        pd, mr, cq = _memory(ctx, 4096 * count)
        cap = v.QPCap(max_send_wr=count, max_recv_wr=count)
        qp = v.QP(pd, v.QPInitAttr(qp_type=getattr(v, kind), scq=cq, rcq=cq, cap=cap))
        qp.to_init(v.QPAttr(qp_access_flags=ALL))
        for number in range(count):
            qp.post_recv(v.RecvWR(number, sg=[v.SGE(mr.buf + 4096 * number, 4096, mr.lkey)]))
        v.connect(qp, peer)
        return mr, cq, qp

    def client(ctx: v.Context) -> int:
        mr, cq, qp = side(ctx, "H1")
        for number in range(count):
            mr.write(bytes([number + 1]) * 4096, offset=4096 * number)
            qp.post_send(v.SendWR(number, sg=[v.SGE(mr.buf + 4096 * number, 4096, mr.lkey)]))
        return sum(wc.status == v.IBV_WC_SUCCESS for wc in _wait(cq, count))

    def server(ctx: v.Context) -> list[int]:
        mr, cq, _ = side(ctx, "H0")
        ctx.sleep("100 ms")
        found = cq.poll(count).wcs
        whole = [mr.read(4096, 4096 * wc.wr_id) for wc in found]
        assert all(len(set(data)) == 1 for data in whole)
        return [data[0] for data in whole]

    run = fs.verbs.run(None, {"H0": client, "H1": server}, set={**LOSSY, "run.duration": "1 s"})
    assert run.values["H0"] == count
    arrived = run.values["H1"]
    assert arrived == sorted(arrived)
    assert (len(arrived) == count) == (kind == "IBV_QPT_RC"), len(arrived)


def test_two_connections_share_a_receive_queue() -> None:
    def client(ctx: v.Context) -> None:
        pd, mr, cq = _memory(ctx)
        for _ in range(2):
            qp = v.QP(pd, v.QPInitAttr(scq=cq, rcq=cq))
            v.connect(qp, "H1")
            qp.post_send(v.SendWR(sg=[v.SGE(mr.buf, 10, mr.lkey)]))
            _wait(cq)

    def server(ctx: v.Context) -> tuple[list[tuple[int, bool]], str, int]:
        pd, mr, cq = _memory(ctx)
        srq = v.SRQ(pd, v.SrqInitAttr(v.SrqAttr(max_wr=4, srq_limit=1)))
        for number in range(2):
            srq.post_recv(v.RecvWR(number, sg=[v.SGE(mr.buf + 100 * number, 100, mr.lkey)]))
        found = []
        for _ in range(2):
            qp = v.QP(pd, v.QPInitAttr(scq=cq, rcq=cq, srq=srq))
            v.connect(qp, "H0")
            wc = _wait(cq)[0]
            found.append((wc.wr_id, wc.qp_num == qp.qp_num))
        event = ctx.get_async_event()
        with pytest.raises(v.PyverbsRDMAError, match="shared receive queue"):
            qp.post_recv(v.RecvWR())
        return found, event.event_type.name, srq.query().srq_limit

    run = fs.verbs.run(None, {"H0": client, "H1": server})
    assert run.values["H1"] == ([(0, True), (1, True)], "IBV_EVENT_SRQ_LIMIT_REACHED", 0)


def test_a_message_of_xrc_names_its_queue() -> None:
    def client(ctx: v.Context) -> str:
        pd, mr, cq = _memory(ctx)
        cap = v.QPCap(max_send_wr=2)
        qp = v.QP(pd, v.QPInitAttr(qp_type=v.IBV_QPT_XRC_SEND, scq=cq, rcq=cq, cap=cap))
        numbers = v.connect(qp, "H1")
        for number, length in ((1, 10), (0, 20)):
            wr = v.SendWR(sg=[v.SGE(mr.buf, length, mr.lkey)])
            wr.set_qp_type_xrc(numbers[number])
            qp.post_send(wr)
        return _wait(cq, 2)[1].status.name

    def server(ctx: v.Context) -> list[int]:
        pd, mr, cq = _memory(ctx)
        xrcd = v.XRCD(ctx)
        cqs = [v.CQ(ctx, 8), v.CQ(ctx, 8)]
        srqs = [v.SRQ(pd, v.SrqInitAttr(v.SrqAttr(max_wr=4), xrcd, of)) for of in cqs]
        for srq in srqs:
            srq.post_recv(v.RecvWR(sg=[v.SGE(mr.buf, 100, mr.lkey)]))
        qp = v.QP(pd, v.QPInitAttr(qp_type=v.IBV_QPT_XRC_RECV, scq=cq, rcq=cq, xrcd=xrcd))
        v.connect(qp, "H0", [srq.get_srq_num() for srq in srqs])
        return [_wait(of)[0].byte_len for of in cqs]

    run = fs.verbs.run(None, {"H0": client, "H1": server})
    assert run.values == {"H0": "IBV_WC_SUCCESS", "H1": [20, 10]}
