"""The step of `scripts/test` that holds packages to versions, licences, sources and known vulnerabilities."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path
from typing import Any

import audit
import pytest
import vulnerabilities
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
SNAPSHOT = {"rust": {"packages": {"time 0.2.22": ["RUSTSEC-2020-0071"], "time 0.3.0": []}}}


def test_the_step_runs_and_is_content() -> None:
    ran = subprocess.run(
        [sys.executable, ROOT / "scripts/audit.py"], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "vulnerabilities known on" in ran.stdout


def test_a_version_with_a_vulnerability_is_found() -> None:
    def found(version: str, **accepted: str) -> list[str]:
        return list(audit.check_vulnerabilities({"rust": {("time", version)}}, SNAPSHOT, accepted))

    assert found("0.3.0") == []
    assert "has the vulnerability RUSTSEC-2020-0071" in found("0.2.22")[0]
    assert found("0.2.22", **{"RUSTSEC-2020-0071": "no local time is read"}) == []
    assert "time 0.4.0 (rust) is not in vulnerabilities.json" in found("0.4.0")[0]


@pytest.mark.parametrize("left_out", ["optuna", "tqdm", "sqlalchemy"])
def test_a_package_that_is_not_pinned_is_found(monkeypatch: pytest.MonkeyPatch, left_out: str) -> None:
    pinned = {name: version for name, version in audit.pins().items() if name != left_out}
    monkeypatch.setattr(audit, "pins", lambda: pinned)
    problems = list(audit.check_versions())
    assert any(problem.startswith(f"{left_out} ") and "call scripts/lock" in problem for problem in problems)


def test_a_pin_that_differs_and_one_for_nothing_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    pinned = audit.pins()
    monkeypatch.setattr(audit, "pins", lambda: pinned | {"pandas": "1.0"})
    assert any("pandas" in problem and "has 1.0" in problem for problem in audit.check_versions())
    monkeypatch.setattr(audit, "pins", lambda: pinned)
    one = importlib.metadata.distribution("pandas")
    monkeypatch.setattr(audit, "needed", lambda pins: set(pins) - {"pandas"})
    assert list(audit.check_versions()) == [
        "pandas is in scripts/constraints.txt, and nothing needs it: call scripts/lock"
    ]
    assert one.version == pinned["pandas"]


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only AND MIT", False),
        ("(MIT OR GPL-3.0-only) AND Zlib", True),
        ("(MIT OR Zlib) AND GPL-3.0-only", False),
        ("Apache-2.0 WITH LLVM-exception OR none", True),
        ("none", False),
        ("", False),
    ],
)
def test_expressions_of_licences(expression: str, allowed: bool) -> None:
    assert audit.is_allowed(expression) is allowed


def test_licences_and_sources_that_are_not_allowed_are_found() -> None:
    crate = {"name": "a", "license": "GPL-3.0-only", "source": "git+https://example.org/a"}
    assert any("crate a: its licence" in problem for problem in audit.check_licenses([crate]))
    assert list(audit.check_sources([crate])) == [
        "crate a: its source git+https://example.org/a is not crates.io"
    ]
    assert list(audit.check_sources([{"name": "a", "source": None}])) == []


@pytest.mark.parametrize(
    ("requirement", "inside", "outside"),
    [
        (">= 0.2.23", ["0.2.23", "1.0.0"], ["0.2.22"]),
        (">=1.2, <2", ["1.2.0", "1.9.9"], ["1.1.9", "2.0.0"]),
        ("^0.3.1", ["0.3.1", "0.3.9"], ["0.3.0", "0.4.0"]),
        ("^1.2", ["1.2.0", "1.9.0"], ["1.1.0", "2.0.0"]),
        ("~1.2.3", ["1.2.3", "1.2.9"], ["1.3.0"]),
        ("=0.2.0", ["0.2.0"], ["0.2.1"]),
        ("< 1.0.0", ["0.9.0"], ["1.0.0"]),
    ],
)
def test_requirements_of_cargo(requirement: str, inside: list[str], outside: list[str]) -> None:
    assert all(vulnerabilities.matches(requirement, version) for version in inside)
    assert not any(vulnerabilities.matches(requirement, version) for version in outside)


def test_advisories_of_crates() -> None:
    advisory: dict[str, Any] = {
        "advisory": {"id": "X"},
        "versions": {"patched": [">= 0.2.23"], "unaffected": ["< 0.1"]},
    }
    assert vulnerabilities.affects(advisory, "0.2.22")
    assert not vulnerabilities.affects(advisory, "0.2.23")
    assert not vulnerabilities.affects(advisory, "0.0.9")
    assert not vulnerabilities.affects(advisory | {"advisory": {"informational": "notice"}}, "0.2.22")
    assert not vulnerabilities.affects(advisory | {"advisory": {"withdrawn": "2021"}}, "0.2.22")


@given(st.lists(st.integers(0, 50), min_size=2, max_size=6, unique=True).map(sorted), st.integers(0, 50))
def test_ranges_of_osv(ends: list[int], number: int) -> None:
    """Events in order: introduced, fixed, introduced, ..."""
    events = [{("introduced", "fixed")[at % 2]: f"{end}.0"} for at, end in enumerate(ends)]
    expected = sum(end <= number for end in ends) % 2 == 1
    has = vulnerabilities.in_range(f"{number}.0")
    assert has({"type": "ECOSYSTEM", "events": events}) is expected
    assert not has({"type": "GIT", "events": events})
