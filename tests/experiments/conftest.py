"""What the tests of the experiments share: where they are, and the reproduction of what runs in seconds, run once."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from fabricsim.reproduce import Figure, Outcome, Seed, read_seed, reproduce

ROOT = Path(__file__).resolve().parents[2]
LONG = {
    *("c1.toml", "c2.toml", "c3.toml", "d.toml"),
    *("figure-3.toml", "table-5.toml", "table-5-jobs.toml", "table-5-mixed.toml", "table-6.toml"),
    *("sizes-full.toml", "congestion.toml"),
    *(
        "figure-8a.toml",
        "figure-8b.toml",
        "figure-9.toml",
        "figure-10.toml",
        "figure-11.toml",
        "figure-11c.toml",
        "figure-12.toml",
    ),
}
"""Experiments that only `make reproduce` runs in full length; the tests run them in short."""
LARGE = "beyond-size"
"""A figure whose runs are long since its networks are large."""


@pytest.fixture(autouse=True)
def real() -> None:
    if importlib.util.find_spec("fabricsim._native") is None:
        pytest.skip("the compiled module is not built")


@pytest.fixture(scope="session")
def experiments() -> Path:
    return ROOT / "experiments"


@pytest.fixture(scope="session")
def seeds(experiments: Path) -> list[Seed]:
    """What is held against publications."""
    return [read_seed(experiments, path.parent.name) for path in sorted(experiments.glob("*/expected.toml"))]


@pytest.fixture(scope="session")
def outcome(experiments: Path, seeds: list[Seed]) -> Outcome:
    """The figures that take seconds, in full length."""
    together = Outcome()
    for seed in seeds:
        quick = [figure.name for figure in seed.figures if is_quick(figure)]
        part = reproduce(seed.name, quick, experiments=experiments, jobs=1)
        together.entries += part.entries
        together.figures += part.figures
        together.problems += part.problems
        together.complete &= part.complete
    return together


def is_quick(figure: Figure) -> bool:
    """Whether none of its runs is long."""
    return (
        figure.name != LARGE
        and not figure.slow
        and all(run.experiment not in LONG for run in figure.runs.values())
    )


@pytest.fixture(scope="session")
def reference() -> Path:
    """Measurements of others that are read in place."""
    folder = Path(os.environ.get("FABRICSIM_REFERENCE", ROOT / "../shared/reference"))
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}: set FABRICSIM_REFERENCE")
    return folder
