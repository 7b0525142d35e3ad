"""Connections by communication management, by programs in Python."""

from __future__ import annotations

import errno
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
        with pytest.raises(
            v.PyverbsRDMAError, match="is in the state Established: must be REQ Rcvd or REP Rcvd"
        ):
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


def _datagram_server(ctx: v.Context, answers: int, accepts: bool = True) -> list[bytes]:
    """Answers requests for the service 7 of datagrams; then receives as many datagrams as it has accepted."""
    channel = cm.CMEventChannel(ctx)
    listener = cm.CMID(channel)
    listener.bind_addr(cm.AddrInfo(service=7, port_space=cm.RDMA_PS_UDP))
    listener.listen()
    got = []
    for _ in range(answers):
        event = channel.get_cm_event()
        assert event.event_type == cm.RDMA_CM_EVENT_CONNECT_REQUEST
        got.append(event.private_data.rstrip(b"\0"))
        if not accepts:
            event.id.reject(b"no")
            continue
        end = event.id
        end.create_qp()
        memory = end.reg_msgs(64)
        end.post_recv(memory)
        end.accept(cm.ConnParam(private_data=b"here"))
        found = end.get_recv_comp()
        got.append(memory.read(found.byte_len - 40, 40))
    return got


def _datagram_client(ctx: v.Context, service: int = 7) -> tuple[list[str], int, bytes]:
    channel = cm.CMEventChannel(ctx)
    end = cm.CMID(channel)
    end.resolve_addr(cm.AddrInfo("H1", service, cm.RDMA_PS_UDP))
    end.resolve_route()
    seen = [channel.get_cm_event(), channel.get_cm_event()]
    end.create_qp()
    ctx.sleep("20 us")
    end.connect(cm.ConnParam(private_data=b"who"))
    seen.append(channel.get_cm_event())
    last = seen[-1]
    if last.ud is not None:
        assert last.ud.qkey == cm.RDMA_UDP_QKEY
        memory = end.reg_msgs(5)
        memory.write(b"hello")
        end.post_ud_send(memory, v.AH(end.pd, last.ud.ah_attr), last.ud.qp_num)
        end.get_send_comp()
    names = [event.event_type.name.removeprefix("RDMA_CM_EVENT_") for event in seen]
    return names, last.status, last.private_data.rstrip(b"\0")


def test_a_service_of_datagrams_is_resolved() -> None:
    run = fs.verbs.run(None, {"H0": _datagram_client, "H1": lambda ctx: _datagram_server(ctx, 1)})
    assert run.values["H0"] == (["ADDR_RESOLVED", "ROUTE_RESOLVED", "ESTABLISHED"], 0, b"here")
    assert run.values["H1"] == [b"who", b"hello"]


def test_a_service_of_datagrams_that_is_lost_refused_or_not_there() -> None:
    def server(ctx: v.Context) -> list[bytes]:
        return _datagram_server(ctx, 1, accepts=False)

    run = fs.verbs.run(None, {"H0": _datagram_client, "H1": server})
    assert run.values["H0"] == (["ADDR_RESOLVED", "ROUTE_RESOLVED", "UNREACHABLE"], 2, b"no")
    # A listener of connections has the same port in another space.
    run = fs.verbs.run(None, {"H0": lambda ctx: _datagram_client(ctx, 7471), "H1": _no_server})
    assert run.values["H0"][1] == 1

    def client(ctx: v.Context) -> tuple[list[str], int, bytes]:
        ctx.set_cm_options(response_timeout=2, retries=3, time_wait=6)
        return _datagram_client(ctx)

    run = fs.verbs.run(
        None,
        {"H0": client, "H1": lambda ctx: ctx.sleep("1 ms")},
        set={"links.errors": "lose", "links.all.bit_error_rate": 1e-3},
    )
    assert run.values["H0"] == (["ADDR_RESOLVED", "ROUTE_RESOLVED", "UNREACHABLE"], -errno.ETIMEDOUT, b"")


def _no_server(ctx: v.Context) -> None:
    listener = cm.CMID(ctx)
    listener.bind_addr(cm.AddrInfo(service=7471))
    listener.listen()
    ctx.sleep("1 ms")


def test_data_before_the_rtu_establish_a_connection() -> None:
    """The first packet in RTR is an asynchronous event, which `rdma_notify` passes on."""

    def receiver(ctx: v.Context) -> tuple[str, bool]:
        pd, cq = v.PD(ctx), v.CQ(ctx, 16)
        mr = v.MR(pd, 64, v.IBV_ACCESS_LOCAL_WRITE | v.IBV_ACCESS_REMOTE_WRITE)
        qp = v.QP(pd, v.QPInitAttr(scq=cq, rcq=cq), v.QPAttr(qp_access_flags=v.ibv_access_flags(0xF)))
        lid, number, psn = ctx.exchange("H0", (ctx.lid, qp.qp_num, 5, mr.buf, mr.rkey))
        qp.to_rtr(
            v.QPAttr(
                ah_attr=v.AHAttr(dlid=lid),
                dest_qp_num=number,
                rq_psn=psn,
                path_mtu=v.IBV_MTU_1024,
                max_dest_rd_atomic=1,
                min_rnr_timer=12,
            )
        )
        ctx.send_info("H0", None)
        event = ctx.get_async_event()
        return event.event_type.name, event.element == qp.qp_num

    def sender(ctx: v.Context) -> None:
        pd, cq = v.PD(ctx), v.CQ(ctx, 16)
        mr = v.MR(pd, 64, v.IBV_ACCESS_LOCAL_WRITE)
        qp = v.QP(pd, v.QPInitAttr(scq=cq, rcq=cq), v.QPAttr(qp_access_flags=v.ibv_access_flags(0xF)))
        lid, number, psn, address, key = ctx.exchange("H1", (ctx.lid, qp.qp_num, 9))
        qp.to_rts(
            v.QPAttr(
                ah_attr=v.AHAttr(dlid=lid),
                dest_qp_num=number,
                rq_psn=psn,
                path_mtu=v.IBV_MTU_1024,
                sq_psn=9,
                max_dest_rd_atomic=1,
                max_rd_atomic=1,
                min_rnr_timer=12,
                timeout=14,
                retry_cnt=7,
                rnr_retry=7,
            )
        )
        ctx.recv_info("H1")
        write = v.SendWR(opcode=v.IBV_WR_RDMA_WRITE, sg=[v.SGE(mr.buf, 8, mr.lkey)])
        write.set_wr_rdma(key, address)
        qp.post_send(write)
        while not cq.poll():
            pass

    run = fs.verbs.run(None, {"H0": sender, "H1": receiver})
    assert run.values["H1"] == ("IBV_EVENT_COMM_EST", True)


def test_only_comm_est_establishes() -> None:
    def program(ctx: v.Context) -> str:
        try:
            cm.CMID(ctx).notify(v.IBV_EVENT_QP_FATAL)
        except v.PyverbsUserError as error:
            return str(error)
        return ""

    text = fs.verbs.run(None, {"H0": program}).values["H0"]
    assert text == "notify: IBV_EVENT_QP_FATAL: must be IBV_EVENT_COMM_EST"


def test_an_end_accepts_once_and_creates_a_queue_pair_if_it_has_none() -> None:
    def client(ctx: v.Context) -> bytes:
        end = cm.CMID(ctx)
        end.resolve_addr(cm.AddrInfo("H1", 5))
        end.resolve_route()
        end.create_qp()
        ctx.recv_info("H1")
        memory = end.reg_msgs(8)
        end.post_recv(memory)
        end.connect()
        while end.event_channel.get_cm_event().event_type != cm.RDMA_CM_EVENT_ESTABLISHED:
            pass
        end.get_recv_comp()
        return memory.read(8)

    def server(ctx: v.Context) -> list[str]:
        channel = cm.CMEventChannel(ctx)
        listener = cm.CMID(channel)
        listener.bind_addr(cm.AddrInfo(service=5))
        listener.listen()
        ctx.send_info("H0", None)
        end = channel.get_cm_event().id
        assert not end.qp
        end.accept()
        refused = []
        for _ in range(2):
            assert end.qp is not None
            assert end.qp.qp_state == v.IBV_QPS_RTS
            with pytest.raises(v.PyverbsUserError) as raised:
                end.accept()
            refused.append(str(raised.value))
            if len(refused) == 1:
                assert channel.get_cm_event().event_type == cm.RDMA_CM_EVENT_ESTABLISHED
        memory = end.reg_msgs(8)
        memory.write(b"12345678")
        end.post_send(memory)
        end.get_send_comp()
        return refused

    run = fs.verbs.run(None, {"H0": client, "H1": server})
    assert run.values == {"H0": b"12345678", "H1": ["accept: the request was accepted already"] * 2}
