"""Starts the two processes and the network between them, and compares the received bytes with the sent ones."""

from __future__ import annotations

import concurrent.futures
import json
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar, Unpack

from fabricsim.errors import FabricsimError, InputError
from fabricsim.native import bad_input, native
from fabricsim.native_types import NativeOrderingNetwork
from fabricsim.ordering_demo.options import DEFAULTS, ENDPOINT, NETWORK, DemoOptions
from fabricsim.ordering_demo.process import GRACE_S, POLL_S, Counters, Process, Task, wait

T = TypeVar("T")

LARGEST_PACKET = 1_500
"""No datagram of a packet is longer, headers included."""

QUEUE_BYTES = (1 << 20, 1 << 28)
"""The least and the most memory of the network between the processes."""

SLACK_US = 20_000
"""Allowance for a busy machine in a packet's time, in microseconds."""


@dataclass(frozen=True)
class DemoResult:
    """Result of a transfer."""

    mode: str
    bytes: int
    seconds: float
    """From the first packet to the last acknowledgement."""
    intact: bool
    """True if the received bytes equal the sent ones."""
    out_of_order_share: float
    """Packets that arrived after a later one of their stream, among all; of several copies the first counts."""
    reordered_share: float
    """Packets that waited in the reorder buffer, among all that were delivered."""
    order_violations: int
    source: dict[str, Any]
    target: dict[str, Any]
    network: dict[str, Any]

    @property
    def mbytes_per_s(self) -> float:
        """Throughput in MB/s."""
        return self.bytes / self.seconds / 1e6 if self.seconds > 0 else 0.0

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "mbytes_per_s": self.mbytes_per_s}


def ordering_demo(*, file: Path | None = None, **options: Unpack[DemoOptions]) -> DemoResult:
    """Transfers random bytes, or a file, from one process to another through a UDP port. Options: `DemoOptions`.

    All sockets are bound to the loopback address, and datagrams of other processes are ignored.

    Raises:
        InputError: an argument is out of range, or the port is taken.
        FabricsimError: a process failed or died, or did not complete in time.
    """
    given: dict[str, Any] = {**DEFAULTS, **options}
    _require_known(given)
    if file is not None:
        given["size"] = _size(file)
    size, streams = given["size"], given["streams"]
    if size < streams:
        raise InputError(f"{size} bytes are too few for {streams} streams: at least one for each is needed")
    longest = given["delay_us"] + given["jitter_us"]
    settings = {
        **{key: given[name] for key, name in ENDPOINT.items()},
        "timeout_us": 2 * longest + SLACK_US,
        "lifetime_us": longest + SLACK_US,
    }
    # A window of each stream, of which copies may be in flight as well, and the answers.
    window = 4 * streams * given["outstanding"] * LARGEST_PACKET
    network_settings = {
        **{key: given[name] for key, name in NETWORK.items()},
        "queue_bytes": min(max(window, QUEUE_BYTES[0]), QUEUE_BYTES[1]),
    }
    with bad_input():
        native().ordering_check(json.dumps(settings))
        network = native().OrderingNetwork(json.dumps(network_settings))
    # The token reaches the processes by a pipe.
    task = {"port": network.port, "token": network.token, "settings": settings}
    data = {"file": str(file.resolve())} if file is not None else {"bytes": size, "seed": given["seed"]}
    (source, target), counted = _uninterrupted(
        lambda cancel: _through(network, task, data, given["deadline_s"], cancel)
    )
    return DemoResult(
        mode=given["mode"],
        bytes=size,
        seconds=source["seconds"],
        intact=source["sha256"] == target["sha256"] and target["excess_bytes"] == 0,
        out_of_order_share=target["out_of_order"] / max(target["first"], 1),
        reordered_share=target["reordered"] / max(target["delivered"], 1),
        order_violations=target["order_violations"],
        source=source,
        target=target,
        network=json.loads(counted),
    )


def _require_known(given: dict[str, Any]) -> None:
    for name in given:
        if name not in DEFAULTS:
            raise TypeError(f"ordering_demo() got an unexpected keyword argument {name!r}")


def _size(file: Path) -> int:
    try:
        with file.open("rb") as opened:
            return opened.seek(0, os.SEEK_END)
    except OSError as error:
        raise InputError(f"{file}: it cannot be read: {error.strerror}") from error


@contextmanager
def _running(network: NativeOrderingNetwork) -> Iterator[list[str]]:
    """Runs the network meanwhile; afterwards the list holds its counters."""
    stop, counted = native().OrderingStop(), list[str]()
    thread = threading.Thread(target=lambda: counted.append(network.run(stop)), daemon=True)
    thread.start()
    try:
        yield counted
    finally:
        stop.set()
        thread.join()


def _through(
    network: NativeOrderingNetwork, task: Task, data: Task, deadline_s: int, cancel: threading.Event
) -> tuple[tuple[Counters, Counters], str]:
    """Final reports of the source, the target and the network."""
    with _running(network) as counted, ExitStack() as stack:
        target = Process({"role": "target", **task})
        stack.callback(target.kill)
        source = Process({"role": "source", **task, **data})
        stack.callback(source.kill)
        sent = wait(source, target, deadline_s + GRACE_S, cancel)
        target.finish()
        told = sent, wait(target, None, GRACE_S, cancel)
    if not counted:
        raise FabricsimError("the network between the processes failed")
    return told, counted[0]


def _uninterrupted(work: Callable[[threading.Event], T]) -> T:
    """Returns or raises what `work` does. Ctrl-C during process start-up is deferred, then cancels."""
    cancel = threading.Event()
    with ThreadPoolExecutor(1, "fabricsim") as pool:
        try:
            future = pool.submit(work, cancel)
            while not future.done():
                concurrent.futures.wait([future], POLL_S)
        finally:
            cancel.set()
    return future.result()
