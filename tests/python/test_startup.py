"""What a start of the package costs: libraries that take long to import are loaded when they are needed, not before."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fabricsim
import fabricsim_command
from fabricsim.cli import interrupt
from fabricsim.cli.app import COMMANDS
from fabricsim.cli.commands import Later

SLOW = {
    "dask",
    "distributed",
    "greenlet",
    "jinja2",
    "matplotlib",
    "numpy",
    "optuna",
    "pandas",
    "pyarrow",
    "pydantic",
    "scipy",
}
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
    loaded = set(ran.stderr.split())
    assert "fabricsim" in loaded
    assert not {name.partition(".")[0] for name in loaded} & SLOW
    own = {name for name in loaded if name.startswith("fabricsim.") and not name.startswith("fabricsim.cli")}
    assert own <= {"fabricsim.errors", "fabricsim.native", "fabricsim.native_types", "fabricsim._native"}, own


CALL = """
import sys
from fabricsim.cli import main
sys.argv = ["fabricsim", {arguments}]
try:
    main()
except SystemExit:
    pass
print(*sys.modules, file=sys.stderr)
"""
SECTIONS = {"fabricsim.spec.network", "fabricsim.spec.traffic", "fabricsim.spec.jobs"}
"""Classes of sections, for experiments that are built in Python."""
RUNS = SECTIONS | {
    "fabricsim.sweep",
    "fabricsim.compare",
    "fabricsim.bound",
    "fabricsim.plots",
    "fabricsim.tune",
}
# pyarrow writes the tables of a run; it needs numpy.
RUN = (
    SLOW - {"numpy", "pyarrow"}
    | {"rich.progress", "pyarrow.compute", "pyarrow.dataset", "pyarrow.pandas_compat"}
    | RUNS
)


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize(
    ("arguments", "spared"),
    [
        (("check", "small.toml"), SLOW | RUNS),
        (("describe", "small.toml"), SLOW | RUNS),
        (("check", "small.toml", "--json"), SLOW | RUNS),
        (("schema",), SLOW | RUNS),
        (("run", "small.toml"), RUN),
        (("run", "small.toml", "--json"), RUN),
        (("check", "swept.toml"), {"numpy", "pandas", "pydantic", "scipy", "matplotlib"}),
    ],
)
def test_a_command_loads_only_what_it_needs(
    arguments: tuple[str, ...], spared: set[str], small: Path, tmp_path: Path
) -> None:
    (tmp_path / "swept.toml").write_text(small.read_text() + '\n[sweep]\n"seed" = [1, 2]\n')
    code = CALL.format(arguments=", ".join(map(repr, arguments)))
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    loaded = set(ran.stderr.split())
    assert "fabricsim.spec" in loaded or arguments == ("schema",)
    assert not loaded & spared


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize(
    ("command", "given", "threads"),
    [
        (("run", "small.toml"), None, "1"),
        (("run", "small.toml"), "3", "3"),
        (("mpi", "run", "--ranks", "2", "program.py"), None, "None"),
    ],
)
def test_a_command_starts_no_threads_of_numpy(
    command: tuple[str, ...], given: str | None, threads: str, small: Path, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text("from mpi4py import MPI\n")
    code = CALL.format(arguments=", ".join(map(repr, command)))
    code += "\nimport os\nprint(os.environ.get('OPENBLAS_NUM_THREADS'))"
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    if given is not None:
        environment["OPENBLAS_NUM_THREADS"] = given
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=environment,
    )
    assert ran.stdout.splitlines()[-1] == threads


@pytest.mark.usefixtures("real")
def test_what_is_spared_is_loaded_where_it_is_needed(small: Path, tmp_path: Path) -> None:
    """The control: the names are those of modules that other calls load."""
    for arguments, needed in (
        (("check", "swept.toml"), {"fabricsim.sweep"}),
        (
            ("run", "small.toml", "--bound", "--plot", "--seed", "2"),
            {
                "fabricsim.bound",
                "pydantic",
                "scipy",
                "fabricsim.plots",
                "matplotlib",
                "pandas",
                "pyarrow.pandas_compat",
            },
        ),
    ):
        (tmp_path / "swept.toml").write_text(small.read_text() + '\n[sweep]\n"seed" = [1, 2]\n')
        code = CALL.format(arguments=", ".join(map(repr, arguments)))
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
        )
        assert needed <= set(ran.stderr.split())


@pytest.mark.parametrize("later", COMMANDS, ids=[later.name for later in COMMANDS])
def test_the_list_of_commands_says_what_each_says_of_itself(later: Later) -> None:
    command = later.load()
    assert command.name == later.name
    first, _, _ = command.help.partition("\n\n")
    assert " ".join(first.split()) == later.help
    for each in (command, *getattr(command, "commands", {}).values()):
        for text in (each.help, *(getattr(option, "help", None) or "" for option in each.params)):
            assert not re.search(r"(?<!\\)\[[a-z]", text), (
                f"brackets are a style unless they are escaped: {text}"
            )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("fabricsim re", {"report", "reproduce"}),
        ("fabricsim run --see", {"--seed", "--seeds"}),
        ("fabricsim mpi r", {"replay", "run"}),
    ],
)
def test_the_shell_completes_commands_that_are_not_imported(words: str, expected: set[str]) -> None:
    environment = {
        **os.environ,
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
        "_FABRICSIM_COMPLETE": "complete_bash",
    }
    program = "import sys; sys.argv = ['fabricsim']; from fabricsim_command import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False
    )
    assert set(ran.stdout.split()) == expected, ran.stderr


def test_the_program_looks_for_cycles_seldom() -> None:
    code = "import gc, sys\nfrom fabricsim_command import main\nsys.argv = ['fabricsim', '--version']\n"
    code += "try:\n    main()\nexcept SystemExit:\n    print(*gc.get_threshold(), gc.isenabled())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, *others, is_enabled = ran.stdout.splitlines()[-1].split()
    assert (int(first), is_enabled) == (fabricsim_command.YOUNG_OBJECTS, "True")
    assert [int(each) for each in others] == [*gc.get_threshold()[1:]]


def test_names_of_the_package_are_there_when_they_are_used() -> None:
    for name in fabricsim.__all__:
        assert getattr(fabricsim, name) is not None
    assert set(fabricsim.__all__) <= set(dir(fabricsim))
    with pytest.raises(AttributeError, match="no attribute 'simulte'"):
        _ = fabricsim.simulte


def test_names_of_the_sections_are_there_when_they_are_used() -> None:
    spec = fabricsim.spec
    for name in spec.__all__:
        assert getattr(spec, name) is not None
    assert set(spec.__all__) <= set(dir(spec))
    with pytest.raises(AttributeError, match="no attribute 'Trafic'"):
        _ = spec.Trafic


def test_modules_do_not_hide_functions_of_their_name() -> None:
    code = (
        "import fabricsim as fs, fabricsim.run, fabricsim.sweep; print(callable(fs.run), callable(fs.sweep))"
    )
    code += (
        "; from fabricsim import run, bound; import fabricsim.bound; print(callable(run), callable(fs.bound))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["True"] * 4


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
