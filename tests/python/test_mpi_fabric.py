"""MPI's messages on the simulated fabric: protocols, order, determinism, through the endpoints of Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fabric_ranks import SIZES, TORUS, Rank, complete, content, receive, run, send

from fabricsim.errors import InputError
from fabricsim.mpi.endpoint import ANY, BUFFERED, STANDARD, SYNCHRONOUS
from fabricsim.mpi.networks.fabric_endpoint import FabricEndpoint
from fabricsim.native import native
from fabricsim.programs import ProgramError, ProgramsBlockedError


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
