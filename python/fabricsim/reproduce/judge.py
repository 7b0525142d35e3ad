"""Entries of a reproduction: ours beside the publication's, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from fabricsim.errors import InputError
from fabricsim.reproduce.evaluation import Evaluation, Instance, Measured, instances
from fabricsim.reproduce.expected import Figure, Seed
from fabricsim.reproduce.rows import Number, Origin, control_text
from fabricsim.results import Result

Verdict = Literal["yes", "sign", "calibrated", "independent", "repeated", "no", "shown"]
VERDICTS: tuple[str, ...] = get_args(Verdict)


@dataclass(frozen=True)
class Entry:
    """One number or claim, and ours beside it."""

    seed: str
    figure: str
    quantity: str
    unit: str
    origin: Origin
    published: Number | None
    """Published value."""
    expected: Number | None
    """Reference if no value is published."""
    ours: Number | None
    ratio: float | None
    """Ours over the reference."""
    tolerance: float | None
    """None beside a claim."""
    absolute: bool
    """The tolerance is in the quantity's own unit, not relative."""
    because: str
    """Origin of the tolerance."""
    claim: str | None
    """The condition that decides instead of a tolerance."""
    holds: bool | None
    """None if the row is not judged."""
    verdict: Verdict
    """`yes`: holds; `sign`: a printed number whose condition holds, and nothing more is judged; `calibrated`: holds,
    and a parameter was chosen with it at hand; `no`: does not hold. Whether or not they hold: `independent`: does not
    depend on the feature; `repeated`: counted elsewhere."""
    control: str
    """The values under which it must not hold."""
    control_ours: Number | None
    """Ours under the control; None if the control was not run."""
    control_holds: bool | None
    """True if the row holds under its control, and so shows nothing; None if the control was not run."""
    note: str
    value: str
    """The expression that gave ours."""
    listed: bool = True
    """True if it is on the page; cells that are not are kept with the numbers, and compared as all others are."""

    @property
    def reference(self) -> Number | None:
        """The number that ours is compared with."""
        return self.expected if self.published is None else self.published

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class Row:
    """An entry with what is needed to evaluate it again under its control."""

    entry: Entry
    instance: Instance
    used: frozenset[str]


def judge_figure(seed: Seed, figure: Figure, runs: Mapping[str, Result]) -> tuple[list[Row], list[str]]:
    """The rows of a figure, and what could not be evaluated."""
    evaluation = Evaluation(seed, figure, runs)
    rows: list[Row] = []
    problems: list[str] = []
    for instance in _all(seed, figure, problems):
        try:
            measured = evaluation.measure(instance)
        except InputError as error:
            problems.append(f"{seed.name} {figure.name}: {instance.quantity.quantity}: {error}")
            continue
        rows.append(Row(entry_of(seed, figure, instance, measured), instance, measured.used))
    return rows, problems


def _all(seed: Seed, figure: Figure, problems: list[str]) -> Iterator[Instance]:
    try:
        yield from instances(figure)
    except InputError as error:
        problems.append(f"{seed.name} {figure.name}: {error}")


def with_control(row: Row, measured: Measured) -> Entry:
    """The row's entry with what came out under its control."""
    return replace(row.entry, control_ours=measured.ours, control_holds=measured.holds)


def verdict(instance: Instance, holds: bool | None) -> Verdict:
    """Verdict of a row that holds or not."""
    row = instance.quantity
    if holds is None:
        return "shown"
    if row.repeats:
        return "repeated"
    if row.independent:
        return "independent"
    if not holds:
        return "no"
    is_number = row.published is not None and not isinstance(row.published, bool)
    if row.claim is not None and is_number:
        return "sign"
    return "calibrated" if row.calibrated else "yes"


def entry_of(seed: Seed, figure: Figure, instance: Instance, measured: Measured) -> Entry:
    """The entry of a row for what was measured."""
    row = instance.quantity
    return Entry(
        seed=seed.name,
        figure=figure.name,
        quantity=row.quantity,
        unit=row.unit,
        origin=row.origin,
        published=row.published,
        expected=row.expected,
        ours=measured.ours,
        ratio=_ratio(measured.ours, row.reference),
        tolerance=None if measured.holds is None else row.tolerance,
        absolute=row.absolute,
        because=row.because,
        claim=row.claim,
        holds=measured.holds,
        verdict=verdict(instance, measured.holds),
        control="" if measured.holds is None else control_text(row.control),
        control_ours=None,
        control_holds=None,
        note=row.note or row.independent,
        value=row.value,
        listed=instance.listed,
    )


def _ratio(ours: Number | None, reference: Number | None) -> float | None:
    if ours is None or not reference or isinstance(reference, bool):
        return None
    return ours / reference
