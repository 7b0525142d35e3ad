"""Receivers whose adapters lack translations of addresses slow their senders down."""

from __future__ import annotations

from typing import Any

import pytest
from verbs_cases import connected

import fabricsim.verbs as v

pytest.importorskip("greenlet")
pytestmark = pytest.mark.usefixtures("real")
PAGE, WRITES = 4096, 60
MISS_NS = 2000.0


def _took(*, same_page: bool, **changes: Any) -> tuple[float, bytes]:
    """Time of WRITEs from one page to a page of its own each, or all to one, and the memory that they have written."""

    def sender(ctx: v.Context) -> float:
        side = connected(ctx, PAGE, depth=WRITES)
        side.mr.write(bytes(range(256)) * 8)
        side.post(v.IBV_WR_RDMA_WRITE, 2048)
        side.wait()
        begin = ctx.now
        for number in range(WRITES):
            side.post(v.IBV_WR_RDMA_WRITE, 2048, to=0 if same_page else number * PAGE)
        side.wait(WRITES)
        took = ctx.now - begin
        ctx.exchange("H1", None)
        return took

    def receiver(ctx: v.Context) -> bytes:
        side = connected(ctx, WRITES * PAGE)
        ctx.exchange("H0", None)
        return side.mr.read(WRITES * PAGE)

    set = {name.replace("__", "."): value for name, value in changes.items()}
    values = v.run(None, {"H0": sender, "H1": receiver}, set=set).values
    return values["H0"], values["H1"]


CACHE = {"entries": 8, "miss": f"{MISS_NS:.0f} ns"}


def test_a_receiver_that_lacks_translations_slows_the_link_down() -> None:
    took, memory = _took(same_page=False, adapter__translation_cache=CACHE)
    assert all(memory[at : at + 2048] == bytes(range(256)) * 8 for at in range(0, len(memory), PAGE))
    # The first page is known. The others are looked up one after the other; the last packet is acknowledged as it is
    # accepted, when its page is still to be looked up.
    least = (WRITES - 2) * MISS_NS
    assert least < took < 1.05 * least
    # Controls: one page, which is known; and an adapter that knows all.
    known, _ = _took(same_page=True, adapter__translation_cache=CACHE)
    free, _ = _took(same_page=False)
    assert known == free < 0.3 * least


@pytest.mark.parametrize("change", [{"switch__virtual_lanes": 2}, {"links__all__buffer": "8 KiB"}])
def test_the_rate_is_that_of_the_translations_on_other_links(change: dict[str, Any]) -> None:
    took, _ = _took(same_page=False, adapter__translation_cache=CACHE, **change)
    assert took == pytest.approx((WRITES - 2) * MISS_NS, rel=0.05)


@pytest.mark.parametrize("partitions", [2, 3])
def test_it_takes_as_long_in_partitions(partitions: int) -> None:
    alone, _ = _took(same_page=False, adapter__translation_cache=CACHE)
    assert _took(same_page=False, adapter__translation_cache=CACHE, run__partitions=partitions)[0] == alone


def test_a_slow_sink_has_times_of_its_own() -> None:
    took, _ = _took(same_page=False, adapter__translation_cache=CACHE, host__sink={"rate": "20 Gb/s"})
    assert took < 0.5 * (WRITES - 2) * MISS_NS
