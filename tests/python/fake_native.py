"""A stand-in for the compiled module: same interface, answers that are easy to predict.

Every source offers its load of a 100 Gb/s link; the network accepts up to 0.6. The title of an experiment chooses
what happens: "deadlock", "slow" (works until cancelled), "panic", "defect" (status ok, and a defect in the summary).
"""

from __future__ import annotations

import json
import threading
import tomllib
from collections.abc import Callable
from typing import Any

import numpy as np

RATE_GBPS = 100.0
SATURATION = 0.6
ZERO_LOAD_NS = 500.0
Overrides = list[tuple[str, str]]


class NativeError(ValueError):
    pass


class CancelledError(Exception):
    pass


class PanicException(BaseException):
    pass


def version() -> str:
    return "0.0.0-fake"


def available_memory() -> int | None:
    return None


def schema() -> str:
    return json.dumps({"type": "object"})


def _read(text: str, file: str, overrides: Overrides) -> dict[str, Any]:
    try:
        tree: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NativeError(f"{file}: {error}") from None
    for key, value in overrides:
        at: Any = tree
        *path, last = key.split(".")
        for part in path:
            at = at[int(part)] if isinstance(at, list) else at.setdefault(part, {})
        try:
            at[last] = tomllib.loads(f"v = {value}")["v"]
        except tomllib.TOMLDecodeError:
            at[last] = value
    if "topology" not in tree:
        raise NativeError(f"{file}: missing field `topology`")
    load = tree["traffic"][0].get("load", 0.5)
    if not isinstance(load, int | float) or load < 0:
        raise NativeError(f"{file}:7: traffic.0.load: {load!r} is not allowed; give a number from 0 to 1")
    return tree


def check(text: str, file: str, base: str, overrides: Overrides) -> str:
    tree = _read(text, file, overrides)
    return json.dumps({"seed": 1, "sweep": {}, **tree}, default=str)


def warnings(text: str, file: str, base: str, overrides: Overrides) -> list[str]:
    tree = _read(text, file, overrides)
    return ["this is odd"] if tree.get("title") == "odd" else []


def describe(text: str, file: str, base: str, overrides: Overrides) -> str:
    tree = _read(text, file, overrides)
    cyclic = tree.get("title") == "deadlock"
    text = "cyclic: S0->S1, S1->S0" if cyclic else "free of deadlock"
    verdict = {"free": not cyclic, "verdict": text, "cycle": ["S0->S1", "S1->S0"] if cyclic else []}
    return json.dumps({"switches": 2, "hosts": 2, "diameter": 1, "deadlock": verdict})


def export(text: str, file: str, base: str, overrides: Overrides, format: str) -> str:
    _read(text, file, overrides)
    if format != "dot":
        raise NativeError(f"format: `{format}` is unknown; there are: dot")
    return "graph {}\n"


WHEN_SLOW: list[Callable[[], None]] = []
"""Called when a run begins whose experiment has the title "slow"."""


class Control:
    def __init__(self) -> None:
        self.cancelled = threading.Event()

    def progress(self) -> str:
        return json.dumps(
            {"simulated_s": 0.5e-3, "total_s": 1e-3, "packet_hops": 1000, "phase": "measurement"}
        )

    def cancel(self) -> None:
        self.cancelled.set()


class Simulation:
    def __init__(
        self,
        text: str,
        file: str,
        base: str,
        overrides: Overrides,
        control: Control,
        memory: int | None = None,
    ) -> None:
        self._tree = _read(text, file, overrides)
        self._cancelled = control.cancelled

    def run(self, capture: str | None = None, only: bool = False, cores: int = 1) -> Outcome:
        title = self._tree.get("title", "")
        if title == "panic":
            raise PanicException("index out of bounds")
        if title == "slow":
            for call in WHEN_SLOW:
                call()
        if title == "slow" and not self._cancelled.wait(20.0):
            raise AssertionError("not cancelled")
        status = {"deadlock": "deadlock", "slow": "interrupted"}.get(title, "ok")
        return Outcome(status, self._tree)


def parse_time(text: str) -> int:
    """Of microseconds only."""
    return int(text.removesuffix(" us")) * 1_000_000


class SteppedRun:
    """A run that ends after 30 us; its state is its time."""

    def __init__(
        self,
        text: str,
        file: str,
        base: str,
        overrides: Overrides,
        control: Control,
        memory: int | None = None,
        cores: int = 1,
        processes: int = 1,
    ) -> None:
        self._tree = _read(text, file, overrides)
        self._now = 0
        self.team: object = None

    def experiment(self) -> tuple[str, list[str]]:
        return json.dumps(self._tree), []

    def save(self) -> bytes:
        return str(self._now).encode()

    def restore(self, bytes: bytes) -> None:
        self._now = int(bytes)

    def join(self, team: object) -> None:
        self.team = team

    def now(self) -> int:
        return self._now

    def advance_to(self, until: int) -> bool:
        self._now = min(until, 30_000_000)
        return self._now == until

    def result(self) -> Outcome:
        return Outcome("ok", self._tree)


class Outcome:
    def __init__(self, status: str, tree: dict[str, Any]) -> None:
        self.status = status
        self._tree = tree
        self._offered = float(tree["traffic"][0].get("load", 0.5))
        self._accepted = min(self._offered, SATURATION)

    def scaling(self) -> str:
        return "{}"

    def summary(self) -> str:
        mean = ZERO_LOAD_NS / (1.001 - self._accepted / SATURATION)
        latency = {"mean": mean, "p50": mean, "p99": 2 * mean, "p999": 3 * mean, "max": 4 * mean}
        summary = {
            "experiment": self._tree.get("title", ""),
            "seed": self._tree.get("seed", 1),
            "simulated_s": 1e-3,
            "packet_hops": 1000,
            "fingerprint": "00ff",
            "status": self.status,
            "offered_load": self._offered,
            "accepted_load": self._accepted,
            "latency_ns": latency,
            "flows": [],
            "invariants": {
                "injected": 10,
                "delivered": 9,
                "in_flight": 1,
                "dropped": 0,
                "lost": {"transport_loss": 0, "lifetime": 0},
                "packets_ok": True,
                "credits_ok": True,
            },
        }
        if self.status == "deadlock":
            summary["deadlock"] = ["S0 port 1 lane 0: packet 7 of H0 to H1 waits for output 2 to S1"]
        if self._tree.get("title") == "defect":
            summary["defect"] = "credits are missing"
        return json.dumps(summary)

    def tables(self) -> list[str]:
        return ["flows", "hosts", "links", "nodes", "series", "latency"]

    def columns(self, table: str) -> list[tuple[str, str, str, str, Any]]:
        gbps = self._accepted * RATE_GBPS
        columns: dict[str, list[tuple[str, str, str, str, Any]]] = {
            "flows": [
                text("source", ["H0", "H1"]),
                text("destination", ["H1", "H0"]),
                real("offered_gbps", "Gb/s", [self._offered * RATE_GBPS] * 2),
                real("accepted_gbps", "Gb/s", [gbps, gbps / 2]),
                real("latency_mean_ns", "ns", [ZERO_LOAD_NS] * 2),
                real("latency_p99_ns", "ns", [float("nan"), 3000.0]),
                whole("packets", "", [10, 5]),
            ],
            "hosts": [text("host", ["H0", "H1"]), real("link_gbps", "Gb/s", [RATE_GBPS] * 2)],
            "links": [
                text("link", ["H0->S0", "S0->S1", "S1->S0", "S1->H1"]),
                whole("lane", "", [0] * 4),
                real("utilisation", "", [0.1, 0.5, 1.0, 0.2]),
            ],
            "nodes": [
                text("name", ["S0", "S1", "H0", "H1"]),
                text("kind", ["switch", "switch", "host", "host"]),
                real("x", "", [0.0, 1.0, -0.3, 1.3]),
                real("y", "", [0.0, 0.0, 0.3, 0.3]),
            ],
            "series": [
                real("time_ns", "ns", [0.0, 0.0, 5e5, 5e5]),
                text("source", ["H0", "H1"] * 2),
                text("destination", ["H1", "H0"] * 2),
                real("gbps", "Gb/s", [gbps / 2, gbps / 4, gbps, gbps / 2]),
            ],
            "latency": [
                text("kind", ["total"] * 3 + ["network"] * 2),
                real("from_ns", "ns", [100.0, 200.0, 400.0, 100.0, 200.0]),
                real("to_ns", "ns", [200.0, 400.0, 800.0, 200.0, 400.0]),
                whole("count", "", [50, 45, 5, 80, 20]),
            ],
        }
        return columns[table]


def text(name: str, values: list[str]) -> tuple[str, str, str, str, Any]:
    return name, "", f"the {name}", "str", values


def real(name: str, unit: str, values: list[float]) -> tuple[str, str, str, str, Any]:
    return name, unit, f"the {name}", "f8", np.array(values, dtype="<f8").tobytes()


def whole(name: str, unit: str, values: list[int]) -> tuple[str, str, str, str, Any]:
    return name, unit, f"the {name}", "i8", np.array(values, dtype="<i8").tobytes()
