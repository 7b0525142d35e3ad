"""Connections by communication management, by programs in Python."""

from __future__ import annotations

from typing import Any

import pytest

import fabricsim as fs
import fabricsim.verbs as v
from fabricsim.verbs import cm

pytest.importorskip("greenlet")
pytestmark = [pytest.mark.usefixtures("real")]
LOSSY = {"links.errors": "lose", "links.all.bit_error_rate": 1e-4}
"""Links that lose about one datagram of 5."""


def _client(ctx: v.Context, then: Any = None, **param: Any) -> tuple[list[str], Any]:
    """Connects with `H1`, and returns the names of its events and what `then` does with the connection."""
    channel = cm.CMEventChannel(ctx)
    end = cm.CMID(channel)
    seen = []

    def next_event() -> cm.CMEvent:
        event = channel.get_cm_event()
        seen.append(event.event_type.name.removeprefix("RDMA_CM_EVENT_"))
        return event

    end.resolve_addr(cm.AddrInfo("H1", 7471))
    next_event()
    end.resolve_route()
    next_event()
    end.create_qp()
    end.connect(cm.ConnParam(**param))
    event = next_event()
    result: Any = (event.status, event.private_data.rstrip(b"\0"))
    if event.event_type == cm.RDMA_CM_EVENT_ESTABLISHED:
        if then is not None:
            then(end)
        end.disconnect()
        next_event()
        assert end.qp is not None
        assert end.qp.qp_state == v.IBV_QPS_ERR
        next_event()
    return seen, result


def _server(ctx: v.Context, then: Any = None) -> tuple[list[str], bytes]:
    channel = cm.CMEventChannel(ctx)
    listener = cm.CMID(channel)
    listener.bind_addr(cm.AddrInfo(service=7471))
    listener.listen()
    event = channel.get_cm_event()
    assert event.listen_id is listener
    assert event.event_type == cm.RDMA_CM_EVENT_CONNECT_REQUEST
    end, seen = event.id, []
    end.create_qp()
    memory = end.reg_msgs(64)
    end.post_recv(memory)
    end.accept(cm.ConnParam(private_data=b"welcome"))
    for _ in range(3):
        seen.append(channel.get_cm_event().event_type.name.removeprefix("RDMA_CM_EVENT_"))
        if seen[-1] == "ESTABLISHED" and then is not None:
            then(end, memory)
    return seen, event.private_data.rstrip(b"\0")


def _fast(ctx: v.Context) -> None:
    ctx.set_cm_options(response_timeout=6, retries=15, time_wait=6)


@pytest.mark.parametrize("lossy", [False, True])
def test_events_come_in_the_order_of_librdmacm(lossy: bool) -> None:
    def client(ctx: v.Context) -> tuple[list[str], Any]:
        _fast(ctx)

        def then(end: cm.CMID) -> None:
            memory = end.reg_msgs(64)
            memory.write(b"over the connection")
            end.post_send(memory, length=19)
            assert end.get_send_comp().status == v.IBV_WC_SUCCESS
            # The other end has seen the RTU when it answers: else the release may come before it is established.
            end.post_recv(memory)
            end.get_recv_comp()

        return _client(ctx, then, private_data=b"hello")

    def server(ctx: v.Context) -> tuple[list[str], bytes]:
        _fast(ctx)

        def then(end: cm.CMID, memory: v.MR) -> None:
            assert end.get_recv_comp().byte_len == 19
            assert memory.read(19) == b"over the connection"
            end.post_send(memory, length=1)
            end.get_send_comp()

        return _server(ctx, then)

    run = fs.verbs.run(None, {"H0": client, "H1": server}, set=LOSSY if lossy else None)
    seen, result = run.values["H0"]
    assert seen == ["ADDR_RESOLVED", "ROUTE_RESOLVED", "ESTABLISHED", "DISCONNECTED", "TIMEWAIT_EXIT"]
    assert result == (0, b"welcome")
    assert run.values["H1"] == (["ESTABLISHED", "DISCONNECTED", "TIMEWAIT_EXIT"], b"hello")


def test_a_program_rejects_and_a_service_is_not_there() -> None:
    def client(ctx: v.Context) -> list[Any]:
        ctx.recv_info("H1")
        first = _client(ctx)
        ctx.recv_info("H1")
        return [first, _client(ctx)]

    def server(ctx: v.Context) -> None:
        channel = cm.CMEventChannel(ctx)
        listener = cm.CMID(channel)
        listener.bind_addr(cm.AddrInfo(service=7471))
        listener.listen()
        ctx.send_info("H0", None)
        event = channel.get_cm_event()
        event.id.reject(b"busy")
        listener.close()
        ctx.send_info("H0", None)

    run = fs.verbs.run(None, {"H0": client, "H1": server})
    order = ["ADDR_RESOLVED", "ROUTE_RESOLVED", "REJECTED"]
    assert run.values["H0"] == [(order, (28, b"busy")), (order, (8, b""))]


def test_an_end_without_answer_is_unreachable() -> None:
    def client(ctx: v.Context) -> tuple[list[str], Any]:
        ctx.set_cm_options(response_timeout=6, retries=2)
        return _client(ctx)

    def server(ctx: v.Context) -> str:
        channel = cm.CMEventChannel(ctx)
        listener = cm.CMID(channel)
        listener.bind_addr(cm.AddrInfo(service=7471))
        listener.listen()
        channel.get_cm_event()
        return channel.get_cm_event().event_type.name

    run = fs.verbs.run(None, {"H0": client, "H1": server})
    assert run.values["H0"][0] == ["ADDR_RESOLVED", "ROUTE_RESOLVED", "UNREACHABLE"]
    assert run.values["H1"] == "RDMA_CM_EVENT_REJECTED"


def test_the_synchronous_calls_and_wrong_ones() -> None:
    def client(ctx: v.Context) -> bytes:
        end = cm.CMID(ctx)
        with pytest.raises(v.PyverbsUserError, match="call resolve_addr, resolve_route and create_qp before"):
            end.connect()
        with pytest.raises(v.PyverbsRDMAError, match='there is no host "H7"; the first one is "H0"'):
            end.resolve_addr(cm.AddrInfo("H7", 1))
        with pytest.raises(v.PyverbsUserError, match="the end has no connection"):
            end.disconnect()
        with pytest.raises(v.PyverbsRDMAError, match="retries = 16: at most 15"):
            ctx.set_cm_options(retries=16)
        ctx.recv_info("H1")
        end.resolve_addr(cm.AddrInfo("H1", 5))
        end.resolve_route()
        end.create_qp()
        with pytest.raises(v.PyverbsRDMAError, match="private_data has 93 B: at most 92 B"):
            end.connect(cm.ConnParam(private_data=bytes(93)))
        end.connect()
        while end.event_channel.get_cm_event().event_type != cm.RDMA_CM_EVENT_ESTABLISHED:
            pass
        with pytest.raises(v.PyverbsRDMAError, match="is in the state Established: must be ReqReceived"):
            end.context.call(end._adapter.delay, end.number, 3)
        memory = end.reg_msgs(8)
        end.post_recv(memory)
        end.get_recv_comp()
        return memory.read(8)

    def server(ctx: v.Context) -> str:
        listener = cm.CMID(ctx)
        listener.bind_addr(cm.AddrInfo(service=5))
        listener.listen()
        ctx.send_info("H0", None)
        end = listener.get_request()
        end.delay(12)
        end.accept()
        listener.event_channel.get_cm_event()
        memory = end.reg_msgs(8)
        memory.write(b"12345678")
        end.post_send(memory)
        return end.get_send_comp().status.name

    run = fs.verbs.run(None, {"H0": client, "H1": server})
    assert run.values == {"H0": b"12345678", "H1": "IBV_WC_SUCCESS"}


def test_a_connection_does_not_depend_on_partitions() -> None:
    def client(ctx: v.Context) -> tuple[Any, float]:
        return _client(ctx), ctx.now

    runs = [
        fs.verbs.run(None, {"H0": client, "H1": _server}, set={"run.partitions": count}) for count in (1, 2)
    ]
    assert runs[0].values == runs[1].values
    assert runs[0].end_ns == runs[1].end_ns
