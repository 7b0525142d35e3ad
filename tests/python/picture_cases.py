"""A picture of each kind, of runs that take a moment."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import fabricsim as fs
from fabricsim import plots
from fabricsim.compare import Comparison, compare, compare_repeated
from fabricsim.crossings import packets_of
from fabricsim.mpi import MPI
from fabricsim.plots.tuning import importance, trials
from fabricsim.results import set_column_notes
from fabricsim.spec import Range
from fabricsim.subnets import route
from fabricsim.sweep import SweepResult
from fabricsim.tune import TuneResult
from fabricsim.what_if import WhatIf

TREE = """
title = "Fat tree with an incast of six hosts, and two victims of it"

[topology.fat-tree]
arity = 4
levels = 2

[measure]
router_counters = true

[congestion_control]
algorithm = "infiniband"

[[traffic]]
name = "incast of six hosts"
sources = ["H4", "H5", "H6", "H8", "H9", "H10"]
pattern = { to = "H0" }
injection = "saturating"
message = "16 KiB"

[[traffic]]
name = "victims"
sources = ["H7", "H11"]
pattern = { to = "H12" }
load = 0.5
message = "4 KiB"

[[jobs]]
name = "all to all"
hosts = ["H1", "H2", "H3", "H15"]
iterations = 3
program = { all-to-all = { algorithm = "pairwise", message = "4 KiB" } }

[run]
duration = "60 us"
"""
RELIABLE = """
title = "Mesh with ordered transfers"

[topology.mesh]
dimensions = [3, 3]

[transport]
mode = "ordered"

[measure]
exchanges = 60

[[traffic]]
name = "small messages"
pattern = "uniform"
load = 0.3
message = "4 KiB"

[[traffic]]
name = "large messages"
sources = ["H(0,0).0"]
pattern = { to = "H(2,2).0" }
load = 0.3
message = "64 KiB"

[run]
duration = "60 us"
"""
SWEPT = """
title = "Mesh under uniform traffic"

[topology.mesh]
dimensions = [3, 3]

[[traffic]]
name = "uniform"
pattern = "uniform"
load = 0.3
message = "2 KiB"

[run]
duration = "10 us"
"""


LANES = "[switch]\nvirtual_lanes = 4"
NETWORKS = {
    "torus": f"torus]\ndimensions = [4, 4, 4]\n{LANES}",
    "hypercube": f"hypercube]\ndimensions = 6\n{LANES}",
    "tree": f"fat-tree]\narity = 4\nlevels = 3\n{LANES}",
    "dragonfly": f"dragonfly]\np = 2\na = 4\nh = 2\n{LANES}",
    "megafly": f"megafly]\np = 2\nspines = 2\nleaves = 2\nh = 2\n{LANES}",
    "slim-fly": f"slim-fly]\nq = 5\nhosts_per_switch = 1\n{LANES}",
    "jellyfish": f"jellyfish]\nswitches = 20\ndegree = 4\nhosts_per_switch = 2\n{LANES}",
}
"""Networks with a heat map of their own kind."""


def run_of(text: str) -> fs.Result:
    return fs.run(fs.Experiment.from_text(text))


@cache
def tree() -> fs.Result:
    return run_of(TREE)


@cache
def reliable() -> fs.Result:
    return run_of(RELIABLE)


@cache
def many_flows() -> Comparison:
    """Two runs of hundreds of flows, each with a packet now and then, of two entries of the traffic list."""
    text = SWEPT.replace("[3, 3]", "[5, 5]").replace("load = 0.3", "load = 0.2").replace("10 us", "20 us")
    text += '[[traffic]]\nname = "large messages"\npattern = "random-permutation"\nload = 0.1\nmessage = "8 KiB"\n'
    experiment = fs.Experiment.from_text(text)
    return compare([fs.run(experiment.with_values({"traffic.0.load": load})) for load in (0.1, 0.2)])


@cache
def network(name: str) -> fs.Result:
    return run_of(SWEPT.replace("mesh]\ndimensions = [3, 3]", NETWORKS[name]).replace("10 us", "2 us"))


@cache
def ranks() -> fs.Result:
    def program() -> None:
        comm = MPI.COMM_WORLD
        fs.compute(f"{1 + comm.rank} us")
        comm.allreduce(comm.rank)
        comm.barrier()

    report = fs.mpi.run(program, 6, "loggp:L=1000,o=100,g=10,G=1", report=True).report
    assert report is not None
    with tempfile.TemporaryDirectory() as folder:
        return report.store(Path(folder) / "run", name="Reduction of six ranks")


def swept(**wanted: Any) -> SweepResult:
    return fs.sweep(fs.Experiment.from_text(SWEPT), jobs=1, **wanted)


def summed(**wanted: Any) -> SweepResult:
    """A sweep with sums of flows, of which one destination has more than the others."""
    text = SWEPT + '[groups]\nleft = ["H(0,*"]\nmiddle = ["H(1,1)*"]\n'
    text = text.replace(
        'pattern = "uniform"', 'pattern = { hot-spot = { hosts = ["H(2,2).0"], fraction = 0.3 } }'
    )
    return fs.sweep(fs.Experiment.from_text(text), jobs=1, by=["destination", "group"], **wanted)


def repeated(seeds: int, entries: tuple[str, ...] = ("incast", "victims of it")) -> SweepResult:
    """Repetitions with figures of entries, which differ by the seed."""
    result = swept(seeds=seeds)
    points = result.points
    noise = np.random.default_rng(7)
    for column in ("accepted_load", "latency_ns.mean", "latency_ns.p99"):
        points[column] = points[column] * noise.normal(1.0, 0.05, len(points))
        for entry in entries:
            points[f'traffic."{entry}".{column}'] = points[column] * noise.normal(0.5, 0.05, len(points))
    return result


def study(objectives: int) -> TuneResult:
    """A study of two parameters with one objective, or with two."""
    names = ["victim_rate", "latency_mean"][:objectives]
    noise = np.random.default_rng(3)
    count = 24
    trials = pd.DataFrame(
        {
            "trial": [-1, *range(count - 1)],
            "victim_rate": noise.uniform(0.2, 0.9, count),
            "latency_mean": noise.uniform(700.0, 9000.0, count),
            "feasible": [True] * (count - 3) + [False] * 3,
            "error": "",
            "best": [number % 6 == 3 for number in range(count)],
        }
    )
    units = {"victim_rate": ("fraction", ""), "latency_mean": ("ns", "")}
    set_column_notes(trials, {str(name): units.get(str(name), ("", "")) for name in trials})
    keys = ["congestion_control.ccti_increase", "congestion_control.trigger_threshold"]
    importances = pd.DataFrame({"parameter": keys, **{name: [0.7, 0.3] for name in names}})
    manifest = {
        "name": "study",
        "experiment": 'title = "Congestion control of the incast"',
        "objectives": [{"name": name, "goal": "minimize"} for name in names],
        "parameters": keys,
        "best": {"trial": 3, "settings": dict(zip(keys, (1, 8), strict=True)), "metrics": {}},
        "complete": True,
    }
    return TuneResult(manifest, {"trials": trials, "importances": importances})


def failing() -> WhatIf:
    names = [f"S({x},{y})<->S({x + 1},{y})" for x in range(3) for y in range(4)]
    table = pd.DataFrame(
        {
            "failure": names,
            "status": "ok",
            "accepted_gbps": np.linspace(100.0, 390.0, len(names)),
            "flows_cut_off": [12, 1, *[0] * (len(names) - 2)],
        }
    )
    without = fs.Result(
        {
            "status": "ok",
            "name": "mesh",
            "summary": {"experiment": "Mesh with four columns", "accepted_gbps": 400.0},
        },
        {},
    )
    return WhatIf("link", without, table, True, "new")


def packets() -> list[Any]:
    def cross(number: int, time_ns: int, link: str, ends: str) -> dict[str, Any]:
        return {
            "number": number,
            "time_ns": time_ns,
            "interface": link,
            "comment": f"data of a, b, {ends}, packet {number} of the source, 0 switches passed",
            "summary": "RC SEND Only",
            "bth": {"opcode": 4, "psn": number, "dest_qp": 2, "ack_request": False},
            "lrh": {"packet_length": 10, "slid": 1, "dlid": 2},
            "payload_length": 4,
        }

    records = []
    for number in range(12):
        records.append(cross(number, 100 * number, "H0:1 -> S(0,0):1", "H0 to H1"))
        records.append(cross(number, 100 * number + 60, "S(0,0):2 -> H1:1", "H0 to H1"))
    return packets_of(records)


LOAD, LATENCY = "traffic.0.load", "links.all.latency"
LOADS = [0.1, 0.1 + 0.2, 0.5, 0.7]
TIMES = ["1 ns", "10 ns", "100 ns", "1 us"]

PICTURES: dict[str, Callable[[], Figure]] = {
    "entries": lambda: plots.entries(tree()),
    "throughput": lambda: plots.throughput(tree()),
    "links": lambda: plots.links(tree()),
    "latency": lambda: plots.latency_cdf(tree()),
    "congestion": lambda: plots.congestion(tree()),
    "routers": lambda: plots.routers(tree()),
    "jobs": lambda: plots.jobs(tree()),
    "transport": lambda: plots.transport(reliable()),
    "completion": lambda: plots.completion(reliable()),
    "sequence": lambda: plots.sequence(reliable(), hosts=["H(1,0).0", "H(2,2).0"]),
    "timeline": lambda: plots.timeline(ranks()),
    "matrix": lambda: plots.matrix(ranks()),
    "captured": lambda: plots.captured(packets(), title="Twelve packets"),
    "comparison": lambda: plots.comparison(compare([tree(), tree()])),
    "comparison, many flows": lambda: plots.comparison(many_flows()),
    "by destination": lambda: plots.entries_by(tree(), "destination"),
    "throughput by source": lambda: plots.throughput_by(tree(), "source"),
    "comparison by destination": lambda: plots.comparison(compare([tree(), tree()]), by="destination"),
    "sums over parameters": lambda: plots.sums_over_parameters(
        summed(vary={LOAD: LOADS[:3], "switch.arbiter": ["round-robin", "oldest-first"]}),
        "destination",
        "latency_mean_ns",
    ),
    "sums of repetitions": lambda: plots.sums_over_parameters(summed(seeds=3), "group", "accepted_gbps"),
    "sums of sets of seeds": lambda: plots.sets_of_seeds(
        compare_repeated([summed(seeds=3), summed(seeds=3)], ["off", "on"], by="destination"),
        by="destination",
    ),
    "failures": lambda: plots.failures(failing()),
    "link loads": lambda: plots.link_loads(
        {"ftree": routed("ftree"), "minhop": routed("minhop")}, "Fat tree"
    ),
    "trials": lambda: trials(study(1)),
    "trials, two objectives": lambda: trials(study(2)),
    "importance": lambda: importance(study(2)),
    **{f"heat map, {name}": partial(lambda of: plots.heat_map(network(of)), name) for name in NETWORKS},
}
"""Pictures of each kind by name."""

SWEPT_PICTURES: dict[str, Callable[[], Figure]] = {
    "load and latency": lambda: plots.load_latency(swept(vary={LOAD: LOADS, LATENCY: TIMES})),
    "lines": lambda: plots.over_parameters(swept(vary={LATENCY: TIMES, LOAD: LOADS[:2]}), "latency_ns.mean"),
    "bars": lambda: plots.over_parameters(swept(vary={"title": ["'a'", "'b'"]}), "accepted_load"),
    "map": lambda: plots.over_parameters(swept(vary={LOAD: LOADS, LATENCY: TIMES}), "latency_ns.mean"),
    "panels": lambda: plots.over_parameters(
        swept(random={"samples": 9, "keys": {LOAD: Range(0.1, 0.5), LATENCY: Range("1 ns", "1 us", "log")}}),
        "accepted_load",
    ),
    "zipped": lambda: plots.over_parameters(swept(zip={LOAD: LOADS, LATENCY: TIMES}), "accepted_load"),
    "seeds": lambda: plots.seeds(repeated(5)),
    "sets of seeds": lambda: plots.sets_of_seeds(compare_repeated([repeated(5), repeated(6)], ["off", "on"])),
}
"""Pictures of sweeps, of a stand-in of the compiled module."""


def routed(engine: str) -> Any:
    text = TREE.partition("[measure]")[0] + '[run]\nduration = "1 us"\n'
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tree.toml"
        path.write_text(text)
        return route(path, engine)
