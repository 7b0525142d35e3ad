"""A connection goes on over its second path when a link fails, by automatic path migration.

Two leaf switches have two spines between them, and each host has two LIDs, with routes over different spines. A link to
one spine fails at 100 us. `python experiments/programs/migration.py` prints the outcome of a connection with an
alternate path, and of one without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import fabricsim as fs
import fabricsim.verbs as v

HOSTS = "H0", "H3"
LENGTH, MESSAGES = 4096, 60

FABRIC = """
title = "Two paths"
topology.xgft = { children = [2, 2], parents = [1, 2] }
[links.all]
rate = "54.545 Gb/s" # FDR 4x
latency = "10 ns"
buffer = "64 KiB"
[switch]
router_delay = "170 ns"
[routing]
algorithm = "opensm"
engine = "updn"
lmc = 1
paths = "addressed"
[[faults.plan]]
link = "L1S0-L2S1"
at = "100 us"
[host]
mtu = "4142 B"
[run]
duration = "20 ms"
"""
LIDS = {"H0": (1, 0), "H3": (0, 1)}
"""LIDs of each host on the first path and on the second one, from 0: packets between them cross the same spine in both
directions (`fabricsim route`). The first path crosses L2S1, which fails, the second one L2S0."""


@dataclass
class End:
    """One end of the connection."""

    mr: v.MR
    cq: v.CQ
    qp: v.QP
    peer: str
    theirs: tuple[int, int]
    """Key and address of the memory at the other end."""


def connected(ctx: v.Context, with_alternate: bool) -> End:
    """Connects over the first path, and loads the second one."""
    pd, cq = v.PD(ctx), v.CQ(ctx, 128)
    mr = v.MR(pd, LENGTH, v.IBV_ACCESS_LOCAL_WRITE | v.IBV_ACCESS_REMOTE_WRITE)
    qp = v.QP(pd, v.QPInitAttr(scq=cq, rcq=cq, cap=v.QPCap(max_send_wr=64)))
    peer = HOSTS[1 - HOSTS.index(ctx.host)]
    lid = ctx.exchange(peer, ctx.lid)
    paths = [
        v.AHAttr(dlid=lid + theirs, src_path_bits=own)
        for own, theirs in zip(LIDS[ctx.host], LIDS[peer], strict=True)
    ]
    # A time-out of 131 us, and two retries.
    attr = v.QPAttr(ah_attr=paths[0], timeout=5, retry_cnt=2)
    theirs = v.connect(qp, peer, (mr.rkey, mr.buf), attr)
    if with_alternate:
        attr = v.QPAttr(alt_ah_attr=paths[1], alt_timeout=5, path_mig_state=v.IBV_MIG_REARM)
        qp.modify(attr, v.IBV_QP_ALT_PATH | v.IBV_QP_PATH_MIG_STATE)
        # Each end is armed when it has received a packet of the other one that has loaded its path.
        ctx.exchange(peer, None)
    return End(mr, cq, qp, peer, theirs)


def dlid(qp: v.QP) -> int:
    """LID to which the packets of a queue pair go now."""
    path = qp.query()[0].ah_attr
    return 0 if path is None else path.dlid


def client(with_alternate: bool) -> v.Program:
    """Writes a message every 5 us. Returns statuses, the slowest one's time in ns, and the queue pair's state."""

    def program(ctx: v.Context) -> dict[str, Any]:
        end = connected(ctx, with_alternate)
        statuses, slowest = [], 0.0
        for number in range(MESSAGES):
            end.mr.write(bytes([number]) * LENGTH)
            wr = v.SendWR(number, v.IBV_WR_RDMA_WRITE, sg=[v.SGE(end.mr.buf, LENGTH, end.mr.lkey)])
            wr.set_wr_rdma(*end.theirs)
            begin = ctx.now
            end.qp.post_send(wr)
            while not (found := end.cq.poll()):
                pass
            statuses.append(found.wcs[0].status.name)
            slowest = max(slowest, ctx.now - begin)
            ctx.sleep("5 us")
        state, lid = end.qp.qp_state.name, dlid(end.qp)
        event = ctx.get_async_event().event_type.name if with_alternate else None
        ctx.exchange(end.peer, None)
        return {"statuses": statuses, "slowest": slowest, "state": state, "lid": lid, "event": event}

    return program


def server(with_alternate: bool) -> v.Program:
    """Has the memory. Returns what is in it at the end, and the LID to which its packets go."""

    def program(ctx: v.Context) -> tuple[bytes, int]:
        end = connected(ctx, with_alternate)
        ctx.exchange(end.peer, None)
        return end.mr.read(LENGTH), dlid(end.qp)

    return program


def run(with_alternate: bool, **changes: Any) -> v.ProgramsRun:
    """Runs both ends."""
    programs = {HOSTS[0]: client(with_alternate), HOSTS[1]: server(with_alternate)}
    return v.run(fs.Experiment.from_text(FABRIC), programs, set=changes)


if __name__ == "__main__":
    for with_alternate in (True, False):
        values = run(with_alternate).values[HOSTS[0]]
        good = values["statuses"].count("IBV_WC_SUCCESS")
        print(
            f"{'with' if with_alternate else 'without'} an alternate path: {good} of {MESSAGES} messages,"
            f" the slowest in {values['slowest'] / 1000:.0f} us, {values['state']}, {values['event']}"
        )
