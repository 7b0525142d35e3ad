"""Trees of ranks, as of Open MPI's coll_base_topo.c. Ranks are relative to the root."""

from __future__ import annotations

from collections.abc import Callable

Tree = Callable[[int, int], tuple[int | None, list[int]]]
"""Parent and children of a rank among a number of ranks."""


def binomial(rank: int, size: int) -> tuple[int | None, list[int]]:
    """Parent: the rank without its lowest bit. Children: with one lower bit added, the nearest first."""
    parent = None if rank == 0 else rank & (rank - 1)
    children, mask = [], 1
    while mask < size and not rank & mask:
        if rank | mask < size:
            children.append(rank | mask)
        mask <<= 1
    return parent, children


def chain(rank: int, size: int) -> tuple[int | None, list[int]]:
    """Each rank has the next one as its child."""
    return (rank - 1 if rank else None), ([rank + 1] if rank + 1 < size else [])


def binary(rank: int, size: int) -> tuple[int | None, list[int]]:
    """Two children, at distances of the level's power of 2: the odd ranks are below 1, the even ones below 2."""
    width = 1
    while rank + 1 >= 2 * width:
        width *= 2
    children = [child for child in (rank + width, rank + 2 * width) if child < size]
    if rank == 0:
        return None, children
    half = width // 2
    parent = rank - half
    if parent + 1 >= 2 * half:
        parent -= half
    return parent, children


def linear(rank: int, size: int) -> tuple[int | None, list[int]]:
    """All ranks are children of the root."""
    return (0, []) if rank else (None, list(range(1, size)))
