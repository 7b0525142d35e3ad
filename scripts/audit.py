"""Checks what Fabricsim is built and tested with: versions, licences, sources, known vulnerabilities. Needs no network.

usage: .venv/bin/python scripts/audit.py
       .venv/bin/python scripts/vulnerabilities.py RUSTSEC PYPA    renews the snapshot

Every installed Python package is pinned in scripts/constraints.txt, and every pin is needed. Known vulnerabilities are
those of scripts/vulnerabilities.json, a snapshot of two public databases, which says for every locked version what is
known of it. A version that is not in it fails: renew the snapshot after `scripts/lock` or `cargo update`.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "scripts/constraints.txt"
SNAPSHOT = ROOT / "scripts/vulnerabilities.json"
SETTINGS = tomllib.loads((ROOT / "scripts/audit.toml").read_text(encoding="utf-8"))
TOOLS = {"pip", "setuptools"}
"""What a new environment has by itself."""
Locked = dict[str, set[tuple[str, str]]]
"""Names and versions by database: rust, python."""
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"
PIN = re.compile(r"(?P<name>[\w.-]+)==(?P<version>\S+)( ; (?P<marker>.+))?")


def pins() -> dict[str, str]:
    """The versions in the lock file that apply to this environment."""
    found = filter(None, map(PIN.fullmatch, CONSTRAINTS.read_text(encoding="utf-8").splitlines()))
    return {
        canonicalize_name(pin["name"]): pin["version"]
        for pin in found
        if not pin["marker"] or Marker(pin["marker"]).evaluate()
    }


def installed() -> dict[str, importlib.metadata.Distribution]:
    """The packages of this environment but for Fabricsim and the tools."""
    found = {canonicalize_name(one.name): one for one in importlib.metadata.distributions()}
    return {name: one for name, one in found.items() if name not in {*TOOLS, "fabricsim"}}


def needed(pinned: dict[str, str]) -> set[str]:
    """What Fabricsim with all its extras, and the build, need of the pins; extras that are not installed too."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [one for group in project["optional-dependencies"].values() for one in group]
    build = [
        line for line in (ROOT / "scripts/lock.in").read_text().splitlines() if line[:1] not in ("#", "")
    ]
    todo = [Requirement(text) for text in [*project["dependencies"], *extras, *build]]
    seen: set[tuple[str, str]] = set()
    while todo:
        one = todo.pop()
        name = canonicalize_name(one.name)
        for extra in ("", *one.extras):
            if (name, extra) not in seen and name in pinned:
                seen.add((name, extra))
                todo.extend(requirements(name, extra))
    return {name for name, _ in seen}


def requirements(name: str, extra: str) -> Iterator[Requirement]:
    """What a package needs on this machine."""
    try:
        texts = importlib.metadata.requires(name) or []
    except importlib.metadata.PackageNotFoundError:
        return
    for one in map(Requirement, texts):
        if one.marker is None or one.marker.evaluate({"extra": extra}):
            yield one


def check_versions() -> Iterator[str]:
    """What is not pinned, pinned to another version, or pinned for nothing."""
    pinned, there = pins(), installed()
    for name, one in sorted(there.items()):
        if name not in pinned:
            yield f"{name} {one.version} is installed, and not in scripts/constraints.txt: call scripts/lock"
        elif pinned[name] != one.version:
            yield f"{name} {one.version} is installed, and scripts/constraints.txt has {pinned[name]}"
    for name in sorted(set(pinned) - needed(pinned)):
        if name in there:  # of the others it is not known what they need
            yield f"{name} is in scripts/constraints.txt, and nothing needs it: call scripts/lock"


def check_licenses(crates: list[dict[str, Any]]) -> Iterator[str]:
    """Packages under licences that are not allowed."""
    for name, one in sorted(installed().items()):
        text = license_of(one)
        if not is_allowed(text):
            yield f"{name}: its licence {text!r} is not allowed in scripts/audit.toml"
    for crate in crates:
        text = (crate["license"] or "none").replace(" / ", " OR ").replace("/", " OR ")
        if not is_allowed(text):
            yield f"crate {crate['name']}: its licence {text!r} is not allowed in scripts/audit.toml"


def license_of(one: importlib.metadata.Distribution) -> str:
    """The licence as an SPDX expression."""
    if expressions := one.metadata.get_all("License-Expression"):
        return str(expressions[0])
    classifiers = one.metadata.get_all("Classifier") or []
    found = [text.rpartition(" :: ")[2] for text in classifiers if text.startswith("License ::")]
    texts = found or one.metadata.get_all("License") or ["none"]
    return " AND ".join(SETTINGS["licenses"]["texts"].get(text, text) for text in texts)


def is_allowed(expression: str) -> bool:
    """Whether the choices of an SPDX expression leave one with allowed licences only."""
    inner = re.search(r"\(([^()]*)\)", expression)
    if inner is not None:
        part = "MIT" if is_allowed(inner[1]) else "none"
        return is_allowed(f"{expression[: inner.start()]}{part}{expression[inner.end() :]}")
    choices = [choice.split(" AND ") for choice in expression.split(" OR ")]
    return any(all(one.strip() in SETTINGS["licenses"]["allow"] for one in choice) for choice in choices)


def check_sources(crates: list[dict[str, Any]]) -> Iterator[str]:
    """Crates that do not come from crates.io."""
    for crate in crates:
        if crate["source"] not in (None, CRATES_IO):
            yield f"crate {crate['name']}: its source {crate['source']} is not crates.io"


def check_vulnerabilities(
    locked: Locked, snapshot: dict[str, Any], accepted: Mapping[str, str]
) -> Iterator[str]:
    """Locked versions of which the snapshot knows a vulnerability, or nothing."""
    for kind, packages in locked.items():
        known = snapshot[kind]["packages"]
        for label in sorted(f"{name} {version}" for name, version in packages):
            if label not in known:
                yield f"{label} ({kind}) is not in {SNAPSHOT.name}: renew it with scripts/vulnerabilities.py"
            for advisory in known.get(label, []):
                if advisory not in accepted:
                    yield f"{label} ({kind}) has the vulnerability {advisory}: update it, or accept it in audit.toml"


def locked_packages(crates: list[dict[str, Any]]) -> Locked:
    """Names and versions by database."""
    rust = {(crate["name"], crate["version"]) for crate in crates if crate["source"]}
    return {"rust": rust, "python": set(pins().items())}


def crates_of_workspace() -> list[dict[str, Any]]:
    """The packages of Cargo.lock."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    packages: list[dict[str, Any]] = json.loads(ran.stdout)["packages"]
    return packages


def main() -> None:
    """Checks everything."""
    crates = crates_of_workspace()
    problems = [*check_versions(), *check_licenses(crates), *check_sources(crates)]
    snapshot = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    problems += check_vulnerabilities(locked_packages(crates), snapshot, SETTINGS["accepted"])
    for problem in problems:
        print(problem, file=sys.stderr)
    dates = ", ".join(f"{kind} {snapshot[kind]['date']}" for kind in ("rust", "python"))
    print(f"{len(installed())} Python packages and {len(crates)} crates; vulnerabilities known on: {dates}")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
