"""Congestion control of the InfiniBand model: the extension that Zeru's thesis used (2016, appendix B).

The source of that extension is not public. The configuration names its parameters; what they leave open is as in the
experiments of `experiments/thesis/`, and a comment in the imported experiment says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from fabricsim.errors import InputError
from fabricsim.importers.ini import quantity
from fabricsim.importers.model import Model, Port, plain

T = TypeVar("T")

SUBMODULES = (".ccmgr", ".gen", ".ibuf", ".obuf", ".vlarb", "")
"""Modules in which a parameter of a host or port may be; the public configurations name `ccmgr`."""
BLOCK = 64
"""Entries of a block of a congestion control table (annex A10): a limit that is a multiple counts the entries."""
EIGHTHS = 8
"""The rule of `CCT_Div` and `num_nodes` counts eighths of a packet's time: chosen by the thesis' results."""
ASSUMED = {
    "Threshold": "2",
    "Marking_Rate": "1",
    "Packet_Size": "1",
    "CCTI_Timer": "20us",
    "CCTI_Limit": "128",
    "CCTI_Min": "0",
    "CCTI_Increase": "1",
    "CCT_Div": "95",
    "num_nodes": "50",
}
"""Table 3.6 of the thesis, and of its appendix B `CCT_Div` and `num_nodes`: for parameters that are not given."""
DEVIDE = (
    "thresholds that are divided among the inputs have no counterpart: one threshold holds for the output"
)
UNSET = (
    "it switches congestion control on, but the configuration does not set all parameters of congestion control; "
    "the import takes these values from Zeru's thesis"
)
COMMENT = """\
# Congestion control: the model's extension is not public. Its parameters leave open how marks are counted, the unit of
# the table of delays (here eighths of a packet's time), what notifies a source (here a packet of a credit, sent first)
# and when the timer runs (here always): chosen as in the experiments of Zeru's thesis.
"""


def import_congestion(model: Model) -> dict[str, Any]:
    """Section `congestion_control`; empty if `cc_enabled` is not true.

    Raises:
        InputError: a value is missing or has no counterpart, or modules differ.
    """
    importer = _Importer(model)
    if not importer.is_on():
        return {}
    section = importer.section()
    importer.note_assumptions()
    return section


class _Importer:
    def __init__(self, model: Model) -> None:
        self._model, self._ini = model, model.ini
        self._ports = model.switch_ports()
        self._hosts = [model.module(host) for host in model.hosts]
        self._assumed: dict[str, str] = {}

    def note_assumptions(self) -> None:
        """Names the parameters that are not given, at `cc_enabled`."""
        if self._assumed:
            values = ", ".join(f"{key} = {value}" for key, value in self._assumed.items())
            path = self._path("cc_enabled", self._hosts[0])
            self._model.note(path, f"{UNSET}: {values}", altered=True)

    def is_on(self) -> bool:
        modules = [*self._hosts, *(port.path for port in self._ports)]
        return self._same("cc_enabled", modules, lambda path: self._ini.flag(path, False))

    def section(self) -> dict[str, Any]:
        limit = self._at_hosts("CCTI_Limit", self._whole)
        entries = BLOCK * max(-(-limit // BLOCK), 1)
        return {
            "algorithm": "infiniband",
            "notification": {"by": "cnp", "size": f"{self._model.credit_bytes()} B", "first": True},
            "infiniband": {
                **self._marking(),
                "cct": {"quadratic": self._table(entries)},
                "control": "queue-pair" if self._at_hosts("qp_level", self._flag(True)) else "service-level",
                "ccti_increase": self._at_hosts("CCTI_Increase", self._whole),
                "ccti_limit": min(limit, entries - 1),
                "ccti_min": self._at_hosts("CCTI_Min", self._whole),
                "ccti_timer": self._at_hosts("CCTI_Timer", self._timer),
                "timer_starts": "always",
                "delay_relative_to": "packet",
            },
        }

    def _table(self, entries: int) -> dict[str, Any]:
        def kind(path: str) -> int:
            self._assume(path, "0")
            return self._ini.whole(path, 0)

        algorithm = self._at_hosts("CCT_Algorithm", kind)
        if algorithm != 0:
            raise InputError(
                f"{self._ini.file}: CCT_Algorithm is {algorithm}: only 0, index^2 * num_nodes / CCT_Div^2, is known"
            )
        nodes, divisor = (self._at_hosts(key, self._number) for key in ("num_nodes", "CCT_Div"))
        if nodes < 0 or divisor <= 0:
            raise InputError(
                f"{self._ini.file}: num_nodes is {nodes:g} and CCT_Div {divisor:g}: both must be above 0"
            )
        return {"nodes": nodes / EIGHTHS, "divisor": divisor, "entries": entries}

    def _timer(self, path: str) -> int | str:
        """With a unit a time; else units of 1.024 us, as in the specification."""
        text = self._ini.text(path, self._default(path))
        if (units := quantity(text, None)) is not None and units == int(units):
            return int(units)
        default = quantity(ASSUMED["CCTI_Timer"], "s")
        return f"{plain(self._ini.seconds(path, default) * 1e6)} us"

    def _whole(self, path: str) -> int:
        default = self._default(path)
        return self._ini.whole(path, None if default is None else int(default))

    def _number(self, path: str) -> float:
        default = self._default(path)
        return self._ini.number(path, None if default is None else float(default))

    def _default(self, path: str) -> str | None:
        """The value to assume for a parameter that is not given; None if it is."""
        key = path.rpartition(".")[2]
        if self._ini.entry(path) or key not in ASSUMED:
            return None
        self._assume(path, ASSUMED[key])
        return ASSUMED[key]

    def _assume(self, path: str, value: str) -> None:
        """Notes what a parameter is taken to be if it is not given."""
        if not self._ini.entry(path):
            self._assumed[path.rpartition(".")[2]] = value

    def _marking(self) -> dict[str, Any]:
        """Parameters of switch ports: those of most ports, and the others by the direction of their link."""
        ports, flag = [port.path for port in self._ports], self._flag
        per_output = self._same("cc_single_thr_per_outport", ports, flag(True))
        if self._same("cc_single_thr_devide", ports, flag(False)):
            self._model.note(self._path("cc_single_thr_devide", ports[0]), DEVIDE)
        by_port = {port: self._of_port(port) for port in self._ports}
        usual = {
            key: _most_common(values[key] for values in by_port.values())
            for key in next(iter(by_port.values()))
        }
        mask, usual_mask = self._victim_mask(by_port)
        result = {
            **{key: value for key, value in usual.items() if key != "victim_mask"},
            "threshold_on": "output" if per_output else "buffer",
            "marking_rate_counts": "from-mark-to-mark",
            "victim_mask": mask,
        }
        others = [
            {"ports": [f"{port.node}->{port.peer}"], **different}
            for port, values in by_port.items()
            if (
                different := {
                    key: value
                    for key, value in values.items()
                    if value != (usual_mask(port) if key == "victim_mask" else usual[key])
                }
            )
        ]
        return result | ({"ports": others} if others else {})

    def _of_port(self, port: Port) -> dict[str, Any]:
        def value(key: str) -> int:
            return self._whole(self._path(key, port.path))

        threshold = value("Threshold")
        reset = self._path("Reset_Threshold", port.path)
        self._assume(reset, "Threshold + 1")
        return {
            "threshold": threshold,
            "reset_threshold": self._ini.whole(reset, threshold + 1),
            "marking_rate": value("Marking_Rate"),
            "packet_size": value("Packet_Size"),
            "victim_mask": self._victim(port),
        }

    def _victim(self, port: Port) -> bool:
        """Without a value as the thesis has it: true of ports to hosts."""
        path = self._path("Victim_Mask", port.path)
        self._assume(path, "1 at ports to hosts")
        return self._ini.whole(path, int(not self._model.is_switch(port.peer))) > 0

    def _victim_mask(self, by_port: dict[Port, dict[str, Any]]) -> tuple[str, Callable[[Port], bool]]:
        """The rule that fits most ports, and what it says of a port."""
        rules: dict[str, Callable[[Port], bool]] = {
            "hosts": lambda port: not self._model.is_switch(port.peer),
            "none": lambda _: False,
            "all": lambda _: True,
        }

        def fits(rule: Callable[[Port], bool]) -> int:
            return sum(rule(port) == values["victim_mask"] for port, values in by_port.items())

        return max(rules.items(), key=lambda item: fits(item[1]))

    def _flag(self, default: bool) -> Callable[[str], bool]:
        def value(path: str) -> bool:
            self._assume(path, str(default).lower())
            return self._ini.flag(path, default)

        return value

    def _at_hosts(self, key: str, value: Callable[[str], T]) -> T:
        return self._same(key, self._hosts, value)

    def _same(self, key: str, modules: Iterable[str], value: Callable[[str], T]) -> T:
        return self._model.same(key, modules, lambda module: value(self._path(key, module)))

    def _path(self, key: str, module: str) -> str:
        """Full path of a parameter of a host or port: where the configuration has it, else in `ccmgr`."""
        places = [f"{module}{submodule}.{key}" for submodule in SUBMODULES]
        return next((path for path in places if self._ini.entry(path)), places[0])


def _most_common(values: Iterable[T]) -> T:
    return Counter(values).most_common(1)[0][0]
