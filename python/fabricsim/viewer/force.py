"""Force-directed places of a graph, in the plane: the same graph has the same places in every run.

Fruchterman and Reingold 1991: neighbours attract, all nodes repel, steps shrink. The places begin with the two slowest
eigenvectors of the Laplacian (Koren 2005), which unfold a graph that is a grid or a tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricsim.lazy import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]
    Edges = npt.NDArray[np.int64]

MOST_EXACT = 600
"""Nodes up to which every pair repels; of more, the nearest ones do, and the centres of the cells of a coarse grid."""
STEPS, POWER_STEPS = 150, 200
NEAREST, CELLS = 12, 12
CHUNK = 4096


def force_places(count: int, edges: Edges) -> Array:
    """Places of `count` nodes, around the origin; the mean length of an edge is 1.

    Args:
        count: number of nodes.
        edges: pairs of different nodes, a row for each.
    """
    if count < 2:
        return np.zeros((count, 2))
    pairs = np.unique(np.sort(edges.reshape(-1, 2), axis=1), axis=0)
    places = _spectral(count, pairs)
    repel = _all_pairs if count <= MOST_EXACT else _near_and_far
    for step in range(STEPS):
        force = repel(places)
        way = places[pairs[:, 1]] - places[pairs[:, 0]]
        pull = way * np.linalg.norm(way, axis=1, keepdims=True)
        for axis in (0, 1):
            force[:, axis] += np.bincount(pairs[:, 0], pull[:, axis], count)
            force[:, axis] -= np.bincount(pairs[:, 1], pull[:, axis], count)
        force -= 0.02 * places  # parts without a link between them stay in the picture
        length = np.linalg.norm(force, axis=1, keepdims=True)
        most = 0.6 * (1.0 - step / STEPS) + 0.01
        places = places + force * np.minimum(most / np.maximum(length, 1e-9), 0.1)
    places -= places.mean(axis=0)
    if not len(pairs):
        return places
    mean = float(np.linalg.norm(places[pairs[:, 1]] - places[pairs[:, 0]], axis=1).mean())
    return places / mean if mean > 0.0 else places


def _spectral(count: int, pairs: Edges) -> Array:
    """Places by two eigenvectors; a small spiral parts nodes of equal neighbours."""
    spread = np.sqrt(count)
    vectors = np.column_stack(slowest_vectors(count, pairs))
    places: Array = spread * vectors * np.sqrt(count) / 2.0 + 0.05 * spread * _spiral(count)
    return places


def _spiral(count: int) -> Array:
    """Places on a spiral: no two are equal, and none is on a line of symmetry of others."""
    index = np.arange(count, dtype=float)
    angle = index * np.pi * (3.0 - np.sqrt(5.0))
    found: Array = np.sqrt(index / count)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return found


def slowest_vectors(count: int, edges: Edges) -> list[Array]:
    """Two eigenvectors of the graph on which neighbours have near values, by power iteration."""
    from scipy.sparse import coo_matrix  # noqa: PLC0415 - long to import, and only for irregular graphs

    pairs = np.unique(np.sort(edges.reshape(-1, 2), axis=1), axis=0)
    ends = (np.concatenate([pairs[:, 0], pairs[:, 1]]), np.concatenate([pairs[:, 1], pairs[:, 0]]))
    adjacent = coo_matrix((np.ones(len(ends[0])), ends), shape=(count, count)).tocsr()
    degree = np.asarray(adjacent.sum(axis=1)).ravel()
    found: list[Array] = [np.full(count, 1.0 / np.sqrt(count))]
    for axis in (0, 1):
        vector = _spiral(count)[:, axis]
        for _ in range(POWER_STEPS):
            vector = 0.5 * (vector + (adjacent @ vector) / np.maximum(degree, 1.0))
            vector = vector - sum((vector @ one) * one for one in found)
            vector = vector / max(float(np.linalg.norm(vector)), 1e-12)
        found.append(vector)
    return found[1:]


def _repulsion(way: Array, weights: Array | float = 1.0) -> Array:
    """Sum over the second axis of the forces away from the other ends: 1 / distance."""
    square = np.maximum((way**2).sum(axis=2), 1e-4)
    found: Array = (way * (weights / square)[:, :, None]).sum(axis=1)
    return found


def _all_pairs(places: Array) -> Array:
    return _repulsion(places[:, None, :] - places[None, :, :])


def _near_and_far(places: Array) -> Array:
    from scipy.spatial import cKDTree  # noqa: PLC0415

    tree: Any = cKDTree(places)
    _, near = tree.query(places, k=NEAREST + 1)
    low, high = places.min(axis=0), places.max(axis=0)
    cell = np.minimum(((places - low) / np.maximum(high - low, 1e-9) * CELLS).astype(int), CELLS - 1)
    number = cell[:, 0] * CELLS + cell[:, 1]
    held = np.bincount(number, minlength=CELLS**2).astype(float)
    sums = [np.bincount(number, places[:, axis], CELLS**2) for axis in (0, 1)]
    used = held > 0
    centres = np.column_stack([one[used] / held[used] for one in sums])
    force = np.empty_like(places)
    for begin in range(0, len(places), CHUNK):
        rows = slice(begin, begin + CHUNK)
        here = places[rows]
        force[rows] = _repulsion(here[:, None, :] - places[near[rows, 1:]])
        weights = np.where(np.flatnonzero(used)[None, :] == number[rows, None], 0.0, held[used][None, :])
        force[rows] += _repulsion(here[:, None, :] - centres[None, :, :], weights)
    return force
