"""Gallery: a training step."""

from __future__ import annotations

from pathlib import Path

from gallery_shared import Shown, axis, ns, percent, table

import fabricsim as fs
from fabricsim.plots.legends import legend
from fabricsim.plots.theme import line_look, new_figure, style

TRAINING = """
Computing takes {compute}. With one bucket, {least} of communication remain exposed on a network without contention
(`fabricsim bound`). Ranks that are neighbours in the ring and on the switches (`linear`) have {linear} more than that.
With buckets, only the sum of the last one follows the backward pass. Placed at random, many ranks send over the same
link to the next switch: {random} of a step is exposed with one bucket, and buckets hide no more of it than the backward
pass is long.
"""


def training_step(file: Path) -> Shown:
    buckets, placements = axis(file, "jobs.0.program.training.buckets"), axis(file, "jobs.0.placement")
    found = {
        (placement, number): _step(fs.Experiment.from_file(file), placement, number)
        for placement in placements
        for number in buckets
    }
    least = {number: _bound(file, number) for number in buckets}
    rows = [
        [
            str(number),
            *(ns(found[placement, number][key]) for placement in placements for key in ("time", "exposed")),
            ns(least[number]["iteration_ns"]),
            ns(least[number]["exposed_ns"]),
        ]
        for number in buckets
    ]
    heads = [f"{placement}: {key}" for placement in placements for key in ("time", "exposed")]
    with style():
        figure = new_figure(7.0, 3.6)
        axes = figure.add_subplot()
        for number, placement in enumerate(placements):
            times = [found[placement, of]["exposed"] / 1e6 for of in buckets]
            axes.plot(range(len(buckets)), times, label=placement, **line_look(number))
        bound = [least[of]["exposed_ns"] / 1e6 for of in buckets]
        axes.plot(range(len(buckets)), bound, label="bound", **line_look(len(placements)))
        axes.set_xticks(range(len(buckets)), buckets)
        axes.set_ylim(bottom=0.0)
        axes.set(xlabel="buckets of gradients", ylabel="exposed communication (ms)")
        axes.set_title("Fat tree of 64 hosts: a training step")
        legend(figure)
    first = buckets[0]
    far = found["random", first]
    reading = TRAINING.format(
        compute=ns(far["compute"]),
        least=ns(least[first]["exposed_ns"]),
        linear=percent(found["linear", first]["exposed"] / least[first]["exposed_ns"] - 1.0),
        random=percent(far["exposed"] / far["time"]),
    )
    commands = ["fabricsim run FILE", "fabricsim bound FILE", "fabricsim sweep FILE"]
    headings = ["buckets", *heads, "bound: time", "bound: exposed"]
    return Shown(commands, table(headings, rows), reading, figure)


def _step(experiment: fs.Experiment, placement: str, buckets: int) -> dict[str, float]:
    values = {"jobs.0.placement": placement, "jobs.0.program.training.buckets": buckets}
    job = fs.run(experiment, set=values).manifest["summary"]["jobs"][0]
    return {"time": job["iteration_ns"]["mean"], "compute": job["compute_ns"], "exposed": job["exposed_ns"]}


def _bound(file: Path, buckets: int) -> dict[str, float]:
    table = fs.job_bounds(file, set={"jobs.0.program.training.buckets": buckets})
    return {key: float(table[key].iloc[0]) for key in ("iteration_ns", "exposed_ns")}
