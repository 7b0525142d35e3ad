"""Options of `sweep` that choose its points by results: the search for saturation, repetition to a precision."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated

import typer

from fabricsim.errors import InputError
from fabricsim.spec.values import parse_assignment
from fabricsim.sweep import Precision, SaturationSearch
from fabricsim.sweep.precision import METRICS

Saturation = Annotated[
    bool,
    typer.Option(
        "--saturation",
        help="Find the saturation point by bisection over the load, for each combination of the other parameters.",
    ),
]
Load = Annotated[
    list[str] | None,
    typer.Option(
        "--load",
        metavar="KEY",
        help="With --saturation: vary this load; repeated: these, in proportion. By default all.",
    ),
]
Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tolerance", help="With --saturation: distance of loads, by default 0.01.", show_default=False
    ),
]
Between = Annotated[
    str | None,
    typer.Option(
        "--between",
        metavar="LOW..HIGH",
        help="With --saturation: lowest load, which has the zero-load latency, and highest one; by default 0.05..1.",
    ),
]
LatencyFactor = Annotated[
    float | None,
    typer.Option(
        "--latency-factor",
        metavar="X",
        help="With --saturation: mean over zero-load latency from which on a load is saturated, by default 3; inf: "
        "by accepted load alone.",
    ),
]
PerRound = Annotated[
    int | None,
    typer.Option(
        "--per-round",
        metavar="K",
        help="With --saturation: loads that run at once in each round, by default 1. More take more runs, and less "
        "time if processes are free.",
    ),
]
PrecisionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--precision",
        metavar="METRIC=P",
        help="Repeat each point until the 95 % confidence interval of the metric is at most ± P: latency_ns.p99=2%. "
        "Repeatable; also sums of flows, group.a->b.accepted_gbps=2%. P alone is of accepted_load and latency_ns.mean.",
    ),
]
MostSeeds = Annotated[
    int | None,
    typer.Option("--most-seeds", metavar="N", help="With --precision: end after N seeds, by default 30."),
]
_RANGE = re.compile(r"\s*(?P<low>[^.]*(?:\.\d+)?)\s*\.\.\s*(?P<high>.+?)\s*")


def saturation_search(
    wanted: bool,
    loads: list[str] | None,
    tolerance: float | None,
    between: str | None,
    latency_factor: float | None,
    per_round: int | None,
) -> SaturationSearch | bool:
    """The search of a command line; False if there is none.

    Raises:
        InputError: an option is given without the search, or its value is no number.
    """
    given = {
        "--load": loads,
        "--tolerance": tolerance,
        "--between": between,
        "--latency-factor": latency_factor,
        "--per-round": per_round,
    }
    if not wanted:
        _refuse(given, "--saturation")
        return False
    usual = SaturationSearch()
    low, high = (usual.low, usual.high) if between is None else _ends(between)
    return SaturationSearch(
        loads=tuple(loads or ()),
        low=low,
        high=high,
        tolerance=usual.tolerance if tolerance is None else tolerance,
        latency_factor=usual.latency_factor if latency_factor is None else latency_factor,
        points_per_round=usual.points_per_round if per_round is None else per_round,
    )


def requested_precision(texts: list[str] | None, most_seeds: int | None) -> Precision | float | None:
    """The precision of a command line; None if there is none.

    Raises:
        InputError: one is no number, or an option is given without --precision.
    """
    if not texts:
        _refuse({"--most-seeds": most_seeds}, "--precision")
        return None
    metrics: dict[str, float] = {}
    for text in texts:
        if "=" in text:
            name, value = parse_assignment(text)
            metrics[name] = fraction(value, text)
        else:
            metrics |= dict.fromkeys(METRICS, fraction(text))
    return Precision(metrics) if most_seeds is None else Precision(metrics, most_seeds)


def _refuse(given: Mapping[str, object], needed: str) -> None:
    if stray := next((name for name, value in given.items() if value is not None), None):
        raise InputError(f"{stray}: it belongs to {needed}, which is not given")


def _ends(text: str) -> tuple[float, float]:
    found = _RANGE.fullmatch(text)
    try:
        if found is not None:
            return float(found["low"]), float(found["high"])
    except ValueError:
        pass
    raise InputError(f"--between {text}: this is no range of loads: write LOW..HIGH, such as 0.05..1")


def fraction(text: str, whole: str = "") -> float:
    """`2%` or `0.02`; `whole` is the text of the option.

    Raises:
        InputError: it is no number.
    """
    number, percent, rest = text.strip().partition("%")
    try:
        value = math.nan if rest.strip() else float(number) / (100.0 if percent else 1.0)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise InputError(f"--precision {whole or text}: this is no number: write it as 0.02 or 2%")
    return value
