"""Mutation tests of the Python modules, and the results of those of the Rust crates: scripts/mutants calls this."""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ACCEPTED = ROOT / "scripts" / "mutants.toml"
"""Defects that no test can notice, with the reason."""
MOST = 0.03
"""Largest part of the defects that may survive."""
FIRST_LINE = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")
LIBRARIES = (
    "jinja2", "jsonschema", "matplotlib.pyplot", "numpy", "optuna", "pandas", "pyarrow.parquet", "pytest",
    "rich.console", "scipy.optimize", "scipy.sparse", "scipy.stats", "tomli_w", "typer",
)  # fmt: skip
"""What tests and modules import."""
Span = tuple[tuple[int, int], tuple[int, int]]
"""Line and column of the beginning and the end."""


@dataclass(frozen=True)
class Part:
    """Modules and the tests that have to notice defects in them."""

    modules: Sequence[str]
    tests: Sequence[str]
    but: Sequence[str] = ()
    """Modules of another part."""


CLUSTER = ("sweep/cluster.py", "sweep/slurm.py")
PARTS = {
    "bound": Part(["bound"], ["test_bound", "test_bound_command", "test_bound_reached"]),
    "sweep": Part(
        ["sweep"], ["test_sweep", "test_sweep_points", "test_sweep_bound", "test_sweep_plots"], CLUSTER
    ),
    "tune": Part(["tune"], ["test_tune_metrics", "test_tune_choice", "test_tune", "test_tune_messages"]),
    "cluster": Part(CLUSTER, ["test_sweep_cluster", "test_tune_cluster"]),
}


@dataclass
class Tally:
    """Results of one crate or part."""

    caught: int = 0
    accepted: int = 0
    survivors: list[str] = field(default_factory=list)

    @property
    def tried(self) -> int:
        """Defects that could be noticed."""
        return self.caught + len(self.survivors)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("rust", "python"))
    parser.add_argument("out", type=Path)
    parser.add_argument("--shard", default="0/1", help="k/n: every n-th, from the k-th")
    parser.add_argument("--base", help="only lines that changed since this commit")
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=list(PARTS))
    given = parser.parse_args()
    if given.kind == "rust":
        return report(rust(given.out))
    at, of = (int(number) for number in given.shard.split("/"))
    lines = None if given.base is None else changed(given.base)
    out = given.out.resolve()
    tree = copy(out / "tree")
    return report({name: run_part(name, tree, out, (at, of), lines) for name in given.parts})


def report(tallies: dict[str, Tally]) -> int:
    """Prints the results; 1 if too many survive."""
    print(f"{'':12}{'tried':>8}{'caught':>8}{'survive':>8}{'accepted':>9}")
    for name, tally in tallies.items():
        print(f"{name:12}{tally.tried:8}{tally.caught:8}{len(tally.survivors):8}{tally.accepted:9}")
    survivors = [line for tally in tallies.values() for line in tally.survivors]
    for line in survivors:
        print(line)
    tried = sum(tally.tried for tally in tallies.values())
    share = len(survivors) / tried if tried else 0.0
    print(f"{len(survivors)} of {tried} survive: {share:.1%}, at most {MOST:.0%} may")
    return int(share > MOST)


def rust(out: Path) -> dict[str, Tally]:
    """Results of both passes of cargo-mutants: what the first misses and the second does not is caught."""
    first, second = (_outcomes(out / name) for name in ("unit", "whole"))
    tallies: dict[str, Tally] = {}
    for name, (crate, alone) in sorted(first.items()):
        outcome = second.get(name, (crate, alone))[1] if alone == "MissedMutant" else alone
        tally = tallies.setdefault(crate, Tally())
        if outcome == "MissedMutant":
            tally.survivors.append(name)
        elif outcome != "Unviable":
            tally.caught += 1
    return tallies


def _outcomes(folder: Path) -> dict[str, tuple[str, str]]:
    """Crate and outcome by the name of the defect."""
    path = folder / "mutants.out" / "outcomes.json"
    if not path.exists():
        return {}
    found = {}
    for outcome in json.loads(path.read_text())["outcomes"]:
        if isinstance(scenario := outcome["scenario"], dict):
            mutant = scenario["Mutant"]
            found[mutant["name"]] = (mutant["package"].removeprefix("fabricsim-"), outcome["summary"])
    return found


def copy(tree: Path) -> Path:
    """The files of the repository, and the compiled module, in a folder where they may be changed."""
    shutil.rmtree(tree, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S607
    native = [str(path.relative_to(ROOT)) for path in (ROOT / "python/fabricsim").glob("_native*.so")]
    for name in [*listed.stdout.splitlines(), *native]:
        if (source := ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, tree / name)
    return tree


def changed(base: str) -> dict[str, set[int]]:
    """The numbers of the lines that changed since a commit, by file."""
    command = ["git", "diff", "-U0", base, "--", "python"]
    text = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S603
    found: dict[str, set[int]] = {}
    file = ""
    for line in text.splitlines():
        if line.startswith("+++ "):
            file = line.removeprefix("+++ ").removeprefix("b/")
        elif match := FIRST_LINE.match(line):
            first, count = int(match[1]), int(match[2] or 1)
            found.setdefault(file, set()).update(range(first, first + count))
    return found


def run_part(
    name: str, tree: Path, out: Path, shard: tuple[int, int], lines: dict[str, set[int]] | None
) -> Tally:
    """Plants the defects of one part in the copy, one after the other."""
    from cosmic_ray.work_db import use_db  # noqa: PLC0415 - only this needs it

    part, config, store = PARTS[name], out / f"{name}.toml", out / f"{name}.sqlite"
    store.unlink(missing_ok=True)
    _write(config, part)
    command = [sys.executable, "-m", "cosmic_ray.cli", "init", str(config), str(store)]
    subprocess.run(command, cwd=tree, check=True)  # noqa: S603
    os.chdir(tree)
    os.environ["PYTHONPATH"] = str(tree / "python")
    tests = [f"tests/python/{test}.py" for test in part.tests]
    with use_db(store) as work:
        if left := _select(work, tree, shard, lines):
            begun = time.monotonic()
            if run_tests(tests, 3600.0) != "SURVIVED":
                raise SystemExit(f"{name}: the tests fail without a defect")
            _try_all(work, left, tests, 60.0 + 5.0 * (time.monotonic() - begun))
        return _tally(work)


def _write(path: Path, part: Part) -> None:
    """The configuration of cosmic-ray, of which only the search for places is used."""
    modules, others = ([f"python/fabricsim/{name}" for name in names] for names in (part.modules, part.but))
    path.write_text(
        f"[cosmic-ray]\nmodule-path = {json.dumps(modules)}\nexcluded-modules = {json.dumps(others)}\n"
        'timeout = 600.0\ntest-command = ""\n[cosmic-ray.distributor]\nname = "local"\n'
    )


def _try_all(work: Any, items: Sequence[Any], tests: Sequence[str], limit: float) -> None:
    from cosmic_ray.mutating import use_mutation  # noqa: PLC0415
    from cosmic_ray.plugins import get_operator  # noqa: PLC0415
    from cosmic_ray.work_item import TestOutcome, WorkerOutcome, WorkResult  # noqa: PLC0415

    for number, item in enumerate(items, 1):
        (mutation,) = item.mutations
        operator = get_operator(mutation.operator_name)(**mutation.operator_args)
        with use_mutation(mutation.module_path, operator, mutation.occurrence) as (before, after):
            outcome = run_tests(tests, limit)
        change = "\n".join(difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="", n=0))
        result = WorkResult(
            worker_outcome=WorkerOutcome.NORMAL, test_outcome=TestOutcome[outcome], diff=change
        )
        work.set_result(item.job_id, result)
        print(f"{number}/{len(items)} {outcome} {_place(mutation)}: {_new_line(change)}", flush=True)


def run_tests(tests: Sequence[str], limit: float) -> str:
    """Runs tests in a child of this process, which has imported the libraries already: that takes most of the time."""
    for library in LIBRARIES:
        importlib.import_module(library)
    child = os.fork()
    if child == 0:
        os.setsid()
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silent, stream)
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        sys.path.insert(0, os.environ["PYTHONPATH"])
        pytest = importlib.import_module("pytest")
        os._exit(int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests])))
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "SURVIVED" if status == 0 else "KILLED"
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "KILLED"


def _select(
    work: Any, tree: Path, shard: tuple[int, int], lines: dict[str, set[int]] | None
) -> Sequence[Any]:
    """The defects to plant: those of the shard, in changed lines, and not in annotations, which nothing evaluates."""
    annotations: dict[str, list[Span]] = {}
    taken = []
    for item in work.pending_work_items:
        (mutation,) = item.mutations
        file = str(mutation.module_path)
        spans = annotations.setdefault(file, list(_annotations(tree / file)))
        rows = range(mutation.start_pos[0], mutation.end_pos[0] + 1)
        is_annotation = any(first <= mutation.start_pos < last for first, last in spans)
        if not is_annotation and (lines is None or lines.get(file, set()).intersection(rows)):
            place = (file, mutation.start_pos, mutation.operator_name, mutation.occurrence)
            taken.append((place, item))
    at, of = shard
    return [item for _, item in sorted(taken, key=lambda found: found[0])[at::of]]


def _annotations(path: Path) -> Iterator[Span]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        found = [getattr(node, name, None) for name in ("annotation", "returns")]
        for one in found:
            if isinstance(one, ast.expr):
                end = (one.end_lineno or one.lineno, one.end_col_offset or one.col_offset)
                yield (one.lineno, one.col_offset), end


def _tally(work: Any) -> Tally:
    accepted = Counter((one["file"], one["defect"]) for one in _accepted())
    tally = Tally()
    for item, result in work.completed_work_items:
        outcome = None if result.test_outcome is None else result.test_outcome.name
        (mutation,) = item.mutations
        if outcome in ("KILLED", "INCOMPETENT"):
            tally.caught += 1
        elif outcome == "SURVIVED":
            file = str(mutation.module_path)
            defect = _new_line(result.diff)
            if accepted[file, defect] > 0:
                accepted[file, defect] -= 1
                tally.accepted += 1
            else:
                tally.survivors.append(f"{_place(mutation)}: {defect}")
    return tally


def _place(mutation: Any) -> str:
    return f"{mutation.module_path}:{mutation.start_pos[0]}: {mutation.operator_name.removeprefix('core/')}"


def _accepted() -> list[dict[str, str]]:
    if not ACCEPTED.exists():
        return []
    found: list[dict[str, str]] = tomllib.loads(ACCEPTED.read_text(encoding="utf-8"))["accepted"]
    return found


def _new_line(diff: str) -> str:
    """The first line that a defect puts into a file."""
    lines = [line for line in diff.splitlines() if line.startswith("+") and not line.startswith("+++")]
    return lines[0][1:].strip() if lines else "(a line is missing)"


if __name__ == "__main__":
    sys.exit(main())
