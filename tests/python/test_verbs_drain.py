"""The state SQD, in which a send queue ends what it has begun, and queue pairs whose completion queue overflows."""

from __future__ import annotations

import pytest
from verbs_cases import connected

import fabricsim.verbs as v

pytestmark = pytest.mark.usefixtures("real")

PART = 1 << 18
DRAIN = v.IBV_QP_STATE | v.IBV_QP_EN_SQD_ASYNC_NOTIFY


def test_a_drained_send_queue_begins_nothing_until_it_is_in_rts_again() -> None:
    def client(ctx: v.Context) -> tuple[str, list[int], list[int], list[int]]:
        side = connected(ctx, 3 * PART)
        for number in range(3):
            side.post(v.IBV_WR_RDMA_WRITE, PART, number * PART, number * PART, wr_id=number)
        ctx.sleep("5 us")
        side.qp.modify(v.QPAttr(qp_state=v.IBV_QPS_SQD, en_sqd_async_notify=1), DRAIN)
        event = ctx.get_async_event()
        begun = [wc.wr_id for wc in side.wait(1)]
        ctx.sleep("500 us")
        more = [wc.wr_id for wc in side.cq.poll(3).wcs]
        side.qp.modify(v.QPAttr(qp_state=v.IBV_QPS_RTS), v.IBV_QP_STATE)
        rest = [wc.wr_id for wc in side.wait(2)]
        ctx.send_info("H1", "done")
        return event.event_type.name, begun, more, rest

    def server(ctx: v.Context) -> None:
        connected(ctx, 3 * PART)
        ctx.recv_info("H0")

    run = v.run(None, {"H0": client, "H1": server})
    assert run.values["H0"] == ("IBV_EVENT_SQ_DRAINED", [0], [], [1, 2])


def test_without_a_request_there_is_no_event() -> None:
    def client(ctx: v.Context) -> tuple[bool, list[int]]:
        side = connected(ctx, PART)
        side.qp.modify(v.QPAttr(qp_state=v.IBV_QPS_SQD), v.IBV_QP_STATE)
        side.post(v.IBV_WR_RDMA_WRITE, PART, wr_id=7)
        ctx.sleep("500 us")
        is_idle = not side.cq.poll(1).wcs
        side.qp.modify(v.QPAttr(qp_state=v.IBV_QPS_RTS), v.IBV_QP_STATE)
        done = [wc.wr_id for wc in side.wait(1)]
        ctx.send_info("H1", "done")
        return is_idle, done

    def server(ctx: v.Context) -> None:
        connected(ctx, PART)
        ctx.recv_info("H0")

    run = v.run(None, {"H0": client, "H1": server})
    assert run.values["H0"] == (True, [7])


def test_queue_pairs_of_a_full_completion_queue_fail() -> None:
    def client(ctx: v.Context) -> tuple[list[str], int]:
        side = connected(ctx, 4096, depth=16)
        small = v.CQ(ctx, 2)
        qp = v.QP(side.pd, v.QPInitAttr(scq=small, rcq=small, cap=v.QPCap(max_send_wr=8), sq_sig_all=1))
        v.connect(qp, "H1")
        for number in range(4):
            wr = v.SendWR(wr_id=number, opcode=v.IBV_WR_RDMA_WRITE, sg=[side.sge(8)])
            wr.set_wr_rdma(side.rkey, side.addr)
            qp.post_send(wr)
        events = [ctx.get_async_event().event_type.name for _ in range(2)]
        state = int(qp.qp_state)
        ctx.send_info("H1", "done")
        return events, state

    def server(ctx: v.Context) -> None:
        side = connected(ctx, 4096)
        qp = v.QP(side.pd, v.QPInitAttr(scq=side.cq, rcq=side.cq))
        v.connect(qp, "H0")
        ctx.recv_info("H0")

    run = v.run(None, {"H0": client, "H1": server})
    assert run.values["H0"] == (["IBV_EVENT_CQ_ERR", "IBV_EVENT_QP_FATAL"], v.IBV_QPS_ERR)
