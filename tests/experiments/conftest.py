"""What the tests of the experiments share: where they are, and the reproduction, run once."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from fabricsim.reproduce import Outcome, reproduce

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def real() -> None:
    if importlib.util.find_spec("fabricsim._native") is None:
        pytest.skip("the compiled module is not built")


@pytest.fixture(scope="session")
def experiments() -> Path:
    return ROOT / "experiments"


@pytest.fixture(scope="session")
def outcome(experiments: Path) -> Outcome:
    """All experiments with published numbers, in full length."""
    return reproduce(experiments=experiments, jobs=1)


@pytest.fixture(scope="session")
def reference() -> Path:
    """Measurements of others that are read in place."""
    folder = Path(os.environ.get("FABRICSIM_REFERENCE", ROOT / "../shared/reference"))
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}: set FABRICSIM_REFERENCE")
    return folder
