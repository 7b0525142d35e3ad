"""Forwarding tables of a subnet: computed as OpenSM's engines do, or given, and analysed."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from fabricsim.errors import FabricsimError, InputError
from fabricsim.native import bad_input, native, waited
from fabricsim.native_types import NativeRoutes
from fabricsim.subnets.advice import advice
from fabricsim.subnets.files import load, load_optional
from fabricsim.subnets.matrix import Demand

TABLE_FORMS = ("opensm-lfts", "ibroute", "opensm-fdbs")
"""Forms of forwarding tables: of `opensm-lfts.dump`, `ibroute` and `dump_lfts.sh`, `opensm.fdbs`."""

FABRIC_FORMS = ("ibnetdiscover", "ibnetdiscover-ports", "ibsim", "opensm-subnet")
"""Forms of a subnet: of `ibnetdiscover`, `ibnetdiscover -p`, ibsim's netlists, `opensm-subnet.lst`."""

WITHOUT_LMC = ("ibnetdiscover-ports", "opensm-subnet")
"""Forms of a subnet that have LIDs and not their mask control."""


def without_lmc(form: str, lmc: int) -> str:
    """The warning for a subnet with LID mask control that is written in one of `WITHOUT_LMC`."""
    return (
        f"{form} has no LMC: the file has the first LID of each port and not the {2**lmc - 1} others; "
        "ibnetdiscover and ibsim have them"
    )


def lmc_of(fabric: str) -> int:
    """Largest LID mask control of adapters' ports in a text of `ibnetdiscover`."""
    found = re.findall(r"^\[\d+\]\([0-9a-f]+\) .*\t# lid \d+ lmc (\d)", fabric, re.MULTILINE)
    return max(map(int, found), default=0)


ENGINES = ("minhop", "updn", "dnup", "ftree", "dor", "torus-2QoS", "lash", "sssp", "dfsssp", "nue")
"""OpenSM's routing engines."""


class CannotRouteError(FabricsimError):
    """An engine cannot route the subnet. OpenSM would route it with `minhop` instead and say so in its log."""


@dataclass(frozen=True)
class Settings:
    """Arguments of `route` that decide how OpenSM is configured and what is simulated."""

    experiment: Path | None
    """The experiment that the fabric came from."""
    overrides: tuple[tuple[str, str], ...]
    tables: Path | str | None
    roots: Path | str | None
    torus: Path | str | None
    compute_nodes: Path | str | None
    port_shifting: bool
    scatter_ports: int
    lmc: int | None
    vls: int
    nue_vls: int
    arguments: Mapping[str, Any]
    """All arguments of `route`."""


@dataclass(frozen=True)
class Routed:
    """What tables do with all paths between adapters."""

    report: dict[str, Any]
    """`engine`, `pairs` {`reachable`, `unreachable`, `to_routers` (of these), `non_minimal`}, `hops_mean` (switches on
    a path), `link_load` {`max`, `mean`, `min`} (paths on a direction of a link between switches), `layers` (that the
    engine needs; None for tables), `lanes` (that its paths use), `deadlock` {`free`, `cycle`, `cures`, `untried`
    (engines, since the subnet is large)}, `hot_links`, `lost_paths`, `links` {`directions`, `idle`, `idle_switches`,
    `slow`}, `traffic` {`patterns` [{`pattern`, `phases`, `mean_max`, `worst_max`, `worst_phase`, `hot_link`}],
    `bisection` {`samples`, `mean`, `error`, `worst`}}, `assigned_lids`, `misdelivered` (entries that lead to another
    port than the LID's), `lmc`, `failure` {`failed`, `cables`, `cut_off`, `before`}, `cpu_s` (seconds of processor
    time of the whole call), `engine_cpu_s` (those of the engine alone; None for tables), `findings` (what is odd about
    given tables, each with `kind`, `text`, `file`, `line`), `roots` (their file), `advice`."""
    native: NativeRoutes
    """The routes in the engine, of which files are written when they are needed."""
    settings: Settings
    """What was asked."""

    def __reduce__(self) -> tuple[partial[Routed], tuple[()]]:
        """A copy, also one for another process, asks again: it reads the files anew."""
        return partial(route, **self.settings.arguments), ()

    @cached_property
    def lfts(self) -> str:
        """Forwarding tables, as `opensm-lfts.dump` has them."""
        return self.native.tables("opensm-lfts")

    @cached_property
    def sl2vl(self) -> str:
        """Virtual lanes of service levels, as `opensm-sl2vl.dump` has them."""
        return self.native.sl2vl()

    @cached_property
    def path_sls(self) -> str:
        """Service levels of paths; empty if all are 0."""
        return self.native.path_sls()

    @cached_property
    def fabric(self) -> str:
        """The subnet with its LIDs, without what has failed, as `ibnetdiscover` prints it."""
        return self.native.fabric("ibnetdiscover")

    @cached_property
    def lids(self) -> list[int]:
        """Base LIDs of the adapters' ports, in the order of `fabric`."""
        return self.native.lids()

    @cached_property
    def links(self) -> list[dict[str, Any]]:
        """Each direction of each link between switches: `switch`, `port`, `next`, `guid` (of the switch), `next_guid`,
        `next_port`, `gbps`, `all_to_all` and, by the name of each pattern, the flows on it in the phase in which it
        has most.
        """
        found: list[dict[str, Any]] = json.loads(self.native.links())
        return found

    def tables_in(self, form: str) -> str:
        """The forwarding tables in one of `TABLE_FORMS`.

        Raises:
            InputError: there is no such form.
            CannotRouteError: `opensm-fdbs` has hops, and the subnet has no shortest paths.
        """
        try:
            with bad_input():
                return self.native.tables(form)
        except RuntimeError as error:
            raise CannotRouteError(str(error)) from error

    def fabric_in(self, form: str) -> str:
        """The subnet with its LIDs in one of `FABRIC_FORMS`.

        Raises:
            InputError: there is no such form.
        """
        with bad_input():
            return self.native.fabric(form)

    def before_failures(self) -> Routed:
        """The answer for the subnet in which nothing has failed."""
        return route(**{**self.settings.arguments, "fail": ()})

    def opensm_conf(self, lfts: Path | str | None = None) -> str:
        """Options for `opensm.conf` with which OpenSM computes these tables, or loads those that were given.

        Args:
            lfts: a file of the tables, which is named as an alternative.
        """
        asked = self.settings
        files = {
            "lfts": asked.tables if lfts is None else lfts,
            "roots": asked.roots,
            "compute_nodes": asked.compute_nodes,
            "torus": asked.torus,
        }
        with bad_input():
            return native().opensm_options(
                None if asked.tables is not None else self.report["engine"],
                {key: None if file is None else str(Path(file).resolve()) for key, file in files.items()},
                self.report["layers"] or self.report["lanes"],
                self.report["lmc"] or asked.lmc,
                asked.port_shifting,
                asked.scatter_ports,
                asked.vls,
                asked.nue_vls,
            )


def route(
    fabric: Path | str,
    engine: str | None = None,
    *,
    tables: Path | str | None = None,
    path_sls: Path | str | None = None,
    sl2vl: Path | str | None = None,
    roots: Path | str | None = None,
    torus: Path | str | None = None,
    compute_nodes: Path | str | None = None,
    port_shifting: bool = False,
    scatter_ports: int = 0,
    lmc: int | None = None,
    manager: str | None = None,
    vls: int = 8,
    nue_vls: int = 1,
    fail: Sequence[str] = (),
    matrix: Sequence[Demand | tuple[str, str, float]] = (),
    overrides: Sequence[tuple[str, str]] = (),
) -> Routed:
    """Routes a subnet with an engine, or analyses given tables.

    Args:
        fabric: an experiment (`.toml`), or a file of `ibnetdiscover`, ibsim or OpenSM.
        engine: one of `ENGINES`; `minhop` by default.
        tables: forwarding tables instead of an engine.
        path_sls: service levels of paths that belong to the tables.
        sl2vl: virtual lanes of service levels that belong to the tables.
        roots: file of the GUIDs of root switches, for `updn` and `ftree` (`root_guid_file`).
        torus: file that describes the torus, for `torus-2QoS` (`torus-2QoS.conf`).
        compute_nodes: file of the GUIDs of compute nodes' ports, for `ftree` (`cn_guid_file`).
        port_shifting: OpenSM's option of that name.
        scatter_ports: OpenSM's option of that name: the seed of random choices; 0 for none.
        lmc: assign LIDs with this mask control, 0 to 7; by default LIDs are as the file has them, and assigned where
            there are none. LIDs that `tables` are for stay as they are.
        manager: description or GUID of the node on which OpenSM runs: where LIDs are assigned, its port gets the first.
        vls: virtual lanes of all links, 1 to 15.
        nue_vls: virtual lanes that `nue` may use (`nue_max_num_vls`), 1 to 15; 0 for all.
        fail: nodes (description or GUID), ports (`NODE/PORT`) or pairs of nodes (`NODE->NODE`) whose cables are taken
            out.
        matrix: demands whose load is counted: sender, receiver (descriptions or GUIDs), weight.
        overrides: settings of the experiment.

    Raises:
        InputError: a file cannot be read or does not parse, or a name or option is wrong.
        CannotRouteError: the engine cannot route the subnet; the message says why.
    """
    arguments = dict(locals())
    if engine is not None and tables is not None:
        raise InputError("an engine and tables exclude each other: give one of them")
    files: dict[str, Any] = {"tables": tables, "roots": roots, "torus": torus, "compute_nodes": compute_nodes}
    ports: dict[str, Any] = {"port_shifting": port_shifting, "scatter_ports": scatter_ports, "lmc": lmc}
    lanes: dict[str, Any] = {"vls": vls, "nue_vls": nue_vls}
    experiment = Path(fabric) if Path(fabric).suffix == ".toml" else None
    settings = Settings(experiment, tuple(overrides), **files, **ports, **lanes, arguments=arguments)
    files |= {"path_sls": path_sls, "sl2vl": sl2vl}
    request: dict[str, Any] = {
        "fabric": load(fabric),
        "engine": engine,
        "manager": manager,
        "fail": list(dict.fromkeys(fail)),
        "matrix": [tuple(Demand(*one)) for one in matrix],
    }
    request |= {**ports, **lanes, **{name: load_optional(file) for name, file in files.items()}}
    return _routed(fabric, request, settings)


def _routed(fabric: Path | str, request: dict[str, Any], settings: Settings) -> Routed:
    """Has the engine answer a request for a subnet."""
    subnet = {
        "is_experiment": settings.experiment is not None,
        "overrides": list(settings.overrides),
        "base": str(Path(fabric).parent),
    }
    begin = time.process_time()
    try:
        with bad_input():
            native_routes = waited(lambda: native().route_subnet({**subnet, **request}))
    except RuntimeError as error:
        text = str(error)  # it may begin with a line of the file
        raise CannotRouteError(text if text.startswith(f"{fabric}:") else f"{fabric}: {text}") from error
    report = {**json.loads(native_routes.report()), "cpu_s": time.process_time() - begin}
    report["roots"] = None if settings.roots is None else str(settings.roots)
    report["advice"] = [asdict(one) for one in advice(report)]
    return Routed(report, native_routes, settings)
