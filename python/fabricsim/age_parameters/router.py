"""Router parameters of the equations: by default the SeaStar of the Cray XT."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from fabricsim.errors import InputError


@dataclass(frozen=True)
class Router:
    """Buffers in flits, rates and times of a router. Defaults are the SeaStar's (sections 1.2 and 3)."""

    input_buffer: int = 96
    """Flits of the input buffer of a virtual channel (section 1.2)."""
    staging_buffer: int = 16
    """Flits of the buffer before an output, for each input and virtual channel (section 1.2); 0: there is none."""
    packet: int = 9
    """Flits of a packet of full size (section 3.2)."""
    virtual_channels: int = 2
    """Virtual channels of a class, which take turns on a link (section 3.2)."""
    channel_gbytes_per_s: float = 4.8
    """Bandwidth of a channel between routers in GB/s, `B_c` (footnote 7)."""
    ejection_gbytes_per_s: float = 2.0
    """Bandwidth from a router to its processor in GB/s, `E_p` (footnote 7)."""
    clock_mhz: float = 500.0
    """Clock of the router in MHz: the shortest age clock period is one cycle, 2 ns (section 2.1)."""
    delay_ns: float = 50.0
    """Delay of a router in ns, `t_r` (footnote 4)."""

    def __post_init__(self) -> None:
        """Checks the values.

        Raises:
            InputError: one is out of range, or no packet fits into the input buffer.
        """
        for field in fields(self):
            _require(field.name, getattr(self, field.name), isinstance(field.default, int))
        if self.packet > self.input_buffer:
            raise InputError(
                f"packet: a packet of {self.packet} flits does not fit into an input buffer of {self.input_buffer}"
            )
        if 0 < self.staging_buffer < self.packet:
            raise InputError(
                f"staging_buffer: a packet of {self.packet} flits does not fit into {self.staging_buffer}: "
                "give at least as many, or 0 for none"
            )

    @property
    def cycle_ns(self) -> float:
        """A cycle of the router's clock in ns."""
        return 1000 / self.clock_mhz


_MAY_BE_ZERO = ("staging_buffer", "delay_ns")
_LARGEST = 1_000_000


def _require(name: str, value: object, whole: bool) -> None:
    least = 0 if name in _MAY_BE_ZERO or not whole else 1
    kind = "a whole number" if whole else "a number"
    good = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    inside = good and math.isfinite(value) and least <= value <= _LARGEST  # type: ignore[arg-type, operator]
    if not inside or (value == 0 and name not in _MAY_BE_ZERO):
        bounds = (
            f"{least} to {_LARGEST:,}" if whole or name in _MAY_BE_ZERO else f"above 0 up to {_LARGEST:,}"
        )
        raise InputError(f"{name}: {value} is not allowed: give {kind}, {bounds}")
