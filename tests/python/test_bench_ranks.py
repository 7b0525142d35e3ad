"""The measurements of rank programs run, in short form."""

from __future__ import annotations

import subprocess
import sys

from conftest import ROOT


def test_each_measurement_has_a_row() -> None:
    command = [sys.executable, str(ROOT / "benches/ranks.py"), "--short"]
    rows = subprocess.check_output(command, text=True).splitlines()
    assert len(rows) == 2 + 4
    for row in rows[2:]:
        _, case, figure, goal, memory, _ = (cell.strip() for cell in row.split("|"))
        assert case
        assert goal
        assert float(figure.split(" s")[0].split(" events")[0].replace(" ", "")) > 0, row
        assert 20 < float(memory) < 2000
