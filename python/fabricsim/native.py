"""Access to the compiled module. It is loaded on first use, so that reading results works without it."""

from __future__ import annotations

import importlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar, cast

from fabricsim.errors import InputError, NativeMissingError

Overrides = list[tuple[str, str]]
File = tuple[bytes, str]
"""Bytes of a file, and its name for messages."""
T = TypeVar("T")

POLL_S = 0.1
"""Seconds between two checks for a signal."""


class NativeOutcome(Protocol):
    """See `_native.Outcome`."""

    @property
    def status(self) -> str: ...
    def summary(self) -> str: ...
    def capture(self) -> str | None: ...
    def tables(self) -> list[str]: ...
    def columns(self, table: str) -> list[tuple[str, str, str, Any, Any]]: ...


class NativeControl(Protocol):
    """See `_native.Control`."""

    def progress(self) -> str: ...
    def cancel(self) -> None: ...


class NativeSimulation(Protocol):
    """See `_native.Simulation`."""

    def run(self, capture: str | None = None, only: bool = False) -> NativeOutcome: ...


class NativeSession(Protocol):
    """See `_native.Session`."""

    def now(self) -> int: ...
    def is_over(self) -> bool: ...
    def advance_to(self, until: int | None, control: NativeControl) -> str: ...
    def inject(
        self, source: str, destination: str, bytes: int, at: int | None, traffic: str | None
    ) -> int: ...
    def configure(
        self,
        stop: list[str],
        resume: list[str],
        fail: list[str],
        restore: list[str],
        routes: list[tuple[str, str, str]],
    ) -> None: ...
    def snapshot(self) -> tuple[int, str, list[tuple[str, list[tuple[str, str, str, Any, Any]]]]]: ...
    def deadlock(self) -> list[str] | None: ...
    def subscribe(self, kinds: list[str], capacity: int) -> None: ...
    def events(self) -> tuple[list[tuple[str, str, str, Any, Any]], int]: ...
    def result(self) -> NativeOutcome: ...
    def close(self) -> None: ...


class NativeVerbsAdapter(Protocol):
    """See `_native.VerbsAdapter`."""

    def costs(self) -> tuple[int, int, int, int]: ...
    def lid(self) -> int: ...
    def alloc_pd(self) -> int: ...
    def dealloc_pd(self, pd: int) -> None: ...
    def reg_mr(self, pd: int, length: int, access: int) -> tuple[int, int, int]: ...
    def dereg_mr(self, mr: int) -> None: ...
    def read_memory(self, mr: int, offset: int, length: int) -> bytes: ...
    def write_memory(self, mr: int, offset: int, data: bytes) -> None: ...
    def take_write(self, mr: int) -> bool: ...
    def alloc_mw(self, pd: int, mw_type: int) -> tuple[int, int]: ...
    def dealloc_mw(self, mw: int) -> None: ...
    def bind_mw(
        self, qp: int, wr_id: int, flags: int, mw: int, binding: tuple[int, int, int, int] | None
    ) -> int: ...
    def post_local(
        self, qp: int, wr_id: int, flags: int, key: int, window: tuple[int, tuple[int, int, int, int]] | None
    ) -> None: ...
    def create_ah(self, pd: int, dlid: int) -> int: ...
    def destroy_ah(self, ah: int) -> None: ...
    def open_xrcd(self) -> int: ...
    def close_xrcd(self, xrcd: int) -> None: ...
    def create_srq(self, pd: int, max_wr: int, max_sge: int, xrc: tuple[int, int] | None) -> int: ...
    def destroy_srq(self, srq: int) -> None: ...
    def srq_number(self, srq: int) -> int: ...
    def modify_srq(self, srq: int, limit: int) -> None: ...
    def query_srq(self, srq: int) -> tuple[int, int]: ...
    def post_srq_recv(self, srq: int, wr_id: int, list: list[tuple[int, int, int]]) -> None: ...
    def create_cq(self, cqe: int) -> int: ...
    def destroy_cq(self, cq: int) -> None: ...
    def poll_cq(
        self, cq: int, most: int
    ) -> list[tuple[int, int, int, int, int, int | None, int | None, tuple[int, int] | None]]: ...
    def req_notify_cq(self, cq: int, solicited_only: bool) -> None: ...
    def take_cq_event(self, cq: int) -> bool: ...
    def take_async_event(self) -> tuple[int, int] | None: ...
    def create_qp(
        self,
        kind: int,
        pd: int,
        cqs: tuple[int, int],
        capacities: tuple[int, int, int, int, int],
        signal_all: bool,
        shared: tuple[int | None, int | None],
    ) -> int: ...
    def destroy_qp(self, qp: int) -> None: ...
    def modify_qp(self, qp: int, attributes: list[tuple[str, int]]) -> None: ...
    def qp_state(self, qp: int) -> int: ...
    def post_send(
        self,
        qp: int,
        wr_id: int,
        opcode: int,
        flags: int,
        list: list[tuple[int, int, int]],
        inline: bytes | None,
        extra: int,
        remote: tuple[int, int],
        atomic: tuple[int, int],
        to: tuple[tuple[int, int, int] | None, int | None],
    ) -> None: ...
    def post_recv(self, qp: int, wr_id: int, list: list[tuple[int, int, int]]) -> None: ...


class NativePrograms(Protocol):
    """See `_native.Programs`."""

    def now(self) -> int: ...
    def next(self) -> int: ...
    def wait(self, number: int, duration: int | None, things: list[tuple[int, int]]) -> int: ...
    def poll(self, number: int, duration: int, things: list[tuple[int, int]]) -> int: ...
    def end(self, number: int) -> None: ...
    def wake(self, number: int) -> None: ...
    def adapter(self, number: int) -> NativeVerbsAdapter: ...
    def deadlock(self) -> list[str] | None: ...
    def result(self) -> NativeOutcome: ...


class NativeOrderingStop(Protocol):
    """See `_native.OrderingStop`."""

    def set(self) -> None: ...


class NativeOrderingNetwork(Protocol):
    """See `_native.OrderingNetwork`."""

    @property
    def port(self) -> int: ...
    @property
    def token(self) -> str: ...
    def run(self, stop: NativeOrderingStop) -> str: ...


class Native(Protocol):
    """Functions of `fabricsim._native` that the package uses."""

    NativeError: type[ValueError]
    CancelledError: type[Exception]
    VerbsCallError: type[Exception]

    def version(self) -> str: ...
    def schema(self) -> str: ...
    def check(self, text: str, file: str, base: str, overrides: Overrides) -> str: ...
    def warnings(self, text: str, file: str, base: str, overrides: Overrides) -> list[str]: ...
    def describe(self, text: str, file: str, base: str, overrides: Overrides) -> str: ...
    def demands(
        self, text: str, file: str, base: str, overrides: Overrides, at: str | None
    ) -> tuple[str, list[tuple[str, list[tuple[str, str, str, Any, Any]]]]]: ...
    def export(self, text: str, file: str, base: str, overrides: Overrides, format: str) -> str: ...
    def import_subnet(
        self,
        fabric: File,
        format_name: str | None,
        tables: File | None,
        sl2vl: File | None,
        path_sls: File | None,
    ) -> str: ...
    def opensm_options(
        self,
        engine: str | None,
        files: dict[str, str | None],
        layers: int,
        lmc: int | None,
        port_shifting: bool,
        scatter_ports: int,
        vls: int,
        nue_vls: int,
    ) -> str: ...
    def route_subnet(self, request: dict[str, Any]) -> list[tuple[str, str]]: ...
    def run_perftest(
        self,
        experiment: tuple[str, str, str, Overrides],
        ends: tuple[str | None, str | None],
        options: str,
        control: NativeControl,
    ) -> str: ...
    def dissect_capture(self, bytes: bytes, file: str) -> str: ...
    def OrderingStop(self) -> NativeOrderingStop: ...  # noqa: N802 - a class
    def OrderingNetwork(self, settings: str) -> NativeOrderingNetwork: ...  # noqa: N802 - a class
    def ordering_check(self, settings: str) -> None: ...
    def ordering_source(
        self, port: int, token: str, data: bytes, settings: str, stop: NativeOrderingStop
    ) -> str: ...
    def ordering_target(
        self, port: int, token: str, settings: str, stop: NativeOrderingStop
    ) -> tuple[list[bytes], str]: ...
    def available_memory(self) -> int | None: ...
    def Control(self) -> NativeControl: ...  # noqa: N802 - a class
    def Simulation(  # noqa: N802 - a class
        self,
        text: str,
        file: str,
        base: str,
        overrides: Overrides,
        control: NativeControl,
        memory: int | None = None,
    ) -> NativeSimulation: ...
    def Session(  # noqa: N802 - a class
        self,
        text: str,
        file: str,
        base: str,
        overrides: Overrides,
        control: NativeControl,
        memory: int | None,
    ) -> NativeSession: ...
    def Programs(  # noqa: N802 - a class
        self,
        experiment: tuple[str, str, str, Overrides],
        hosts: list[str],
        patience: int,
        control: NativeControl,
        memory: int | None,
    ) -> NativePrograms: ...
    def parse_time(self, text: str) -> int: ...
    def parse_size(self, text: str) -> int: ...


def native() -> Native:
    """The module `fabricsim._native`."""
    try:
        return cast("Native", importlib.import_module("fabricsim._native"))
    except ModuleNotFoundError as error:
        raise NativeMissingError(
            "the compiled part of fabricsim is missing: in a checkout run `make run` once, "
            "else install the package again with pip"
        ) from error


def waited(work: Callable[[], T]) -> T:
    """Returns or raises what `work` does. It runs in a thread, so that this one notices Ctrl-C meanwhile."""
    results: list[T] = []
    errors: list[BaseException] = []

    def do() -> None:
        try:
            results.append(work())
        except BaseException as error:  # raised again by the thread that waits
            errors.append(error)

    thread = threading.Thread(target=do, name="fabricsim", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(POLL_S)
    for error in errors:
        raise error
    return results[0]


@contextmanager
def bad_input() -> Iterator[None]:
    """Turns errors that the engine reports about its input into `InputError`."""
    error_type = native().NativeError
    try:
        yield
    except error_type as error:
        raise InputError(str(error)) from error


def version() -> str:
    """Version of the engine."""
    return native().version()


def schema() -> dict[str, Any]:
    """The JSON Schema of an experiment file."""
    return cast("dict[str, Any]", json.loads(native().schema()))
