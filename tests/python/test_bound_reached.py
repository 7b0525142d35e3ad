"""What part of its bound a run reached: of the same time, the same traffic and what was offered."""

from __future__ import annotations

import io
import re
from types import SimpleNamespace
from typing import cast

import pandas as pd
import pytest
from rich.console import Console

import fabricsim as fs
from fabricsim.bound.reached import Reached, reached
from fabricsim.cli.bound import print_reached
from fabricsim.cli.bound import reached as reached_line

pytestmark = pytest.mark.usefixtures("real")

TORUS = """
[topology.torus]
dimensions = [4, 4]
[links.all]
rate = "100 Gb/s"
[switch]
virtual_lanes = 4
[[traffic]]
pattern = {pattern}
{injection}
message = "2 KiB"
[run]
warmup = "{warmup}"
duration = "{duration}"
"""
STAR = """
[topology.single-switch]
hosts = 4
[links.all]
rate = "8 Gb/s"
buffer = "4 KiB"
[host]
mtu = "1000 B"
[run]
duration = "200 us"
"""
HOSTS, PACKET_BITS, GBPS = 16, 8 * 2048, 100.0


def torus(pattern: str, injection: str, warmup: str, duration: str, seed: int = 1) -> fs.Experiment:
    text = TORUS.format(pattern=pattern, injection=injection, warmup=warmup, duration=duration)
    return fs.Experiment.from_text(text).with_values({"seed": seed})


def both(experiment: fs.Experiment) -> tuple[fs.Result, fs.Bound, Reached]:
    run, found = fs.run(experiment), fs.bound(experiment)
    return run, found, reached(run, found)


def test_messages_beyond_the_mean_are_part_of_the_bound() -> None:
    # Without a warm-up no more can arrive than is offered, and at this load nothing limits it.
    of_mean = []
    for seed in range(1, 9):
        run, found, part = both(torus('"uniform"', "load = 0.3", "0 s", "200 us", seed))
        assert part.whole
        assert 0.9 < part.fraction <= 1.0
        of_mean.append(found.fraction(run.summary["accepted_gbps"]))
        assert part.fraction <= of_mean[-1]
    assert max(of_mean) > 1.0, "by chance more is accepted than the mean"


def test_at_the_edges_at_most_a_packet_for_each_receiver_is_counted_beyond() -> None:
    fractions = []
    for pattern, receivers in (('{ to = "H(0,0).0" }', 1), ('"tornado"', HOSTS)):
        for warmup in ("20 us", "23.4 us"):
            for us in (5, 21, 200):
                _, found, part = both(torus(pattern, 'injection = "saturating"', warmup, f"{us} us"))
                edge = receivers * PACKET_BITS / (us * 1e3) / found.total_gbps
                assert 1.0 - edge <= part.fraction <= 1.0 + edge
                fractions.append(part.fraction)
    assert max(fractions) > 1.0


def test_the_fraction_is_of_the_time_that_the_bound_is_of() -> None:
    entries = [
        ('["H0"]', "H1", "", 'stop = "100 us"'),
        ('["H2"]', "H3", "", 'stop = "100 us"'),
        ('["H0", "H1", "H2"]', "H3", 'start = "100 us"', ""),
    ]
    traffic = "".join(
        f'[[traffic]]\nsources = {sources}\npattern = {{ to = "{to}" }}\ninjection = "saturating"\n'
        f'message = "1000 B"\n{start}\n{stop}\n'
        for sources, to, start, stop in entries
    )
    run, found, part = both(fs.Experiment.from_text(traffic + STAR).with_values({"measure.bin": "10 us"}))
    assert found.total_gbps == pytest.approx(8.0)
    assert found.fraction(run.summary["accepted_gbps"]) > 1.4, "most of it while fewer flows are active"
    assert not part.whole
    assert (part.from_ns, part.to_ns) == pytest.approx((100e3, 200e3))
    # What is left of the first flows: two buffers, and two packets of each host.
    left = 2 * 8 * (4096 + 2 * 1000) / 100e3 / found.total_gbps
    assert 1.0 - left <= part.fraction <= 1.0 + left


def test_responses_have_no_bound() -> None:
    traffic = """
[[traffic]]
sources = ["H0"]
pattern = { to = "H1" }
load = 0.4
message = "1000 B"
response = { message = "1000 B" }
"""
    experiment = fs.Experiment.from_text(traffic + STAR)
    run, found, part = both(experiment)
    assert found.fraction(run.summary["accepted_gbps"]) > 1.5, "responses are accepted throughput"
    assert part.fraction == pytest.approx(1.0, abs=0.2)
    assert part.accepted_gbps < 0.6 * run.summary["accepted_gbps"]
    sweep = fs.sweep(experiment, vary={"seed": [1]}, jobs=1, bound=True)
    assert sweep.points["message"].tolist() == [
        "no bound: responses and jobs have none, and their throughput is part of what is accepted"
    ]


def test_a_bin_that_ends_with_the_part_belongs_to_it() -> None:
    # In floating point, 65 us are a little less than 65,000 ns.
    end_s = 6.5e-5
    assert end_s * 1e9 < 65_000.0
    series = pd.DataFrame({"time_ns": [0.0, 13_000.0, 39_000.0, 65_000.0], "gbps": [1.0, 2.0, 6.0, 0.0]})
    summary = {"accepted_gbps": 2.0, "measured_from_ns": 0.0, "measured_ns": 91_000.0, "simulated_s": 9.1e-5}
    run = SimpleNamespace(manifest={"summary": summary}, frames={"run_series": series})
    found = SimpleNamespace(
        facts={"from_s": 0.0, "to_s": end_s}, fraction=lambda accepted, offered: accepted / 10.0
    )
    part = reached(cast("fs.Result", run), cast("fs.Bound", found))
    # Bins of one, two and two fifths.
    assert part.accepted_gbps == pytest.approx(3.4)
    assert part.fraction == pytest.approx(0.34)
    assert not part.whole


def test_the_line_names_the_bound_that_its_percentage_is_of() -> None:
    """Few messages: by chance more is offered than at the mean rates, and the bound grows with it."""
    for seed in range(1, 6):
        experiment = torus('"uniform"', "load = 0.3", "0 s", "20 us", seed)
        run, found, part = both(experiment)
        output = io.StringIO()
        print_reached(reached_line(experiment, run), Console(file=output, width=200))
        line = output.getvalue()
        percentage, accepted, of = map(float, re.findall(r"([0-9.]+)(?:%| of| Gb/s)", line)[:3])
        assert percentage == pytest.approx(100 * accepted / of, abs=0.06), line
        assert part.bound_gbps >= found.total_gbps * (1 - 1e-9)
        is_more = part.bound_gbps > found.total_gbps + 0.01
        assert ("at the mean rates" in line) == is_more, line


ON_OFF = """
[topology.single-switch]
hosts = 4
[[traffic]]
pattern = "random-permutation"
injection = "on-off"
on = "3 us"
off = "9 us"
message = "500 B"
start = "5 us"
[run]
duration = "50 us"
"""


def test_chance_counts_in_a_part_of_the_measurement() -> None:
    above = []
    for seed in range(1, 9):
        _, found, part = both(fs.Experiment.from_text(ON_OFF).with_values({"seed": seed}))
        assert (part.whole, part.chance) == (False, True)
        assert part.from_ns == pytest.approx(5000.0)
        # No more can arrive than is offered, and nothing is there when the sources begin.
        assert part.fraction <= 1.0
        above.append(part.accepted_gbps / found.total_gbps)
        assert part.bound_gbps >= found.total_gbps * (1 - 1e-9)
    assert max(above) > 1.05, "by chance more is accepted than the mean"


def test_chance_in_a_part_is_not_known_where_sources_are_active_before_it() -> None:
    late = '\n[[traffic]]\npattern = "uniform"\nload = 0.1\nmessage = "500 B"\nstart = "0 ns"\n'
    experiment = fs.Experiment.from_text(ON_OFF.replace("[run]", late + "[run]"))
    _, _, part = both(experiment)
    assert (part.whole, part.chance) == (False, False)
    console = Console(file=io.StringIO(), width=300)
    print_reached(reached_line(experiment, fs.run(experiment)), console)
    line = cast("io.StringIO", console.file).getvalue()
    assert "what was offered by chance in that part is not known" in line


def test_more_than_the_bound_is_explained() -> None:
    """A packet of 3000 B takes 3 us of a link of 8 Gb/s: two arrive in a measurement of 5 us."""
    text = """
[topology.single-switch]
hosts = 3
[links.all]
rate = "8 Gb/s"
[host]
mtu = "3000 B"
[[traffic]]
sources = ["H0", "H1"]
pattern = { to = "H2" }
injection = "saturating"
message = "3000 B"
[run]
warmup = "20 us"
duration = "5 us"
"""
    lines = []
    for duration in ("5 us", "3 ms"):
        experiment = fs.Experiment.from_text(text).with_values({"run.duration": duration})
        console = Console(file=io.StringIO(), width=300)
        print_reached(reached_line(experiment, fs.run(experiment)), console)
        lines.append(cast("io.StringIO", console.file).getvalue())
    assert ["packets count whole when they arrive" in line for line in lines] == [True, False], lines


JOB = """
[topology.single-switch]
hosts = 4
[[jobs]]
name = "ring"
program = { all-reduce = { algorithm = "ring", message = "64 KiB" } }
[run]
duration = "1 ms"
"""


@pytest.mark.parametrize("traffic", ["", '[[traffic]]\npattern = "uniform"\nload = 0.1\nmessage = "500 B"\n'])
def test_of_jobs_the_least_time_is_beside_that_of_the_run(traffic: str) -> None:
    experiment = fs.Experiment.from_text(JOB + traffic)
    run = fs.run(experiment)
    (job,), (least,) = run.manifest["summary"]["jobs"], fs.job_bounds(experiment).to_dict("records")
    part = reached_line(experiment, run)
    assert part["jobs"] == [
        {
            "job": "ring",
            "iteration_ns": job["iteration_ns"]["mean"],
            "least_iteration_ns": least["iteration_ns"],
        }
    ]
    assert ("fraction" in part) == bool(traffic)
    console = Console(file=io.StringIO(), width=300)
    print_reached(part, console)
    line = cast("io.StringIO", console.file).getvalue().splitlines()[-1]
    assert line.startswith("bound      an iteration of ring takes at least "), line
    assert line.endswith(" times that"), line


def test_a_job_without_an_iteration_has_its_least_time() -> None:
    experiment = fs.Experiment.from_text(JOB).with_values({"run.duration": "1 us"})
    console = Console(file=io.StringIO(), width=300)
    print_reached(reached_line(experiment, fs.run(experiment)), console)
    assert cast("io.StringIO", console.file).getvalue().endswith("; the run completed none\n")
