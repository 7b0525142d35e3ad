"""Arguments of verbs that have no meaning are refused, with their names, and never ignored."""

from __future__ import annotations

import errno
import functools
from collections.abc import Callable

import pytest
from verbs_cases import ALL, connected, open_side

import fabricsim.verbs as v

pytest.importorskip("greenlet")
pytestmark = [pytest.mark.usefixtures("real")]

Call = Callable[[], object]


def _refused(cases: list[tuple[str, Call]], kind: type[v.PyverbsError]) -> None:
    for text, call in cases:
        with pytest.raises(kind, match=text) as caught:
            call()
        if isinstance(caught.value, v.PyverbsRDMAError):
            assert caught.value.errno == errno.EINVAL


def test_masks_of_modify() -> None:
    def program(ctx: v.Context) -> v.ibv_qp_state:
        qp = open_side(ctx).qp
        empty, init = v.QPAttr(), v.QPAttr(qp_state=v.IBV_QPS_INIT)
        needed = v.IBV_QP_STATE | v.IBV_QP_PKEY_INDEX | v.IBV_QP_PORT | v.IBV_QP_ACCESS_FLAGS
        unset: list[tuple[str, Call]] = [
            ("min_rnr_timer: in the mask and not set", lambda: qp.modify(empty, v.IBV_QP_MIN_RNR_TIMER)),
            ("qp_access_flags: in the mask and not set", lambda: qp.modify(init, needed)),
            (
                "path_mtu, rq_psn, .*: in the mask and not set",
                lambda: qp.to_rtr(v.QPAttr(qp_access_flags=ALL)),
            ),
        ]
        unknown: list[tuple[str, Call]] = [
            ("IBV_QP_CUR_STATE.* is not supported", lambda: qp.modify(init, needed | v.IBV_QP_CUR_STATE)),
            ("1073741824.* is not supported", lambda: qp.modify(init, needed | 1 << 30)),
        ]
        _refused(unset, v.PyverbsRDMAError)
        _refused(unknown, v.PyverbsUserError)
        return qp.qp_state

    # The last of the changes without an attribute has been to INIT; all others have changed nothing.
    assert v.run(None, {"H0": program}).values["H0"] == v.IBV_QPS_INIT


def test_attributes_that_have_no_place_in_headers_or_no_meaning() -> None:
    def program(ctx: v.Context) -> tuple[v.ibv_qp_state, v.QPAttr]:
        qp = open_side(ctx).qp
        flags = v.QPAttr(qp_access_flags=ALL | 1 << 20)
        _refused([("qp_access_flags = 0x10000f: must be", lambda: qp.to_init(flags))], v.PyverbsRDMAError)
        qp.to_init(v.QPAttr(qp_access_flags=ALL))
        cases: list[tuple[str, Call]] = []
        for name, bit in (
            ("rq_psn", v.IBV_QP_RQ_PSN),
            ("sq_psn", v.IBV_QP_SQ_PSN),
            ("dest_qp_num", v.IBV_QP_DEST_QPN),
        ):
            for value in (1 << 24, (1 << 32) - 1, -1):
                attr = v.QPAttr()
                setattr(attr, name, value)
                text = rf"queue pair \d+: {name} = {value}: must be 0 to 16777215 \(24 bits\)"
                cases.append((text, functools.partial(qp.modify, attr, bit)))
        _refused(cases, v.PyverbsRDMAError)
        return qp.qp_state, qp.query()[0]

    state, attr = v.run(None, {"H0": program}).values["H0"]
    assert state == v.IBV_QPS_INIT
    assert (attr.rq_psn, attr.sq_psn, attr.dest_qp_num) == (None, None, None)


@pytest.mark.parametrize(("allowed", "is_refused"), [(0, True), (1, False)])
def test_without_outstanding_reads_a_read_is_refused(allowed: int, is_refused: bool) -> None:
    def program(ctx: v.Context) -> list[v.ibv_wc_opcode]:
        side = connected(ctx, attr=v.QPAttr(max_rd_atomic=allowed))
        if is_refused:
            text = "max_rd_atomic = 0 allows no READ and no atomic operation"
            reads = (v.IBV_WR_RDMA_READ, v.IBV_WR_ATOMIC_FETCH_AND_ADD)
            cases: list[tuple[str, Call]] = [(text, functools.partial(side.post, of, 8)) for of in reads]
            _refused(cases, v.PyverbsRDMAError)
        else:
            side.post(v.IBV_WR_RDMA_READ, 8)
        side.post(v.IBV_WR_RDMA_WRITE, 8)
        return [one.opcode for one in side.wait(1 if is_refused else 2)]

    def other(ctx: v.Context) -> None:
        connected(ctx)
        ctx.sleep("100 us")

    found = v.run(None, {"H0": program, "H1": other}).values["H0"]
    writes = [v.IBV_WC_RDMA_WRITE]
    assert found == (writes if is_refused else [v.IBV_WC_RDMA_READ, *writes])


def test_numbers_of_pieces_and_bytes() -> None:
    def program(ctx: v.Context) -> bytes:
        side = open_side(ctx)
        side.qp.to_init(v.QPAttr(qp_access_flags=ALL))
        piece = side.sge(8)
        cases: list[tuple[str, Call]] = [
            ("num_sge = -1: must be 0 to 1", lambda: side.qp.post_recv(v.RecvWR(num_sge=-1, sg=[piece]))),
            ("num_sge = 2: must be 0 to 1", lambda: side.qp.post_recv(v.RecvWR(num_sge=2, sg=[piece]))),
            ("length = 5: must be 0 to 1", lambda: side.mr.write(b"x", 5)),
            ("length = -1: must be 0 to 2", lambda: side.mr.write(b"xy", -1)),
            ("a number is negative or too large", lambda: v.MR(side.pd, -1, ALL)),
            ("a number is negative or too large", lambda: side.qp.post_recv(v.RecvWR(1 << 64, sg=[piece]))),
        ]
        _refused(cases, v.PyverbsUserError)
        with pytest.raises(TypeError):
            side.mr.write(5)  # type: ignore[arg-type]
        side.mr.write("text")
        side.mr.write(memoryview(b"abcd")[::2], offset=4)
        return side.mr.read(8)

    assert v.run(None, {"H0": program}).values["H0"] == b"textac\0\0"


def test_what_the_adapter_does_not_have() -> None:
    def program(ctx: v.Context) -> None:
        side = open_side(ctx)
        srq, channel = v.SRQ(side.pd), v.CompChannel(ctx)
        channel.close()
        path = v.AHAttr(dlid=ctx.lid, port_num=2)
        cases: list[tuple[str, Call]] = [
            ("comp_vector = 1: must be 0", lambda: v.CQ(ctx, 16, comp_vector=1)),
            ("ah_attr.port_num = 2: the adapter has port 1", lambda: v.AH(side.pd, path)),
            (
                r"srq_attr_mask = 0x1: must be 0x2 \(IBV_SRQ_LIMIT\)",
                lambda: srq.modify(v.SrqAttr(max_wr=9), 1),
            ),
        ]
        _refused(cases, v.PyverbsRDMAError)
        closed: list[tuple[str, Call]] = [
            ("the CompChannel was closed", lambda: v.CQ(ctx, 16, None, channel)),
            ("the CompChannel was closed", channel.get_cq_event),
        ]
        _refused(closed, v.PyverbsUserError)
        with pytest.raises(v.PyverbsRDMAError, match="no on-demand paging") as caught:
            v.MR(side.pd, 64, ALL | v.IBV_ACCESS_ON_DEMAND)
        assert caught.value.errno == errno.EOPNOTSUPP

    v.run(None, {"H0": program})
