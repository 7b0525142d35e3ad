"""CAMINOS, a cycle-driven simulator of interconnection networks in Rust (crate `caminos`)."""

from __future__ import annotations

import re
from pathlib import Path

from peers_measure import Figures, Missing, Program

VERSION = "0.6.3"
INSTALL = f"cargo install --locked --root target/peers caminos@{VERSION}"
WARMUP = 4000
"""Cycles, as in the experiments of `make bench`."""
HOSTS = 64
FLITS = 16
_NUMBER = r"\s*([0-9.eE+-]+)"


def caminos(
    root: Path, folder: Path, topology: str, load: float, lengths: tuple[int, int, int]
) -> Program | Missing:
    """CAMINOS on an 8x8 mesh or torus; lengths are measured cycles."""
    binary = root / "target/peers/bin/caminos"
    if not binary.exists():
        return Missing("CAMINOS", f"`{INSTALL}`")
    result = folder / f"caminos-{topology}-{load:g}.result"

    def command(cycles: float) -> list[str]:
        file = folder / f"caminos-{topology}-{load:g}-{cycles:g}.cfg"
        file.write_text(configuration(root, topology, load, round(cycles)), encoding="utf-8")
        result.unlink(missing_ok=True)
        return [str(binary), str(file), f"--results={result}"]

    def figures(_output: str, cycles: float) -> Figures:
        return read(result.read_text(encoding="utf-8"), WARMUP + cycles)

    return Program("CAMINOS", VERSION, command, figures, lengths)


def configuration(root: Path, topology: str, load: float, cycles: int) -> str:
    """A configuration; the torus is free of deadlock by bubbles."""
    values = {
        "topology": topology.capitalize(),
        "load": f"{load:g}",
        "warmup": str(WARMUP),
        "measured": str(cycles),
        "bubble": "true" if topology == "torus" else "false",
    }
    text = (root / "benches/peers/caminos.cfg.in").read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def read(result: str, cycles: float) -> Figures:
    """Reads a result. Its hops are links between routers; the link to the host is one more for each packet.

    Args:
        result: the result's text.
        cycles: of the whole run, the warm-up included.
    """
    load = value(result, "accepted_load")
    packets = load * cycles * HOSTS / FLITS
    hops = value(result, "average_packet_hops") + 1
    return Figures(
        packets * hops,
        load,
        value(result, "average_message_delay"),
        value(result, "linux_high_water_mark") / 1024,
    )


def value(result: str, key: str) -> float:
    """A number of a result.

    Raises:
        ValueError: the result has none of this name.
    """
    found = re.search(rf"^\s*{key}:{_NUMBER}", result, re.MULTILINE)
    if found is None:
        raise ValueError(f"the result of CAMINOS has no {key}")
    return float(found[1])
