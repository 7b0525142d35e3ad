"""The page on a message through the layers."""

from __future__ import annotations

from pathlib import Path

import layers
import pytest

import fabricsim.verbs as v

pytestmark = pytest.mark.usefixtures("real")


def test_the_page_is_what_its_runs_say(tmp_path: Path) -> None:
    assert layers.PAGE.read_text(encoding="utf-8") == layers.write(tmp_path)
    pictures = sorted(tmp_path.glob("*.svg"))
    assert len(pictures) == 5
    for picture in pictures:
        assert (layers.FIGURES / picture.name).read_bytes() == picture.read_bytes(), picture.name


def test_seeds_lose_what_the_page_says() -> None:
    send = v.IBV_WR_SEND
    nak = layers.follow(send, "a SEND", True, {**layers.LOSSY, "seed": layers.NAK_SEED})
    timer = layers.follow(send, "a SEND", True, {**layers.LOSSY, "seed": layers.TIMER_SEED}, layers.SHORT)
    for message, has_nak in ((nak, True), (timer, False)):
        log = message.log
        assert sum("lost on this link" in event.what for event in log) == 1
        assert any("NAK" in event.what for event in log) == has_nak
    assert nak.log[-1].time < 10_000 < 4096 * 2**layers.SHORT < timer.log[-1].time
    assert [packet.lost for packet in nak.packets].count(True) == 1
