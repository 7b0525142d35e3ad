"""Rules of connections as librdmacm has them: calls at the wrong time, and parameters out of range."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any

import pytest

import fabricsim.verbs as v
from fabricsim.verbs import cm

pytest.importorskip("greenlet")
pytestmark = [pytest.mark.usefixtures("real")]


def _client(then: Callable[[cm.CMID], Any], param: cm.ConnParam | None = None) -> Callable[[v.Context], Any]:
    def program(ctx: v.Context) -> Any:
        channel = cm.CMEventChannel(ctx)
        end = cm.CMID(channel)
        end.resolve_addr(cm.AddrInfo("H1", 7471))
        end.resolve_route()
        end.create_qp()
        end.connect(param)
        while channel.get_cm_event().event_type != cm.RDMA_CM_EVENT_ESTABLISHED:
            pass
        return then(end)

    return program


def _server(then: Callable[[cm.CMID], Any]) -> Callable[[v.Context], Any]:
    def program(ctx: v.Context) -> Any:
        listener = cm.CMID(cm.CMEventChannel(ctx))
        listener.bind_addr(cm.AddrInfo(service=7471))
        listener.listen()
        end = listener.get_request()
        end.accept()
        assert end.event_channel.get_cm_event().event_type == cm.RDMA_CM_EVENT_ESTABLISHED
        return then(end)

    return program


def _state(end: cm.CMID) -> v.ibv_qp_state:
    assert end.qp is not None
    return end.qp.qp_state


def test_a_lid_that_no_host_has_is_an_event() -> None:
    def client(ctx: v.Context) -> list[tuple[str, int]]:
        channel = cm.CMEventChannel(ctx)
        end = cm.CMID(channel)
        found = []
        for lid in (99, 0, 0xC000, ctx.lid, 3):
            end.resolve_addr(cm.AddrInfo(lid, 5))
            event = channel.get_cm_event()
            found.append((event.event_type.name.removeprefix("RDMA_CM_EVENT_"), event.status))
            if event.status:
                with pytest.raises(v.PyverbsUserError, match="resolve_route: call resolve_addr before"):
                    end.resolve_route()
        end.resolve_route()
        return found

    error = ("ADDR_ERROR", -errno.EHOSTUNREACH)
    resolved = ("ADDR_RESOLVED", 0)
    run = v.run(None, {"H0": client, "H1": lambda ctx: None})
    assert run.values["H0"] == [error, error, error, resolved, resolved]


def test_an_end_may_disconnect_after_the_other_one() -> None:
    """As librdmacm's examples do when they have the event."""

    def first(end: cm.CMID) -> v.ibv_qp_state:
        end.disconnect()
        end.disconnect()
        return _state(end)

    def second(end: cm.CMID) -> v.ibv_qp_state:
        assert end.event_channel.get_cm_event().event_type == cm.RDMA_CM_EVENT_DISCONNECTED
        end.disconnect()
        assert end.event_channel.get_cm_event().event_type == cm.RDMA_CM_EVENT_TIMEWAIT_EXIT
        end.disconnect()
        return _state(end)

    run = v.run(None, {"H0": _client(first), "H1": _server(second)})
    assert run.values == {"H0": v.IBV_QPS_ERR, "H1": v.IBV_QPS_ERR}


def test_an_end_connects_once() -> None:
    def then(end: cm.CMID) -> int:
        with pytest.raises(v.PyverbsRDMAError, match="the end has or had a connection") as caught:
            end.connect()
        return caught.value.errno

    run = v.run(None, {"H0": _client(then), "H1": _server(lambda end: None)})
    assert run.values["H0"] == errno.EINVAL


def test_retry_counts_above_seven_are_seven() -> None:
    def counts(end: cm.CMID) -> tuple[int | None, int | None]:
        assert end.qp is not None
        attr, _ = end.qp.query()
        return attr.retry_cnt, attr.rnr_retry

    param = cm.ConnParam(retry=15, rnr_retry=9, responder_resources=255, initiator_depth=16)
    run = v.run(None, {"H0": _client(counts, param), "H1": _server(counts)})
    assert run.values == {"H0": (7, 7), "H1": (7, 7)}


@pytest.mark.parametrize("name", ["responder_resources", "initiator_depth"])
@pytest.mark.parametrize("value", [-1, 17, 300])
def test_numbers_of_reads_are_checked(name: str, value: int) -> None:
    param = cm.ConnParam()
    setattr(param, name, value)
    with pytest.raises(v.ProgramError, match=f"{name} = {value}: must be 0 to 16, or 255") as caught:
        v.run(None, {"H0": _client(lambda end: None, param)})
    assert isinstance(caught.value.__cause__, v.PyverbsRDMAError)
    assert caught.value.__cause__.errno == errno.EINVAL


def test_a_service_has_one_listener() -> None:
    def program(ctx: v.Context) -> int:
        listeners = [cm.CMID(ctx) for _ in range(2)]
        for listener in listeners:
            listener.bind_addr(cm.AddrInfo(service=5))
        listeners[0].listen()
        with pytest.raises(v.PyverbsRDMAError, match="is listened on already") as busy:
            listeners[1].listen()
        return busy.value.error_code

    assert v.run(None, {"H0": program}).values["H0"] == errno.EADDRINUSE
