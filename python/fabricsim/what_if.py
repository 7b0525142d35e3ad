"""All single failures of a network, each in a run of its own, worst first."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from fabricsim.connectivity import Connectivity
from fabricsim.durations import nanoseconds
from fabricsim.errors import FabricsimError, InputError, InterruptedBuildError
from fabricsim.fault_plan import REROUTES, Failed, FaultPlan, no_routes
from fabricsim.lazy import pandas as pd
from fabricsim.memory import Allowance, allowance, shared
from fabricsim.results import Result, finite, set_column_notes
from fabricsim.run import run
from fabricsim.session import picoseconds
from fabricsim.shown import Shown, counted, number_of
from fabricsim.spec import Experiment, as_experiment
from fabricsim.sweep import Stop, never
from fabricsim.sweep.executors import Executor, local, processes
from fabricsim.sweep.pool import Work
from fabricsim.warm import Beginning, forget, run_from
from fabricsim.what_if_columns import COLUMNS, CUT_OFF, FEWEST_PACKETS, MOST_HOSTS, WORSE, before_failure

Each = Literal["link", "switch"]
EACH: tuple[Each, ...] = ("link", "switch")
AT = "1 ps"
"""Time of the failure by default: before the first packet is on the wire."""
EARLIEST_PS = 1
"""The same, the earliest time of a failure."""
REROUTE_AFTER = "1 ps"
STAY = "routes stay as they are"
SEPARATED = f"{STAY}, since hosts are cut off"
"""Begin of the message of a failure around which routing finds no routes because it separates hosts."""
MOST_FAILURES = 100_000
TABLES = ("flows",)
"""Tables of a run that are read."""
PAIR = ["source", "destination"]


@dataclass(frozen=True)
class WhatIf(Shown):
    """Runs with a failure each, beside the run without any."""

    each: Each
    without: Result
    """The run without a failure."""
    failures: pd.DataFrame
    """A row for each failure, worst first: `COLUMNS`."""
    complete: bool
    """False if the caller stopped it before all failures were run."""
    routes: str
    """Treatment of routes after a failure."""
    measured_before_ns: float = 0.0
    """Time of the measurement before the failure, in which all runs are alike."""

    def __repr__(self) -> str:
        rest = "" if self.complete else ", incomplete"
        return f"WhatIf({self.without.title!r}, {number_of(len(self.failures), 'failure')} of a {self.each}{rest})"

    @property
    def before(self) -> str:
        """That the measurement has time before the failure; empty below 1 % of it."""
        return before_failure(self.measured_before_ns, self.without.manifest["summary"]["measured_ns"])

    @property
    def counted_flows(self) -> int:
        """Flows that have enough packets without a failure to count as worse or cut off."""
        return sum(_many(self.without))

    def as_dict(self) -> dict[str, Any]:
        """The output of `fabricsim what-if --json`."""
        summary = self.without.manifest["summary"]
        plain = {
            "experiment": self.without.manifest["file"],
            "each": self.each,
            "complete": self.complete,
            "routes": self.routes,
            "measured_before_ns": self.measured_before_ns,
            "counted_flows": self.counted_flows,
            "without": {name: summary[name] for name in ("accepted_gbps", "accepted_load")},
            "failures": self.failures.to_dict("records"),
        }
        return {key: finite(value) for key, value in plain.items()}


@dataclass(frozen=True)
class _Task:
    name: str
    experiment: Experiment
    """With the failure, and new routes if the algorithm finds them."""
    as_it_is: Experiment
    """With the failure and the old routes."""
    beginnings: tuple[Beginning, Beginning] | None
    """What each has in common with the other failures; None if that is nothing."""


def what_if(
    experiment: str | Path | Experiment,
    each: Each = "link",
    *,
    at: str | float | None = None,
    set: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    memory: str | int | None = None,
    on_point: Callable[[int, int], None] | None = None,
    stop: Stop = never,
) -> WhatIf:
    """Runs an experiment once for each link between switches, or for each switch, that may fail.

    The failure is at 1 ps, before anything is sent, or at another time (`faults.plan`). Where the routing algorithm
    finds routes around failures, all switches have them at once (`faults.reroute_after`); others keep their routes, and
    what they send over the failed link is lost. In a script, call it under `if __name__ == "__main__":`.

    Each process simulates the time before the failure once, and copies the state for each failure. The results are
    those of runs from the beginning.

    Args:
        experiment: an experiment file, or an `Experiment`.
        each: "link" (parallel cables between two switches fail together) or "switch" (with its hosts).
        at: time of the failure, before the end of the run; a number is in nanoseconds, None is 1 ps. What the
            experiment's own plan has failed then cannot fail.
        set: values to replace in all runs.
        jobs: processes at most; by default one for each processor.
        executor: where to run, instead of local processes: see `fabricsim.sweep.executors`.
        memory: most memory of all local processes together, such as "16 GiB".
        on_point: called with failures done and failures in all. In a notebook, without it, a bar shows them.
        stop: asked about ten times a second.

    Raises:
        InputError: the experiment is wrong, nothing can fail in it, or it does not run without a failure.
    """
    if each not in EACH:
        raise InputError(f"each = {each!r}: must be {' or '.join(EACH)}")
    experiment = as_experiment(experiment, set)
    at_ps = picoseconds("at", AT if at is None else at)
    written = experiment.check()
    without = _without(experiment, written.get("faults") or {}, memory, stop)
    if without.status == "interrupted":
        raise InputError(f"{experiment.file}: interrupted in the run without a failure: there are no results")
    _check_time(without, at_ps)
    network = Connectivity(without, experiment)
    plan = FaultPlan.of(written)
    names = _names(without, each, network, plan.failed(at_ps))
    after = ((written.get("faults") or {}).get("reroute_after")) or REROUTE_AFTER
    tasks = _tasks(experiment, each, names, at_ps, plan, network)
    where = executor or local(jobs)
    allowed = shared(memory, processes(where, len(tasks)))
    if at_ps > EARLIEST_PS and allowed.estimate is not None:
        # The state before the failure stays while a copy of it runs.
        allowed = replace(allowed, estimate=allowed.estimate // 2)
    work = partial(_work, flows=_accepted(without)[_many(without)], allowed=allowed)
    rows, complete = _all(tasks, work, where, on_point, stop)
    largest = plan.largest(at_ps)
    cables = _cables(each, network, plan.failed(at_ps))
    found = [
        _with_hosts(row, each, network, largest) | {"cables": cables.get(row["failure"])} for row in rows
    ]
    table, routes = _table(found, without), _routes(found, after)
    return WhatIf(each, without, table, complete, routes, _measured_before_ns(without, at_ps))


def _without(
    experiment: Experiment, faults: Mapping[str, Any], memory: str | int | None, stop: Stop
) -> Result:
    """The run without a failure, with the routes around the experiment's own failures that the others have."""
    if faults.get("plan") and not faults.get("reroute_after"):
        with suppress(InputError):  # the routing finds none
            again = experiment.with_values({REROUTES: REROUTE_AFTER})
            return run(again, memory=memory, stop=stop)
    return run(experiment, memory=memory, stop=stop)


def _all(
    tasks: list[_Task],
    work: Work[_Task, dict[str, Any] | None],
    where: Executor,
    on_point: Callable[[int, int], None] | None,
    stop: Stop,
) -> tuple[list[dict[str, Any]], bool]:
    """The rows of the failures that were run, and whether that is all of them."""
    rows: dict[str, dict[str, Any]] = {}
    with counted("failures", on_point) as shown:

        def done(task: _Task, row: dict[str, Any] | None) -> None:
            if row is not None:
                rows[task.name] = row
                if shown:
                    shown(len(rows), len(tasks))

        if shown:
            shown(0, len(tasks))
        try:
            complete = where.work_through(
                tasks, work, done, stop=stop, on_lost=lambda task, why: done(task, _failed(task, why))
            )
        finally:
            forget()
    return list(rows.values()), complete


def _names(result: Result, each: Each, network: Connectivity, failed: Failed) -> list[str]:
    """Links between switches by the names of their ends, or switches, without those that have failed already."""
    names = network.switches if each == "switch" else list(network.links)
    where = result.manifest["file"]
    if not names:
        raise InputError(f"{where}: there is no {each} between switches that could fail")
    already = set(failed["switch"])
    if each == "link":
        working = network.working_cables(failed["link"])
        already = {name for name, cables in working.items() if not cables} | {*network.links_of(already)}
    left = [name for name in names if name not in already]
    if not left:
        raise InputError(f"{where}: the experiment's own plan has failed every {each}: give an earlier time")
    if len(left) > MOST_FAILURES:
        raise InputError(f"{len(left):,} failures are too many: at most {MOST_FAILURES:,}")
    return left


def _cables(each: Each, network: Connectivity, failed: Failed) -> dict[str, int]:
    """Cables of each link that fail with it."""
    if each == "switch":
        return {}
    working = network.working_cables(failed["link"])
    return network.cables | {name: len(cables) for name, cables in working.items()}


def _check_time(without: Result, at_ps: int) -> None:
    """Raises InputError if the failure is not before the end of the run."""
    if at_ps < EARLIEST_PS:
        raise InputError(f"at = {at_ps} ps: must be {EARLIEST_PS} ps or later")
    end_ps = round(without.manifest["summary"]["simulated_s"] * 1e12)
    if at_ps >= end_ps:
        at, end = nanoseconds(at_ps / 1000), nanoseconds(end_ps / 1000)
        raise InputError(f"at = {at}: the run without a failure ends at {end}: give an earlier time")


def _measured_before_ns(without: Result, at_ps: int) -> float:
    """Time of the measurement before the failure; at most all of it."""
    summary = without.manifest["summary"]
    before = at_ps / 1000 - summary["measured_from_ns"]
    return float(min(max(before, 0.0), summary["measured_ns"]))


def _tasks(
    experiment: Experiment, each: Each, names: list[str], at_ps: int, plan: FaultPlan, network: Connectivity
) -> list[_Task]:
    """The runs.

    Raises:
        InputError: the experiment refuses failures.
    """
    # workers on other machines have another current directory
    experiment = replace(experiment, base=os.path.abspath(experiment.base))
    faults = experiment.check().get("faults") or {}
    same = network.link_named if each == "link" else str
    working = network.working_cables(plan.failed(at_ps)["link"]) if each == "link" else {}
    again: dict[str, Any] = {} if faults.get("reroute_after") else {REROUTES: REROUTE_AFTER}

    def failing(name: str, values: Mapping[str, Any]) -> Experiment:
        failures = [{each: part, "at": f"{at_ps} ps"} for part in working.get(name, [name])]
        kept = plan.before_failure(each, name, at_ps, same)
        return experiment.with_values({"faults.plan": [*kept, *failures], **values})

    lanes = failing(names[0], {}).describe().get("virtual_lanes") or {}
    # Lanes by hops are divided for the detours of each failure, from the start.
    by_hops = lanes.get("by_hops", False)
    beginnings = None if by_hops else _beginnings(experiment, at_ps, again if plan.plan else {})
    return [_Task(name, failing(name, again), failing(name, {}), beginnings) for name in names]


def _beginnings(
    experiment: Experiment, at_ps: int, again: Mapping[str, Any]
) -> tuple[Beginning, Beginning] | None:
    """The time before the failure, with other routes after failures of the experiment's own, and without."""
    if at_ps <= EARLIEST_PS:
        return None
    parts = (experiment.with_values(again), experiment)
    with_routes, as_it_is = (Beginning(part, at_ps - 1) for part in parts)
    return with_routes, as_it_is


def _routes(rows: list[dict[str, Any]], after: str) -> str:
    """What switches do with their routes."""
    stay = sum(str(row.get("message", "")).startswith(STAY) for row in rows)
    if stay == 0:
        return f"switches have routes around the failure {after} after it"
    if stay == len(rows):
        return STAY
    return f"{stay:,} of {len(rows):,} failures: {STAY}"


def _accepted(result: Result) -> pd.Series[float]:
    """Accepted throughput of each flow."""
    flows = result.flows
    return flows["accepted_gbps"].set_axis(pd.MultiIndex.from_frame(flows[PAIR]))


def _many(result: Result) -> list[bool]:
    """Flows with enough packets."""
    return (result.flows["packets"] >= FEWEST_PACKETS).tolist()


def _work(
    task: _Task, stop: Stop, *, flows: pd.Series[float], allowed: Allowance | None
) -> dict[str, Any] | None:
    """The row of one failure; None if it was stopped."""
    note = ""
    try:
        try:
            result = _run(task, 0, allowed, stop)
        except InputError as error:
            if task.experiment == task.as_it_is:
                raise
            note = f"{STAY}: {no_routes(str(error))}"
            result = _run(task, 1, allowed, stop)
    except InterruptedBuildError:
        return None
    except (FabricsimError, MemoryError) as error:
        return _failed(task, str(error) or "there is not enough memory for this run")
    if result.status == "interrupted":
        return _failed(task, str(result.manifest["stopped"])) if "stopped" in result.manifest else None
    return _row(task.name, result, flows, note)


def _run(task: _Task, routes: int, allowed: Allowance | None, stop: Stop) -> Result:
    """The run with new routes (0), or with the old ones (1)."""
    experiment = (task.experiment, task.as_it_is)[routes]
    if task.beginnings is None:
        return run(experiment, memory=allowed, stop=stop)
    return run_from(task.beginnings[routes], experiment, memory=allowance(allowed), stop=stop, only=TABLES)


def _row(name: str, result: Result, without: pd.Series[float], note: str) -> dict[str, Any]:
    summary = result.manifest["summary"]
    lost = (summary.get("invariants") or {}).get("lost") or {}
    jobs = summary.get("jobs") or []
    flows = _accepted(result).reindex(without.index).fillna(0.0)
    sending = without > 0.0
    part = flows[sending] / without[sending]
    loss = (without - flows)[sending]
    worst: Any = loss.idxmax() if len(loss) and loss.max() > 0.0 else None
    return {
        "failure": name,
        "status": result.status,
        "accepted_gbps": summary.get("accepted_gbps"),
        "accepted_load": summary.get("accepted_load"),
        "latency_mean_ns": (summary.get("latency_ns") or {}).get("mean"),
        "flows_worse": int((part < WORSE).sum()) if len(without) else None,
        "flows_cut_off": int((part < CUT_OFF).sum()) if len(without) else None,
        "worst_flow": "" if worst is None else "->".join(map(str, worst)),
        "job_time_ns": summary.get("job_time_ns"),
        "jobs_ended": sum(job["done"] == job["iterations"] for job in jobs) if jobs else None,
        "lost_packets": int(lost.get("link_failed", 0)) + int(lost.get("switch_failed", 0)),
        "message": note or "; ".join(summary.get("deadlock") or ()),
    }


def _with_hosts(
    row: dict[str, Any], each: Each, network: Connectivity, failed: Sequence[Failed]
) -> dict[str, Any]:
    """A row with the hosts that its failure separates from most others. `failed`: what else has failed, by time."""
    found: dict[str, None] = {}
    for others in failed:
        now = {**others, each: [*others[each], row["failure"]]}
        found |= dict.fromkeys(network.cut_off(now["link"], now["switch"]))
    hosts = list(found)
    more = f" and {len(hosts) - MOST_HOSTS:,} more" if len(hosts) > MOST_HOSTS else ""
    names = ", ".join(hosts[:MOST_HOSTS]) + more
    message = str(row["message"])
    # as routing says it: an algorithm that finds no routes around anything has another reason
    if hosts and message.startswith(STAY) and "cut off" in message:
        message = f"{SEPARATED}: {names}"
    return {**row, "hosts_cut_off": len(hosts), "names_cut_off": names, "message": message}


def _failed(task: _Task, message: str) -> dict[str, Any]:
    return {"failure": task.name, "status": "failed", "message": message}


def _table(rows: list[dict[str, Any]], without: Result) -> pd.DataFrame:
    """All rows, worst first: those that failed, then by accepted throughput."""
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    before = without.manifest["summary"].get("accepted_gbps")
    accepted = table["accepted_gbps"].astype(float)
    table["change"] = accepted / before - 1.0 if before else float("nan")
    order = table.assign(accepted=accepted, cut_off=-table["flows_cut_off"].fillna(0).astype(float))
    order = order.sort_values(["accepted", "cut_off", "failure"], na_position="first", kind="stable")
    table = table.loc[order.index].reset_index(drop=True)
    for name in ("cables", "flows_worse", "flows_cut_off", "jobs_ended", "lost_packets", "hosts_cut_off"):
        table[name] = table[name].astype("Int64")
    set_column_notes(table, COLUMNS)
    return table
