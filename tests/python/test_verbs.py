"""Programs in Python that use verbs: data, statuses, completions, errors of calls."""

from __future__ import annotations

import errno
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from verbs_cases import ALL, CORNERS, LOSSY, PEER, Side, chunks, connected, open_side, pattern

import fabricsim.verbs as v
from fabricsim.perftest import Test as Perftest
from fabricsim.perftest import perftest
from fabricsim.spec import Experiment

pytestmark = pytest.mark.usefixtures("real")

LENGTH = 1 << 18


def _idle(ctx: v.Context) -> str:
    """The passive side of a connection: waits until the other one has done its work."""
    connected(ctx, LENGTH)
    return str(ctx.recv_info("H0"))


def _transfers(ctx: v.Context) -> tuple[bytes, bytes]:
    """WRITEs a half of its memory, READs it back to the other half."""
    side = connected(ctx, LENGTH)
    half = LENGTH // 2
    side.mr.write(pattern(half, 1))
    pieces = list(chunks(half, 10_000))
    for at, size in pieces:
        side.post(v.IBV_WR_RDMA_WRITE, size, at, at)
    for at, size in pieces:
        side.post(v.IBV_WR_RDMA_READ, size, half + at, at)
    statuses = {wc.status for wc in side.wait(2 * len(pieces))}
    assert statuses == {v.IBV_WC_SUCCESS}
    ctx.send_info("H1", "done")
    return side.mr.read(half), side.mr.read(half, half)


def _receiver(ctx: v.Context) -> bytes:
    side = connected(ctx, LENGTH)
    ctx.recv_info("H0")
    return side.mr.read(LENGTH // 2)


@pytest.mark.parametrize("changes", [{}, LOSSY], ids=["no loss", "loss"])
def test_memory_is_equal_byte_by_byte(changes: dict[str, Any]) -> None:
    run = v.run(None, {"H0": _transfers, "H1": _receiver}, set=changes)
    sent, back = run.values["H0"]
    assert sent == back == run.values["H1"] == pattern(LENGTH // 2, 1)
    retransmitted = run.queue_pairs["retransmitted"].sum()
    assert (retransmitted > 0) == bool(changes)
    assert run.result.summary["invariants.packets_ok"]
    assert (run.result.summary["invariants.dropped"] > 0) == bool(changes)


def test_a_long_write_takes_longer_than_the_time_out() -> None:
    """Acknowledgements are requested inside messages, else the timer would end before the last packet has left."""
    length = 1 << 22

    def client(ctx: v.Context) -> tuple[object, float]:
        side = connected(ctx, length, v.QPAttr(timeout=5, retry_cnt=0))
        begun = ctx.now
        side.post(v.IBV_WR_RDMA_WRITE, length)
        (wc,) = side.wait()
        taken = ctx.now - begun
        ctx.send_info("H1", "done")
        return wc.status, taken

    def server(ctx: v.Context) -> None:
        connected(ctx, length)
        ctx.recv_info("H0")

    run = v.run(None, {"H0": client, "H1": server})
    status, taken_ns = run.values["H0"]
    assert status == v.IBV_WC_SUCCESS
    assert taken_ns > 2 * 4096 * 2**5
    assert run.queue_pairs["retransmitted"].sum() == 0


def _sends(ctx: v.Context) -> list[tuple[float, str]]:
    side = connected(ctx, LENGTH, v.QPAttr(timeout=5))
    side.mr.write(pattern(LENGTH, 5))
    trace = []
    for number, (at, size) in enumerate(chunks(LENGTH, 9000)):
        side.post(v.IBV_WR_SEND_WITH_IMM, size, at, imm_data=number, wr_id=number)
        if number % 2:
            trace += [(ctx.now, wc.status.name) for wc in side.wait(2)]
    return trace


def _receives(ctx: v.Context) -> list[tuple[float, int, int, int]]:
    side = open_side(ctx, LENGTH)
    side.qp.to_init(v.QPAttr(qp_access_flags=ALL))
    pieces = list(chunks(LENGTH, 9000))
    for number, (at, size) in enumerate(pieces):
        side.receive(size, at, number)
    v.connect(side.qp, PEER[ctx.host], (side.mr.buf, side.mr.rkey))
    trace = []
    for _ in pieces:
        (wc,) = side.wait()
        trace.append((ctx.now, wc.wr_id, wc.byte_len, wc.imm_data))
        ctx.sleep("300 ns")
    assert side.mr.read(LENGTH) == pattern(LENGTH, 5)
    return trace


MESH = """
topology.mesh = { dimensions = [3, 3], hosts_per_switch = 1 }
[links.all]
rate = "54.545 Gb/s"
latency = "10 ns"
buffer = "64 KiB"
[host]
mtu = "4142 B"
[[traffic]]
sources = ["H(1,*).0"]
pattern = { to = "H(2,2).0" }
load = 0.15
message = "2 KiB"
[run]
duration = "20 ms"
"""


def test_results_do_not_depend_on_partitions() -> None:
    found = []
    programs = dict(zip(CORNERS, (_sends, _receives), strict=True))
    for seed, partitions in ((2, 1), (1, 1), (1, 2), (1, 3), (1, 7)):
        changes = {
            "seed": seed,
            "run.partitions": partitions,
            **LOSSY,
            "links.all.bit_error_rate": 4e-7,
        }
        run = v.run(Experiment.from_text(MESH), programs, set=changes)
        found.append(
            (
                run.end_ns,
                run.values,
                run.result.manifest["fingerprint"],
                run.queue_pairs.to_dict(),
                run.links["packets"].tolist(),
            )
        )
    assert run.end_ns > 0
    assert run.queue_pairs["retransmitted"].sum() > 0
    assert all(other == found[1] for other in found[2:])
    # Other losses are noticed.
    assert all(one != other for one, other in zip(found[0], found[1], strict=True))


@pytest.mark.parametrize("wrong", [False, True], ids=["right key", "wrong key"])
def test_a_wrong_key_has_its_status_at_both_ends(wrong: bool) -> None:
    def client(ctx: v.Context) -> list[str]:
        side = connected(ctx)
        side.mr.write(b"x" * 64)
        side.rkey += int(wrong)
        side.post(v.IBV_WR_RDMA_WRITE, 64)
        side.post(v.IBV_WR_RDMA_WRITE, 64)
        found = [wc.status.name for wc in side.wait(2)]
        ctx.send_info("H1", side.qp.qp_state)
        return found

    def server(ctx: v.Context) -> tuple[list[str], bytes, str, v.ibv_qp_state]:
        side = connected(ctx)
        side.receive(64)
        if not wrong:
            state = ctx.recv_info("H0")
            return [], side.mr.read(64), "", state
        event = ctx.get_async_event()
        assert event.element == side.qp.qp_num
        found = [wc.status.name for wc in side.wait()]
        return found, side.mr.read(64), event.event_type.name, ctx.recv_info("H0")

    run = v.run(None, {"H0": client, "H1": server})
    if wrong:
        assert run.values["H0"] == ["IBV_WC_REM_ACCESS_ERR", "IBV_WC_WR_FLUSH_ERR"]
        flushed, memory, event, state = run.values["H1"]
        assert flushed == ["IBV_WC_WR_FLUSH_ERR"]
        assert (memory, event, state) == (bytes(64), "IBV_EVENT_QP_ACCESS_ERR", v.IBV_QPS_ERR)
        assert run.queue_pairs["error"].tolist() == [1, 1]
    else:
        assert run.values == {"H0": ["IBV_WC_SUCCESS"] * 2, "H1": ([], b"x" * 64, "", v.IBV_QPS_RTS)}
        assert run.queue_pairs["error"].tolist() == [0, 0]


def test_a_region_without_permission_refuses_and_others_do_not() -> None:
    def client(ctx: v.Context) -> list[str]:
        side = connected(ctx)
        read_only = ctx.recv_info("H1")
        wr = v.SendWR(opcode=v.IBV_WR_RDMA_READ, sg=[side.sge(8)])
        wr.set_wr_rdma(*read_only)
        side.qp.post_send(wr)
        wr.opcode = v.IBV_WR_RDMA_WRITE
        side.qp.post_send(wr)
        statuses = [wc.status.name for wc in side.wait(2)]
        ctx.send_info("H1", None)
        return [*statuses, side.mr.read(8).decode()]

    def server(ctx: v.Context) -> bytes:
        side = connected(ctx)
        other = v.MR(side.pd, 8, v.IBV_ACCESS_REMOTE_READ)
        other.write(b"readonly")
        ctx.send_info("H0", (other.rkey, other.buf))
        ctx.recv_info("H0")
        return other.read(8)

    run = v.run(None, {"H0": client, "H1": server})
    assert run.values["H0"] == ["IBV_WC_SUCCESS", "IBV_WC_REM_ACCESS_ERR", "readonly"]
    assert run.values["H1"] == b"readonly"


def test_errno_and_sentence_of_calls() -> None:
    def program(ctx: v.Context) -> None:
        side = open_side(ctx, depth=2)
        cases: list[tuple[int, str, Callable[[], object]]] = [
            (errno.EINVAL, "must be RTS", lambda: side.post(v.IBV_WR_SEND, 8)),
            (errno.EINVAL, "state RESET: must be INIT or later", lambda: side.receive(8)),
            (errno.EBUSY, "has memory, memory windows, queue pairs", side.pd.close),
            (errno.EINVAL, "length = 0", lambda: v.MR(side.pd, 0, ALL)),
            (errno.ENOMEM, "more than this machine has", lambda: v.MR(side.pd, 1 << 60, ALL)),
            (
                errno.EINVAL,
                r"path_mtu = 2048: must be 1 \(IBV_MTU_256\) to 5",
                lambda: _to_rtr(side, 2, path_mtu=2048),
            ),
            (errno.EINVAL, "min_rnr_timer = 32: at most 31", lambda: _to_rtr(side, 2, min_rnr_timer=32)),
            (errno.EINVAL, "cqe = 0", lambda: v.CQ(ctx, 0)),
            (errno.EINVAL, "no host has this LID", lambda: _to_rtr(side, 999)),
        ]
        for number, text, call in cases:
            with pytest.raises(v.PyverbsRDMAError, match=text) as caught:
                call()
            assert caught.value.errno == caught.value.error_code == number, text
            assert errno.errorcode[number] in str(caught.value)
        attr = v.QPAttr(qp_access_flags=ALL)
        with v.QP(side.pd, v.QPInitAttr(scq=side.cq, rcq=side.cq), attr) as qp:
            assert qp.qp_state == qp.query()[0].qp_state == v.IBV_QPS_INIT
            attr.qp_state = v.IBV_QPS_RTS
            with pytest.raises(v.PyverbsRDMAError, match="modify_qp"):
                qp.modify(attr, v.IBV_QP_STATE)
            assert qp.qp_state == v.IBV_QPS_INIT
        with pytest.raises(v.PyverbsUserError, match="the QP was closed"):
            _ = qp.qp_num

    v.run(None, {"H0": program})


def _to_rtr(side: Side, lid: int, path_mtu: int = v.IBV_MTU_1024, min_rnr_timer: int = 12) -> None:
    attr = v.QPAttr(
        qp_access_flags=ALL,
        ah_attr=v.AHAttr(dlid=lid),
        dest_qp_num=5,
        rq_psn=0,
        max_dest_rd_atomic=1,
        path_mtu=path_mtu,
        min_rnr_timer=min_rnr_timer,
    )
    side.qp.to_rtr(attr)


def test_a_full_send_queue_is_enomem_until_completions_are_polled() -> None:
    def client(ctx: v.Context) -> int:
        side = connected(ctx, depth=4, signal_all=0)
        unsignaled = v.SendWR(opcode=v.IBV_WR_RDMA_WRITE, sg=[side.sge(8)], send_flags=0)
        unsignaled.set_wr_rdma(side.rkey, side.addr)
        for _ in range(3):
            side.qp.post_send(unsignaled)
        side.post(v.IBV_WR_RDMA_WRITE, 8, wr_id=7)
        ctx.sleep("50 us")
        with pytest.raises(v.PyverbsRDMAError, match="the send queue is full") as caught:
            side.qp.post_send(unsignaled)
        assert caught.value.errno == errno.ENOMEM
        (wc,) = side.wait()
        assert (wc.wr_id, wc.opcode) == (7, v.IBV_WC_RDMA_WRITE)
        side.qp.post_send(unsignaled)
        ctx.send_info("H1", None)
        return wc.wr_id

    v.run(None, {"H0": client, "H1": _idle})


def test_atomics_immediate_data_and_inline() -> None:
    def client(ctx: v.Context) -> list[int]:
        side = connected(ctx)
        found = []
        for add in (5, 6):
            wr = v.SendWR(opcode=v.IBV_WR_ATOMIC_FETCH_AND_ADD, sg=[side.sge(8)])
            wr.set_wr_atomic(side.rkey, side.addr, add)
            side.qp.post_send(wr)
            side.wait()
            found.append(int.from_bytes(side.mr.read(8), "little"))
        wr = v.SendWR(opcode=v.IBV_WR_ATOMIC_CMP_AND_SWP, sg=[side.sge(8)])
        wr.set_wr_atomic(side.rkey, side.addr, 11, 99)
        side.qp.post_send(wr)
        side.wait()
        side.mr.write(b"inline")
        side.post(v.IBV_WR_RDMA_WRITE_WITH_IMM, 6, 0, 16, imm_data=0xABCD, send_flags=v.IBV_SEND_INLINE)
        side.mr.write(b"change")  # the data was copied by the call
        side.wait()
        return found

    def server(ctx: v.Context) -> tuple[int, bytes, v.WC]:
        side = connected(ctx)
        side.receive(0, wr_id=3)
        (wc,) = side.wait()
        return int.from_bytes(side.mr.read(8), "little"), side.mr.read(6, 16), wc

    run = v.run(None, {"H0": client, "H1": server})
    assert run.values["H0"] == [0, 5]
    value, text, wc = run.values["H1"]
    assert (value, text) == (99, b"inline")
    assert (wc.wr_id, wc.opcode, wc.imm_data) == (3, v.IBV_WC_RECV_RDMA_WITH_IMM, 0xABCD)
    assert (wc.byte_len, wc.wc_flags) == (6, v.ibv_wc_flags.IBV_WC_WITH_IMM)


ITERATIONS = 20


def _write_ping_pong(ctx: v.Context) -> float:
    """The loop of `ib_write_lat`: WRITEs to and fro, and looks at memory."""
    side = connected(ctx)
    begins, times = ctx.host == "H0", []
    for _ in range(ITERATIONS):
        times.append(ctx.now)
        if not begins:
            side.mr.wait_write()
        side.post(v.IBV_WR_RDMA_WRITE, 2, 0, 0, send_flags=v.IBV_SEND_INLINE)
        if begins:
            side.mr.wait_write()
        side.wait()
    steps = sorted(b - a for a, b in pairwise(times))
    return steps[len(steps) // 2] / 2000


def test_latency_is_that_of_perftest() -> None:
    python = v.run(None, {"H0": _write_ping_pong, "H1": _write_ping_pong}).values["H0"]
    table = perftest(Perftest("write_lat", size=2, iterations=ITERATIONS))
    # perftest polls the completion of a WRITE, 30 ns, beside the flight of the answer; so does this loop.
    assert python == pytest.approx(table["t_typical_us"].iloc[0], abs=0.032)
