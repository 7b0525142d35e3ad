"""What several tests need. `fake` puts a stand-in in the place of the compiled module."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import fake_native
import pytest
from hypothesis import settings

import fabricsim.cli.console
from fabricsim.cli import main

# How long an example takes depends on the machine, and on what it is the first to import: no measure of being right.
settings.register_profile("fabricsim", deadline=None)
settings.load_profile("fabricsim")

ROOT = Path(__file__).resolve().parents[2]
HAS_NATIVE = importlib.util.find_spec("fabricsim._native") is not None

SMALL = """
[topology.mesh]
dimensions = [3, 3]

[[traffic]]
pattern = "uniform"
load = 0.3
message = "2 KiB"

[run]
duration = "100 us"
"""


@dataclass(frozen=True)
class Ran:
    """What a command left."""

    code: int
    out: str
    err: str


Command = Callable[..., Ran]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fabricsim._native", fake_native)


@pytest.fixture
def real() -> None:
    if not HAS_NATIVE:
        pytest.skip("the compiled module is not built")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """Runs `fabricsim` with arguments, in a folder of its own."""

    def call(*arguments: object) -> Ran:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["fabricsim", *map(str, arguments)])
        monkeypatch.setattr(fabricsim.cli.console.settings, "debug", False)
        code = 0
        try:
            main()
        except SystemExit as error:
            code = int(error.code or 0)
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    return call


@pytest.fixture(scope="module")
def opensm() -> Path:
    """What OpenSM and its tools print, of the reference."""
    folder = Path(os.environ.get("FABRICSIM_REFERENCE", ROOT / "../shared/reference")) / "opensm"
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}: set FABRICSIM_REFERENCE")
    return folder
