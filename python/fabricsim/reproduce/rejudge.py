"""Rows that are judged anew by the numbers of a page, without a run: after a change of origins, tolerances, claims or
notes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fabricsim.errors import InputError
from fabricsim.reproduce.evaluation import Instance, Measured, instances, within
from fabricsim.reproduce.expected import Figure, Seed
from fabricsim.reproduce.expressions import evaluate
from fabricsim.reproduce.judge import Entry, entry_of
from fabricsim.reproduce.quantities import functions
from fabricsim.reproduce.record import basis, entries_of
from fabricsim.reproduce.rows import Number, Quantity, control_text


def rejudged(seed: Seed, figure: Figure, record: Mapping[str, Any]) -> list[Entry]:
    """The entries of a figure as its rows judge the numbers of `record` now.

    A row finds its numbers by its name, or else by its value and control.

    Raises:
        InputError: a row needs a run: it is new, its value or control is another, or its claim uses more than
            `ours`; or the figure's runs or files are others.
    """
    where = f"{seed.name} {figure.name}"
    if record.get("basis") != basis(seed, figure):
        raise InputError(f"{where}: its runs, experiments or functions have changed: it has to run")
    before = entries_of(seed.name, figure.name, dict(record))
    found = []
    for instance in instances(figure):
        old = _old(where, instance.quantity, before)
        found.append(_entry(where, seed, figure, instance, old))
    return found


def _old(where: str, row: Quantity, before: list[Entry]) -> Entry:
    """The entry with the numbers of a row."""
    same = [entry for entry in before if entry.quantity == row.quantity]
    if not same:
        same = [e for e in before if e.value == row.value and e.control == control_text(row.control)]
    if len(same) != 1 or same[0].value != row.value:
        raise InputError(f"{where}: {row.quantity}: the page has no numbers of this row: it has to run")
    return same[0]


def _entry(where: str, seed: Seed, figure: Figure, instance: Instance, old: Entry) -> Entry:
    row = instance.quantity
    holds = _holds(where, row, old, old.ours, old.holds) if instance.judged else None
    entry = entry_of(seed, figure, instance, Measured(old.ours, holds, frozenset()))
    if not entry.control:
        return entry
    if entry.control != old.control:
        raise InputError(f"{where}: {row.quantity}: the control is another: it has to run")
    under = None
    if old.control_holds is not None:
        under = _holds(where, row, old, old.control_ours, old.control_holds)
    return replace(entry, control_ours=old.control_ours, control_holds=under)


def _holds(where: str, row: Quantity, old: Entry, ours: Number | None, held: bool | None) -> bool | None:
    """True if a row holds with this value; `held` is what the page says."""
    if row.claim is not None:
        if row.claim == old.claim:
            return held
        try:
            return bool(evaluate(row.claim, functions({}, {}), {"ours": ours}))
        # Functions that read a run find none.
        except (InputError, StopIteration):
            raise InputError(f"{where}: {row.quantity}: its claim is another: it has to run") from None
    if row.reference is None or row.tolerance is None:
        return None
    return ours is not None and within(ours, row.reference, row.tolerance, absolute=row.absolute)
