"""Clients on a fat tree draw tickets from a counter in the memory of a server, by atomic operations.

The server's processor does nothing: its adapter adds. `python experiments/programs/tickets.py` prints how long a ticket
takes for each number of clients.
"""

from __future__ import annotations

import fabricsim as fs
import fabricsim.verbs as v

SERVER, TICKETS = "H0", 50

FABRIC = """
title = "Tickets"
topology.fat-tree = { arity = 4, levels = 2 }
[links.all]
rate = "54.545 Gb/s" # FDR 4x
latency = "10 ns"
buffer = "64 KiB"
[host]
mtu = "4142 B"
[run]
duration = "100 ms"
"""


def queue_pair(ctx: v.Context) -> tuple[v.MR, v.CQ, v.QP]:
    """Eight bytes of memory, and a queue pair that is not connected."""
    pd = v.PD(ctx)
    mr = v.MR(pd, 8, v.IBV_ACCESS_LOCAL_WRITE | v.IBV_ACCESS_REMOTE_ATOMIC)
    cq = v.CQ(ctx, 16)
    return mr, cq, v.QP(pd, v.QPInitAttr(scq=cq, rcq=cq))


def server(clients: list[str]) -> v.Program:
    """Has the counter, and waits until all clients have ended."""

    def program(ctx: v.Context) -> int:
        mr, cq, first = queue_pair(ctx)
        others = [v.QP(mr.pd, v.QPInitAttr(scq=cq, rcq=cq)) for _ in clients[1:]]
        for client, qp in zip(clients, [first, *others], strict=True):
            v.connect(qp, client, (mr.buf, mr.rkey))
        for client in clients:
            ctx.recv_info(client)
        return int.from_bytes(mr.read(8), "little")

    return program


def client(ctx: v.Context) -> tuple[list[int], float]:
    """Draws tickets one after the other. Returns them, and the mean time of one in nanoseconds."""
    mr, cq, qp = queue_pair(ctx)
    addr, rkey = v.connect(qp, SERVER)
    wr = v.SendWR(opcode=v.IBV_WR_ATOMIC_FETCH_AND_ADD, sg=[v.SGE(mr.buf, 8, mr.lkey)])
    wr.set_wr_atomic(rkey, addr, 1)
    begin, tickets = ctx.now, []
    for _ in range(TICKETS):
        qp.post_send(wr)
        while not cq.poll():
            pass
        tickets.append(int.from_bytes(mr.read(8), "little"))
    ctx.send_info(SERVER, "done")
    return tickets, (ctx.now - begin) / TICKETS


def main() -> None:
    """Prints the time of a ticket by the number of clients."""
    for count in (1, 2, 4, 8, 15):
        clients = [f"H{number}" for number in range(1, count + 1)]
        programs = {SERVER: server(clients), **dict.fromkeys(clients, client)}
        run = v.run(fs.Experiment.from_text(FABRIC), programs)
        drawn = sorted(ticket for name in clients for ticket in run.values[name][0])
        assert drawn == list(range(count * TICKETS))
        assert run.values[SERVER] == len(drawn)
        mean = sum(run.values[name][1] for name in clients) / count
        print(f"{count:2} clients: {mean:7.1f} ns for a ticket, {run.end_ns / 1000:6.1f} us")


if __name__ == "__main__":
    main()
