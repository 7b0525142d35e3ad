"""With the slot and the arbiter of the InfiniBand model for OMNeT++, its throughput; without the slot, another one."""

from __future__ import annotations

import importlib.util

import pytest
from omnetpp.cases import (
    HELD_TOTALS,
    HOLD,
    HOLD_IN_TURN_TOTALS,
    PRECISION,
    SHARES,
    SLOT,
    STRICT,
    TOLERANCE,
    TOTALS,
    Quantity,
    over_seeds,
)

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("fabricsim._native") is None, reason="the compiled module is not built"
)


@pytest.mark.parametrize("quantity", SLOT + SHARES, ids=lambda quantity: quantity.name)
def test_throughput_is_the_peers(quantity: Quantity) -> None:
    assert quantity.with_option == pytest.approx(quantity.peer, rel=TOLERANCE)


@pytest.mark.parametrize("quantity", SLOT[:2], ids=lambda quantity: quantity.name)
def test_without_the_slot_sources_send_less(quantity: Quantity) -> None:
    assert quantity.without < (1.0 - 2 * TOLERANCE) * quantity.peer


@pytest.mark.parametrize("number", range(len(TOTALS)), ids=lambda number: TOTALS[number].name)
def test_the_thesis_lies_between_outputs_that_are_all_held_and_none(number: int) -> None:
    held, free = HELD_TOTALS[number], TOTALS[number]
    assert held.with_option < held.peer < free.with_option + PRECISION[free.name]
    assert held.with_option < 0.95 * free.with_option, "holding outputs matters"


@pytest.mark.parametrize("number", range(len(TOTALS)), ids=lambda number: TOTALS[number].name)
def test_the_thesis_is_a_run_of_the_models_arbiter(number: int) -> None:
    """What the thesis prints is what one run may give, with an arbiter that gives up and is held by slow packets."""
    total = TOTALS[number]
    ours = over_seeds(total, {**STRICT, **HOLD})
    assert ours.of_one_run < 0.1 * total.peer, "the tolerance decides, not chance"
    allowed = ours.of_one_run + PRECISION[total.name]
    assert abs(ours.mean - total.peer) <= allowed, ours
    if total.name != "C3":
        assert abs(HELD_TOTALS[number].with_option - total.peer) > allowed, ours


@pytest.mark.parametrize("name", ["C1", "C4, D"])
def test_with_held_outputs_the_totals_are_those_of_the_thesis(name: str) -> None:
    """To the digits that it prints, which they are not without."""
    total = next(quantity for quantity in HOLD_IN_TURN_TOTALS if quantity.name == name)
    assert total.with_option == pytest.approx(total.peer, abs=PRECISION[name])
    assert abs(total.without - total.peer) > PRECISION[name]
