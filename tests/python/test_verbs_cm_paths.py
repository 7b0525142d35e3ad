"""Second paths of connections by communication management: those of a LAP and of a REQ."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

import fabricsim as fs
import fabricsim.verbs as v
from fabricsim.captures import dissect
from fabricsim.verbs import cm

pytest.importorskip("greenlet")
pytestmark = pytest.mark.usefixtures("real")
ROOT = Path(__file__).parents[2]
FABRIC = fs.Experiment.from_text(runpy.run_path(str(ROOT / "experiments/programs/migration.py"))["FABRIC"])


def _client(ctx: v.Context, status: int, then: Any) -> dict[str, Any]:
    end = cm.CMID(ctx)
    channel = end.event_channel
    end.resolve_addr(cm.AddrInfo("H3", 7))
    channel.get_cm_event()
    end.resolve_route()
    channel.get_cm_event()
    end.create_qp()
    end.connect()
    assert channel.get_cm_event().event_type == cm.RDMA_CM_EVENT_ESTABLISHED
    assert end.qp is not None
    assert end.route is not None
    alternate = v.AHAttr(dlid=end.route.dlid + 1, src_path_bits=1)
    with pytest.raises(v.PyverbsRDMAError, match="send_lap: timeout = 32: at most 31"):
        end.send_lap(alternate, timeout=32)
    end.send_lap(alternate, timeout=6)
    event = channel.get_cm_event()
    assert (event.event_type, event.status) == (cm.IB_CM_APR_RECEIVED, status)
    memory = end.reg_msgs(64)
    end.post_send(memory)
    end.get_send_comp()
    attr = end.qp.query()[0]
    result = then(end) if then else None
    end.disconnect()
    assert channel.get_cm_event().event_type == cm.RDMA_CM_EVENT_DISCONNECTED
    return {"route": end.route, "state": attr.path_mig_state, "timeout": attr.timeout, "then": result}


def _server(ctx: v.Context, status: int) -> dict[str, Any]:
    listener = cm.CMID(ctx)
    listener.bind_addr(cm.AddrInfo(service=7))
    listener.listen()
    end = listener.get_request()
    memory = end.reg_msgs(64)
    for _ in range(2):
        end.post_recv(memory)
    end.accept()
    channel = end.event_channel
    assert channel.get_cm_event().event_type == cm.RDMA_CM_EVENT_ESTABLISHED
    assert end.qp is not None
    with pytest.raises(
        v.PyverbsRDMAError, match="only the end that requests a connection loads alternate paths"
    ):
        end.send_lap(v.AHAttr(dlid=2))
    event = channel.get_cm_event()
    assert event.event_type == cm.IB_CM_LAP_RECEIVED
    end.send_apr(status)
    assert channel.get_cm_event().event_type == cm.RDMA_CM_EVENT_DISCONNECTED
    attr = end.qp.query()[0]
    assert attr.ah_attr is not None
    return {"path": event.path, "timeout": attr.timeout, "mtu": attr.path_mtu, "lid": attr.ah_attr.dlid}


@pytest.mark.parametrize("status", [0, 5])
def test_an_alternate_path_is_loaded_by_communication_management(status: int) -> None:
    def migrate(end: cm.CMID) -> tuple[int, str]:
        assert end.qp is not None
        if status:
            return 0, ""
        end.qp.modify(v.QPAttr(path_mig_state=v.IBV_MIG_MIGRATED), v.IBV_QP_PATH_MIG_STATE)
        end.post_send(end.reg_msgs(64))
        end.get_send_comp()
        attr = end.qp.query()[0]
        assert attr.ah_attr is not None
        return attr.ah_attr.dlid, end.context.get_async_event().event_type.name

    def client(ctx: v.Context) -> dict[str, Any]:
        return _client(ctx, status, migrate)

    run = v.run(FABRIC, {"H0": client, "H3": lambda ctx: _server(ctx, status)}, set={"faults.plan": []})
    ours, theirs = run.values["H0"], run.values["H3"]
    assert theirs["path"] == v.AHAttr(dlid=3, src_path_bits=1)
    if status == 0:
        # The other end has answered on the first path, and followed on the second one.
        assert ours["state"] == v.IBV_MIG_ARMED
        assert ours["then"] == (13, "IBV_EVENT_PATH_MIG")
        assert (theirs["lid"], theirs["timeout"]) == (3, 6)
    else:
        assert ours["state"] == v.IBV_MIG_MIGRATED
        assert (theirs["lid"], theirs["timeout"]) == (2, 14)


SECOND = v.AHAttr(dlid=13, src_path_bits=1)


def _requester(ctx: v.Context, param: cm.ConnParam) -> tuple[int | None, str, int, int | None]:
    """Connects to H3 with a second path, migrates if it was loaded, and sends. Returns the answer, states and LID."""
    end = cm.CMID(ctx)
    end.resolve_addr(cm.AddrInfo("H3", 7))
    end.event_channel.get_cm_event()
    end.create_qp()
    end.connect(param)
    assert end.event_channel.get_cm_event().event_type == cm.RDMA_CM_EVENT_ESTABLISHED
    assert end.qp is not None
    memory = end.reg_msgs(64)
    end.post_send(memory)
    end.get_send_comp()
    migration = end.qp.query()[0].path_mig_state
    assert migration is not None
    state = v.ibv_mig_state(migration).name
    if state == "IBV_MIG_ARMED":
        end.qp.modify(v.QPAttr(path_mig_state=v.IBV_MIG_MIGRATED), v.IBV_QP_PATH_MIG_STATE)
    end.post_send(memory)
    assert end.get_send_comp().status == v.IBV_WC_SUCCESS
    attr = end.qp.query()[0]
    assert attr.ah_attr is not None
    return end.failover_accepted, state, attr.ah_attr.dlid, attr.timeout


def _accepter(ctx: v.Context, answer: int) -> tuple[v.AHAttr | None, int, int | None]:
    listener = cm.CMID(ctx)
    listener.bind_addr(cm.AddrInfo(service=7))
    listener.listen()
    event = listener.event_channel.get_cm_event()
    assert event.event_type == cm.RDMA_CM_EVENT_CONNECT_REQUEST
    end = event.id
    end.create_qp()
    memory = end.reg_msgs(64)
    for _ in range(2):
        end.post_recv(memory)
    end.accept(cm.ConnParam(failover_accepted=answer))
    for _ in range(2):
        end.get_recv_comp()
    assert end.qp is not None
    attr = end.qp.query()[0]
    assert attr.ah_attr is not None
    return event.path, attr.ah_attr.dlid, attr.timeout


@pytest.mark.parametrize("answer", [0, 1, 2])
def test_a_request_brings_a_second_path(answer: int, tmp_path: Path) -> None:
    param = cm.ConnParam(alternate_path=SECOND, alternate_timeout=6)
    file = tmp_path / "request.pcapng"
    programs = {
        "H0": lambda ctx: _requester(ctx, param),
        "H3": lambda ctx: _accepter(ctx, answer),
    }
    run = v.run(FABRIC, programs, set={"faults.plan": []}, capture=file)
    path, lid, timeout = run.values["H3"]
    assert path == v.AHAttr(dlid=3, src_path_bits=1)
    if answer == 0:
        assert run.values["H0"] == (0, "IBV_MIG_ARMED", 13, 6)
        assert (lid, timeout) == (3, 6)
    else:
        assert run.values["H0"] == (answer, "IBV_MIG_MIGRATED", 12, 14)
        assert (lid, timeout) == (2, 14)
    # Data of the second message came by the second path if both ends had loaded it.
    data = [of for of in dissect(file) if of["interface"].startswith("H0:") and of["payload_length"] == 64]
    lids = [(of["lrh"]["slid"], of["lrh"]["dlid"]) for of in data]
    assert lids == [(2, 12), (3, 13) if answer == 0 else (2, 12)]


def test_a_request_without_a_second_path_loads_none() -> None:
    programs = {
        "H0": lambda ctx: _requester(ctx, cm.ConnParam()),
        "H3": lambda ctx: _accepter(ctx, 0),
    }
    run = v.run(FABRIC, programs, set={"faults.plan": []})
    assert run.values == {"H0": (None, "IBV_MIG_MIGRATED", 12, 14), "H3": (None, 2, 14)}


@pytest.mark.parametrize(
    ("path", "timeout", "text"),
    [
        ({"dlid": 99}, 14, "connect: alt_ah_attr.dlid = 99: no host has this LID"),
        ({"dlid": 13, "src_path_bits": 2}, 14, "connect: alt_ah_attr.src_path_bits = 2: must be 0 to 1"),
        ({"dlid": 2}, 14, "connect: alt_ah_attr.dlid: must be a LID of the host at the other end"),
        ({"dlid": 13}, 32, "connect: alt_timeout = 32: at most 31"),
    ],
)
def test_wrong_second_paths_of_a_request_are_refused(path: dict[str, Any], timeout: int, text: str) -> None:
    def program(ctx: v.Context) -> None:
        end = cm.CMID(ctx)
        end.resolve_addr(cm.AddrInfo("H3", 7))
        end.event_channel.get_cm_event()
        end.create_qp()
        with pytest.raises(v.PyverbsRDMAError) as error:
            end.connect(cm.ConnParam(alternate_path=v.AHAttr(**path), alternate_timeout=timeout))
        assert text in error.value.message

    v.run(FABRIC, {"H0": program}, set={"faults.plan": []})


def test_datagrams_have_no_second_path() -> None:
    def program(ctx: v.Context) -> None:
        end = cm.CMID(ctx)
        end.resolve_addr(cm.AddrInfo("H3", 7, cm.RDMA_PS_UDP))
        end.event_channel.get_cm_event()
        end.create_qp()
        with pytest.raises(v.PyverbsUserError, match="a service for datagrams has no second path"):
            end.connect(cm.ConnParam(alternate_path=SECOND))

    v.run(FABRIC, {"H0": program}, set={"faults.plan": []})


def test_connections_have_the_path_mtu_of_the_record() -> None:
    set = {"faults.plan": [], "links.named": {"L1S0-L2S1": {"mtu": "1100 B"}}}
    run = v.run(FABRIC, {"H0": lambda ctx: _client(ctx, 5, None), "H3": lambda ctx: _server(ctx, 5)}, set=set)
    assert run.values["H0"]["route"].mtu == v.IBV_MTU_1024
    assert run.values["H3"]["mtu"] == v.IBV_MTU_1024
