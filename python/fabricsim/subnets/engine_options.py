"""Options that only some of OpenSM's engines read."""

from __future__ import annotations

READERS: dict[str, tuple[str, ...]] = {
    "--roots": ("updn", "ftree"),
    "--torus-conf": ("torus-2QoS",),
    "--compute-nodes": ("ftree",),
    "--port-shifting": ("minhop", "updn", "dnup", "dor"),
    "--scatter-ports": ("minhop", "updn", "dnup", "dor"),
    "--nue-vls": ("nue",),
    "--path-sls": ("torus-2QoS", "lash", "dfsssp", "nue"),
}
"""The engines that read an option of `fabricsim route`, or, for `--path-sls`, that give their paths service levels."""


def readers(option: str) -> str:
    """The engines that read an option, for help and messages: `updn, ftree`."""
    return ", ".join(READERS[option])


def reads(engine: str, option: str) -> bool:
    """True if an engine, in any case of letters, reads an option."""
    return engine.lower() in {reader.lower() for reader in READERS[option]}
