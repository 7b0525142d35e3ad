"""Programs in Python that use verbs: completion events, and asynchronous ones."""

from __future__ import annotations

from typing import Any

import pytest
from verbs_cases import Side, connected, open_side

import fabricsim.verbs as v

pytestmark = pytest.mark.usefixtures("real")


def _sleeper(polls_after_arming: bool) -> Any:
    """Waits for a message as in the tutorial's section III-D; it comes between the first poll and the request."""

    def program(ctx: v.Context) -> str:
        side = connected(ctx, sleeps=True)
        side.receive(8)
        assert not side.cq.poll()
        ctx.sleep("20 us")  # the message comes here
        side.cq.req_notify()
        if polls_after_arming and side.cq.poll():
            return "found after arming"
        assert side.channel is not None
        side.channel.get_cq_event(side.cq)
        side.cq.ack_events(1)
        return "woken" if side.cq.poll() else "woken in vain"

    return program


def _sender(ctx: v.Context) -> None:
    side = connected(ctx)
    ctx.sleep("5 us")
    side.post(v.IBV_WR_SEND, 8)
    side.wait()


def test_a_program_that_polls_after_arming_misses_nothing() -> None:
    run = v.run(None, {"H0": _sender, "H1": _sleeper(True)})
    assert run.values["H1"] == "found after arming"
    with pytest.raises(
        v.ProgramsBlockedError, match=r"H1 waits in CompChannel.get_cq_event\(\) at test_verbs_events.py"
    ):
        v.run(None, {"H0": _sender, "H1": _sleeper(False)})


def close(side: Side) -> None:
    side.qp.close()
    side.cq.close()


def test_an_event_wakes_after_the_time_to_wake_up() -> None:
    def receiver(ctx: v.Context) -> float:
        side = connected(ctx, sleeps=True)
        side.receive(8)
        side.cq.req_notify()
        assert side.channel is not None
        side.channel.get_cq_event()
        now = ctx.now
        assert side.cq.poll()
        with pytest.raises(
            v.PyverbsRDMAError, match="completion queue 0 has 1 event without acknowledgement"
        ):
            close(side)
        side.cq.ack_events(1)
        side.cq.close()
        return now

    def poller(ctx: v.Context) -> float:
        side = connected(ctx)
        side.receive(8)
        while not side.cq.poll():
            pass
        return ctx.now

    woken = v.run(None, {"H0": _sender, "H1": receiver}).values["H1"]
    polled = v.run(None, {"H0": _sender, "H1": poller}).values["H1"]
    assert woken - polled == pytest.approx(4000 - 30, abs=1e-6)  # wake_up; the poll that finds takes 30 ns


def test_a_full_completion_queue_is_an_asynchronous_event() -> None:
    def client(ctx: v.Context) -> list[str]:
        side = open_side(ctx)
        small = v.CQ(ctx, 1)
        qp = v.QP(side.pd, v.QPInitAttr(scq=small, rcq=small, cap=v.QPCap(4, 1)))
        side.qp = qp
        side.addr, side.rkey = v.connect(qp, "H1", None)
        for _ in range(2):
            side.post(v.IBV_WR_RDMA_WRITE, 8)
        events = [ctx.get_async_event() for _ in range(2)]
        assert [event.element for event in events] == [small.handle, qp.qp_num]
        ctx.send_info("H1", None)
        return [event.event_type.name for event in events]

    def server(ctx: v.Context) -> None:
        side = open_side(ctx)
        v.connect(side.qp, "H0", (side.mr.buf, side.mr.rkey))
        ctx.recv_info("H0")

    run = v.run(None, {"H0": client, "H1": server})
    assert run.values["H0"] == ["IBV_EVENT_CQ_ERR", "IBV_EVENT_QP_FATAL"]


def test_an_asynchronous_event_wakes_a_program_beside_one_that_waits_for_something_else() -> None:
    def sleeper(ctx: v.Context) -> None:
        side = open_side(ctx, sleeps=True)
        v.connect(side.qp, "H0", (side.mr.buf, side.mr.rkey))
        side.cq.req_notify()
        assert side.channel is not None
        side.channel.get_cq_event(side.cq)

    def watcher(ctx: v.Context) -> None:
        assert ctx.get_async_event().event_type == v.IBV_EVENT_QP_ACCESS_ERR

    for both in ([sleeper, watcher], [watcher, sleeper]):
        name = f"H1.{both.index(sleeper)}"

        def client(ctx: v.Context, name: str = name) -> None:
            side = open_side(ctx)
            side.addr, rkey = v.connect(side.qp, name, None)
            side.rkey = rkey + 12345
            side.post(v.IBV_WR_RDMA_WRITE, 8)
            side.cq.poll()

        with pytest.raises(v.ProgramsBlockedError, match=f"{name} waits") as raised:
            v.run(None, {"H0": client, "H1": both})
        assert "get_async_event" not in str(raised.value)
