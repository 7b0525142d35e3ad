"""`fabricsim run` says which sources send nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Command

FABRIC = """
[topology.mesh]
dimensions = [4, 4]
[run]
duration = "50 us"
"""


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize(
    ("patterns", "told"),
    [
        (["transpose"], "4 sources send nothing"),
        (["transpose"] * 2, "8 sources send nothing"),
        (["uniform"], ""),
    ],
)
def test_sources_whose_destination_is_their_host_are_counted(
    command: Command, tmp_path: Path, patterns: list[str], told: str
) -> None:
    """The diagonal of 4 x 4, for each entry of the traffic list."""
    entries = [f"[[traffic]]\npattern = '{name}'\nload = 0.1\nmessage = '2 KiB'\n" for name in patterns]
    (tmp_path / "e.toml").write_text(FABRIC + "".join(entries))
    ran = command("run", "e.toml", "--out", "run")
    assert ran.code == 0
    lines = [line for line in ran.out.splitlines() if "send nothing" in line]
    assert lines == ([f"{told}: the only destination is the host itself"] if told else [])
