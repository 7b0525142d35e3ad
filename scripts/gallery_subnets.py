"""Gallery: InfiniBand subnets."""

from __future__ import annotations

import re
import tempfile
import tomllib
from pathlib import Path

from gallery_shared import Shown, axis, percent, table

import fabricsim as fs
from fabricsim.plots.legends import legend
from fabricsim.plots.theme import COLOURS, line_look, new_figure, plain_log, style
from fabricsim.subnets import route

BRING_UP = """
With one request outstanding the time is the sum of all round trips: {each} µs for each request of the largest tree.
With more, the manager's first switch is the bottleneck: it passes on every request and every answer, {least} µs for
each request at best. The work is the same in all columns.
"""
ENGINES_TREE = """
`ftree` gives all that a switch sends upwards different links, and carries {ftree}. `minhop`, and with it `updn` and
`dnup`, sends much of it over the same few: {minhop}. `lash` does not balance links, and has {fullest} paths on one:
{lash}. `sssp` counts the paths on links as it goes; `dfsssp` has the same paths and spreads them over the lanes.
"""
ENGINES_TORUS = """
`minhop`, `dor`, `sssp` and `dnup` have cycles of buffers round the rings. Whether one of them closes is a matter of
luck; the static check finds it before the traffic does. Their paths are all on service level 0, and so on lane 0.
`lash`, `dfsssp` and `torus-2QoS` break the cycles with two to four lanes, and all paths stay as short as can be; `nue`
does it with a single lane, by detours and fuller links: {nue}.
"""
TRAPS = """
Until the tables are set, what they send over the failed link is lost. A trap starts the sweep at once, and the number
of requests outstanding decides how long it takes; light sweeps notice the failure at the next of their rounds.
"""


def subnet_bring_up(file: Path) -> Shown:
    sizes, windows = axis(file, "topology.fat-tree.arity"), axis(file, "subnet_manager.smps_on_wire")
    runs = {
        (size, window): fs.run(
            file, set={"topology.fat-tree.arity": size, "subnet_manager.smps_on_wire": window}
        )
        for size in sizes
        for window in windows
    }
    up = {key: run.summary["subnet.up_ns"] / 1e6 for key, run in runs.items()}
    work = {size: runs[size, windows[0]] for size in sizes}
    nodes = {
        size: int(work[size].table("subnet_sweeps")[["switches", "adapters"]].sum(axis=1)[0])
        for size in sizes
    }
    rows = [
        [
            f"{size}-ary",
            f"{nodes[size]:,}",
            f"{work[size].summary['subnet.requests']:,}",
            *(f"{up[size, window]:.1f} ms" for window in windows),
        ]
        for size in sizes
    ]
    with style():
        figure = new_figure(7.0, 3.4)
        axes = figure.add_subplot()
        for number, window in enumerate(windows):
            look = {**line_look(number), "marker": "os^D"[number]}
            times = [up[size, window] for size in sizes]
            axes.loglog([nodes[size] for size in sizes], times, label=f"{window} outstanding", **look)
        plain_log(axes.yaxis)
        plain_log(axes.xaxis)
        axes.set(xlabel="switches and hosts", ylabel="subnet up after (ms)")
        axes.set_title("3-level fat trees: a subnet comes up")
        legend(figure, title="requests")
    most = sizes[-1]
    reading = BRING_UP.format(
        each=f"{1e3 * up[most, 1] / work[most].summary['subnet.requests']:.0f}",
        least=f"{1e3 * up[most, windows[-1]] / work[most].summary['subnet.requests']:.1f}",
    )
    header = ["3-level tree", "nodes", "requests", *(f"{window} outstanding" for window in windows)]
    return Shown(["fabricsim run FILE", "fabricsim sweep FILE"], table(header, rows), reading, figure)


def subnet_link_fails(file: Path) -> Shown:
    traps, windows = axis(file, "subnet_manager.traps"), axis(file, "subnet_manager.smps_on_wire")
    runs = {
        (trap, window): fs.run(
            file, set={"subnet_manager.traps": trap, "subnet_manager.smps_on_wire": window}
        )
        for trap in traps
        for window in windows
    }

    def row(trap: bool, window: int) -> list[str]:
        run = runs[trap, window]
        sweeps = run.table("subnet_sweeps")
        after = sweeps[sweeps["begin_ns"] > 0].iloc[0]
        return [
            f"{'trap' if trap else 'light sweep'}, {window} outstanding",
            f"{(after['begin_ns'] - 40e6) / 1e6:.2f} ms",
            f"{(after['programmed_ns'] - 40e6) / 1e6:.2f} ms",
            str(int(after["blocks"])),
            str(run.summary["invariants.lost.link_failed"]),
        ]

    with style():
        figure = new_figure(7.0, 3.4)
        axes = figure.add_subplot()
        for number, trap in enumerate(traps):
            sweeps = runs[trap, windows[1]].table("run_series")
            label = "trap" if trap else "light sweep every 20 ms"
            axes.plot(sweeps["time_ns"] / 1e6, sweeps["gbps"], label=label, **line_look(number))
        axes.axvline(40.0, color="0.6", linestyle=":", label="link fails")
        axes.set_xlim(0.0, 100.0)
        axes.set(xlabel="simulated time (ms)", ylabel="delivered by the network (Gb/s)")
        axes.set_title("Fat tree: a link fails; 4 requests outstanding")
        legend(figure)
    rows = [row(trap, window) for trap in traps for window in windows]
    header = ["found by", "noticed after", "tables set after", "blocks set", "packets lost"]
    return Shown(["fabricsim run FILE --plot", "fabricsim sweep FILE"], table(header, rows), TRAPS, figure)


def engines_tree(file: Path) -> Shown:
    engines, patterns = axis(file, "routing.engine"), axis(file, "traffic.0.pattern")
    named = {"uniform": "uniform", "tornado": "half the tree away"}
    loads = {
        pattern: [
            fs.run(file, set={"routing.engine": engine, "traffic.0.pattern": pattern}).summary[
                "accepted_load"
            ]
            for engine in engines
        ]
        for pattern in patterns
    }
    reports = [route(file, engine).report for engine in engines]
    rows = [
        [
            f"`{engine}`",
            f"{report['link_load']['max']} of {report['link_load']['mean']:.0f}",
            str(report["layers"] or report["lanes"]),
            *(percent(loads[pattern][number]) for pattern in patterns),
        ]
        for number, (engine, report) in enumerate(zip(engines, reports, strict=True))
    ]
    with style():
        figure = new_figure(7.0, 3.2)
        axes = figure.add_subplot()
        for number, pattern in enumerate(patterns):
            places = [place + 0.4 * (number - 0.5) for place in range(len(engines))]
            heights = [100 * load for load in loads[pattern]]
            axes.bar(places, heights, 0.38, color=COLOURS[number], label=named[pattern])
        axes.set_xticks(range(len(engines)), engines)
        axes.set(ylabel="accepted load (% of hosts' links)", ylim=(0, 105))
        axes.set_title("4-ary 3-tree: what the tables of engines carry")
        legend(figure, title="saturating traffic", below=True)
    header = [
        "engine",
        "paths on the fullest link, of the mean",
        "lanes",
        *(named[pattern] for pattern in patterns),
    ]
    by_engine = dict(zip(engines, zip(reports, loads["uniform"], strict=True), strict=True))
    reading = ENGINES_TREE.format(
        ftree=percent(by_engine["ftree"][1]),
        minhop=percent(by_engine["minhop"][1]),
        lash=percent(by_engine["lash"][1]),
        fullest=by_engine["lash"][0]["link_load"]["max"],
    )
    return Shown(
        ["fabricsim sweep FILE", "fabricsim route FILE --engine ftree --against minhop"],
        table(header, rows),
        reading,
        figure,
    )


def engines_torus(file: Path) -> Shown:
    torus_2qos = "torus-2QoS"
    engines = [*axis(file, "routing.engine"), torus_2qos]
    text = re.sub(r"^sl2vl = .*\n", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    own_lanes = fs.Experiment(text=text, base=str(file.parent))
    runs = {
        engine: fs.run(own_lanes if engine == torus_2qos else file, set={"routing.engine": engine})
        for engine in engines
    }
    with tempfile.TemporaryDirectory() as folder:
        conf = Path(folder) / "torus-2QoS.conf"
        conf.write_text(_torus_conf(file), encoding="utf-8")
        reports = {
            engine: route(file, engine, torus=conf if engine == torus_2qos else None).report
            for engine in engines
        }
    rows = [
        [
            f"`{engine}`",
            f"{reports[engine]['link_load']['max']} of {reports[engine]['link_load']['mean']:.0f}",
            str(reports[engine]["layers"]),
            "no cycle" if reports[engine]["deadlock"]["free"] else "cycle",
            "deadlock" if run.status == "deadlock" else percent(run.summary["accepted_load"]),
        ]
        for engine, run in runs.items()
    ]
    with style():
        figure = new_figure(7.0, 3.2)
        axes = figure.add_subplot()
        loads = [
            0.0 if run.status == "deadlock" else 100 * run.summary["accepted_load"] for run in runs.values()
        ]
        axes.bar(range(len(engines)), loads, 0.6, color=COLOURS[0])
        for place, run in enumerate(runs.values()):
            if run.status == "deadlock":
                axes.annotate("deadlock", (place, 2), ha="center", rotation=90, fontsize=8)
        axes.set_xticks(range(len(engines)), engines)
        axes.set(ylabel="accepted load (% of hosts' links)", ylim=(0, 105))
        axes.set_title("5x5 torus, saturating uniform traffic: engines")
    header = ["engine", "paths on the fullest link, of the mean", "lanes", "deadlock check", "accepted"]
    reading = ENGINES_TORUS.format(nue=percent(runs["nue"].summary["accepted_load"]))
    return Shown(
        ["fabricsim sweep FILE  # exit code 3", "fabricsim route FILE --engine dfsssp --against minhop"],
        table(header, rows),
        reading,
        figure,
    )


def _torus_conf(file: Path) -> str:
    """The description of the torus for OpenSM: its size, and links of the first switch."""
    guids = {
        name: guid
        for guid, name in re.findall(
            r'^Switch.*"S-([0-9a-f]+)".*# "([^"]*)"', route(file, "minhop").fabric, re.MULTILINE
        )
    }
    x, y = tomllib.loads(file.read_text(encoding="utf-8"))["topology"]["torus"]["dimensions"]
    origin, right, up = (f"0x{guids[name]}" for name in ("S(0,0)", "S(1,0)", "S(0,1)"))
    return f"torus {x} {y} 1m\nxp_link {origin} {right}\nyp_link {origin} {up}\n"
