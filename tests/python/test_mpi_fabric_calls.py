"""Credits, waits and exchanges of ranks on the simulated fabric."""

from __future__ import annotations

from typing import Any

import pytest
from fabric_ranks import FDR, Rank, complete, content, receive, run, send

from fabricsim.mpi.endpoint import STANDARD
from fabricsim.mpi.networks.fabric_endpoint import FabricEndpoint
from fabricsim.programs import ProgramsBlockedError


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
