"""Topologies of ranks: grids and graphs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fabricsim.mpi import buffered, constants
from fabricsim.mpi.arguments import require_int, require_whole, whole_numbers
from fabricsim.mpi.buffers import Block, repeated, simple, vector, vector_w
from fabricsim.mpi.collective_calls import forms
from fabricsim.mpi.comm import Intracomm
from fabricsim.mpi.communicator import Communicator
from fabricsim.mpi.errors import Exception
from fabricsim.mpi.object_calls import NeighbourObjects
from fabricsim.mpi.process import measured


@dataclass
class Grid:
    """A Cartesian topology: lengths of the dimensions, and whether they close."""

    dims: list[int]
    periods: list[int]
    kind = constants.CART

    def handle_class(self) -> Any:
        """Class of the communicator."""
        return Cartcomm

    def coords(self, rank: int) -> list[int]:
        """Coordinates of a rank; the last dimension varies fastest."""
        found = []
        for length in reversed(self.dims):
            rank, place = divmod(rank, length)
            found.append(place)
        return found[::-1]

    def rank(self, coords: Sequence[int]) -> int:
        """Rank at coordinates, or PROC_NULL outside the grid."""
        found = 0
        for place, length, closes in zip(coords, self.dims, self.periods, strict=True):
            if not 0 <= place < length:
                if not closes:
                    return constants.PROC_NULL
                place %= length  # noqa: PLW2901
            found = found * length + place
        return found

    def edges(self, rank: int) -> tuple[list[int], list[int]]:
        """Neighbours: of each dimension the lower, then the upper one."""
        coords, found = self.coords(rank), []
        for axis in range(len(self.dims)):
            for step in (-1, 1):
                moved = list(coords)
                moved[axis] += step
                found.append(self.rank(moved))
        return found, list(found)


@dataclass
class Graph:
    """A general graph: ends of the ranks' lists, and the lists."""

    index: list[int]
    neighbours: list[int]
    kind = constants.GRAPH

    def handle_class(self) -> Any:
        """Class of the communicator."""
        return Graphcomm

    def of(self, rank: int) -> list[int]:
        """Neighbours of a rank."""
        return self.neighbours[self.index[rank - 1] if rank else 0 : self.index[rank]]

    def edges(self, rank: int) -> tuple[list[int], list[int]]:
        """Neighbours."""
        return self.of(rank), self.of(rank)


@dataclass
class Adjacency:
    """Neighbours of this rank in a distributed graph."""

    sources: list[int]
    dests: list[int]
    weights: tuple[list[int], list[int]] | None
    kind = constants.DIST_GRAPH

    def handle_class(self) -> Any:
        """Class of the communicator."""
        return Distgraphcomm

    def edges(self, rank: int) -> tuple[list[int], list[int]]:
        """Neighbours."""
        return list(self.sources), list(self.dests)


def _whole(values: Sequence[int] | None, what: str) -> list[int]:
    return [] if values is None else whole_numbers(values, what)


def cartesian(dims: Sequence[int], periods: Sequence[bool] | bool | None) -> tuple[Grid, int]:
    """A grid and its number of ranks."""
    lengths = _whole(dims, "dims")
    if periods is None or isinstance(periods, bool):
        periods = [bool(periods)] * len(lengths)
    closes = _whole(periods, "periods")
    if len(closes) != len(lengths):
        raise ValueError(f"expecting {len(lengths)} items, got {len(closes)}")
    if any(length < 1 for length in lengths):
        raise Exception(constants.ERR_DIMS, f"dims = {lengths}: must be 1 or more")
    return Grid(lengths, closes), math.prod(lengths)


def graph(index: Sequence[int], edges: Sequence[int]) -> tuple[Graph, int]:
    """A graph and its number of ranks. The list of ends may begin with 0."""
    ends, neighbours = _whole(index, "index"), _whole(edges, "edges")
    if ends and ends[0] == 0 and ends[-1] == len(neighbours):
        ends = ends[1:]
    if ends != sorted(ends) or (ends[-1] if ends else 0) != len(neighbours):
        raise Exception(
            constants.ERR_ARG, f"index = {ends}: must rise to the number of edges, {len(neighbours)}"
        )
    for one in neighbours:
        if not 0 <= one < len(ends):
            raise Exception(constants.ERR_ARG, f"edge to rank {one}: must be 0 to {len(ends) - 1}")
    return Graph(ends, neighbours), len(ends)


def _weights(weights: Any, size: int) -> list[int] | None:
    if weights is None or weights is constants.UNWEIGHTED:
        return None
    if weights is constants.WEIGHTS_EMPTY:
        if size:
            raise ValueError("empty weights but nonzero degree")
        return []
    found = _whole(weights, "weights")
    if len(found) != size:
        raise ValueError(f"expecting {size} items, got {len(found)}")
    return found


def adjacent(sources: Any, dests: Any, sourceweights: Any, destweights: Any) -> Adjacency:
    """The neighbours that a rank gives."""
    into, out = _whole(sources, "sources"), _whole(dests, "destinations")
    first, second = _weights(sourceweights, len(into)), _weights(destweights, len(out))
    weights = (
        None if first is None and second is None else (first or [1] * len(into), second or [1] * len(out))
    )
    return Adjacency(into, out, weights)


def distributed(
    comm: Intracomm, sources: Sequence[int], degrees: Sequence[int], destinations: Sequence[int], weights: Any
) -> Adjacency:
    """The neighbours of this rank among the edges that all ranks give."""
    starts, numbers = _whole(sources, "sources"), _whole(degrees, "degrees")
    ends = _whole(destinations, "destinations")
    if len(numbers) != len(starts):
        raise ValueError(f"expecting {len(starts)} items, got {len(numbers)}")
    if len(ends) != sum(numbers):
        raise ValueError(f"expecting {sum(numbers)} items, got {len(ends)}")
    given = _weights(weights, len(ends))
    edges = [one for one, number in zip(starts, numbers, strict=True) for _ in range(number)]
    listed = list(zip(edges, ends, given or [1] * len(ends), strict=True))
    everything = comm.allgather((given is not None, listed))
    rank = comm.rank
    into = [(a, w) for _, some in everything for a, b, w in some if b == rank]
    out = [(b, w) for _, some in everything for a, b, w in some if a == rank]
    is_weighted = any(flag for flag, _ in everything)
    lists = ([w for _, w in into], [w for _, w in out])
    return Adjacency([a for a, _ in into], [b for b, _ in out], lists if is_weighted else None)


class Topocomm(Intracomm, NeighbourObjects):
    """A communicator with a topology."""

    _kind: int | None = None

    def __new__(cls, comm: Any = None) -> Any:
        made = super().__new__(cls, comm)
        if made._ref is cls.NULL:
            return made
        topology = getattr(made._ref, "topology", None)
        if topology is None or cls._kind not in (None, topology.kind):
            raise TypeError(f"expecting a communicator with the topology of {cls.__name__}")
        return made

    def _edges(self) -> tuple[list[int], list[int]]:
        comm = self._data()
        found: tuple[list[int], list[int]] = comm.topology.edges(comm.rank)
        return found

    degrees = property(lambda self: tuple(map(len, self._edges())))
    indegree = property(lambda self: len(self._edges()[0]))
    outdegree = property(lambda self: len(self._edges()[1]))
    inoutedges = property(_edges)
    inedges = property(lambda self: self._edges()[0])
    outedges = property(lambda self: self._edges()[1])


def _neighbourhood(kind: str) -> Any:
    def prepares(comm: Communicator, name: str, sendbuf: Any, recvbuf: Any, edges: Any) -> Any:
        into, out = len(edges[0]), len(edges[1])
        if kind == "allgather":
            one = simple(sendbuf, False, 0)
            sent: list[Block] = [one] * out
            received = repeated(simple(recvbuf, True, into), into)
        elif kind == "allgatherv":
            sent, received = [simple(sendbuf, False, 0)] * out, vector(recvbuf, True, into)
        elif kind == "alltoall":
            sent = repeated(simple(sendbuf, False, out), out)
            received = repeated(simple(recvbuf, True, into), into)
        elif kind == "alltoallv":
            sent, received = vector(sendbuf, False, out), vector(recvbuf, True, into)
        else:
            sent, received = vector_w(sendbuf, False, out), vector_w(recvbuf, True, into)
        return buffered.neighbours(comm, name, sent, received, edges)

    return prepares


def _arguments(self: Any, sendbuf: Any, recvbuf: Any) -> tuple[Any, ...]:
    return sendbuf, recvbuf, self._edges()


for _kind in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"):
    _name = f"Neighbor_{_kind}"
    for _call, _form in zip(
        (_name, f"Ineighbor_{_kind}", f"{_name}_init"),
        forms(_name, _neighbourhood(_kind), _arguments),
        strict=True,
    ):
        setattr(Topocomm, _call, _form)


class Cartcomm(Topocomm):
    """A grid of ranks."""

    _kind = constants.CART

    def _grid(self) -> Grid:
        found: Grid = self._data().topology
        return found

    def Get_dim(self) -> int:
        """Number of dimensions."""
        return len(self._grid().dims)

    dim = property(Get_dim)
    ndim = property(Get_dim)

    def Get_topo(self) -> tuple[list[int], list[int], list[int]]:
        """Lengths, whether the dimensions close, and coordinates of this rank."""
        grid = self._grid()
        return list(grid.dims), list(grid.periods), grid.coords(self.rank)

    topo = property(Get_topo)
    dims = property(lambda self: self.Get_topo()[0])
    periods = property(lambda self: self.Get_topo()[1])
    coords = property(lambda self: self.Get_topo()[2])

    def Get_cart_rank(self, coords: Sequence[int]) -> int:
        """Rank at coordinates."""
        found = self._grid().rank(_whole(coords, "coords"))
        if found == constants.PROC_NULL:
            raise Exception(constants.ERR_RANK, f"coords = {list(coords)}: outside of the grid {self.dims}")
        return found

    def Get_coords(self, rank: int) -> list[int]:
        """Coordinates of a rank."""
        self._data().check_peer(rank, "rank")
        return self._grid().coords(rank)

    def Shift(self, direction: int, disp: int) -> tuple[int, int]:
        """Ranks at a distance below and above in a dimension, PROC_NULL outside the grid."""
        grid = self._grid()
        direction, disp = require_int(direction, "direction"), require_int(disp, "disp")
        if not 0 <= direction < len(grid.dims):
            raise Exception(constants.ERR_DIMS, f"direction = {direction}: must be 0 to {len(grid.dims) - 1}")
        found = []
        for step in (-disp, disp):
            coords = grid.coords(self.rank)
            coords[direction] += step
            found.append(grid.rank(coords))
        return found[0], found[1]

    @measured
    def Sub(self, remain_dims: Sequence[bool]) -> Any:
        """Grids of some of the dimensions."""
        grid = self._grid()
        keeps = _whole(remain_dims, "remain_dims")
        if len(keeps) != len(grid.dims):
            raise ValueError(f"expecting {len(grid.dims)} items, got {len(keeps)}")
        color = key = 0
        for place, length, keep in zip(self.coords, grid.dims, keeps, strict=True):
            color, key = (color, key * length + place) if keep else (color * length + place, key)
        part = self._split(color, key, "Sub")
        dims = [length for length, keep in zip(grid.dims, keeps, strict=True) if keep]
        periods = [closes for closes, keep in zip(grid.periods, keeps, strict=True) if keep]
        part._ref.topology = Grid(dims, periods)
        return Cartcomm._of(part._ref)


class Graphcomm(Topocomm):
    """A graph of ranks."""

    _kind = constants.GRAPH

    def _graph(self) -> Graph:
        found: Graph = self._data().topology
        return found

    def Get_dims(self) -> tuple[int, int]:
        """Numbers of ranks and edges."""
        return len(self._graph().index), len(self._graph().neighbours)

    dims = property(Get_dims)
    nnodes = property(lambda self: self.Get_dims()[0])
    nedges = property(lambda self: self.Get_dims()[1])

    def Get_topo(self) -> tuple[list[int], list[int]]:
        """Ends of the ranks' lists, and the lists."""
        return list(self._graph().index), list(self._graph().neighbours)

    topo = property(Get_topo)
    index = property(lambda self: self.Get_topo()[0])
    edges = property(lambda self: self.Get_topo()[1])

    def Get_neighbors_count(self, rank: int) -> int:
        """Number of neighbours of a rank."""
        return len(self.Get_neighbors(rank))

    def Get_neighbors(self, rank: int) -> list[int]:
        """Neighbours of a rank."""
        self._data().check_peer(rank, "rank")
        return self._graph().of(rank)

    neighbors = property(lambda self: self.Get_neighbors(self.rank))
    nneighbors = property(lambda self: len(self.Get_neighbors(self.rank)))


class Distgraphcomm(Topocomm):
    """A graph of which each rank knows its neighbours."""

    _kind = constants.DIST_GRAPH

    def _adjacency(self) -> Adjacency:
        found: Adjacency = self._data().topology
        return found

    def Get_dist_neighbors_count(self) -> tuple[int, int, bool]:
        """Numbers of neighbours, and whether the edges have weights."""
        one = self._adjacency()
        return len(one.sources), len(one.dests), one.weights is not None

    def Get_dist_neighbors(self) -> tuple[list[int], list[int], Any]:
        """Neighbours and weights."""
        one = self._adjacency()
        weights = None if one.weights is None else tuple(map(list, one.weights))
        return list(one.sources), list(one.dests), weights


def compute_dims(nnodes: int, dims: int | Sequence[int]) -> list[int]:
    """Lengths of a grid that are as equal as possible, the largest first. Those that are not 0 are kept."""
    require_whole(nnodes, "nnodes")
    found = [0] * dims if isinstance(dims, int) else _whole(dims, "dims")
    free = [place for place, length in enumerate(found) if length == 0]
    fixed = math.prod(length for length in found if length)
    if nnodes < 1 or any(length < 0 for length in found) or nnodes % fixed or (not free and nnodes != fixed):
        raise Exception(constants.ERR_DIMS, f"{nnodes} ranks cannot be a grid of {found}")
    best = _balanced(nnodes // fixed, len(free))
    for place, length in zip(free, best, strict=True):
        found[place] = length
    return found


def _balanced(number: int, axes: int) -> list[int]:
    """Factors of a number, largest first, of which the largest is as small as possible."""
    if axes <= 1:
        return [number] * axes
    least = math.ceil(round(number ** (1 / axes), 9))
    for first in range(least, number + 1):
        if number % first == 0:
            rest = _balanced(number // first, axes - 1)
            if rest[0] <= first:
                return [first, *rest]
    return [number] + [1] * (axes - 1)
