"""Compares a wheel with the source tree: its name, files, dependencies and program.

usage: scripts/wheel_check.py WHEEL
"""

from __future__ import annotations

import re
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import parse_wheel_filename

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("fabricsim", "fabricsim_command")
MODULE = "fabricsim/_native.abi3.so"
PYTHON, ABI = "cp311", "abi3"
"""The oldest interpreter, and the interface that all later ones have."""
PORTABLE = ("manylinux", "musllinux", "macosx", "win")
"""Beginnings of platform tags of wheels that other machines can install."""
_FULL_VERSION = re.compile(r'python_full_version == "([\d.]+)\.\*"')
"""Another spelling of `python_version == "3.11"`."""


def problems(wheel: Path, root: Path = ROOT) -> list[str]:
    """Differences between a wheel and the source tree, a sentence for each."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"][
        "version"
    ]
    found = _of_name(wheel.name, version)
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        found += _of_files(names, root)
        info = f"{project['name']}-{version}.dist-info"
        for name in ("METADATA", "entry_points.txt"):
            if f"{info}/{name}" not in names:
                return [*found, f"{info}/{name} is missing"]
        found += _of_metadata(archive.read(f"{info}/METADATA").decode(), project)
        found += _of_programs(archive.read(f"{info}/entry_points.txt").decode(), project["scripts"])
    return found


def _of_name(name: str, version: str) -> list[str]:
    _, of_wheel, _, tags = parse_wheel_filename(name)
    found = [] if str(of_wheel) == version else [f"version {of_wheel}: must be {version}, as in Cargo.toml"]
    for tag in tags:
        if (tag.interpreter, tag.abi) != (PYTHON, ABI):
            found.append(f"{tag}: must be for {PYTHON}-{ABI}")
        if not tag.platform.startswith(PORTABLE):
            found.append(f"{tag.platform}: other machines cannot install it")
    return found


def _of_files(names: set[str], root: Path) -> list[str]:
    source = {
        str(path.relative_to(root / "python"))
        for package in PACKAGES
        for path in (root / "python" / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so"
    }
    inside = {name for name in names if not name.partition("/")[0].endswith(".dist-info")}
    wanted = source | {MODULE}
    found = [f"{name} is missing" for name in sorted(wanted - inside)]
    return found + [
        f"{name} does not belong into a wheel" for name in sorted(inside - wanted) if name[-1] != "/"
    ]


def _of_metadata(text: str, project: dict[str, Any]) -> list[str]:
    metadata = Parser().parsestr(text)
    stated = {_normal(line) for line in metadata.get_all("Requires-Dist") or []}
    wanted = {_normal(line) for line in project["dependencies"]}
    for extra, lines in project["optional-dependencies"].items():
        wanted |= {_normal(line, extra) for line in lines}
    found = [f"dependency {line} is missing" for line in sorted(wanted - stated)]
    found += [f"dependency {line} is not in pyproject.toml" for line in sorted(stated - wanted)]
    if metadata["Requires-Python"] != project["requires-python"]:
        found.append(f"Requires-Python {metadata['Requires-Python']}: must be {project['requires-python']}")
    return found


def _normal(line: str, extra: str = "") -> str:
    """A requirement in one spelling; `extra` is added to its condition."""
    requirement = Requirement(line)
    # maturin writes conditions on the version of Python anew.
    conditions = [_FULL_VERSION.sub(r'python_version == "\1"', str(requirement.marker or ""))]
    conditions += [f'extra == "{extra}"'] if extra else []
    condition = " and ".join(filter(None, conditions))
    return "; ".join(filter(None, [f"{requirement.name}{requirement.specifier}", condition]))


def _of_programs(text: str, scripts: dict[str, str]) -> list[str]:
    lines = {line.replace(" ", "") for line in text.splitlines()}
    return [
        f"program {name} = {target} is missing"
        for name, target in scripts.items()
        if f"{name}={target}" not in lines
    ]


if __name__ == "__main__":
    told = problems(Path(sys.argv[1]))
    print("\n".join(told) or f"{Path(sys.argv[1]).name}: complete")
    sys.exit(bool(told))
