"""What the parts of the gallery share."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parents[1]
EXPERIMENTS = ROOT / "experiments/gallery"


@dataclass(frozen=True)
class Shown:
    """What the page has to show of an experiment."""

    commands: Sequence[str]
    table: str
    reading: str
    picture: Figure


def axis(file: Path, key: str) -> list[Any]:
    """The values that the file sweeps over."""
    return list(tomllib.loads(file.read_text(encoding="utf-8"))["sweep"][key])


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---"] + ["--:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def percent(fraction: float) -> str:
    return f"{100 * fraction:.1f} %"


def ns(time: float) -> str:
    return f"{time:.0f} ns" if time < 1e4 else f"{time / 1e3:.1f} µs"
