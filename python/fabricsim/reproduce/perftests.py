"""Runs of `fabricsim perftest` among the runs of a figure: those with keys `perftest.OPTION` in their `set`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from fabricsim.errors import InputError
from fabricsim.perftest import ALL_SIZES, Test, perftest
from fabricsim.reproduce.reading import unknown
from fabricsim.results import Result
from fabricsim.spec import Experiment

PREFIX = "perftest."
TABLE = "perftest"
"""Name of the table that such a run has: a row for each size."""
_OPTIONS = ["test", "all", *(field.name for field in dataclasses.fields(Test) if field.name != "name")]


def split(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of an experiment, and the options of perftest.

    Raises:
        InputError: there is no such option.
    """
    settings = {key: value for key, value in values.items() if not key.startswith(PREFIX)}
    options = {key.removeprefix(PREFIX): value for key, value in values.items() if key.startswith(PREFIX)}
    for key in options:
        if key not in _OPTIONS:
            raise InputError(unknown("option of perftest", key, _OPTIONS))
    if options and "test" not in options:
        raise InputError("a run of perftest needs `perftest.test`")
    return settings, options


def run_perftest(experiment: Experiment, options: Mapping[str, Any]) -> Result:
    """A run of a test, with `test` and the fields of `Test`; with `all`, of all sizes.

    Raises:
        InputError: an option or the experiment is wrong.
    """
    given = {key: value for key, value in options.items() if key not in ("test", "all")}
    test = Test(options["test"], **given)
    sizes = ALL_SIZES if options.get("all") else (test.size,)
    tests = [dataclasses.replace(test, size=size) for size in sizes]
    manifest = {"status": "ok", "summary": {"experiment": test.name}}
    return Result(manifest, {TABLE: perftest(tests, experiment).drop(columns="parts")})
