"""The rows of a figure: quantities, references, and judging. The format is described in
`docs/reproduction/format.md`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args

from fabricsim.errors import InputError
from fabricsim.reproduce.reading import make, unknown
from fabricsim.spec.values import parse_assignment, toml_value

Number = int | float | bool
Origin = Literal["printed", "derived", "own"]
ORIGINS: tuple[str, ...] = get_args(Origin)


@dataclass(frozen=True)
class Judging:
    """Judging of a row. A figure gives defaults for its rows."""

    origin: Origin = "printed"
    """`printed`: stated in the publication; `derived`: follows from it, as `note` or the figure's text says; `own`: our
    probes, theory, other simulators, extensions."""
    tolerance: float | None = None
    """Largest difference, relative to the reference unless `absolute`; None beside a claim."""
    absolute: bool = False
    """The tolerance is in the quantity's own unit."""
    because: str = ""
    """Origin of the tolerance: a name in the seed's `[tolerances]`."""
    control: dict[str, Any] = field(default_factory=dict)
    """Values to replace under which the row must not hold."""
    control_on: list[str] = field(default_factory=list)
    """Patterns of the names of the runs in which the control's values are replaced; by default all."""
    independent: str = ""
    """Reason why the row does not depend on a feature; such a row is shown and not counted."""
    calibrated: str = ""
    """The seed's choice that was made with this row at hand."""
    repeats: str = ""
    """The figure that has this number already; such a row is judged and not counted."""


@dataclass(frozen=True)
class Quantity(Judging):
    """One number or claim."""

    quantity: str = ""
    """Description."""
    value: str = ""
    """Expression that gives ours."""
    unit: str = ""
    published: Number | None = None
    """Published value; None if the publication states none."""
    expected: Number | None = None
    """Reference if no value is published."""
    claim: str | None = None
    """Expression that decides whether the row holds, instead of a tolerance; `ours` is the value."""
    note: str = ""

    @property
    def reference(self) -> Number | None:
        """The number that ours is compared with."""
        return self.expected if self.published is None else self.published

    @property
    def is_judged(self) -> bool:
        """True if the row is judged."""
        return self.claim is not None or (self.reference is not None and self.tolerance is not None)


@dataclass(frozen=True)
class Cells(Judging):
    """A quantity of every cell of a figure's grid."""

    name: str = ""
    """Its name in expressions."""
    quantity: str = ""
    """Description; `{AXIS}` stands for the cell's label on that axis."""
    value: str = ""
    """Expression that gives ours; the cell's run is the first."""
    unit: str = ""
    published: list[Any] | None = None
    """Numbers in print, one for each cell: lists of lists, the first axis outermost; `nan`: none."""
    expected: list[Any] | None = None
    """References if no values are published."""
    judged: bool = True
    """True if each cell has to hold; otherwise only claims about all of them."""
    listed: bool = True
    """True if each cell is an entry of its own."""

    @property
    def is_judged(self) -> bool:
        """True if each cell is judged."""
        has_reference = self.published is not None or self.expected is not None
        return self.judged and self.listed and has_reference and self.tolerance is not None


JUDGING = tuple(Judging.__dataclass_fields__)
Row = TypeVar("Row", Quantity, Cells)


def read_row(kind: type[Row], where: str, content: Mapping[str, Any], defaults: Mapping[str, Any]) -> Row:
    """A row from its table; `defaults` are those of its figure.

    Raises:
        InputError: a key is unknown or missing, or two keys contradict each other.
    """
    for key in ("quantity", "value", *(("name",) if kind is Cells else ())):
        if not content.get(key):
            raise InputError(f"{where}: the key `{key}` is missing")
    where = f"{where} ({content['quantity']})"
    merged = {**_applicable(content, defaults), **content}
    if isinstance(merged.get("control"), str):
        merged["control"] = _assignment(where, merged["control"])
    row = make(kind, where, merged)
    _check(where, row)
    return row


def _applicable(content: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults that do not contradict what the row says itself."""
    found = dict(defaults)
    if "claim" in content:
        for key in ("tolerance", "because", "absolute"):
            found.pop(key, None)
    if not content.keys().isdisjoint({"control", "independent"}):
        for key in ("control", "control_on", "independent"):
            found.pop(key, None)
    return found


def _assignment(where: str, text: str) -> dict[str, Any]:
    try:
        key, value = parse_assignment(text)
    except InputError as error:
        raise InputError(f"{where}: control: {error}") from None
    return {key.strip(): _typed(value.strip())}


def _typed(text: str) -> Any:
    """A number or a truth value if the text is one."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip('"')


def _check(where: str, row: Quantity | Cells) -> None:
    if row.origin not in ORIGINS:
        raise InputError(f"{where}: {unknown('origin', row.origin, list(ORIGINS))}")
    if row.origin != "printed" and row.published is not None:
        raise InputError(f"{where}: `published` is a number in print, and the origin is {row.origin}")
    if row.tolerance is not None and (not math.isfinite(row.tolerance) or row.tolerance < 0):
        raise InputError(f"{where}: tolerance = {row.tolerance}: must be at least 0")
    if isinstance(row, Quantity):
        if row.claim is not None and row.tolerance is not None:
            raise InputError(f"{where}: give `claim` or `tolerance`, not both")
        if row.origin == "printed" and row.published is None and row.claim is None and row.is_judged:
            raise InputError(
                f'{where}: the origin is printed: give `published` or `claim`, or origin = "derived"'
            )
    if row.tolerance is not None and not row.because:
        raise InputError(
            f"{where}: `because` is missing: name an entry of [tolerances] that says where it comes from"
        )
    if row.is_judged and bool(row.control) == bool(row.independent):
        raise InputError(
            f"{where}: give `control`, values under which it must fail, or `independent`, why there is none"
        )


def control_text(control: Mapping[str, Any]) -> str:
    """A control as it would be given to `--set`."""
    return ", ".join(
        f"{key} = {value if isinstance(value, str) else toml_value(value)}" for key, value in control.items()
    )
