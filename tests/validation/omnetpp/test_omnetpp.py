"""With the slot and the arbiter of the InfiniBand model for OMNeT++, its throughput; without the slot, another one."""

from __future__ import annotations

import importlib.util

import pytest
from omnetpp.cases import SHARES, SLOT, TOLERANCE, Quantity

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("fabricsim._native") is None, reason="the compiled module is not built"
)


@pytest.mark.parametrize("quantity", SLOT + SHARES, ids=lambda quantity: quantity.name)
def test_throughput_is_the_peers(quantity: Quantity) -> None:
    assert quantity.with_option == pytest.approx(quantity.peer, rel=TOLERANCE)


@pytest.mark.parametrize("quantity", SLOT[:2], ids=lambda quantity: quantity.name)
def test_without_the_slot_sources_send_less(quantity: Quantity) -> None:
    assert quantity.without < (1.0 - 2 * TOLERANCE) * quantity.peer
