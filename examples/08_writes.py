"""How many RDMA WRITEs must be outstanding to fill a link?

A program of verbs keeps WRITEs posted on one queue pair, between two FDR adapters at a switch.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import fabricsim as fs
import fabricsim.verbs as v
from fabricsim import plots

ACCESS = v.IBV_ACCESS_LOCAL_WRITE | v.IBV_ACCESS_REMOTE_WRITE


def measure(size: int, window: int, total: int = 128) -> float:
    """Returns the bandwidth in Gb/s of WRITEs of `size` bytes, `window` of them outstanding."""

    def program(ctx: v.Context) -> float:
        pd_, cq, peer = v.PD(ctx), v.CQ(ctx, 64), {"H0": "H1", "H1": "H0"}[ctx.host]
        mr = v.MR(pd_, size, ACCESS)
        init = v.QPInitAttr(scq=cq, rcq=cq, cap=v.QPCap(max_send_wr=window))
        qp = v.QP(pd_, init, v.QPAttr(qp_access_flags=ACCESS))
        v.connect(qp, peer)
        rkey, address = ctx.exchange(peer, (mr.rkey, mr.buf))
        begin, posted, done = ctx.now, 0, 0
        while done < total and ctx.host == "H0":
            while posted < min(total, done + window):
                wr = v.SendWR(opcode=v.IBV_WR_RDMA_WRITE, sg=[v.SGE(mr.buf, size, mr.lkey)])
                wr.set_wr_rdma(rkey, address)
                qp.post_send(wr)
                posted += 1
            done += len(cq.poll(16).wcs)
        return 8 * size * done / (ctx.now - begin) if done else 0.0

    return float(fs.verbs.run(None, {"H0": program, "H1": program}).values["H0"])


def conclude(table: pd.DataFrame) -> str:
    """The least number with 95 % of the highest bandwidth of all sizes, for each size."""
    top, last = float(table.to_numpy().max()), table.index[-1]
    enough = {str(size): table.index[table[size] >= 0.95 * top] for size in table}
    parts = [f"{n[0] if len(n) else f'more than {last}'} of {size} B" for size, n in enough.items()]
    return f"95 % of the highest bandwidth, {top:.1f} Gb/s, takes {', '.join(parts)}."


if __name__ == "__main__":
    windows = (1, 2, 4, 8, 16, 32)
    found = pd.DataFrame({s: {str(n): measure(s, n) for n in windows} for s in (256, 4096, 65536)})
    print(found.round(1).to_string(), conclude(found), sep="\n")
    figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
    found.plot(ax=axes, style=["o-", "s--", "^:"], color=["#0072B2", "#D55E00", "#009E73"], legend=False)
    axes.set(xlabel="outstanding WRITEs", ylabel="bandwidth (Gb/s)")
    figure.legend([f"{size} B" for size in found], loc="outside right center", frameon=False)
    folder = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).with_name("out")
    plots.save(figure, folder / "08_writes.svg")
