"""Sets of repetitions side by side: which differences are larger than chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabricsim.compare.settings import setting_labels
from fabricsim.errors import FabricsimError, InputError
from fabricsim.lazy import pandas as pd
from fabricsim.results import Result, finite
from fabricsim.shown import Shown
from fabricsim.statistics import CONFIDENCE, difference, estimate
from fabricsim.store import read_manifest
from fabricsim.sweep import SweepResult, load_sweep
from fabricsim.sweep.repeated import SEED, metrics

LARGER, SMALLER, NONE, EQUAL = "larger", "smaller", "no difference", "equal"
"""Verdicts on a set beside the first: the interval of the paired differences is above zero, below it, or contains it.
Equal: all repetitions are."""
_COLUMNS = (
    "quantity",
    "set",
    "mean",
    "low",
    "high",
    "difference",
    "difference_low",
    "difference_high",
    "seeds",
    "verdict",
)


@dataclass(frozen=True)
class RepeatedComparison(Shown):
    """Sets of repetitions with the same seeds. Differences are from the first set, seed by seed."""

    labels: list[str]
    sets: list[SweepResult] = field(repr=False)
    seeds: list[int]
    """Seeds that all sets have."""
    quantities: pd.DataFrame = field(repr=False)
    """A row for each quantity and set: mean and its confidence interval, difference from the first set and its interval
    (paired Student's t), `verdict`."""
    confidence: float = CONFIDENCE

    @property
    def settings(self) -> list[str]:
        """The keys in which the experiment of each set differs, with their values; empty texts if they are equal."""
        return setting_labels(self.sets)

    def as_dict(self) -> dict[str, Any]:
        """The output of `fabricsim compare --json` for sets of repetitions."""
        sets = [
            {"label": label, "folder": None if found.folder is None else str(found.folder), "settings": keys}
            for label, found, keys in zip(self.labels, self.sets, self.settings, strict=True)
        ]
        plain = {
            "sets": sets,
            "seeds": self.seeds,
            "confidence": self.confidence,
            "quantities": self.quantities.to_dict("records"),
        }
        return {key: finite(value) for key, value in plain.items()}


def compare_repeated(
    sets: Sequence[str | Path | SweepResult], labels: Sequence[str] | None = None
) -> RepeatedComparison:
    """Sets of repetitions: folders of `run --seeds`, or sweeps in memory in which only the seed differs.

    Raises:
        InputError: one is no such set, or they have fewer than two seeds in common.
    """
    found = [one if isinstance(one, SweepResult) else load_sweep(one) for one in sets]
    for one in found:
        if not one.repeated or one.varied:
            where = one.folder or one.manifest["file"]
            raise InputError(
                f"{where}: this is not one experiment with several seeds: run it with `run --seeds N`"
            )
    tables = [_by_seed(one.points) for one in found]
    common = [seed for seed in tables[0].index if all(seed in table.index for table in tables)]
    if len(common) < 2:
        raise InputError(
            f"these sets have {len(common)} seeds in common: an interval needs two or more; run all with the same seeds"
        )
    names = list(labels) if labels is not None else _labels(found)
    rows = []
    first = tables[0].loc[common]
    for quantity in metrics(first, [SEED]):
        if all(quantity in table for table in tables):
            rows += [
                _row(quantity, label, table.loc[common], first)
                for label, table in zip(names, tables, strict=True)
            ]
    return RepeatedComparison(names, found, common, pd.DataFrame(rows, columns=list(_COLUMNS)))


def is_set(run: object) -> bool:
    """True if a folder holds repetitions with several seeds; or the same in memory."""
    if isinstance(run, SweepResult):
        return bool(run.repeated)
    return any(axis.get("kind") == "seeds" for axis in _manifest(run).get("axes", ()))


def is_sweep(run: object) -> bool:
    """True if a folder holds a sweep, repeated or not; or the same in memory."""
    return isinstance(run, SweepResult) or _manifest(run).get("kind") == "sweep"


def _manifest(run: object) -> dict[str, Any]:
    """The manifest of a folder of results; empty if there is none."""
    if isinstance(run, Result) or not isinstance(run, str | Path):
        return {}
    try:
        return read_manifest(run)
    except FabricsimError:
        return {}


def _by_seed(points: pd.DataFrame) -> pd.DataFrame:
    ran = points[points["status"] != "failed"]
    return ran.set_index(ran[SEED].astype(int))


def _labels(sets: Sequence[SweepResult]) -> list[str]:
    """Names of the folders, or of the experiments with their place."""
    names = [one.folder.name if one.folder is not None else str(one.manifest["name"]) for one in sets]
    if len(dict.fromkeys(names)) == len(names):
        return names
    return [f"{name} #{place}" for place, name in enumerate(names, 1)]


def _row(quantity: str, label: str, table: pd.DataFrame, first: pd.DataFrame) -> dict[str, Any]:
    ours, theirs = table[quantity].astype(float), first[quantity].astype(float)
    mean = estimate(ours.tolist())
    apart = difference(ours.tolist(), theirs.tolist())
    if table is first or (ours.equals(theirs)):
        verdict = EQUAL
    elif apart.is_none:
        verdict = NONE
    else:
        verdict = LARGER if apart.low > 0.0 else SMALLER
    return {
        "quantity": quantity,
        "set": label,
        "mean": mean.mean,
        "low": mean.low,
        "high": mean.high,
        "difference": apart.mean,
        "difference_low": apart.low,
        "difference_high": apart.high,
        "seeds": apart.count,
        "verdict": verdict,
    }
