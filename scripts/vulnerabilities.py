"""Writes scripts/vulnerabilities.json: what two public databases know of the locked versions.

usage: .venv/bin/python scripts/vulnerabilities.py RUSTSEC PYPA

RUSTSEC and PYPA are git clones, bare ones too, of github.com/rustsec/advisory-db and github.com/pypa/advisory-database.
Call it after scripts/lock or `cargo update`, and now and then; see scripts/audit.py.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from packaging.version import InvalidVersion, Version

sys.path.insert(0, str(Path(__file__).parent))
from audit import SNAPSHOT, crates_of_workspace, locked_packages

KINDS_OF_NOTE = {"unmaintained", "notice"}
"""Advisories of RustSec that are no vulnerabilities."""
Find = Callable[[Path, str, str], Iterator[str]]


def main() -> None:
    """Writes the snapshot."""
    if len(sys.argv) != 3:
        sys.exit(str(__doc__))
    rustsec, pypa = map(Path, sys.argv[1:])
    locked = locked_packages(crates_of_workspace())
    snapshot = {
        "rust": found_in(rustsec, locked["rust"], of_crate),
        "python": found_in(pypa, locked["python"], of_package),
    }
    SNAPSHOT.write_text(json.dumps(snapshot, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def found_in(database: Path, packages: set[tuple[str, str]], find: Find) -> dict[str, Any]:
    """Advisories for each package, with the database's commit and date."""
    commit, date = git(database, "log", "-1", "--format=%H %cs").split()
    found = {f"{name} {version}": sorted(find(database, name, version)) for name, version in sorted(packages)}
    return {"commit": commit, "date": date, "packages": found}


def of_crate(database: Path, name: str, version: str) -> Iterator[str]:
    """Advisories of RustSec about a version of a crate."""
    for text in files(database, f"crates/{name}"):
        found = re.search(r"```toml\n(.*?)\n```", text, re.DOTALL)
        if found is not None:
            advisory = tomllib.loads(found[1])
            if affects(advisory, version):
                yield advisory["advisory"]["id"]


def affects(advisory: dict[str, Any], version: str) -> bool:
    """Whether an advisory of RustSec is about a version."""
    about, versions = advisory["advisory"], advisory["versions"]
    if about.get("withdrawn") or about.get("informational") in KINDS_OF_NOTE:
        return False
    safe = [*versions.get("patched", []), *versions.get("unaffected", [])]
    return not any(matches(requirement, version) for requirement in safe)


def matches(requirement: str, version: str) -> bool:
    """Whether a version fulfils a requirement as Cargo writes them: `>= 1.2, < 2`, `^0.3.1`."""
    return all(_fulfils(one.strip(), version) for one in requirement.split(","))


def _fulfils(comparison: str, version: str) -> bool:
    found = re.fullmatch(r"(\^|~|>=|<=|>|<|=|)\s*([0-9][^\s]*)", comparison)
    if found is None:
        raise ValueError(f"{comparison!r} is no comparison of versions")
    sign, text = found.groups()
    ours, theirs = Version(version), Version(text)
    if sign in ("^", "", "~"):
        parts = [int(part) for part in text.split("-")[0].split(".")]
        return theirs <= ours < Version(".".join(map(str, _next(parts, sign))))
    ordered = {">=": ours >= theirs, "<=": ours <= theirs, ">": ours > theirs, "<": ours < theirs}
    return ordered.get(sign, ours == theirs)


def _next(parts: list[int], sign: str) -> list[int]:
    """The first version that is not compatible any more."""
    at = min(1, len(parts) - 1) if sign == "~" else next((n for n, part in enumerate(parts) if part), 0)
    return [*parts[:at], parts[at] + 1]


def of_package(database: Path, name: str, version: str) -> Iterator[str]:
    """Advisories of the Python Packaging Authority about a version of a package."""
    for text in files(database, f"vulns/{name}"):
        advisory = yaml.safe_load(text)
        if not advisory.get("withdrawn") and any(
            version in one.get("versions", []) or any(map(in_range(version), one.get("ranges", [])))
            for one in advisory["affected"]
        ):
            yield advisory["id"]


def in_range(version: str) -> Callable[[dict[str, Any]], bool]:
    """Whether a range of the OSV format has a version."""

    def has(given: dict[str, Any]) -> bool:
        inside = False
        if given["type"] != "ECOSYSTEM":
            return False
        for event in given["events"]:
            (kind, text), *_ = event.items()
            try:
                reached = text == "0" or Version(version) >= Version(text)
                beyond = Version(version) > Version(text)
            except InvalidVersion:
                continue
            if kind == "introduced" and reached:
                inside = True
            elif (kind == "fixed" and reached) or (kind == "last_affected" and beyond):
                inside = False
        return inside

    return has


def files(database: Path, folder: str) -> Iterator[str]:
    """The texts in a folder of the database's newest commit."""
    for path in git(database, "ls-tree", "-r", "--name-only", "HEAD", folder).splitlines():
        yield git(database, "show", f"HEAD:{path}")


def git(database: Path, *arguments: str) -> str:
    """What git prints."""
    ran = subprocess.run(["git", "-C", database, *arguments], capture_output=True, text=True, check=True)
    return ran.stdout


if __name__ == "__main__":
    main()
