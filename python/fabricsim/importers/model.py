"""A simulation of the InfiniBand model: its modules, and the parameters that its configuration gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from fabricsim.errors import InputError
from fabricsim.importers.ini import Entry, Ini

T = TypeVar("T")

CODING = 0.8
"""Data bits for each signalled bit: 8b/10b. The model takes 10/(width x speed) ns for a byte."""


@dataclass(frozen=True)
class Port:
    """A port of a switch, or a host."""

    node: str
    number: int | None
    path: str
    """Of its module."""
    peer: str
    """The node at the other end of its link."""


@dataclass
class Model:
    """Modules of a network, and their parameters."""

    ini: Ini
    network: str
    """Name of the network's module."""
    hosts: list[str]
    switches: list[str]
    cables: list[dict[str, Any]]
    """Links of the NED file: `a`, `a_port`, `b`, `b_port`, `latency`."""
    folder: Path
    """Folder of the configuration: names of files in it are relative to it."""
    notes: list[tuple[Entry, str, bool]] = field(default_factory=list)
    """Entries that were read and not expressed, with the reason."""

    def __post_init__(self) -> None:
        self._switch_names = set(self.switches)

    def is_switch(self, node: str) -> bool:
        """True if the node is a switch."""
        return node in self._switch_names

    def module(self, node: str) -> str:
        """Path of a switch or host."""
        return f"{self.network}.{node}"

    def ends(self, cable: dict[str, Any]) -> tuple[Port, Port]:
        """Both ends of a link."""
        a, b = cable["a"], cable["b"]
        return self._port(a, cable.get("a_port"), b), self._port(b, cable.get("b_port"), a)

    def _port(self, node: str, number: int | None, peer: str) -> Port:
        module = self.module(node)
        return Port(node, number, f"{module}.port[{number}]" if self.is_switch(node) else module, peer)

    def switch_ports(self) -> list[Port]:
        """All ports of switches that have a link."""
        ends = (end for cable in self.cables for end in self.ends(cable))
        return [end for end in ends if self.is_switch(end.node)]

    def credit_bytes(self) -> int:
        """Bytes of a credit.

        Raises:
            InputError: there is no such number.
        """
        size = self.ini.number(f"{self.network}.creditSize", unit="B")
        return int(whole_bytes(self.ini, "creditSize", size).removesuffix(" B"))

    def lanes(self) -> int:
        """Virtual lanes."""
        return self.ini.whole(f"{self.network}.maxVL", 0) + 1

    def same(self, what: str, modules: Iterable[str], value: Callable[[str], T]) -> T:
        """The value that all modules have.

        Raises:
            InputError: two differ: an experiment has one for all.
        """
        first: tuple[str, T] | None = None
        for module in modules:
            here = (module, value(module))
            first = first or here
            if here[1] != first[1]:
                at = self.ini.at(f"{module}.{what}")
                raise InputError(
                    f"{at}: {what} is {first[1]} at {first[0]} and {here[1]} at {here[0]}: "
                    "an experiment has one value for all of them"
                )
        if first is None:
            raise InputError(f"{self.ini.file}: the network has no module with {what}")
        return first[1]

    def note(self, path: str, why: str, *, altered: bool = False) -> None:
        """Notes that the entry for this parameter, if there is one, is not read, or altered."""
        entry = self.ini.entry(path)
        if entry and (entry, why, altered) not in self.notes:
            self.notes.append((entry, why, altered))


def plain(value: float) -> str:
    """A number without an exponent, to twelve digits."""
    return format(Decimal(f"{value:.12g}").normalize() + 0, "f")


def whole_bytes(ini: Ini, what: str, value: float) -> str:
    """A size as an experiment has it.

    Raises:
        InputError: it is not a whole number of bytes, 1 or more.
    """
    if value != int(value) or value < 1:
        raise InputError(f"{ini.file}: {what} is {value:g} bytes: a whole number of bytes is needed")
    return f"{int(value)} B"
