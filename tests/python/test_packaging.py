"""Wheel, container and conda recipe say the same as pyproject.toml and Cargo.toml. None is built here."""

from __future__ import annotations

import re
import subprocess
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT
from packaging.requirements import Requirement
from pgo_train import LOADS, train
from wheel_check import MODULE, PACKAGES, problems

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
VERSION = WORKSPACE["package"]["version"]
NAME = f"fabricsim-{VERSION}-cp311-abi3-manylinux_2_28_x86_64.whl"
INFO = f"fabricsim-{VERSION}.dist-info"
CONDA_NAMES = {"matplotlib": "matplotlib-base"}
"""Packages whose names on conda-forge are others."""
Files = dict[str, str]


def files() -> Files:
    """The files of a complete wheel."""
    project = PROJECT["project"]
    requires = [f"Requires-Dist: {line}" for line in project["dependencies"]]
    for extra, lines in project["optional-dependencies"].items():
        for line in lines:
            wanted, _, marker = line.partition(";")
            condition = f"{marker.strip()} and extra == '{extra}'" if marker else f"extra == '{extra}'"
            requires.append(f"Requires-Dist: {wanted} ; {condition}")
    head = ["Metadata-Version: 2.4", "Name: fabricsim", f"Version: {VERSION}", "Requires-Python: >=3.11"]
    found = {
        MODULE: "",
        f"{INFO}/METADATA": "\n".join([*head, *requires, "", "A text."]),
        f"{INFO}/entry_points.txt": "[console_scripts]\nfabricsim=fabricsim_command:main\n",
    }
    for package in PACKAGES:
        for path in (ROOT / "python" / package).rglob("*"):
            if path.is_file() and path.suffix != ".so" and "__pycache__" not in path.parts:
                found[str(path.relative_to(ROOT / "python"))] = ""
    return found


def wheel(folder: Path, name: str = NAME, change: Callable[[Files], object] = lambda _: None) -> Path:
    contents = files()
    change(contents)
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        for inside, text in contents.items():
            archive.writestr(inside, text)
    return path


def replaced(name: str, old: str, new: str) -> Callable[[Files], None]:
    def change(contents: Files) -> None:
        assert old in contents[name]
        contents[name] = contents[name].replace(old, new)

    return change


def test_a_complete_wheel_has_no_problems(tmp_path: Path) -> None:
    assert problems(wheel(tmp_path)) == []


def test_conditions_may_be_spelled_as_maturin_does(tmp_path: Path) -> None:
    old, new = "python_version == '3.11'", "python_full_version == '3.11.*'"
    assert problems(wheel(tmp_path, change=replaced(f"{INFO}/METADATA", old, new))) == []
    other = replaced(f"{INFO}/METADATA", old, "python_full_version == '3.12.*'")
    assert any("otf2" in line for line in problems(wheel(tmp_path, change=other)))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda w: w.pop(MODULE), f"{MODULE} is missing"),
        (lambda w: w.pop("fabricsim/report/templates/page.html.j2"), "page.html.j2 is missing"),
        (lambda w: w.pop("fabricsim/viewer/assets/three/three.min.js"), "three.min.js is missing"),
        (lambda w: w.pop("fabricsim_command/__init__.py"), "fabricsim_command/__init__.py is missing"),
        (lambda w: w.update({"tests/a.py": ""}), "tests/a.py does not belong into a wheel"),
        (lambda w: w.pop(f"{INFO}/METADATA"), "METADATA is missing"),
        (replaced(f"{INFO}/METADATA", "typer>=0.12", "typer>=0.1"), "dependency typer>=0.12 is missing"),
        (replaced(f"{INFO}/METADATA", "extra == 'cluster'", "extra == 'x'"), 'extra == "cluster" is missing'),
        (replaced(f"{INFO}/METADATA", "Python: >=3.11", "Python: >=3.9"), "must be >=3.11"),
        (replaced(f"{INFO}/entry_points.txt", ":main", ":run"), "program fabricsim = fabricsim_command:main"),
    ],
)
def test_a_planted_fault_is_found(change: Callable[[Files], object], problem: str, tmp_path: Path) -> None:
    told = problems(wheel(tmp_path, change=change))
    assert any(problem in line for line in told), told


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (VERSION, "9.9.9", f"version 9.9.9: must be {VERSION}"),
        ("abi3", "cp311", "must be for cp311-abi3"),
        ("manylinux_2_28", "linux", "other machines cannot install it"),
    ],
)
def test_a_wrong_name_is_found(old: str, new: str, problem: str, tmp_path: Path) -> None:
    name = NAME.replace(old, new, 1)
    contents = wheel(tmp_path, name)
    assert any(problem in line for line in problems(contents))


def test_the_stable_interface_is_that_of_the_oldest_python() -> None:
    assert PROJECT["project"]["requires-python"] == ">=3.11"
    assert 'features = ["abi3-py311"]' in (ROOT / "crates/py/Cargo.toml").read_text()


def test_the_container_has_known_versions_and_the_program() -> None:
    text = (ROOT / "packaging/Dockerfile").read_text()
    images = re.findall(r"^FROM (\w+):([\d.]+)-(?:slim-)?(\w+)", text, re.MULTILINE)
    assert [image for image, _, _ in images] == ["rust", "python"]
    assert images[0][1] == WORKSPACE["package"]["rust-version"]
    assert tuple(map(int, images[1][1].split("."))) >= (3, 11)
    assert images[0][2] == images[1][2], "one C library for building and running"
    (entry,) = re.findall(r'^ENTRYPOINT \["(\w+)"\]', text, re.MULTILINE)
    assert entry in PROJECT["project"]["scripts"]
    for path in re.findall(r"scripts/[\w.]+", text):
        assert (ROOT / path).is_file()


def test_the_container_leaves_out_nothing_that_cargo_reads() -> None:
    ignored = (ROOT / "packaging/Dockerfile.dockerignore").read_text().split("\n")
    for name in ("crates", "python", "scripts", "Cargo.toml", "Cargo.lock", "pyproject.toml", "README.md"):
        assert name not in ignored
    for member in WORKSPACE["members"]:
        assert member.partition("/")[0] not in ignored


def recipe() -> dict[str, Any]:
    found = yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text())
    assert isinstance(found, dict)
    return found


def test_the_recipe_has_version_program_and_dependencies() -> None:
    found = recipe()
    project = PROJECT["project"]
    assert found["context"]["version"] == VERSION
    assert found["build"]["python"]["entry_points"] == [f"{k} = {v}" for k, v in project["scripts"].items()]
    wanted = {f"python {project['requires-python']}"}
    for line in project["dependencies"]:
        requirement = Requirement(line)
        limits = ",".join(sorted(map(str, requirement.specifier), reverse=True))
        wanted.add(f"{CONDA_NAMES.get(requirement.name, requirement.name)} {limits}")
    assert set(found["requirements"]["run"]) == wanted
    assert found["about"]["license"] == project["license"]
    assert found["about"]["license_file"] == project["license-files"]
    assert found["about"]["summary"] == project["description"]
    (builder,) = PROJECT["build-system"]["requires"]
    assert builder.replace(">", " >", 1) in found["requirements"]["host"]


def test_the_script_for_the_wheel_is_a_target() -> None:
    assert "scripts/wheel" in (ROOT / "Makefile").read_text()
    checked = subprocess.run(["bash", "-n", str(ROOT / "scripts/wheel")], check=False)
    assert checked.returncode == 0


@pytest.mark.usefixtures("real")
def test_what_wheels_are_optimised_for_runs() -> None:
    assert "scripts/pgo_train.py" in (ROOT / "scripts/wheel").read_text()
    assert train(scale=0.1, ranks=4) == ["ok"] * (2 * len(LOADS) + 2)


def test_the_page_has_the_extras_and_sizes_of_dependencies() -> None:
    text = (ROOT / "docs/guide/installing.md").read_text()
    extras = set(PROJECT["project"]["optional-dependencies"]) - {"test", "docs"}
    assert set(re.findall(r"^\| `fabricsim\[(\w+)\]`", text, re.MULTILINE)) == extras
    needed = {Requirement(line).name for line in PROJECT["project"]["dependencies"]}
    sizes = re.findall(r"^\| (\w+)[^|]*\| (\d+) \|$", text, re.MULTILINE)
    assert {name for name, _ in sizes} - {"others"} <= needed
    (total,) = re.findall(r"(\d+) MB of Python, pip and packages", text)
    assert sum(int(size) for _, size in sizes) == int(total)
