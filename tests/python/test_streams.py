"""Output that cannot be written as it is: nothing of it ends a command, and results are kept."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL
from processes import ended, started

import fabricsim as fs

pytestmark = pytest.mark.usefixtures("real")
TITLE = "µ → é"
ASCII: dict[str, dict[str, str]] = {
    "PYTHONIOENCODING": {"PYTHONIOENCODING": "ascii"},
    "locale": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "e.toml").write_text(f'title = "{TITLE}"\n{SMALL}', encoding="utf-8")
    return tmp_path


def closed_pipe() -> int:
    """The writing end of a pipe without a reader."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


@pytest.mark.parametrize("way", ASCII)
def test_a_locale_without_other_characters(folder: Path, way: str) -> None:
    environment = {**os.environ, **ASCII[way]}
    code, out, err = ended(started(folder, "run", "e.toml", "--out", "out", env=environment))
    assert (code, err) == (0, "")
    assert out.isascii()
    assert "results: out" in out
    assert r"\u2192" in out, "the title's arrow"
    assert r"\u25" not in out, "tables are drawn in ASCII"
    code, out, _ = ended(
        started(folder, "run", "e.toml", "--out", "out", "--force", "--json", env=environment)
    )
    assert code == 0
    assert json.loads(out)["experiment"] == TITLE


def test_a_file_name_that_is_no_text(folder: Path) -> None:
    name = b"\xe4.toml"
    os.rename(folder / "e.toml", os.fsencode(folder) + b"/" + name)
    code, _, err = ended(started(folder, "run", os.fsdecode(name), "--out", "out"))
    assert "internal error" not in err
    assert "Traceback" not in err
    assert code in (0, 2)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_full_device_is_one_message(folder: Path, options: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        code, _, err = ended(started(folder, "run", "e.toml", "--out", "out", *options, stdout=full))
    assert code == 1
    assert err.splitlines()[-1] == (
        "fabricsim: standard output cannot be written: No space left on device; the results are in out"
    )
    assert "internal error" not in err
    assert fs.load(folder / "out").status == "ok"


def test_a_full_device_for_messages_changes_nothing(folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        assert ended(started(folder, "run", "e.toml", "--out", "out", stderr=full))[0] == 0
        assert ended(started(folder, "run", "e.toml", "--out", "out", stderr=full))[0] == 2


@pytest.mark.parametrize("options", [(), ("--json",), ("--plot",)])
def test_a_closed_pipe_is_no_failure(folder: Path, options: tuple[str, ...]) -> None:
    writing = closed_pipe()
    code, _, err = ended(started(folder, "run", "e.toml", "--out", "out", *options, stdout=writing))
    os.close(writing)
    assert code == 0, err
    assert "out/throughput.png" in err if options == ("--plot", "--json") else "Traceback" not in err
    assert fs.load(folder / "out").status == "ok"
    assert (folder / "out" / "throughput.png").exists() == (options == ("--plot",))


@pytest.mark.parametrize("command", [["schema"], ["--help"], ["describe", "e.toml"]])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_closed_pipe_gives_the_code_of_the_command(folder: Path, command: list[str], stream: str) -> None:
    given: dict[str, Any] = {stream: closed_pipe()}
    code, _, err = ended(started(folder, *command, **given))
    os.close(given[stream])
    assert (code, err) == (0, "")


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_stream_that_is_closed(folder: Path, number: int) -> None:
    code, _, err = ended(started(folder, "run", "e.toml", "--out", "out", prepare=lambda: os.close(number)))
    assert (code, err) == (0, "")
    assert fs.load(folder / "out").status == "ok"
