"""Are my own forwarding tables on my own graph free of deadlock, and what does that cost?

Petersen's graph of networkx, 2 hosts on each of 10 switches: shortest paths, a tree, and shortest paths on 2 lanes.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx  # type: ignore[import-untyped]
import pandas as pd

import fabricsim as fs
from fabricsim import plots, spec

GRAPH = nx.relabel_nodes(nx.petersen_graph(), lambda node: f"S{node}")
TREE = nx.Graph(nx.bfs_edges(GRAPH, "S0"))
VARIANTS = {"shortest": (GRAPH, 1, "all"), "tree": (TREE, 1, "all"), "shortest, 2 lanes": (GRAPH, 2, "hops")}
EXPERIMENT = fs.Experiment.build(
    topology=fs.Topology.from_networkx(GRAPH, hosts_per_switch=2),
    traffic=spec.Traffic("uniform", "2 KiB", injection="saturating"),
    run=spec.Run(warmup="20 us", duration="60 us", allow_deadlock=True),
)


def measure(name: str, file: Path) -> tuple[float, str]:
    """Returns the accepted load in %, and the cycle of buffers that could close, if there is one."""
    graph, lanes, policy = VARIANTS[name]
    paths = dict(nx.all_pairs_shortest_path(graph))

    def next_hop(network: fs.Network, switch: str, host: str) -> str:
        return str(paths[switch][network.switch_of(host)][1])

    file.parent.mkdir(parents=True, exist_ok=True)
    own = fs.forwarding_tables(EXPERIMENT, next_hop, file=file)
    own = own.with_values({"switch.virtual_lanes": lanes, "routing.lane_policy": policy})
    cycle = own.describe()["deadlock"]["cycle"]
    return 100 * fs.run(own).summary["accepted_load"], " ".join(channel.split()[0] for channel in cycle)


def conclude(table: pd.DataFrame) -> str:
    """Names the cycle of each variant that may deadlock, and the best of the others."""
    wrong = "".join(f"{name} may deadlock ({cycle}). " for name, cycle in table["cycle"].items() if cycle)
    free = table[table["cycle"] == ""]["accepted"]
    return wrong + (
        f"Best of the others: {free.idxmax()}, {free.max():.0f} %." if len(free) else "No others."
    )


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).with_name("out")
    rows = {name: measure(name, folder / "own.fdbs") for name in VARIANTS}
    found = pd.DataFrame.from_dict(rows, orient="index", columns=["accepted", "cycle"])
    print(found.round(1).to_string(), conclude(found), sep="\n")
    figure, axes = plt.subplots(figsize=(6, 2.4), layout="constrained")
    names = [str(name) + ("\n(may deadlock)" if cycle else "") for name, cycle in found["cycle"].items()]
    axes.barh(names, found["accepted"], color="#0072B2")
    axes.set(xlabel="accepted load (% of the hosts' links)", ylabel="forwarding tables")
    plots.save(figure, folder / "07_own_graph.svg")
