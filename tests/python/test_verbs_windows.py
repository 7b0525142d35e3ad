"""Memory windows and invalidation, by programs in Python."""

from __future__ import annotations

import errno

import pytest
from verbs_cases import ALL

import fabricsim as fs
import fabricsim.verbs as v

pytest.importorskip("greenlet")
pytestmark = [pytest.mark.usefixtures("real")]


def _wait(cq: v.CQ, count: int = 1) -> list[v.WC]:
    found: list[v.WC] = []
    while len(found) < count:
        found += cq.poll(count).wcs
    return found


def _owner_side(ctx: v.Context) -> tuple[v.PD, v.MR, v.CQ, v.QP]:
    pd, cq = v.PD(ctx), v.CQ(ctx, 64)
    mr = v.MR(pd, 4096, v.IBV_ACCESS_LOCAL_WRITE | v.IBV_ACCESS_MW_BIND)
    qp = v.QP(pd, v.QPInitAttr(scq=cq, rcq=cq, cap=v.QPCap(max_send_wr=16)))
    v.connect(qp, "H1")
    return pd, mr, cq, qp


def _user(ctx: v.Context) -> list[str]:
    """Writes to an address by a key as often as the owner says, and returns the statuses."""
    pd, cq = v.PD(ctx), v.CQ(ctx, 64)
    mr = v.MR(pd, 64, ALL)
    qp = v.QP(pd, v.QPInitAttr(scq=cq, rcq=cq))
    v.connect(qp, "H0")
    mr.write(b"x" * 64)
    statuses = []
    while (target := ctx.exchange("H0", None)) is not None:
        rkey, addr, length = target
        wr = v.SendWR(opcode=v.IBV_WR_RDMA_WRITE, sg=[v.SGE(mr.buf, length, mr.lkey)])
        wr.set_wr_rdma(rkey, addr)
        qp.post_send(wr)
        statuses.append(_wait(cq)[0].status.name)
        ctx.exchange("H0", None)
    return statuses


def _give(ctx: v.Context, rkey: int, addr: int, length: int) -> None:
    ctx.exchange("H1", (rkey, addr, length))
    ctx.exchange("H1", None)


def test_a_window_of_type_1_is_bound_again_and_again() -> None:
    def owner(ctx: v.Context) -> tuple[bytes, list[str]]:
        pd, mr, cq, qp = _owner_side(ctx)
        mw = v.MW(pd, v.IBV_MW_TYPE_1)
        keys = [mw.rkey]
        for place in range(3):
            info = v.MWBindInfo(mr, mr.buf + 100 * place, 10, v.IBV_ACCESS_REMOTE_WRITE)
            qp.bind_mw(mw, v.MWBind(info, wr_id=place))
            keys.append(mw.rkey)
            assert [(wc.wr_id, wc.opcode) for wc in _wait(cq)] == [(place, v.IBV_WC_BIND_MW)]
            _give(ctx, mw.rkey, mr.buf + 100 * place, 10)
        assert len(set(keys)) == 4
        with pytest.raises(v.PyverbsRDMAError, match="memory windows are bound to region") as raised:
            mr.close()
        assert raised.value.errno == errno.EBUSY
        # The key of the bind before is not valid any more.
        _give(ctx, keys[1], mr.buf, 10)
        ctx.exchange("H1", None)
        return mr.read(10, 200), [wc.status.name for wc in cq.poll(9).wcs]

    run = fs.verbs.run(None, {"H0": owner, "H1": _user})
    assert run.values["H0"][0] == b"x" * 10
    assert run.values["H1"] == ["IBV_WC_SUCCESS"] * 3 + ["IBV_WC_REM_ACCESS_ERR"]


def test_a_local_invalidation_withdraws_a_key() -> None:
    def owner(ctx: v.Context) -> bytes:
        pd, mr, cq, qp = _owner_side(ctx)
        mw = v.MW(pd, v.IBV_MW_TYPE_2)
        before = mw.rkey
        wr = v.SendWR(wr_id=1, opcode=v.IBV_WR_BIND_MW)
        access = v.IBV_ACCESS_REMOTE_WRITE | v.IBV_ACCESS_ZERO_BASED
        wr.set_bind_wr(mw, v.MWBindInfo(mr, mr.buf + 8, 8, access))
        qp.post_send(wr)
        assert mw.rkey == v.inc_rkey(before)
        assert _wait(cq)[0].status == v.IBV_WC_SUCCESS
        _give(ctx, mw.rkey, 4, 4)
        qp.post_send(v.SendWR(wr_id=2, opcode=v.IBV_WR_LOCAL_INV, imm_data=mw.rkey))
        assert [(wc.wr_id, wc.opcode) for wc in _wait(cq)] == [(2, v.IBV_WC_LOCAL_INV)]
        _give(ctx, mw.rkey, 0, 4)
        ctx.exchange("H1", None)
        return mr.read(20)

    run = fs.verbs.run(None, {"H0": owner, "H1": _user})
    assert run.values["H0"] == bytes(12) + b"xxxx" + bytes(4)
    assert run.values["H1"] == ["IBV_WC_SUCCESS", "IBV_WC_REM_ACCESS_ERR"]


def test_a_bind_that_is_not_allowed_has_its_status() -> None:
    def owner(ctx: v.Context) -> list[str]:
        pd, mr, cq, qp = _owner_side(ctx)
        mw = v.MW(pd, v.IBV_MW_TYPE_2)
        wr = v.SendWR(opcode=v.IBV_WR_BIND_MW, next_wr=v.SendWR(opcode=v.IBV_WR_LOCAL_INV))
        wr.set_bind_wr(mw, v.MWBindInfo(mr, mr.buf + 4090, 8, v.IBV_ACCESS_REMOTE_WRITE))
        qp.post_send(wr)
        ctx.exchange("H1", None)
        return [wc.status.name for wc in _wait(cq, 2)]

    run = fs.verbs.run(None, {"H0": owner, "H1": _user})
    assert run.values["H0"] == ["IBV_WC_MW_BIND_ERR", "IBV_WC_WR_FLUSH_ERR"]


def test_wrong_arguments_are_reported() -> None:
    def owner(ctx: v.Context) -> None:
        pd, mr, _, qp = _owner_side(ctx)
        with pytest.raises(v.PyverbsRDMAError, match="mw_type = 3: must be 1 or 2"):
            v.MW(pd, 3)
        two = v.MW(pd, v.IBV_MW_TYPE_2)
        info = v.MWBindInfo(mr, mr.buf, 8, v.IBV_ACCESS_REMOTE_WRITE)
        with pytest.raises(v.PyverbsRDMAError, match="is of type 2: post a work request"):
            qp.bind_mw(two, v.MWBind(info))
        wr = v.SendWR(opcode=v.IBV_WR_BIND_MW)
        with pytest.raises(v.PyverbsUserError, match="set_bind_wr names the window"):
            qp.post_send(wr)
        wr.set_bind_wr(two, info, rkey=5)
        with pytest.raises(v.PyverbsRDMAError, match="rkey = 0x5: a key of memory window 0 is"):
            qp.post_send(wr)
        ctx.exchange("H1", None)

    fs.verbs.run(None, {"H0": owner, "H1": _user})
