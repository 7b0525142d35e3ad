"""MPI's messages on the simulated fabric: protocols, order, determinism, through the endpoints of Python."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabricsim.errors import InputError
from fabricsim.mpi.endpoint import ANY, BUFFERED, STANDARD, SYNCHRONOUS, Arrival
from fabricsim.mpi.networks.fabric import FabricEndpoint, FabricNetwork
from fabricsim.native import native
from fabricsim.programs import ProgramError, ProgramsBlockedError
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


def exchange(endpoint: FabricEndpoint) -> int:
    """All sizes from each rank to each other one, all at once; every byte is checked."""
    others = [rank for rank in range(endpoint.size) if rank != endpoint.rank]
    buffers = {(peer, tag): bytearray(size) for peer in others for tag, size in enumerate(SIZES)}
    requests = [
        endpoint.irecv(memoryview(buffer), peer, tag, 0, "exchange")
        for (peer, tag), buffer in buffers.items()
    ]
    for peer in others:
        for tag, size in enumerate(SIZES):
            data = content(size, endpoint.rank * 100 + tag)
            mode = (STANDARD, BUFFERED, SYNCHRONOUS)[tag % 3]
            requests.append(endpoint.isend(memoryview(data), peer, tag, 0, mode, "exchange"))
    complete(endpoint, requests, "exchange")
    for (peer, tag), buffer in buffers.items():
        assert buffer == content(SIZES[tag], peer * 100 + tag), (peer, tag)
    return endpoint.now()


@pytest.mark.parametrize("rendezvous", ["get", "put", "pipeline", "send"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"links.errors": "lose", "links.all.bit_error_rate": 3e-7, "mpi.timeout": 9},
        {"congestion_control.algorithm": "infiniband"},
        {"mpi.receive_queues": "P,128,8,4,2,3:P,65536,16,8,4,3"},
        {"mpi.receive_queues": "S,128,8,4,4:S,65536,16,8,4", "mpi.min_rnr_timer": "20 us"},
    ],
    ids=["plain", "loss", "congestion-control", "credits", "few-buffers"],
)
def test_bytes_arrive_whole(rendezvous: str, options: dict[str, Any]) -> None:
    _, result, _ = run([exchange] * 3, set={"mpi.rendezvous": rendezvous, **options})
    if "links.errors" in options:
        # The control: packets were lost.
        assert result.table("verbs_queue_pairs")["retransmitted"].sum() > 10
    table = result.table("mpi_ranks")
    sent = table[[name for name in table.columns if name.endswith("_messages")]].sum(axis=1)
    assert list(sent) == [2 * len(SIZES)] * 3


@pytest.mark.parametrize("options", [{}, {"links.errors": "lose", "links.all.bit_error_rate": 3e-7}])
def test_a_capture_changes_nothing_but_what_packets_carry(options: dict[str, Any], tmp_path: Path) -> None:
    """Packets of READs have their bytes only for a capture. `exchange` checks every byte in both cases."""
    found = []
    for capture in (None, tmp_path / "all.pcapng"):
        values, result, log = run(
            [exchange] * 3, set={"mpi.timeout": 9, **options}, log=True, capture=capture
        )
        found.append((values, result.summary["fingerprint"], log))
    assert found[0] == found[1]
    # The control: the bytes of the longest messages are in the capture.
    assert (tmp_path / "all.pcapng").stat().st_size > 6 * sum(SIZES)


def test_partitions_do_not_change_a_run() -> None:
    found = []
    for partitions in (1, 2, 3, 7):
        values, result, log = run([exchange] * 9, TORUS, set={"run.partitions": partitions}, log=True)
        found.append((values, result.summary["fingerprint"], log))
    assert all(one == found[0] for one in found[1:])
    assert len(found[0][2]) > 1000


def test_ranks_of_a_host_use_shared_memory() -> None:
    placement = ["H0", "H1", "H0", "H1", "H0"]
    values, result, _ = run([exchange] * 5, placement=placement)
    table = result.table("mpi_ranks")
    assert list(table["host"]) == placement
    assert list(table["shared_messages"]) == [
        2 * len(SIZES),
        len(SIZES),
        2 * len(SIZES),
        len(SIZES),
        2 * len(SIZES),
    ]
    again, _, _ = run([exchange] * 5, placement=placement)
    assert values == again


def test_more_ranks_than_hosts_are_placed_in_blocks() -> None:
    _, result, _ = run([lambda _: None] * 7)
    assert list(result.table("mpi_ranks")["host"]) == ["H0", "H0", "H1", "H1", "H2", "H2", "H3"]


def test_the_log_has_each_operation_with_its_headers() -> None:
    def sender(endpoint: FabricEndpoint) -> None:
        send(endpoint, bytes(8), 1, tag=7)
        send(endpoint, bytes(8), 1, mode=SYNCHRONOUS)
        send(endpoint, bytes(100_000), 1)

    def receiver(endpoint: FabricEndpoint) -> None:
        for size in (8, 8, 100_000):
            receive(endpoint, size)

    _, _, log = run([sender, receiver], log=True)
    found = [(one["from"], one["to"], one["op"], one["bytes"], one["header"].split(" ")[0]) for one in log]
    assert found == [
        (0, 1, "SEND", 26, "MATCH"),
        (0, 1, "SEND", 44, "RNDV"),
        (1, 0, "SEND", 44, "ACK"),
        (0, 1, "SEND", 60, "RGET"),
        (1, 0, "RDMA_READ", 100_000, ""),
        (1, 0, "SEND", 28, "FIN"),
    ]
    assert log[0]["header"] == "MATCH context 0 source 0 tag 7 sequence 0"
    times = [one["time_ns"] for one in log]
    assert times == sorted(times)


def test_messages_of_a_capture_are_decoded() -> None:
    header = bytes([0x41, 0, 0, 0, 0x41, 0, 3, 0, 4, 0, 0, 0, 77, 0, 0, 0, 9, 0])
    assert native().decode_mpi(header + bytes(8)) == "MATCH context 3 source 4 tag 77 sequence 9 data 8"
    with pytest.raises(ValueError, match="first byte 0x45"):
        native().decode_mpi(bytes([0x45] * 40))


def test_a_synchronous_send_waits_for_its_receive() -> None:
    def sender(mode: int) -> Rank:
        def program(endpoint: FabricEndpoint) -> int:
            send(endpoint, b"x", 1, mode=mode)
            return endpoint.now()

        return program

    def late(endpoint: FabricEndpoint) -> None:
        endpoint.compute(1_000_000_000, "compute()")
        receive(endpoint, 1)

    assert run([sender(STANDARD), late])[0][0] < 1_000_000_000 < run([sender(SYNCHRONOUS), late])[0][0]


def test_probes_and_matched_receives() -> None:
    def sender(endpoint: FabricEndpoint) -> None:
        endpoint.compute(50_000_000, "compute()")
        send(endpoint, b"first", 1, tag=5)
        send(endpoint, b"second", 1, tag=6)

    def receiver(endpoint: FabricEndpoint) -> list[Any]:
        nothing = endpoint.probe(ANY, ANY, 0, False, "Iprobe()")
        arrival, message = endpoint.wait_probe(0, 6, 0, True, "Mprobe()")
        assert endpoint.probe(0, 6, 0, False, "Iprobe()") is None
        buffer = bytearray(arrival.length)
        request = endpoint.imrecv(memoryview(buffer), message, "Mrecv()")
        complete(endpoint, [request], "Mrecv()")
        first, _ = receive(endpoint, 5)
        return [nothing, bytes(buffer), first]

    assert run([sender, receiver])[0][1] == [None, b"second", b"first"]


def test_polling_ranks_see_a_message() -> None:
    def sender(endpoint: FabricEndpoint) -> None:
        endpoint.compute(300_000_000, "compute()")
        send(endpoint, b"x", 1)

    def poller(endpoint: FabricEndpoint) -> int:
        buffer = bytearray(1)
        request = endpoint.irecv(memoryview(buffer), 0, 0, 0, "Irecv()")
        while endpoint.test([request], "Test()")[0] is None:
            pass
        return endpoint.now()

    end = run([sender, poller])[0][1]
    assert 300_000_000 < end < 405_000_000


def test_truncated_and_cancelled_receives_say_so() -> None:
    def sender(endpoint: FabricEndpoint) -> None:
        send(endpoint, content(20_000, 1), 1)

    def receiver(endpoint: FabricEndpoint) -> tuple[bytes, bool, bool]:
        request = endpoint.irecv(memoryview(bytearray(1)), 0, 99, 0, "Irecv()")
        endpoint.cancel(request)
        cancelled = complete(endpoint, [request], "Wait()")[0].cancelled
        data, arrival = receive(endpoint, 100)
        return data, arrival.truncated, cancelled

    assert run([sender, receiver])[0][1] == (content(20_000, 1)[:100], True, True)


def test_a_deadlock_names_the_calls() -> None:
    def waits(endpoint: FabricEndpoint) -> None:
        receive(endpoint, 1, source=1 - endpoint.rank, tag=3)

    with pytest.raises(ProgramsBlockedError) as caught:
        run([waits, waits])
    assert "rank 0 waits in Recv(source=1, tag=3)" in str(caught.value)
    assert set(caught.value.waits) == {"rank 0", "rank 1"}


def test_ranks_that_poll_in_vain_are_reported() -> None:
    def polls(endpoint: FabricEndpoint) -> None:
        while endpoint.probe(ANY, ANY, 0, False, "Iprobe()") is None:
            pass

    with pytest.raises(ProgramsBlockedError, match="poll in vain"):
        run([polls, polls], polling_limit="1 ms")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.isend(memoryview(b""), 9, 0, 0, 0, "Isend()"), r"Isend\(\): rank 9: must be 0 to 0"),
        (lambda e: e.isend(memoryview(b""), 0, -1, 0, 0, "Isend()"), "tag -1: must be 0 to 2147483647"),
        (lambda e: e.irecv(memoryview(b"x"), 0, 0, 0, "Irecv()"), "must be writable"),
        (
            lambda e: e.irecv(memoryview(bytearray(1)), 0, 0, 65536, "Irecv()"),
            "context 65536: must be 0 to 65535",
        ),
        (lambda e: e.imrecv(memoryview(bytearray(1)), 4, "Imrecv()"), "there is no message 4"),
    ],
)
def test_wrong_arguments_are_named(call: Rank, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        run([call])


def test_wrong_placements_and_settings_are_named() -> None:
    with pytest.raises(InputError, match='there is no host "X"'):
        run([lambda _: None], placement=["X"])
    with pytest.raises(InputError, match="placement has 2 hosts: must be 1, one for each rank"):
        run([lambda _: None], placement=["H0", "H1"])
    with pytest.raises(InputError, match=r"mpi\.receive_queues.*sizes must ascend"):
        run([lambda _: None], set={"mpi.receive_queues": "S,2048,8,4,4:S,128,8,4,4"})


def test_a_transfer_that_fails_ends_the_run_with_its_ranks() -> None:
    def sender(endpoint: FabricEndpoint) -> None:
        send(endpoint, bytes(2000), 1, mode=SYNCHRONOUS)

    losing = {"links.errors": "lose", "links.all.bit_error_rate": 0.001, "mpi.timeout": 4}
    with pytest.raises(ProgramError, match="rank 0: SEND to rank 1 ended with RetriesExceeded"):
        run([sender, lambda endpoint: receive(endpoint, 2000)], set=losing)


@pytest.mark.parametrize("queues", ["P,128,8,4,2,3:P,65536,16,8,4,3", "P,128,256:S,65536,256"])
def test_credits_of_a_ring_cost_none_of_a_queue(queues: str) -> None:
    """Each rank sends to the next one only, so that credits return in messages of their own."""

    def around(endpoint: FabricEndpoint) -> None:
        left, right = ((endpoint.rank + step) % endpoint.size for step in (-1, 1))
        buffer = bytearray(8)
        for number in range(1500):
            data = number.to_bytes(8, "little")
            requests = [
                endpoint.irecv(memoryview(buffer), left, 0, 0, "around"),
                endpoint.isend(memoryview(data), right, 0, 0, STANDARD, "around"),
            ]
            complete(endpoint, requests, "around")
            assert buffer == data

    run([around] * 3, set={"mpi.receive_queues": queues})


def test_ranks_that_can_never_go_on_are_found_beside_the_traffic_of_others() -> None:
    def waits(endpoint: FabricEndpoint) -> None:
        receive(endpoint, 8, source=1 - endpoint.rank)

    busy = FDR + '[[traffic]]\nsources = ["H2", "H3"]\npattern = "uniform"\nload = 0.3\nmessage = "1 KiB"\n'
    with pytest.raises(ProgramsBlockedError, match="no program can go on") as caught:
        run([waits] * 2, busy)
    assert caught.value.ended is None
    # The control: ranks that wait for a long message go on.
    long = 1 << 22

    def sends(endpoint: FabricEndpoint) -> None:
        if endpoint.rank == 0:
            send(endpoint, bytes(long), 1)
        else:
            receive(endpoint, long)

    run([sends] * 2, busy)


def test_an_exchange_is_a_receive_and_a_send() -> None:
    """In one call, with and without the wait for both: the same results at the same times."""

    def program(how: str) -> Rank:
        def body(endpoint: FabricEndpoint) -> list[Any]:
            found = []
            for size in (0, 8, 5000, 200_000):
                data, buffer = content(size, endpoint.rank), bytearray(size)
                left, right = ((endpoint.rank + step) % endpoint.size for step in (-1, 1))
                received, sent = (memoryview(buffer), left), (memoryview(data), right)
                if how == "steps":
                    requests = [
                        endpoint.irecv(*received, 3, 1, "Alltoall()"),
                        endpoint.isend(*sent, 3, 1, STANDARD, "Alltoall()"),
                    ]
                else:
                    requests, rows = endpoint.exchange(received, sent, 3, 1, "Alltoall()", how == "waits")
                    assert len(rows) == (2 if how == "waits" else 0)
                while requests:
                    done = [number for number, _ in endpoint.wait_some(requests, "Alltoall()")]
                    requests = [one for one in requests if one not in done]
                assert buffer == content(size, left)
                found.append(endpoint.now())
            return found

        return body

    values = {}
    for how in ("steps", "starts", "waits"):
        ranks, result, log = run([program(how)] * 4, log=True)
        values[how] = (ranks, result.summary["fingerprint"], log)
    assert values["steps"] == values["starts"] == values["waits"]


def test_a_message_of_an_exchange_that_is_too_long_is_truncated() -> None:
    def body(endpoint: FabricEndpoint) -> bool:
        buffer = bytearray(4)
        other = 1 - endpoint.rank
        sent = (memoryview(bytes(8)), other)
        _, rows = endpoint.exchange((memoryview(buffer), other), sent, 0, 1, "Alltoall()", True)
        return bool(rows[0][3])

    assert run([body] * 2)[0] == [True, True]
