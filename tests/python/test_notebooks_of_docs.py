"""The notebooks of the documentation run, cell by cell, and are stored without outputs."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


def code_of(path: Path) -> list[str]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def execute(path: Path) -> tuple[list[Any], dict[str, Any]]:
    """Values of the cells that end in an expression, which a notebook shows, and the names after the last cell."""
    names: dict[str, Any] = {"__name__": "a notebook"}
    shown = []
    for number, code in enumerate(code_of(path)):
        tree = ast.parse(code, f"{path.name}, code cell {number}")
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"{path.name}, code cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), path.name, "eval"), names))
    return shown, names


@pytest.mark.usefixtures("real")
def test_the_victim_of_an_incast(capsys: pytest.CaptureFixture[str]) -> None:
    shown, names = execute(ROOT / "docs/notebooks/victims.ipynb")
    said = capsys.readouterr().out
    assert "was the root of a congestion tree" in said
    # The text says what is found: victims suffer from the incast, and congestion control helps them.
    without, having = re.findall(r"([\d.]+) Gb/s", said)[-2:]
    assert float(having) > 1.2 * float(without) > 0.0
    assert names["hottest"].victims >= 1
    assert names["hottest"].entries == ("incast",)
    assert shown[0] is names["off"]


@pytest.mark.usefixtures("real")
def test_a_difference_or_chance(capsys: pytest.CaptureFixture[str]) -> None:
    shown, names = execute(ROOT / "docs/notebooks/chance.ipynb")
    assert len(names["sets"][0].points) == 4
    assert {"larger", "smaller"} & set(names["verdicts"])
    assert "latency_ns.mean" in capsys.readouterr().out
    assert len(shown) >= 3


def test_notebooks_are_stored_without_outputs() -> None:
    assert len(NOTEBOOKS) == 2
    for path in NOTEBOOKS:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            assert cell.get("outputs", []) == []
            assert cell.get("execution_count") is None
