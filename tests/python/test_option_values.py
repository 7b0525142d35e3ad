"""Options that are read without a validator have the values that typer gives them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from conftest import Command

from fabricsim.cli.app import COMMANDS
from fabricsim.cli.commands import Later
from fabricsim.cli.values import spare_validators
from fabricsim.errors import InputError

TEXTS = ["", "a", "a,b=1", "-", "3", "0.5", "png", "paper", "link", "true"]
VALUES: list[Any] = [None, True, False, 20, *TEXTS, ("a",), ("a", "b"), (), ["a", "1"]]


def outcome(process: Any, ctx: Any, value: Any) -> Any:
    """A value with its types, or the message about it."""
    try:
        found = process(ctx, value)
    except (typer.BadParameter, InputError):
        return "refused"
    return type(found), [(type(one), one) for one in found] if isinstance(found, list | tuple) else found


@pytest.mark.parametrize("later", COMMANDS, ids=[later.name for later in COMMANDS])
def test_values_are_those_of_typer(later: Later) -> None:
    command = later.load()
    commands = [command, *getattr(command, "commands", {}).values()]
    for each in commands:
        ctx = each.make_context(each.name, ["x"] * 3, resilient_parsing=True)
        for option in each.params:
            before = option.process_value
            spare_validators([option])
            spare_validators([option])  # once more changes nothing
            default = option.get_default(ctx)
            for value in [default, *VALUES]:
                if isinstance(value, bool) and option.type_descriptor.annotation is not bool:
                    continue  # only flags have such values
                if isinstance(value, tuple | list) and not (
                    getattr(option, "multiple", False) or option.nargs != 1
                ):
                    continue
                assert outcome(option.process_value, ctx, value) == outcome(before, ctx, value), (
                    option.name,
                    value,
                )


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "small.toml", "--threads", "0"], "--threads 0: must be a whole number of at least 1\n"),
        (["run", "small.toml", "--seed", "x"], "--seed x: must be a whole number from 0 to 9,223,"),
        (["bound", "small.toml", "--limit", "soon"], "--limit soon: must be a number of at least 0.1\n"),
        (["perftest", "read_lat", "small.toml", "-t", "1.5"], "--tx-depth 1.5: must be a whole number\n"),
        (["run", "small.toml", "--format", "bmp"], "--format bmp: must be png, svg or pdf\n"),
        (["run"], "FILE"),
        (["what-if", "small.toml", "--each", "host"], "--each host: must be link or switch\n"),
    ],
)
def test_wrong_values_are_refused_as_before(
    command: Command, small: Path, arguments: list[str], message: str
) -> None:
    ran = command(*arguments)
    assert ran.code == 2
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_values_of_the_environment_are_read(monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    monkeypatch.setenv("FABRICSIM_DEBUG", "1")
    assert "Traceback" in command("run", "absent.toml").err
    monkeypatch.setenv("FABRICSIM_DEBUG", "nonsense")
    assert "FABRICSIM_DEBUG" in command("run", "absent.toml").err
    assert "pydantic" in sys.modules


@pytest.mark.usefixtures("real")
def test_a_seed_beyond_the_range_names_the_range(command: Command, small: Path) -> None:
    ran = command("run", small, "--seed", 2**64 - 1)
    assert ran.code == 2
    assert f"--seed {2**64 - 1}: must be a whole number from 0 to {2**63 - 1:,}\n" in ran.err
    assert command("run", small, "--seed", 2**63 - 1, "--set", "run.duration=1 us").code == 0
