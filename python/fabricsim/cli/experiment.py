"""Commands that read an experiment and run nothing: `check`, `describe`, `export`; and `schema`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from fabricsim.cli.console import caution, output
from fabricsim.cli.facts import failed_parts, print_facts
from fabricsim.cli.files import ForceFile, OutFile, write
from fabricsim.cli.state import ExperimentFile, Json, Set, print_json, read, show, warn
from fabricsim.cli.swept import read_first, without_points
from fabricsim.errors import InputError
from fabricsim.native import schema as experiment_schema
from fabricsim.shown import number_of
from fabricsim.spec import Experiment


def check(file: ExperimentFile, set: Set = None, json: Json = False) -> None:
    """Check an experiment file; --json prints it with all defaults filled in."""
    experiment = read(file, set)
    refusal = without_points(experiment)
    facts = experiment.check() if refusal is None else {}
    text = f"{'stdin' if str(file) == '-' else file}: good"
    values: dict[str, Any] = {}
    if is_swept := refusal is not None or bool(facts.get("sweep")):
        from fabricsim.sweep import plan  # noqa: PLC0415 - few experiments have one

        swept = plan(experiment)
        swept.check(experiment)
        values["points"] = points = len(swept.points())
        text += f", a sweep of {number_of(points, 'point')}"
        if refusal is not None:
            experiment = experiment.with_overrides([*swept.first.items()])
            facts, values["first_point"] = experiment.check(), swept.first
            text += "; it is valid only with them"
    if facts.get("tune"):
        values["trials"] = trials = _checked_trials(experiment)
        text += f", a study of {number_of(trials, 'trial')}"
    warnings = warn(experiment)
    if not is_swept:
        _check_deadlock(experiment, facts)
    show(
        json,
        lambda: {**facts, "warnings": warnings, **values},
        lambda: output().print(text, markup=False, soft_wrap=True),
    )


def _checked_trials(experiment: Experiment) -> int:
    """Number of trials of an experiment's `[tune]`.

    Raises:
        InputError: a parameter is no key with such values, or runs do not have a metric.
    """
    from fabricsim.tune.problem import Problem  # noqa: PLC0415 - few experiments have one

    problem = Problem(experiment)
    problem.check_parameters()
    problem.check_metrics()
    return problem.trials


def _check_deadlock(experiment: Experiment, facts: Mapping[str, Any]) -> None:
    """Refuses an experiment that `run` would refuse, with the same message.

    Raises:
        InputError: its routes may deadlock, and it does not allow that.
    """
    verdict = experiment.describe()["deadlock"]
    if verdict["free"] is False and not facts["run"]["allow_deadlock"]:
        raise InputError(
            f"{experiment.file}: run.allow_deadlock: {verdict['verdict']}\n"
            "Use another routing or more virtual lanes, or set run.allow_deadlock = true to run it as it is."
        )


def describe(file: ExperimentFile, set: Set = None, json: Json = False) -> None:
    """Counts, diameter, bisection, zero-load latency and deadlock verdict of an experiment's network."""
    experiment = read_first(file, set)
    facts = experiment.describe()
    if failed := failed_parts(experiment):
        facts["failed"] = failed
    warn(experiment)
    show(json, lambda: facts, lambda: print_facts(facts, output()))


def export(
    file: ExperimentFile,
    format: Annotated[
        str,
        typer.Option(
            "--format",
            help="toml, csv, graphml, ned, anynet, dot; fdbs, look-up-tables; opensm; "
            "ibnetdiscover, ibnetdiscover-ports, ibsim, opensm-subnet.",
        ),
    ],
    set: Set = None,
    out: OutFile = None,
    force: ForceFile = False,
) -> None:
    """Write an experiment's network, forwarding tables or congestion control in another program's format."""
    experiment = read_first(file, set)
    text = experiment.export(format)
    from fabricsim.subnets import WITHOUT_LMC, lmc_of, without_lmc  # noqa: PLC0415 - for this command only

    if format in WITHOUT_LMC and (lmc := lmc_of(experiment.export("ibnetdiscover"))):
        caution(without_lmc(format, lmc))
    write(text, out, force)


def schema() -> None:
    """Print the JSON Schema of an experiment file, for editors."""
    print_json(experiment_schema())
