"""Defaults of keys: schema (which the types of the engine write), dataclasses of Python and pages say the same."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any

import pytest
from conftest import ROOT

import fabricsim.spec

SCHEMA: dict[str, Any] = json.loads((ROOT / "schema/experiment.schema.json").read_text())
PAGES = "\n".join(path.read_text() for path in sorted((ROOT / "docs/reference/experiment").glob("*.md")))

# Tables by a word of `cct` have no class of their own, and `from` is a word of Python.
WITHOUT_CLASS = {"LinearCct", "QuadraticCct", "ExponentialCct"}
OTHER_NAMES = {"from": "from_"}


def defaults() -> list[tuple[str, str, str]]:
    """Type, key and default of all keys whose default is a number, a text or a truth value."""
    return [
        (name, key, json.dumps(of["default"]))
        for name, node in SCHEMA["$defs"].items()
        for key, of in node.get("properties", {}).items()
        if isinstance(of.get("default"), str | int | float | bool)
    ]


def of_class(name: str, key: str) -> str | None:
    """The default that the text of a field states."""
    source = inspect.getsource(getattr(fabricsim.spec, name))
    field = OTHER_NAMES.get(key, key)
    found = re.search(rf'^    {field}: [^\n]*\n    """(.*?)"""', source, re.DOTALL | re.MULTILINE)
    stated = re.search(r"Default: (.*?)\.?$", " ".join(found[1].split())) if found else None
    return stated[1] if stated else None


def of_page(name: str, key: str) -> str | None:
    """The default that a row of the reference states: its fifth column."""
    section = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", PAGES, re.DOTALL | re.MULTILINE)
    row = re.search(rf"^\| `{key}` \|.*$", section[1], re.MULTILINE) if section else None
    cells = re.split(r"(?<!\\)\|", row[0]) if row else []
    return cells[5].strip().strip("`") if len(cells) > 5 else None


def test_all_mirrors_have_the_same_defaults() -> None:
    keys = defaults()
    assert len(keys) > 200
    assert ("Transport", "timeout", '"1 ms"') in keys
    assert ("Transport", "lifetime", '"1 ms"') in keys
    wrong = [
        (name, key, default, of_class(name, key), of_page(name, key))
        for name, key, default in keys
        if name not in WITHOUT_CLASS and (of_class(name, key), of_page(name, key)) != (default, default)
    ]
    assert wrong == []


@pytest.mark.parametrize(("name", "key"), [("Transport", "timeout"), ("Transport", "lifetime")])
def test_a_mirror_with_another_default_is_noticed(
    name: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SCHEMA["$defs"][name]["properties"][key], "default", "10 us")
    with pytest.raises(AssertionError):
        test_all_mirrors_have_the_same_defaults()
