"""An experiment: its text, its origin, and the values set on top of it."""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import tomli_w

from fabricsim.errors import InputError
from fabricsim.native import bad_input, native, waited
from fabricsim.shown import Shown
from fabricsim.spec.plain import to_plain
from fabricsim.spec.values import override, put, require_text

if TYPE_CHECKING:
    from fabricsim.native_types import Overrides
    from fabricsim.spec.adapter import Adapter
    from fabricsim.spec.congestion import CongestionControl
    from fabricsim.spec.faults import Faults, Switches
    from fabricsim.spec.jobs import Job
    from fabricsim.spec.measurement import Capture, Measure, Run
    from fabricsim.spec.mpi import Mpi
    from fabricsim.spec.network import Host, Links, Switch
    from fabricsim.spec.queue_pairs import QueuePairs
    from fabricsim.spec.routing import Routing
    from fabricsim.spec.subnet_manager import SubnetManager
    from fabricsim.spec.topologies import Topology
    from fabricsim.spec.traffic import MulticastGroup, Partition, Traffic
    from fabricsim.spec.transport import Transport
    from fabricsim.spec.tuning import Tune


@dataclass(frozen=True)
class Experiment(Shown):
    """One experiment, ready for the engine. Create it with `from_file`, `from_text` or `build`."""

    text: str = field(repr=False)
    """TOML."""
    file: str = "experiment"
    """Name of the experiment in messages."""
    base: str = "."
    """The folder that files it refers to are relative to."""
    overrides: tuple[tuple[str, str], ...] = ()
    """Keys and the TOML values that replace what the text says, in order."""

    @classmethod
    def from_file(cls, path: str | Path, set: Mapping[str, Any] | None = None) -> Experiment:
        """Reads an experiment file; `set` replaces values (`{"traffic.0.load": 0.4}`).

        Raises:
            InputError: the file cannot be read or is not UTF-8. The contents are checked by the engine.
        """
        path = Path(path)
        require_text(str(path), "the file's name")
        experiment = cls(text=_read_text(path), file=str(path), base=str(path.parent))
        return experiment.with_values(set or {})

    @classmethod
    def from_text(cls, text: str, base: str | Path = ".") -> Experiment:
        """An experiment from TOML text."""
        return cls(text=text, base=str(base))

    @classmethod
    def from_manifest(cls, manifest: Mapping[str, Any]) -> Experiment:
        """The experiment of a run, from its manifest."""
        file = str(manifest.get("file") or "experiment")
        pairs = tuple((str(key), str(value)) for key, value in manifest.get("overrides", ()))
        return cls(str(manifest.get("experiment", "")), file, os.path.dirname(file) or ".", pairs)

    @classmethod
    def build(
        cls,
        *,
        topology: Topology,
        run: Run,
        traffic: Traffic | list[Traffic] | None = None,
        jobs: Job | list[Job] | None = None,
        title: str | None = None,
        description: str | None = None,
        seed: int | None = None,
        links: Links | None = None,
        switch: Switch | None = None,
        switches: Switches | None = None,
        host: Host | None = None,
        transport: Transport | None = None,
        queue_pairs: QueuePairs | None = None,
        adapter: Adapter | None = None,
        mpi: Mpi | None = None,
        routing: Routing | None = None,
        congestion_control: CongestionControl | None = None,
        faults: Faults | None = None,
        subnet_manager: SubnetManager | None = None,
        groups: Mapping[str, list[str]] | None = None,
        partitions: Partition | list[Partition] | None = None,
        multicast_groups: MulticastGroup | list[MulticastGroup] | None = None,
        measure: Measure | None = None,
        capture: Capture | None = None,
        sweep: Mapping[str, Any] | None = None,
        tune: Tune | None = None,
        base: str | Path = ".",
    ) -> Experiment:
        """An experiment from typed sections; what is not given keeps the default of the experiment file."""
        sections = {
            "title": title,
            "description": description,
            "seed": seed,
            "topology": topology,
            "links": links,
            "switch": switch,
            "switches": switches,
            "host": host,
            "transport": transport,
            "queue_pairs": queue_pairs,
            "adapter": adapter,
            "mpi": mpi,
            "routing": routing,
            "congestion_control": congestion_control,
            "faults": faults,
            "subnet_manager": subnet_manager,
            "groups": groups,
            "partitions": _listed(partitions),
            "multicast_groups": _listed(multicast_groups),
            "traffic": _listed(traffic),
            "jobs": _listed(jobs),
            "run": run,
            "measure": measure,
            "capture": capture,
            "sweep": sweep,
            "tune": tune,
        }
        plain = cast("dict[str, Any]", to_plain(sections))
        return cls(text=tomli_w.dumps(plain), base=str(base))

    def with_values(self, values: Mapping[str, Any]) -> Experiment:
        """The same experiment with some values replaced."""
        return self.with_overrides([override(key, value) for key, value in values.items()])

    def with_overrides(self, overrides: Overrides) -> Experiment:
        """The same experiment with TOML values on top."""
        return replace(self, overrides=(*self.overrides, *overrides))

    @property
    def name(self) -> str:
        """A short name for folders and tables."""
        return Path(self.file).stem or "experiment"

    def arguments(self) -> tuple[str, str, str, Overrides]:
        """Arguments for the engine's functions."""
        return self.text, self.file, self.base, list(self.overrides)

    def written(self) -> dict[str, Any]:
        """The experiment as written and set on top, without defaults: needs no engine, and nothing is checked.

        Keys that are set and have no place are left out; a text that is no TOML gives nothing.
        """
        try:
            tree = tomllib.loads(self.text)
        except (tomllib.TOMLDecodeError, RecursionError):
            return {}
        for key, value in self.overrides:
            put(tree, key, value)
        return tree

    def check(self) -> dict[str, Any]:
        """The experiment with all defaults filled in.

        Raises:
            InputError: it is invalid.
        """
        with bad_input():
            return cast("dict[str, Any]", json.loads(waited(lambda: native().check(*self.arguments()))))

    def warnings(self) -> list[str]:
        """Warnings about settings that are allowed and probably not intended. A graph file is read for that.

        Raises:
            InputError: it is invalid.
        """
        with bad_input():
            return waited(lambda: native().warnings(*self.arguments()))

    def describe(self) -> dict[str, Any]:
        """Facts about its network: counts, diameter, bisection, zero-load latency, deadlock verdict.

        Raises:
            InputError: it is invalid.
        """
        with bad_input():
            return cast("dict[str, Any]", json.loads(waited(lambda: native().describe(*self.arguments()))))

    def export(self, format: str) -> str:
        """Its network or forwarding tables as a file.

        Networks: "toml", "csv" (a table of links), "graphml", "ned", "anynet" or "dot". Tables: "fdbs" or
        "look-up-tables".

        Or its congestion control as lines for OpenSM's options file: "opensm". Or its fabric as an InfiniBand subnet,
        with GUIDs and LIDs as they were read, else assigned as OpenSM assigns them: "ibnetdiscover",
        "ibnetdiscover-ports", "ibsim", "opensm-subnet".

        Raises:
            InputError: it is invalid, or it cannot be written in this format.
        """
        with bad_input():
            return waited(lambda: native().export(*self.arguments(), format))


def as_experiment(experiment: str | Path | Experiment, set: Mapping[str, Any] | None = None) -> Experiment:
    """An experiment from a path, or itself; with some values replaced."""
    if isinstance(experiment, Experiment):
        return experiment.with_values(set or {})
    return Experiment.from_file(experiment, set)


def _listed(entries: Any) -> list[Any] | None:
    """A list of entries, or one that stands alone; None for none."""
    return entries if entries is None or isinstance(entries, list) else [entries]


_LARGEST = 64 << 20
"""Maximum size of an experiment file, in bytes."""


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise InputError(f"{path}: this is larger than 64 MiB: it is not an experiment file")
        return content.decode("utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file{_nearest_file(path)}") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: this is not UTF-8 text (byte {error.start + 1}); save the file as UTF-8"
        ) from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a folder, not an experiment file (.toml)") from None
    except OSError as error:
        raise InputError(f"{path}: it cannot be read: {error.strerror}") from None


def _nearest_file(path: Path) -> str:
    try:
        names = [p.name for p in path.parent.iterdir() if p.suffix == ".toml"]
    except OSError:
        return ""
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"; did you mean {path.with_name(near[0])}?" if near else ""
