"""Runs of ranks on the simulated fabric, through the endpoints of Python."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from fabricsim.mpi.endpoint import ANY, STANDARD, Arrival
from fabricsim.mpi.networks.fabric import FabricNetwork
from fabricsim.mpi.networks.fabric_endpoint import FabricEndpoint
from fabricsim.results import Result
from fabricsim.spec import Experiment

FDR = """
topology.single-switch = { hosts = 4 }
[links.all]
rate = "54.545 Gb/s"
latency = "10 ns"
buffer = "64 KiB"
[switch]
router_delay = "170 ns"
[host]
mtu = "2110 B"
[run]
duration = "100 s"
"""
TORUS = FDR.replace("single-switch = { hosts = 4 }", "torus = { dimensions = [3, 3] }")

Rank = Callable[[FabricEndpoint], Any]
SIZES = (0, 1, 110, 111, 2034, 2035, 4096, 4097, 12232, 12233, 65504, 77740, 262143, 300_000, 1 << 20)
"""Around every limit of the protocols."""


def run(
    ranks: list[Rank], experiment: str = FDR, **options: Any
) -> tuple[list[Any], Result, list[dict[str, Any]]]:
    network = FabricNetwork(Experiment.from_text(experiment), **options)
    with network.writing():
        return _run(network, ranks)


def _run(network: FabricNetwork, ranks: list[Rank]) -> tuple[list[Any], Result, list[dict[str, Any]]]:
    scheduler, endpoints = network.open([f"rank {number}" for number in range(len(ranks))])

    def bound(number: int) -> Callable[[], Any]:
        def program() -> Any:
            value = ranks[number](endpoints[number])
            endpoints[number].close("Finalize()")
            return value

        return program

    scheduler.run([bound(number) for number in range(len(ranks))])
    result = network.finish()
    return scheduler.values, result, network.log()


def content(size: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size)


def complete(endpoint: FabricEndpoint, requests: list[int], call: str) -> list[Arrival]:
    arrivals: dict[int, Arrival] = {}
    while len(arrivals) < len(requests):
        left = [request for request in requests if request not in arrivals]
        endpoint.wait(left, call)
        for request, arrival in zip(left, endpoint.test(left, call), strict=True):
            if arrival is not None:
                arrivals[request] = arrival
                endpoint.free(request)
    return [arrivals[request] for request in requests]


def send(endpoint: FabricEndpoint, data: bytes, dest: int, tag: int = 0, mode: int = STANDARD) -> None:
    request = endpoint.isend(memoryview(data), dest, tag, 0, mode, "Send()")
    complete(endpoint, [request], "Send()")


def receive(endpoint: FabricEndpoint, size: int, source: int = ANY, tag: int = ANY) -> tuple[bytes, Arrival]:
    buffer = bytearray(size)
    call = f"Recv(source={source}, tag={tag})"
    request = endpoint.irecv(memoryview(buffer), source, tag, 0, call)
    arrival = complete(endpoint, [request], call)[0]
    return bytes(buffer), arrival
