"""The installed module gives the same bits as the tests of the Rust crates, which are another build."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

native = pytest.importorskip("fabricsim._native")

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "fingerprints.txt"


def golden() -> list[list[str]]:
    """File, overrides, packets delivered, fingerprint of every shortened experiment."""
    lines = GOLDEN.read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize(("file", "overrides", "delivered", "fingerprint"), golden())
def test_fingerprint(file: str, overrides: str, delivered: str, fingerprint: str) -> None:
    path = ROOT / file
    pairs = [(key, value) for key, _, value in (pair.partition("=") for pair in overrides.split(";"))]
    text = path.read_text(encoding="utf-8")
    simulation = native.Simulation(text, file, str(path.parent), pairs)
    summary = json.loads(simulation.run().summary())
    assert summary["fingerprint"] == fingerprint
    assert summary["invariants"]["delivered"] == int(delivered)


def test_every_experiment_is_among_them() -> None:
    files = {line[0] for line in golden()}
    gallery = {str(path.relative_to(ROOT)) for path in (ROOT / "experiments" / "gallery").glob("*.toml")}
    assert gallery <= files
