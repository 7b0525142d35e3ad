"""The experiment that a sweep varies. Its points must be valid; the experiment itself need not be.

An entry of the traffic list may lack the load that the sweep gives to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import tomli_w

from fabricsim.errors import InputError
from fabricsim.spec import Experiment
from fabricsim.spec.values import entry_number, key_parts

if TYPE_CHECKING:
    from fabricsim.sweep.plan import Plan

_LEAST = """
[topology.mesh]
dimensions = [2, 2]

[[traffic]]
pattern = "uniform"
injection = "saturating"
message = "1 KiB"

[run]
duration = "1 us"
"""
"""A valid experiment, to check a section that refers to no other one."""


class Base:
    """An experiment, valid or not."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.refusal: InputError | None = None
        """The reason why it is invalid; None if it is valid."""
        self._facts: Mapping[str, Any] | None = None
        try:
            self._facts = experiment.check()
        except InputError as error:
            self.refusal = error

    def section(self) -> dict[str, Any]:
        """Its `[sweep]` with all defaults filled in; empty without one.

        Raises:
            InputError: the section is invalid, or the experiment cannot be read.
        """
        if self._facts is not None:
            return dict(self._facts.get("sweep") or {})
        section = self.experiment.written().get("sweep")
        if section is None:
            return {}
        try:
            return dict(Experiment.from_text(_LEAST + tomli_w.dumps({"sweep": section})).check()["sweep"])
        except InputError:
            assert self.refusal is not None
            raise self.refusal from None

    def facts(self, first: Mapping[str, str]) -> Mapping[str, Any]:
        """The checked values; of an invalid experiment those of the first point of a sweep.

        Raises:
            InputError: the point is invalid, too.
        """
        if self._facts is not None:
            return self._facts
        return self.experiment.with_overrides([*first.items()]).check()

    def tree(self) -> Mapping[str, Any]:
        """The checked values; of an invalid experiment what is written, which may have any form."""
        return self.experiment.written() if self._facts is None else self._facts

    def values(self, plan: Plan) -> dict[str, Any]:
        """The experiment's own values of the keys that vary, for points that leave a key as it is.

        Raises:
            InputError: the experiment is invalid, and so is the first of these points.
        """
        if self._facts is not None:
            return {key: value_at(self._facts, key) for key in plan.parameters}
        return {key: self._value(plan, key) for key in plan.parameters}

    def _value(self, plan: Plan, key: str) -> Any:
        axis = next(axis for axis in plan.axes if key in axis.keys)
        without = next((point for point in axis.points if key not in point), None)
        if without is None:
            return None
        others = [other.points[0] for other in plan.axes if other is not axis]
        return value_at(
            self.facts({key: text for point in (*others, without) for key, text in point.items()}), key
        )


def value_at(tree: Any, key: str) -> Any:
    """The value of a key in an experiment with all defaults; None where there is none, or no single value."""
    for part in key_parts(key):
        if isinstance(tree, Mapping):
            tree = tree.get(part)
        elif (number := entry_number(tree, part)) is not None:
            tree = tree[number]
        else:
            return None
    return tree if isinstance(tree, bool | int | float | str) else None
