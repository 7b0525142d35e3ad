"""What the tests of the experiments share: where they are, and the reproduction of what runs in seconds, run once."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from fabricsim.reproduce import Outcome, Seed, read_seed, reproduce

ROOT = Path(__file__).resolve().parents[2]


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
    """The figures that are not marked as slow, in full length, without their controls."""
    together = Outcome()
    for seed in seeds:
        quick = [figure.name for figure in seed.figures if not figure.slow]
        part = reproduce(seed.name, quick, experiments=experiments, jobs=1)
        together.entries += part.entries
        together.figures += part.figures
        together.problems += part.problems
        together.complete &= part.complete
    return together


@pytest.fixture(scope="session")
def reference() -> Path:
    """Measurements of others that are read in place."""
    folder = Path(os.environ.get("FABRICSIM_REFERENCE", ROOT / "../shared/reference"))
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}: set FABRICSIM_REFERENCE")
    return folder
