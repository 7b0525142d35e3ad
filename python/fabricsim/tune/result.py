"""Result of a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from fabricsim.entry_names import of_points
from fabricsim.errors import InputError
from fabricsim.lazy import pandas as pd
from fabricsim.results import finite, title_of
from fabricsim.shown import Shown, in_folder, number_of
from fabricsim.spec import Experiment, toml_value
from fabricsim.store import read_folder
from fabricsim.tune.folder import KIND


@dataclass(frozen=True)
class TuneResult(Shown):
    """A study: its trials, the best setting, and what it gains."""

    manifest: dict[str, Any]
    frames: Mapping[str, pd.DataFrame] = field(repr=False)
    """`trials`, `runs`, `importances`, and after the comparison on fresh seeds `gains` and `confirmation`."""
    folder: Path | None = None

    def __repr__(self) -> str:
        best = "no setting keeps the constraints" if self.best is None else f"best {self.best['settings']}"
        rest = "" if self.complete else ", incomplete"
        trials = int((self.frames["trials"]["trial"] >= 0).sum())
        return (
            f"TuneResult({self.title!r}, {number_of(trials, 'trial')}, {best}{rest}{in_folder(self.folder)})"
        )

    @property
    def complete(self) -> bool:
        """True if all trials are done, and the comparison on fresh seeds."""
        return bool(self.manifest["complete"])

    @property
    def best(self) -> dict[str, Any] | None:
        """The best setting that keeps the constraints: `trial`, `settings`, `metrics`; None if there is none."""
        return cast("dict[str, Any] | None", self.manifest["best"])

    @property
    def settings(self) -> dict[str, Any]:
        """The best setting's values by key, for `fs.run(experiment, set=...)`.

        Raises:
            InputError: no setting keeps the constraints.
        """
        if self.best is None:
            raise InputError("no setting that was tried keeps all constraints")
        return cast("dict[str, Any]", self.best["settings"])

    @property
    def objectives(self) -> list[dict[str, str]]:
        """Name and goal of each."""
        return cast("list[dict[str, str]]", self.manifest["objectives"])

    @property
    def title(self) -> str:
        """The experiment's title, or its file's name."""
        return title_of(self.manifest)

    @property
    def parameters(self) -> list[str]:
        """The keys that were changed."""
        return list(self.manifest["parameters"])

    @property
    def entry_names(self) -> dict[str, str]:
        """Names of the entries of the traffic list that all runs have in common, by key."""
        tuned = Experiment.from_manifest(self.manifest).written().get("tune") or {}
        given = [scenario.get("set") or {} for scenario in tuned.get("scenarios") or ()] or [{}]
        known = [name for name in self.parameters if name in self.trials]
        tried = self.trials.loc[self.trials["trial"] >= 0, known].drop_duplicates().to_dict("records")
        points = [{**scenario, **settings} for scenario in given for settings in ({}, *tried)]
        texts = ({str(key): toml_value(value) for key, value in point.items()} for point in points)
        return of_points(self.manifest, texts)

    @property
    def columns(self) -> list[str]:
        """The columns of `trials` with numbers that were found: objectives that are sums, and all metrics."""
        sums = [name for name in self.objective_columns if name not in self.manifest["metrics"]]
        return [*sums, *self.manifest["metrics"]]

    @property
    def trials(self) -> pd.DataFrame:
        """A row for the experiment as it is, trial -1, and for each trial."""
        return self.frames["trials"]

    @property
    def front(self) -> pd.DataFrame:
        """The settings that keep the constraints and that no other such setting beats in everything."""
        rows = self.trials[self.trials["best"]]
        first = self.objective_columns[0]
        down = self.objectives[0]["goal"] == "maximize"
        return rows.sort_values(first, ascending=not down, kind="stable").reset_index(drop=True)

    @property
    def objective_columns(self) -> list[str]:
        """The columns of `trials` with the objectives."""
        names = [objective["name"] for objective in self.objectives]
        return [f"objective: {n}" if f"objective: {n}" in self.trials else n for n in names]

    @property
    def baseline(self) -> dict[str, Any] | None:
        """The row of `trials` with the experiment as it is; None if its runs failed."""
        rows = self.trials[(self.trials["trial"] < 0) & (self.trials["error"] == "")].to_dict("records")
        return {str(key): value for key, value in rows[0].items()} if rows else None

    @property
    def improves_on_search(self) -> bool:
        """False if the experiment as it is keeps the constraints and no setting that was tried is better in any
        objective, on the seeds of the search.
        """
        was, front = self.baseline, self.front
        if was is None or not was["feasible"] or front.empty:
            return True
        goals = zip(self.objective_columns, self.objectives, strict=True)
        signs = {column: 1.0 if goal["goal"] == "maximize" else -1.0 for column, goal in goals}
        return any((sign * (front[column] - was[column]) > 0.0).any() for column, sign in signs.items())

    @property
    def improves_on_fresh_seeds(self) -> bool:
        """False if the mean of no objective is better with the best setting than with the experiment as it is, on the
        fresh seeds; True if they were not compared.
        """
        gains = {row["metric"]: row["difference"] for row in self.gains.to_dict("records")}
        signs = {goal["name"]: 1.0 if goal["goal"] == "maximize" else -1.0 for goal in self.objectives}
        if not gains or not set(signs) <= set(gains):
            return True
        was = self.baseline
        return (was is not None and not was["feasible"]) or any(
            sign * gains[name] > 0.0 for name, sign in signs.items()
        )

    @property
    def importances(self) -> pd.DataFrame:
        """Importance of each parameter, for each objective; empty if too few trials are done."""
        return self.frames.get("importances", pd.DataFrame())

    @property
    def gains(self) -> pd.DataFrame:
        """Each metric of the best setting and of the experiment as it is, on fresh seeds, with a confidence interval
        of the difference; empty if they were not compared.
        """
        return self.frames.get("gains", pd.DataFrame())

    def as_dict(self) -> dict[str, Any]:
        """The output of `fabricsim tune --json`."""
        kept = ("file", "sampler", "parameters", "objectives", "constraints", "scenarios", "seeds", "size")
        found = {
            "experiment": self.manifest["file"],
            **{key: self.manifest[key] for key in kept if key != "file"},
            **{key: self.manifest[key] for key in ("complete", "done", "failed", "baseline", "best")},
            "least_broken": self.manifest["least_broken"],
            "problem": self.manifest["problem"],
            "fresh_seeds": self.manifest["fresh_seeds"],
            "holds": self.manifest["holds"],
            "front": self.front.drop(columns=["best", "feasible", "error"]).to_dict("records"),
            "gains": self.gains.to_dict("records"),
            "importances": self.importances.to_dict("records"),
            "opensm": self.manifest["opensm"],
            "folder": None if self.folder is None else str(self.folder),
        }
        return cast("dict[str, Any]", finite(found))


def load_tune(folder: str | Path) -> TuneResult:
    """The study in a folder. Needs neither the compiled module nor Optuna.

    Raises:
        InputError: it is not the folder of a study, or of one that was killed before its tables were written.
    """
    manifest, frames = read_folder(folder)
    if manifest.get("kind") != KIND or "trials" not in frames or "complete" not in manifest:
        raise InputError(f"{folder}: this is not the folder of a study that has results")
    return TuneResult(manifest, frames, Path(folder))
