"""`MPI.Comm` and `MPI.Intracomm`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from fabricsim.mpi import absent, constants
from fabricsim.mpi.arguments import require_int, require_kind, require_whole
from fabricsim.mpi.attributes import FIRST_KEY, Attributes
from fabricsim.mpi.begin import run
from fabricsim.mpi.collective_calls import Collectives, Scans, exchange_numbers
from fabricsim.mpi.communicator import Communicator
from fabricsim.mpi.context import agree
from fabricsim.mpi.errors import Abort, Exception
from fabricsim.mpi.group import Group, Members
from fabricsim.mpi.handles import Handle, Null, Referent
from fabricsim.mpi.info import ERRORS_RETURN, INFO_NULL, Errhandler, Info
from fabricsim.mpi.object_calls import ObjectCollectives, ObjectScans
from fabricsim.mpi.operations import CollectiveOperation
from fabricsim.mpi.point_to_point import PointToPoint
from fabricsim.mpi.process import current, measured, running
from fabricsim.mpi.request import Request

_UNDEFINED = constants.UNDEFINED
_SHARED = "mpi_shared_memory"
_RESOURCE = "mpi_hw_resource_type"


class _Predefined(Referent):
    """COMM_WORLD or COMM_SELF: another communicator in each rank."""

    __slots__ = ("name",)
    topology = None

    def __init__(self, name: str) -> None:
        self.name = name


class Comm(Handle, Attributes, PointToPoint, Collectives, ObjectCollectives):
    """A communicator: ranks that exchange messages of their own."""

    NULL = Null("MPI_COMM_NULL")

    def _data(self) -> Communicator:
        ref = self._ref
        if type(ref) is Communicator:
            if ref.is_freed:
                raise Exception(constants.ERR_COMM, f"the communicator {ref.name} has been freed")
            return ref
        if type(ref) is not _Predefined:
            raise Exception(constants.ERR_COMM, "the communicator is MPI.COMM_NULL")
        process = running(None) or current()
        if process.is_finalized:
            raise Exception(constants.ERR_OTHER, "MPI has been finalized")
        found: Communicator = process.world if ref is _WORLD else process.alone
        return found

    @classmethod
    def _class_of(cls, ref: Any) -> Any:
        topology = getattr(ref, "topology", None)
        return topology.handle_class() if topology is not None else Intracomm

    def Get_size(self) -> int:
        """Number of ranks."""
        return self._data().size

    def Get_rank(self) -> int:
        """Number of this rank."""
        return self._data().rank

    size = property(Get_size)
    rank = property(Get_rank)

    def Get_group(self) -> Group:
        """Its ranks."""
        made: Group = Group._of(self._data().members)
        return made

    group = property(Get_group)

    def Compare(self, comm: Comm) -> int:
        """IDENT, CONGRUENT (the same ranks), SIMILAR (in another order) or UNEQUAL."""
        require_kind(comm, Comm, "comm", constants.ERR_COMM)
        mine, other = self._data(), comm._data()
        if mine is other:
            return constants.IDENT
        compared: int = Group._of(mine.members).Compare(Group._of(other.members))
        return constants.CONGRUENT if compared == constants.IDENT else compared

    def _duplicate(self, name: str) -> tuple[Any, CollectiveOperation]:
        comm = self._data()
        made = Communicator(-1, comm.members, comm.rank, comm.topology)
        made.attributes, made.info = self._copied_attributes(), dict(comm.info)
        operation = agree(comm, name, made)
        return type(self)._of(made), operation

    def _texts_of(self, info: Info | None) -> dict[str, str]:
        if info is None:
            return {}
        require_kind(info, Info, "info", constants.ERRORS["ERR_INFO"])
        return dict(info.items())

    def _given(self, made: Any, texts: dict[str, str]) -> Any:
        if texts:
            made._ref.info = texts
        return made

    @measured
    def Dup(self, info: Info | None = None) -> Any:
        """The same ranks, with messages of their own."""
        texts = self._texts_of(info)
        made, operation = self._duplicate("Dup")
        run(operation)
        return self._given(made, texts)

    @measured
    def Clone(self) -> Any:
        """The same ranks, with messages of their own."""
        made, operation = self._duplicate("Dup")
        run(operation)
        return made

    Dup_with_info = Dup

    @measured
    def Idup(self, info: Info | None = None) -> tuple[Any, Request]:
        """Starts a duplication. The communicator can be used when the request is complete."""
        texts = self._texts_of(info)
        made, operation = self._duplicate("Idup")
        return self._given(made, texts), Request._of(operation)

    Idup_with_info = Idup

    @measured
    def Create(self, group: Group) -> Any:
        """A communicator of some ranks; COMM_NULL in the others."""
        require_kind(group, Group, "group", constants.ERR_GROUP)
        comm, members = self._data(), group._members()
        made = Communicator(-1, members, members.place(current().rank))
        run(agree(comm, "Create", made))
        return Intracomm._of(made) if made.rank != _UNDEFINED else COMM_NULL

    @measured
    def Split(self, color: int = 0, key: int = 0) -> Any:
        """A communicator for each color, its ranks in order of their keys."""
        return self._split(color, key, "Split")

    def _split(self, color: int, key: int, name: str) -> Any:
        comm = self._data()
        color, key = require_int(color, "color"), require_int(key, "key")
        if color < 0 and color != _UNDEFINED:
            raise Exception(constants.ERR_ARG, f"color = {color}: must be 0 or more, or MPI.UNDEFINED")
        colors = exchange_numbers(comm, name, color)
        keys = exchange_numbers(comm, name, key)
        mine = [rank for rank in range(comm.size) if colors[rank] == color]
        ranks = [comm.ranks[rank] for rank in sorted(mine, key=lambda rank: (keys[rank], rank))]
        members = Members(ranks)
        made = Communicator(-1, members, members.place(current().rank))
        run(agree(comm, name, made))
        return COMM_NULL if color == _UNDEFINED else Intracomm._of(made)

    @measured
    def Split_type(self, split_type: int, key: int = 0, info: Info = INFO_NULL) -> Any:
        """A communicator for each host."""
        process, comm = current(), self._data()
        require_whole(split_type, "split_type")
        hosts = process.shared.hosts
        color = hosts.index(process.host())
        by_resource = (constants.COMM_TYPE_HW_GUIDED, constants.COMM_TYPE_RESOURCE_GUIDED)
        if split_type in by_resource and info.get(_RESOURCE) != _SHARED:
            split_type = _UNDEFINED
        unguided = split_type == constants.COMM_TYPE_HW_UNGUIDED
        if unguided and len({hosts[process.shared.host_of[rank]] for rank in comm.ranks}) < 2:
            split_type = _UNDEFINED
        made = self._split(_UNDEFINED if split_type == _UNDEFINED else color, key, "Split_type")
        if unguided and made and info:
            info.Set(_RESOURCE, _SHARED)
        return made

    def Free(self) -> None:
        """Frees the communicator, once for each handle that a call returned."""
        comm = self._data()
        if type(self._ref) is not Communicator:
            raise Exception(constants.ERR_COMM, f"{self._ref.name} cannot be freed")
        self._delete_attributes()
        comm.is_freed = True
        self._ref = self.NULL

    Disconnect = Free

    def Is_inter(self) -> bool:
        """False: there are no intercommunicators."""
        self._data()
        return False

    def Is_intra(self) -> bool:
        """True: there are no intercommunicators."""
        self._data()
        return True

    is_inter = property(Is_inter)
    is_intra = property(Is_intra)

    def Get_topology(self) -> int:
        """CART, GRAPH, DIST_GRAPH or UNDEFINED."""
        topology = self._data().topology
        return _UNDEFINED if topology is None else topology.kind

    topology = property(Get_topology)
    is_topo = property(lambda self: self.Get_topology() != _UNDEFINED)

    @classmethod
    def Get_parent(cls) -> Any:
        """COMM_NULL: programs are not spawned."""
        return _INTER_NULL

    def Get_attr(self, keyval: int) -> Any:
        """The attribute, or None."""
        predefined = {
            constants.TAG_UB: constants.TAG_UB_VALUE,
            constants.HOST: constants.PROC_NULL,
            constants.IO: constants.PROC_NULL,
            constants.WTIME_IS_GLOBAL: 1,
            constants.APPNUM: 0,
            constants.UNIVERSE_SIZE: current().size,
            constants.LASTUSEDCODE: constants.ERR_LASTCODE,
        }
        require_whole(keyval, "keyval", constants.ERR_KEYVAL)
        return predefined.get(keyval) if keyval < FIRST_KEY else super().Get_attr(keyval)

    def Get_name(self) -> str:
        """Name."""
        return self._data().name if self else "MPI_COMM_NULL"

    def Set_name(self, name: str) -> None:
        """Sets the name."""
        if not isinstance(name, str):
            raise Exception(constants.ERR_ARG, f"name = {name!r}: must be a text")
        self._data().name = name

    name = property(Get_name, Set_name)

    def Get_info(self) -> Info:
        """Its texts."""
        made: Info = Info.Create(self._data().info)
        return made

    def Set_info(self, info: Info) -> None:
        """Sets its texts."""
        self._data().info.update(self._texts_of(info))

    info = property(Get_info, Set_info)

    def Get_errhandler(self) -> Errhandler:
        """ERRORS_RETURN: errors are exceptions."""
        found: Errhandler = ERRORS_RETURN
        return found

    def Set_errhandler(self, errhandler: Errhandler) -> None:
        """Changes nothing: errors are exceptions."""

    def Call_errhandler(self, errorcode: int) -> None:
        """Changes nothing: errors are exceptions."""

    def Abort(self, errorcode: int = 0) -> NoReturn:
        """Ends the run with an exit code."""
        raise Abort(require_int(errorcode, "errorcode"), current().rank)


class Intracomm(Comm, Scans, ObjectScans):
    """A communicator of one group of ranks."""

    @measured
    def Create_group(self, group: Group, tag: int = 0) -> Any:
        """A communicator of some ranks. Only these call it."""
        require_whole(tag, "tag", constants.ERR_TAG)
        return _of_group(group, f"Create_group(tag={tag})")

    @classmethod
    @measured
    def Create_from_group(
        cls, group: Group, stringtag: str = "org.mpi4py", info: Info = INFO_NULL, errhandler: Any = None
    ) -> Any:
        """A communicator of ranks, without another one."""
        return _of_group(group, f"Create_from_group({stringtag!r})")

    def _topological(self, topology: Any, ranks: int, name: str) -> Any:
        """A communicator of the first ranks, with a topology."""
        comm = self._data()
        if ranks > comm.size:
            raise Exception(
                constants.ERR_ARG, f"{name}: the topology has {ranks} ranks, there are {comm.size}"
            )
        members = comm.members if ranks == comm.size else Members(comm.ranks[:ranks])
        made = Communicator(-1, members, comm.rank if comm.rank < ranks else _UNDEFINED, topology)
        run(agree(comm, name, made))
        return topology.handle_class()._of(made) if comm.rank < ranks else COMM_NULL

    @measured
    def Create_cart(
        self, dims: Sequence[int], periods: Sequence[bool] | bool | None = None, reorder: bool = False
    ) -> Any:
        """A grid of ranks. They keep their order."""
        from fabricsim.mpi.topology import cartesian  # noqa: PLC0415 - topologies know communicators

        topology, ranks = cartesian(dims, periods)
        return self._topological(topology, ranks, "Create_cart")

    @measured
    def Create_graph(self, index: Sequence[int], edges: Sequence[int], reorder: bool = False) -> Any:
        """A graph of ranks. They keep their order."""
        from fabricsim.mpi.topology import graph  # noqa: PLC0415

        topology, ranks = graph(index, edges)
        return self._topological(topology, ranks, "Create_graph")

    @measured
    def Create_dist_graph_adjacent(
        self,
        sources: Sequence[int] | None,
        destinations: Sequence[int] | None,
        sourceweights: Any = None,
        destweights: Any = None,
        info: Info = INFO_NULL,
        reorder: bool = False,
    ) -> Any:
        """A graph of which each rank gives its own neighbours."""
        from fabricsim.mpi.topology import adjacent  # noqa: PLC0415

        topology = adjacent(sources, destinations, sourceweights, destweights)
        return self._topological(topology, self._data().size, "Create_dist_graph_adjacent")

    @measured
    def Create_dist_graph(
        self,
        sources: Sequence[int],
        degrees: Sequence[int],
        destinations: Sequence[int],
        weights: Any = None,
        info: Info = INFO_NULL,
        reorder: bool = False,
    ) -> Any:
        """A graph of which each rank gives any edges."""
        from fabricsim.mpi.topology import distributed  # noqa: PLC0415

        topology = distributed(self, sources, degrees, destinations, weights)
        return self._topological(topology, self._data().size, "Create_dist_graph")

    @measured
    def Cart_map(self, dims: Sequence[int], periods: Sequence[bool] | bool | None = None) -> int:
        """Rank in a grid, or UNDEFINED."""
        from fabricsim.mpi.topology import cartesian  # noqa: PLC0415

        ranks = cartesian(dims, periods)[1]
        return self.rank if self.rank < ranks else _UNDEFINED

    @measured
    def Graph_map(self, index: Sequence[int], edges: Sequence[int]) -> int:
        """Rank in a graph, or UNDEFINED."""
        from fabricsim.mpi.topology import graph  # noqa: PLC0415

        ranks = graph(index, edges)[1]
        return self.rank if self.rank < ranks else _UNDEFINED


def _of_group(group: Group, name: str) -> Any:
    require_kind(group, Group, "group", constants.ERR_GROUP)
    process, members = current(), group._members()
    rank = members.place(process.rank)
    if rank == _UNDEFINED:
        return COMM_NULL
    made = Communicator(-1, members, rank)
    # The group has no communicator yet: it agrees in the context of the world's collectives, with tags of its own.
    meeting = process.shared.meeting(process, members, name)
    run(agree(meeting, name, made))
    return Intracomm._of(made)


class Intercomm(Comm):
    """A communicator of two groups. There are none: see the list in docs/guide/mpi.md."""

    @classmethod
    def Create_from_groups(cls, *args: Any, **kwargs: Any) -> Any:
        """Not there."""
        raise NotImplementedError("intercommunicators are not simulated")


absent.add(Comm, absent.OF_COMM)
absent.add(Intracomm, absent.OF_INTRACOMM)
absent.add(Intercomm, absent.OF_INTERCOMM)
_WORLD, _SELF = _Predefined("MPI_COMM_WORLD"), _Predefined("MPI_COMM_SELF")
COMM_NULL = Comm._constant(Comm.NULL, "COMM_NULL")
_INTER_NULL = Intercomm._of(Comm.NULL)
COMM_WORLD: Intracomm = Intracomm._constant(_WORLD, "COMM_WORLD")
COMM_SELF: Intracomm = Intracomm._constant(_SELF, "COMM_SELF")
