"""SimGrid's SMPI, which runs MPI programs on a network whose messages share the rates of links (a fluid model)."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from peers_measure import Figures, Missing, Program

INSTALL = "`scripts/apt libsimgrid-dev`, or `sudo apt install libsimgrid-dev`"
RANKS = 64
BLOCK = 65536
"""Bytes of a rank for another."""
RATE = 12.5
"""Of a link, bytes per ns."""
OPTIONS = (
    "--log=root.thresh:error",
    "--cfg=smpi/simulate-computation:no",
    "--cfg=smpi/host-speed:1Gf",
    "--cfg=smpi/alltoall:ring",
    "--cfg=network/latency-factor:1",
    "--cfg=network/bandwidth-factor:1",
    "--cfg=network/crosstraffic:0",
)


def simgrid(root: Path, folder: Path, lengths: tuple[int, int, int]) -> Program | Missing:
    """All-to-alls of 64 ranks; lengths are their number."""
    if shutil.which("smpicc") is None or shutil.which("smpirun") is None:
        return Missing("SimGrid", INSTALL)
    binary, hosts = folder / "alltoall", folder / "hosts"
    subprocess.run(["smpicc", "-O2", root / "benches/peers/alltoall.c", "-o", binary], check=True)
    hosts.write_text("".join(f"node-{rank}\n" for rank in range(RANKS)), encoding="utf-8")
    places = ["-platform", str(root / "benches/peers/torus-4x4x4.xml"), "-hostfile", str(hosts)]

    def command(rounds: float) -> list[str]:
        return ["smpirun", "-np", str(RANKS), *places, *OPTIONS, str(binary), f"{rounds:g}", str(BLOCK)]

    def wrap(tool: Sequence[str], of: Sequence[str]) -> list[str]:
        return ["smpirun", "-wrapper", " ".join(tool), *of[1:]]

    return Program("SimGrid", version(), command, read, lengths, wrap=wrap)


def version() -> str:
    """The version of SimGrid that is installed."""
    found = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Version}", "libsimgrid-dev"],
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() or "unknown version"


def read(output: str, rounds: float) -> Figures:
    """Reads the output of benches/peers/alltoall.c and alltoall.py.

    Raises:
        ValueError: it has no time.
    """
    found = re.search(r"^longest_s ([0-9.eE+-]+)$", output, re.MULTILINE)
    if found is None:
        raise ValueError("the all-to-all printed no time")
    ns = float(found[1]) * 1e9 / rounds
    return Figures(rounds, (RANKS - 1) * BLOCK / ns / RATE, ns)
