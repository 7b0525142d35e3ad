"""What a start of the package costs: libraries that take long to import are loaded when they are needed, not before."""

from __future__ import annotations

import subprocess
import sys

import pytest

import fabricsim_command
from fabricsim.cli import interrupt

SLOW = {"dask", "distributed", "greenlet", "jinja2", "matplotlib", "optuna", "pandas", "pyarrow", "scipy"}
HELP = """
import sys
from fabricsim.cli import main
sys.argv = ["fabricsim", "--help"]
try:
    main()
except SystemExit:
    pass
"""


@pytest.mark.parametrize("code", ["import fabricsim", HELP], ids=["import fabricsim", "fabricsim --help"])
def test_a_start_loads_nothing_slow(code: str) -> None:
    code += "\nimport sys\nprint(*sys.modules, file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in ran.stderr.split()}
    assert "fabricsim" in loaded
    assert not loaded & SLOW


def test_the_program_has_handlers_before_it_imports_anything() -> None:
    code = (
        "import sys; before = set(sys.modules); import fabricsim_command; print(*set(sys.modules) - before)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in ran.stdout.split()}
    assert loaded == {"fabricsim_command"}


def test_signals_and_their_exit_code_are_the_same_before_and_after_the_command_line_is_loaded() -> None:
    assert tuple(interrupt.SIGNALS) == fabricsim_command.SIGNALS
    assert interrupt.INTERRUPTED == fabricsim_command.INTERRUPTED
