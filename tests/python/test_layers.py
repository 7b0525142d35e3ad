"""The page on a message through the layers."""

from __future__ import annotations

import layers
import pytest

import fabricsim.verbs as v

pytestmark = pytest.mark.usefixtures("real")


def test_the_page_is_what_its_runs_say() -> None:
    assert layers.PAGE.read_text(encoding="utf-8") == layers.page()


def test_seeds_lose_what_the_page_says() -> None:
    send = v.IBV_WR_SEND
    nak = layers.follow(send, "a SEND", True, {**layers.LOSSY, "seed": layers.NAK_SEED})
    timer = layers.follow(send, "a SEND", True, {**layers.LOSSY, "seed": layers.TIMER_SEED}, layers.SHORT)
    for log, has_nak in ((nak, True), (timer, False)):
        assert sum("lost on this link" in event.what for event in log) == 1
        assert any("NAK" in event.what for event in log) == has_nak
    assert nak[-1].time < 10_000 < 4096 * 2**layers.SHORT < timer[-1].time
