"""Jobs and streams: from Python's words to frames, sums and warnings."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

import fabricsim as fs
from fabricsim import plots, spec
from fabricsim.catalogue import figures, is_known
from fabricsim.cli.compare import print_comparison
from fabricsim.cli.repeated_tables import print_repeated, print_sets
from fabricsim.cli.sweep_tables import print_sweep
from fabricsim.cli.tables import print_result
from fabricsim.compare import compare_repeated
from fabricsim.report.page import html
from fabricsim.results import scalars
from fabricsim.sums import nearest_metric
from fabricsim.tune.metrics import Measured, Which, measure

pytestmark = pytest.mark.usefixtures("real")

LINKS = spec.Links(all=spec.LinkParameters(rate="8 Gb/s", latency="10 ns", buffer="64 KiB"))
SWITCH = spec.Switch(router_delay="80 ns")


def barrier(iterations: int = 3, duration: str = "1 ms") -> fs.Experiment:
    """Barriers of eight ranks: three steps of 8 B each, 1 ns a byte, 100 ns on the way."""
    return fs.Experiment.build(
        topology=spec.SingleSwitch(8),
        links=LINKS,
        switch=SWITCH,
        jobs=spec.Job(spec.Barrier(), name="meet", iterations=iterations, placement={"strided": 2}),
        run=spec.Run(duration=duration),
    )


def shown(result: fs.Result) -> str:
    text = io.StringIO()
    print_result(result, Console(width=200, file=text))
    return text.getvalue()


def test_iterations_are_a_frame() -> None:
    run = fs.run(barrier())
    assert list(run.jobs["iteration"]) == [0, 1, 2]
    assert list(run.jobs["time_ns"]) == [324.0] * 3
    assert list(run.jobs["bytes"]) == [8 * 3 * 8] * 3
    assert run.columns("jobs").loc["time_ns", "unit"] == "ns"
    assert run.summary["job_time_ns"] == 972.0
    assert "3 of 3" in shown(run)


def test_a_job_that_is_not_done_is_told() -> None:
    experiment = barrier(iterations=100, duration="1 us")
    run = fs.run(experiment)
    assert "job meet is not done: 3 of 100 iterations" in shown(run)
    assert run.manifest["summary"]["job_time_ns"] is None
    with pytest.raises(fs.InputError, match="no value"):
        measure(Measured(run, experiment), Which("job_time"))


def test_a_job_that_waits_for_lost_packets_needs_no_longer_run() -> None:
    failed = barrier().with_values({"faults": {"plan": [{"link": "S0-H1", "at": "1 ps", "until": "1 us"}]}})
    run = fs.run(failed)
    assert run.summary["invariants.dropped"] > 0
    (warning,) = (text for text in run.manifest["summary"]["warnings"] if "jobs.meet has lost" in text)
    assert "nothing retransmits them: the ranks that need their messages wait for ever" in warning
    assert "ranks wait for lost packets (see the warning)" in shown(run)
    assert "longer run.duration" not in shown(run)


def test_the_time_of_jobs_is_a_metric() -> None:
    experiment = barrier()
    assert measure(Measured(fs.run(experiment), experiment), Which("job_time")) == 972.0


def test_the_time_of_jobs_is_a_column_of_sweeps() -> None:
    experiment = fs.Experiment.build(
        topology=spec.SingleSwitch(8),
        links=LINKS,
        switch=SWITCH,
        jobs=spec.Job(spec.AllToAll("500 B")),
        run=spec.Run(duration="1 ms"),
    )
    points = fs.sweep(experiment, vary={"jobs.0.program.all-to-all.message": ["100 B", "500 B"]}).points
    assert list(points["job_time_ns"]) == [7 * 200.0, 7 * 600.0]


def test_figures_of_each_job_are_columns_of_sweeps() -> None:
    step = {"phases": [{"compute": "1 us", "operation": {"barrier": {}}}]}
    first = {"name": "meet", "program": {"barrier": {}}, "iterations": 3}
    second = {"name": "a.b", "program": {"sequence": step}, "iterations": 2, "after": "meet"}
    sweep = fs.sweep(
        barrier().with_values({"jobs": [first, second]}),
        vary={"jobs.meet.step_delay": ["0 ns", "100 ns"]},
        jobs=1,
    )
    assert list(sweep.points["jobs.meet.iteration_ns.mean"]) == [324.0, 624.0]
    assert list(sweep.points['jobs."a.b".iteration_ns.mean']) == [1324.0, 1324.0]
    assert list(sweep.points['jobs."a.b".exposed_ns']) == [324.0, 324.0]
    assert list(sweep.points["jobs.meet.exposed_ns"]) == [324.0, 624.0], "its ranks do not compute"
    assert list(sweep.points["jobs.meet.compute_ns"]) == [0.0, 0.0]
    plots.over_parameters(sweep, 'jobs."a.b".exposed_ns')
    text = io.StringIO()
    print_sweep(sweep, Console(width=80, file=text))
    lines = [" ".join(line.split()) for line in text.getvalue().splitlines()]
    assert "by job" in lines
    assert {"0 ns meet 324 ns 324 ns", "a.b 1.32 µs 324 ns", "100 ns meet 624 ns 624 ns"} <= set(lines)


def test_communication_of_jobs_that_only_communicate_is_said_once() -> None:
    """It is the time of an iteration, which tables have, and a column for pictures and objectives."""
    pair: list[dict[str, object]] = [{"name": name, "program": {"barrier": {}}} for name in ("one", "two")]
    experiment = barrier().with_values({"jobs": pair})
    vary = {"jobs.one.step_delay": ["0 ns", "100 ns"]}
    sweep = fs.sweep(experiment, vary=vary, jobs=1)
    assert list(sweep.points["jobs.two.exposed_ns"]) == list(sweep.points["jobs.two.iteration_ns.mean"])
    settings: list[dict[str, object]] = [{}, {"jobs.one.step_delay": "1 us"}]
    sets = [fs.sweep(experiment, set=one, jobs=1, seeds=2) for one in settings]
    text = io.StringIO()
    console = Console(width=80, file=text)
    print_sweep(sweep, console)
    print_repeated(sets[0], console)
    print_sets(compare_repeated(sets), console)
    assert "mean iteration" in text.getvalue().replace("\n", " ")
    for shown in (text.getvalue(), html(sweep), html(sets[0])):
        assert "iteration" in shown
        assert "exposed" not in shown
    runs = [fs.run(experiment, set=one) for one in settings]
    assert not [name for name in fs.compare(runs).totals.index if "exposed" in name]


def test_names_of_figures_are_those_of_sweeps() -> None:
    """What a check before a sweep lets pass is in its table."""
    summary = fs.run(barrier()).manifest["summary"]
    names = {name for name in scalars(summary) if name.startswith("jobs.meet.")}
    never = {
        "answered_per_s",
        *(f"round_trip_ns.{of}" for of in ("mean", "min", "p50", "p99", "p999", "max")),
    }
    assert names == {f"jobs.meet.{figure}" for figure in set(figures("jobs")) - never}
    assert all(is_known(name) for name in names)
    for wrong in ("jobs.meet.ranks", "jobs.meet.iteration_ns.maen", "flows.x.jain", "precision.x.value"):
        assert not is_known(wrong), wrong
    assert nearest_metric("jobs.meet.iteration_ns.maen").endswith("did you mean jobs.meet.iteration_ns.mean?")


def test_requests_and_responses_are_told_apart() -> None:
    experiment = fs.Experiment.build(
        topology=spec.SingleSwitch(2),
        links=LINKS,
        switch=SWITCH,
        traffic=spec.Traffic(
            name="get",
            sources=["H0"],
            pattern=spec.To("H1"),
            injection="window",
            window=1,
            message="100 B",
            response=spec.Response("500 B"),
        ),
        run=spec.Run(duration="1 ms"),
    )
    run = fs.run(experiment)
    rows = run.entries.set_index("entry")
    assert rows.loc["get", "latency_mean_ns"] == 200.0
    assert rows.loc["get response", "latency_mean_ns"] == 600.0
    assert rows.loc["get", "round_trip_mean_ns"] == 800.0
    assert rows["round_trip_mean_ns"].isna().to_dict() == {"get": False, "get response": True}
    assert "get response" in shown(run)


def test_jobs_are_compared_reported_and_drawn(tmp_path: Path) -> None:
    slow = barrier().with_values({"jobs.0.step_delay": "100 ns"})
    runs = [fs.run(barrier(), out=tmp_path / "fast"), fs.run(slow, out=tmp_path / "slow")]
    totals = fs.compare(runs).totals
    assert list(totals.loc["jobs.meet.iteration_ns.mean"]) == [324.0, 624.0]
    assert "jobs.meet.done" not in totals.index
    text = io.StringIO()
    print_comparison(fs.compare(runs), Console(width=200, file=text))
    assert "time of all jobs" in text.getvalue()
    (line,) = [line for line in text.getvalue().splitlines() if "mean iteration, meet" in line]
    assert "324 ns" in line
    assert "624 ns" in line
    page = html(runs[0], bound=False)
    assert ">Jobs</h2>" in page
    assert "972 ns" in page
    (axes,) = plots.draw(runs[0], "jobs").axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["meet"]
    (bars,) = axes.collections
    begins = [path.get_extents().x0 for path in bars.get_paths()]
    assert begins == pytest.approx([0.0, 324.0, 648.0])
    assert tmp_path / "fast/jobs.png" in plots.save_plots(runs[0], tmp_path / "fast")


def test_jobs_without_an_iteration_are_not_drawn(tmp_path: Path) -> None:
    run = fs.run(barrier(duration="10 ns"))
    assert [path.stem for path in plots.save_plots(run, tmp_path)].count("jobs") == 0
    with pytest.raises(fs.InputError, match="no job has done an iteration"):
        plots.draw(run, "jobs")
