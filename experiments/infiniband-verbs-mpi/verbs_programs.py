"""Programs of verbs of the tutorial's figures. Each function returns the programs by host; they say what they call."""

from __future__ import annotations

from typing import Any

import fabricsim.verbs as v
from fabricsim.verbs import cm

Programs = dict[str, v.Program]

SERVICE = 7
ACCESS = v.IBV_ACCESS_LOCAL_WRITE | v.IBV_ACCESS_REMOTE_WRITE | v.IBV_ACCESS_REMOTE_READ
OPCODES = {"SEND": v.IBV_WR_SEND, "WRITE": v.IBV_WR_RDMA_WRITE, "READ": v.IBV_WR_RDMA_READ}
GRH = 40
"""Bytes before a datagram in the memory of its receiver."""
COPY_NS_PER_BYTE = 0.1
"""Of a copy in memory, 10 GB/s."""


def connection(service: str = "RC", size: int = 64) -> Programs:
    """Figure 15: a client and a server connect, and the client sends a message.

    Args:
        service: `RC`, or `UD`, which has no connections: the client asks for the queue pair of the service.
        size: of the message in bytes.
    """
    space = cm.RDMA_PS_TCP if service == "RC" else cm.RDMA_PS_UDP
    return {"H0": _client(space, size), "H1": _server(space, size)}


def _client(space: cm.rdma_port_space, size: int) -> v.Program:
    def client(ctx: v.Context) -> None:
        address = cm.AddrInfo(dst="H1", service=SERVICE, port_space=space)
        end = cm.CMID(ctx)
        ctx.note("rdma_resolve_addr")
        end.resolve_addr(address)
        end.event_channel.get_cm_event()
        ctx.note("rdma_resolve_route")
        end.resolve_route()
        end.event_channel.get_cm_event()
        end.create_qp()
        ctx.note("rdma_create_qp")
        ctx.note("rdma_connect")
        end.connect()
        found = end.event_channel.get_cm_event()
        ctx.note("ESTABLISHED")
        data = end.reg_msgs(size)
        ctx.note("rdma_post_send")
        if found.ud is None:
            end.post_send(data)
        else:
            ud = found.ud
            end.post_ud_send(data, v.AH(end.pd, ud.ah_attr), ud.qp_num)
        end.get_send_comp()

    return client


def _server(space: cm.rdma_port_space, size: int) -> v.Program:
    def server(ctx: v.Context) -> None:
        listener = cm.CMID(ctx)
        listener.bind_addr(cm.AddrInfo(service=SERVICE, port_space=space))
        ctx.note("rdma_bind_addr")
        listener.listen()
        ctx.note("rdma_listen")
        end = listener.get_request()
        ctx.note("CONNECT_REQUEST")
        data = end.reg_msgs(size + GRH)
        end.post_recv(data)
        ctx.note("rdma_post_recv")
        ctx.note("rdma_accept")
        end.accept()
        if space == cm.RDMA_PS_TCP:
            end.event_channel.get_cm_event()
            ctx.note("ESTABLISHED")
        end.get_recv_comp()
        ctx.note("ibv_poll_cq")

    return server


def transfer(verb: str = "SEND", size: int = 5000, late: bool = False, copies: bool = False) -> Programs:
    """Figures 9, 17 and 19 to 22: a message of a verb from `H0`, which is active, to `H1` or back.

    Args:
        verb: `SEND`, `WRITE` or `READ`.
        size: of the message in bytes.
        late: the receive request is posted only 4 us after the message was.
        copies: the program copies the data before it posts it, as a socket does.
    """

    def prepared(ctx: v.Context, peer: str) -> tuple[v.MR, v.CQ, v.QP, tuple[int, int]]:
        pd = v.PD(ctx)
        memory, cq = v.MR(pd, max(size, 64), ACCESS), v.CQ(ctx, 16)
        qp = v.QP(pd, v.QPInitAttr(scq=cq, rcq=cq), v.QPAttr(qp_access_flags=ACCESS))
        if peer == "H0" and verb == "SEND" and not late:
            receive(ctx, qp, memory)
        attr = v.QPAttr(qp_access_flags=ACCESS, min_rnr_timer=1)
        return memory, cq, qp, v.connect(qp, peer, (memory.buf, memory.rkey), attr)

    def receive(ctx: v.Context, qp: v.QP, memory: v.MR) -> None:
        ctx.note("rdma_post_recv")
        qp.post_recv(v.RecvWR(sg=[v.SGE(memory.buf, memory.length, memory.lkey)]))

    def active(ctx: v.Context) -> None:
        memory, cq, qp, (address, key) = prepared(ctx, "H1")
        ctx.sleep("1 us")
        request = v.SendWR(opcode=OPCODES[verb], sg=[v.SGE(memory.buf, size, memory.lkey)])
        if verb != "SEND":
            request.set_wr_rdma(key, address)
        ctx.note(f"rdma_post_{verb.lower()}")
        if copies:
            ctx.sleep(COPY_NS_PER_BYTE * size)
        qp.post_send(request)
        ctx.note("goes on")
        _poll(cq)
        ctx.note("ibv_poll_cq")
        ctx.send_info("H1", "ended")

    def passive(ctx: v.Context) -> None:
        memory, cq, qp, _ = prepared(ctx, "H0")
        if verb == "SEND":
            if late:
                ctx.sleep("5 us")
                receive(ctx, qp, memory)
            _poll(cq)
            ctx.note("ibv_poll_cq")
        ctx.recv_info("H0")

    return {"H0": active, "H1": passive}


def _poll(cq: v.CQ) -> Any:
    while not (found := cq.poll()):
        pass
    status = found.wcs[0].status
    if status is not v.IBV_WC_SUCCESS:
        raise RuntimeError(f"the transfer ends with {status.name}")
    return found
