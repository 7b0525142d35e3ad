"""Damaged anchor files of OTF2 archives, which the package `otf2` reads for many seconds."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from otf2_cases import Archive, archive

from fabricsim.errors import InputError
from fabricsim.traces import Trace
from fabricsim.traces.otf2_anchor import check_anchor

LOCATIONS, DEFINITIONS, TEXTS = 30, 38, 46
"""First bytes of the numbers of locations and definitions, and of the texts, which are empty."""


@pytest.fixture
def anchor(tmp_path: Path) -> Path:
    def fill(to: Archive) -> None:
        for rank in range(2):
            to.call(rank, "MPI_Init", 0, 1)

    return archive(tmp_path, 2, fill)


def damaged(anchor: Path, place: int, new: bytes) -> Path:
    content = bytearray(anchor.read_bytes())
    content[place : place + len(new)] = new
    anchor.write_bytes(content)
    return anchor


@pytest.mark.parametrize("place", [TEXTS, TEXTS + 1, TEXTS + 2])
def test_a_text_that_takes_the_number_of_properties_is_refused(anchor: Path, place: int) -> None:
    """What follows is moved, and the number of properties is one of billions."""
    with pytest.raises(InputError, match=r"damaged: byte \d+: \d+ properties in the \d+ bytes that follow"):
        Trace.read(damaged(anchor, place, b"x"), "otf2")


def test_more_locations_than_definitions_are_refused(anchor: Path) -> None:
    with pytest.raises(InputError, match=r"damaged: 1000000 locations: more than the \d+ definitions"):
        Trace.read(damaged(anchor, LOCATIONS, struct.pack("<Q", 10**6)), "otf2")


def test_more_definitions_than_their_file_has_are_refused(anchor: Path) -> None:
    with pytest.raises(InputError, match=r"damaged: 1000000 definitions: traces\.def has \d+ bytes"):
        Trace.read(damaged(anchor, DEFINITIONS, struct.pack("<Q", 10**6)), "otf2")


def test_a_text_without_an_end_is_refused(anchor: Path) -> None:
    content = anchor.read_bytes()[:TEXTS] + b"name"
    anchor.write_bytes(content)
    with pytest.raises(InputError, match=f"byte {TEXTS}: a text without an end"):
        Trace.read(anchor, "otf2")


def test_every_length_is_one_message(anchor: Path) -> None:
    whole = anchor.read_bytes()
    for length in range(len(whole) - 2):
        anchor.write_bytes(whole[:length])
        with pytest.raises(InputError, match="no OTF2 archive, or damaged"):
            Trace.read(anchor, "otf2")


@pytest.mark.parametrize(("mark", "order"), [(0x42, "<"), (0x23, ">")])
def test_both_byte_orders_and_old_versions_are_read(tmp_path: Path, mark: int, order: str) -> None:
    """The first version has no properties."""
    path = tmp_path / "other.otf2"
    for version, properties in ((1, b""), (2, struct.pack(order + "I", 1) + b"a\0b\0" + bytes(8))):
        numbers = struct.pack(order + "BBBBBQQBBQQ", version, 2, 1, 2, 0, 1 << 20, 1 << 22, 1, 1, 3, 5)
        path.write_bytes(bytes([3, mark]) + b"OTF2\0" + numbers + b"machine\0creator\0text\0" + properties)
        check_anchor(path)
        path.write_bytes(path.read_bytes().replace(struct.pack(order + "Q", 3), struct.pack(order + "Q", 6)))
        with pytest.raises(InputError, match="6 locations: more than the 5 definitions"):
            check_anchor(path)
