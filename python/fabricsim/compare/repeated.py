"""Sets of repetitions side by side: which differences are larger than chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabricsim.compare.settings import setting_labels
from fabricsim.compare.sums import sums_by_seed
from fabricsim.entry_names import in_common
from fabricsim.errors import FabricsimError, InputError
from fabricsim.lazy import pandas as pd
from fabricsim.results import Result, finite
from fabricsim.shown import Shown
from fabricsim.statistics import CONFIDENCE, difference, estimate
from fabricsim.store import read_manifest
from fabricsim.sums import keys_of, summed_by
from fabricsim.sweep import SweepResult, load_sweep
from fabricsim.sweep.repeated import SEED, metrics

LARGER, SMALLER, NONE, EQUAL, UNKNOWN = "larger", "smaller", "no difference", "equal", "not known"
"""Verdicts on a set beside the first: the interval of the paired differences is above zero, below it, or contains it.
Equal: all repetitions are. Not known: fewer than two pairs have the quantity, so there is no interval."""
FEWEST_PAIRS = 2
"""Pairs from which on there is an interval."""
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
    sums: Mapping[str, pd.DataFrame] = field(default_factory=dict, repr=False)
    """Tables of `by` by name."""

    @property
    def summed(self) -> list[str]:
        """Names of the sums of flows that are compared."""
        return list(self.sums)

    def by(self, what: str) -> pd.DataFrame:
        """Sums of flows: a row for each source, destination, or pair of groups of hosts, each quantity and each set.

        Columns: the keys, `metric` (a column of `Result.by`: throughput in Gb/s, latency in ns), then those of
        `quantities`: mean and interval, difference from the first set and its interval, `verdict`.

        Raises:
            InputError: `what` is no name of a sum, or these are not compared.
        """
        summed_by(what)
        if what not in self.sums:
            raise InputError(f"sums by {what} are not compared: give by={what!r} (--by {what})")
        return self.sums[what]

    @property
    def entry_names(self) -> dict[str, str]:
        """Names of the entries of the traffic list that all sets have in common, by key."""
        return in_common(one.entry_names for one in self.sets)

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
        if self.sums:
            plain["by"] = {name: table.to_dict("records") for name, table in self.sums.items()}
        return {key: finite(value) for key, value in plain.items()}


def compare_repeated(
    sets: Sequence[str | Path | SweepResult],
    labels: Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
) -> RepeatedComparison:
    """Sets of repetitions: folders of `run --seeds`, or sweeps in memory in which only the seed differs.

    Args:
        sets: folders or sweeps, two or more.
        labels: a name for each.
        by: sums of flows to compare as well: "source", "destination", "group", or several of them. All sets need them
            (`fs.sweep(..., by=...)`, `run --seeds N --by`).

    Raises:
        InputError: one is no such set, they have fewer than two seeds in common, or one has no such sums.
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
            f"seeds that these sets have in common: {len(common)}; an interval needs two or more: "
            "run all with the same seeds"
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
    sums = {name: _sums(found, names, common, name) for name in summed_by(by)}
    return RepeatedComparison(names, found, common, pd.DataFrame(rows, columns=list(_COLUMNS)), sums=sums)


def _sums(sets: Sequence[SweepResult], labels: Sequence[str], seeds: Sequence[int], by: str) -> pd.DataFrame:
    """The table of `RepeatedComparison.by`."""
    tables = [sums_by_seed(one, by).reindex(list(seeds)) for one in sets]
    columns: list[tuple[str, ...]] = [tuple(column) for table in tables for column in table.columns]
    columns = list(dict.fromkeys(columns))
    # A key that a set does not have has no values there.
    tables = [table.reindex(columns=pd.MultiIndex.from_tuples(columns)) for table in tables]
    keys = keys_of(by)
    rows = []
    for column in columns:
        metric, *key = column
        if not any(table[column].notna().any() for table in tables):
            continue
        for label, table in zip(labels, tables, strict=True):
            row = _row(column, label, table, tables[0])
            del row["quantity"]
            rows.append({**dict(zip(keys, key, strict=True)), "metric": metric, **row})
    return pd.DataFrame(rows, columns=[*keys, "metric", *_COLUMNS[1:]])


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


def _row(quantity: Any, label: str, table: pd.DataFrame, first: pd.DataFrame) -> dict[str, Any]:
    ours, theirs = table[quantity].astype(float), first[quantity].astype(float)
    mean = estimate(ours.tolist())
    apart = difference(ours.tolist(), theirs.tolist())
    if table is first or (ours.equals(theirs)):
        verdict = EQUAL
    elif (ours.notna() & theirs.notna()).sum() < FEWEST_PAIRS:
        verdict = UNKNOWN
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
