"""Examples beside the keys of the reference pages: each is a value that the key takes."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fabricsim.native import native

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs/reference/experiment").glob("*.md"))
SCHEMA: dict[str, Any] = json.loads((ROOT / "schema/experiment.schema.json").read_text())
EXAMPLES: dict[str, dict[str, Any]] = tomllib.loads((ROOT / "xtask/examples.toml").read_text())


def _schema_of(owner: str) -> dict[str, Any]:
    """Schemas of the keys of a type, or of a variant `Type.variant`, and of the variants of a type."""
    if owner == "Experiment":
        return dict(SCHEMA["properties"])
    name, _, variant = owner.partition(".")
    definition = SCHEMA["$defs"][name]
    variants: dict[str, Any] = {}
    for option in definition.get("oneOf", definition.get("anyOf", [])):
        variants |= option.get("properties", {})
    found: dict[str, Any] = (
        variants[variant]["properties"] if variant else definition.get("properties", {}) | variants
    )
    return found


def _examples() -> Iterator[tuple[str, str, Any]]:
    for owner, table in EXAMPLES.items():
        for key, value in table.items():
            yield owner, key, value


def test_examples_are_values_of_their_keys() -> None:
    for owner, key, value in _examples():
        schema = {**_schema_of(owner)[key], "$defs": SCHEMA["$defs"]}
        problems = [error.message for error in Draft202012Validator(schema).iter_errors(value)]
        assert not problems, (owner, key, value, problems)


def test_a_wrong_example_is_found() -> None:
    schema = {**_schema_of("Host")["mtu"], "$defs": SCHEMA["$defs"]}
    assert list(Draft202012Validator(schema).iter_errors("2 KB of 3"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_row_has_an_example_that_is_toml(page: Path) -> None:
    rows = [line for line in page.read_text().splitlines() if re.match(r"\| (`|\[`)", line)]
    for row in rows:
        cells = re.split(r"(?<!\\)\|", row)
        example = cells[-3].strip().strip("`").replace("\\|", "|")
        key = re.sub(r"[^\w-]", "", cells[1].split("](")[0])
        assert list(tomllib.loads(example)) == [key], row


BASE: dict[str, Any] = {
    "topology": {"torus": {"dimensions": [8, 8]}},
    "switch": {"virtual_lanes": 15},
    "traffic": [{"pattern": "uniform", "load": 0.1, "message": "1 KiB"}],
    "run": {"duration": "1 us"},
}
NEEDED = {
    "switches": {"routing": {"algorithm": "shortest-path", "lane_policy": "hops"}},
    "subnet_manager": {"routing": {"algorithm": "opensm", "engine": "dor"}},
}
"""What examples need beside them."""


@pytest.mark.parametrize("key", sorted(EXAMPLES["Experiment"]))
def test_examples_of_sections_are_experiments(key: str) -> None:
    written = BASE | NEEDED.get(key, {}) | {key: EXAMPLES["Experiment"][key]}
    text = "\n".join(f"{name} = {_inline(value)}" for name, value in written.items())
    native().check(text, "x.toml", ".", [])


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_inline(of)}" for key, of in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return json.dumps(value)
