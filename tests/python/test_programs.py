"""When programs run, what their waits cost, and how a run of programs ends."""

from __future__ import annotations

import copy
import pickle
import runpy
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import ROOT
from verbs_cases import connected, open_side

import fabricsim.verbs as v
from fabricsim.errors import FabricsimError, InputError
from fabricsim.perftest import FABRIC
from fabricsim.spec import Experiment

pytestmark = pytest.mark.usefixtures("real")


def test_time_passes_in_calls_only() -> None:
    def program(ctx: v.Context) -> list[float]:
        times = [ctx.now]
        for duration in ("3 us", 250, "0 ns"):
            ctx.sleep(duration)
            times.append(ctx.now)
        return times

    run = v.run(None, {"H0": program, "H1": lambda ctx: ctx.now})
    assert run.values == {"H0": [0, 3000, 3250, 3250], "H1": 0}
    assert run.end_ns == 3250
    assert run.result.status == "ok"
    assert run.result.summary["simulated_s"] == pytest.approx(3.25e-6)


def test_after_the_end_of_the_run_a_context_has_one_clear_message() -> None:
    run = v.run(None, {"H0": lambda ctx: ctx, "H1": lambda ctx: ctx.sleep("1 us")})
    ctx = run.values["H0"]
    with pytest.raises(
        InputError, match=r"^now: the run of the programs has ended; its end is `end_ns` of the"
    ):
        _ = ctx.now
    with pytest.raises(InputError, match=r"^now: the run of the programs has ended"):
        ctx.note("late")
    for call in (lambda: ctx.lid, ctx.query_port):
        with pytest.raises(v.PyverbsUserError, match=r"^the run of the programs has ended$"):
            call()
    assert run.end_ns == 1000


def test_programs_run_in_the_order_of_their_times() -> None:
    order: list[tuple[str, float]] = []

    def program(step: float) -> Any:
        def run(ctx: v.Context) -> None:
            for _ in range(4):
                order.append((ctx.program, ctx.now))
                ctx.sleep(step)

        return run

    v.run(None, {"H0": program(300), "H1": [program(200), program(300)]})
    assert order == sorted(order, key=lambda entry: (entry[1], ["H0", "H1.0", "H1.1"].index(entry[0])))
    assert {name for name, _ in order} == {"H0", "H1.0", "H1.1"}


def test_values_are_exchanged_in_no_time_and_in_order() -> None:
    def first(ctx: v.Context) -> tuple[Any, float]:
        ctx.sleep("2 us")
        ctx.send_info("H1", 1)
        ctx.send_info("H1", 2)
        return ctx.exchange("H1", {"key": 5}), ctx.now

    def second(ctx: v.Context) -> tuple[list[Any], float]:
        found = [ctx.recv_info("H0"), ctx.recv_info("H0")]
        return [*found, ctx.exchange("H0", "mine")], ctx.now

    run = v.run(None, {"H0": first, "H1": second})
    assert run.values == {"H0": ("mine", 2000), "H1": ([1, 2, {"key": 5}], 2000)}


def test_a_poll_in_vain_costs_a_poll_and_a_loop_of_them_few_iterations() -> None:
    def program(ctx: v.Context) -> tuple[list[float], int]:
        cq = open_side(ctx).cq
        times = [ctx.now]
        for _ in range(3):
            assert not cq.poll()
            times.append(ctx.now)
        ctx.sleep("100 ns")
        assert not cq.poll()
        times.append(ctx.now)
        begin, count = ctx.now, 0
        while ctx.now < begin + 1_000_000:
            cq.poll()
            count += 1
        return times, count

    times, count = v.run(None, {"H0": program}).values["H0"]
    assert times == [0, 30, 1030, 2030, 2160]
    assert 1000 <= count <= 1002


def _receiver(polls: Any) -> Any:
    def program(ctx: v.Context) -> float:
        side = connected(ctx)
        other = v.CQ(ctx, 8)
        side.receive(8)
        polls(side, other)
        return ctx.now

    return program


def _sender(ctx: v.Context) -> None:
    side = connected(ctx)
    ctx.sleep("17.3 us")
    side.post(v.IBV_WR_SEND, 8)
    side.wait()


def test_a_loop_of_polls_finds_a_completion_as_soon_as_it_is_visible() -> None:
    def one(side: Any, _: v.CQ) -> None:
        while not side.cq.poll():
            pass

    def two(side: Any, other: v.CQ) -> None:
        while not side.cq.poll():
            other.poll()

    def with_a_sleep(side: Any, _: v.CQ) -> None:
        while not side.cq.poll():
            side.ctx.sleep("1 ns")

    def times(polls: Any) -> float:
        return float(v.run(None, {"H0": _sender, "H1": _receiver(polls)}).values["H1"])

    # A loop of one poll is exact. One with a poll of another queue, 30 ns, or a sleep besides, is late by that at most.
    exact = times(one)
    assert 0 <= times(two) - exact <= 30
    assert 0 <= times(with_a_sleep) - exact <= 31


def test_completions_that_are_not_taken_do_not_stop_the_clock() -> None:
    def program(ctx: v.Context) -> tuple[int, float]:
        side = connected(ctx)
        other = v.CQ(ctx, 8)
        side.receive(8)
        while not side.cq.poll(0) and ctx.now < 30_000:  # takes none
            other.poll()
        return side.cq.poll(4).npolled, ctx.now

    found, now = v.run(None, {"H0": _sender, "H1": program}).values["H1"]
    assert found == 1
    assert 30_000 <= now < 32_000


def test_looks_at_memory_pass_time() -> None:
    def client(ctx: v.Context) -> None:
        side = connected(ctx)
        side.mr.write(b"\1")
        ctx.sleep("2 us")
        side.post(v.IBV_WR_RDMA_WRITE, 1)
        side.wait()

    def reader(ctx: v.Context) -> float:
        side = connected(ctx)
        while side.mr.read(1) == b"\0":
            pass
        return ctx.now

    def waiter(ctx: v.Context) -> float:
        side = connected(ctx)
        side.mr.wait_write()
        assert side.mr.read(1) == b"\1"
        return ctx.now

    read = v.run(None, {"H0": client, "H1": reader}).values["H1"]
    waited = v.run(None, {"H0": client, "H1": waiter}).values["H1"]
    # The bytes are there when the packet arrives; its data is visible after `receive` and `payload_write`, 300 ns.
    assert waited - 300 - 30 <= read <= waited - 300 + 30


def test_what_blocks_every_program_is_named() -> None:
    def client(ctx: v.Context) -> None:
        ctx.recv_info("H1")

    def server(ctx: v.Context) -> None:
        side = open_side(ctx, sleeps=True)
        assert side.channel is not None
        side.cq.req_notify()
        side.channel.get_cq_event()

    with pytest.raises(v.ProgramsBlockedError) as caught:
        v.run(None, {"H0": client, "H1": server})
    text = str(caught.value)
    assert "no program can go on at 0 s, and nothing is in progress" in text
    first, second = (call.__code__.co_firstlineno for call in (client, server))
    assert f"H0 waits in recv_info('H1') at test_programs.py:{first + 1} (client)" in text
    assert f"H1 waits in CompChannel.get_cq_event() at test_programs.py:{second + 4} (server)" in text
    assert set(caught.value.waits) == {"H0", "H1"}


def test_polling_for_ever_is_found_and_a_slow_program_is_not_taken_for_it() -> None:
    def poller(ctx: v.Context) -> None:
        cq = open_side(ctx).cq
        while not cq.poll():
            pass

    with pytest.raises(
        v.ProgramsBlockedError, match=r"poll in vain(.|\n)*H0 waits in CQ.poll\(\) at test_programs"
    ):
        v.run(None, {"H0": poller, "H1": lambda ctx: ctx.sleep("3 us")}, polling_limit="200 us")

    def patient(ctx: v.Context) -> float:
        side = connected(ctx)
        side.receive(8)
        while not side.cq.poll():
            pass
        return ctx.now

    def late(ctx: v.Context) -> None:
        side = connected(ctx)
        ctx.sleep("2 ms")
        side.post(v.IBV_WR_SEND, 8)
        side.wait()

    run = v.run(None, {"H0": patient, "H1": late}, polling_limit="200 us")
    assert run.values["H0"] > 2_000_000


def test_the_run_ends_with_the_time_of_the_experiment() -> None:
    with pytest.raises(
        v.ProgramsBlockedError,
        match=r"the run ended at 50 µs by run\.warmup and run\.duration(.|\n)*H0 waits in sleep\(\)",
    ):
        v.run(None, {"H0": lambda ctx: ctx.sleep("1 ms")}, set={"run.duration": "50 us"})


def test_an_exception_names_its_host_and_ends_the_other_programs() -> None:
    ended = []

    def fails(ctx: v.Context) -> None:
        ctx.sleep("2 us")
        raise KeyError("no such thing")

    def waits(ctx: v.Context) -> None:
        try:
            ctx.recv_info("H1")
        finally:
            ended.append(ctx.host)
            ctx.sleep("1 us")  # nothing waits any more
            ended.append("never")

    with pytest.raises(
        v.ProgramError, match=r"H1 at 2 µs at test_programs.py:\d+ \(fails\): KeyError"
    ) as caught:
        v.run(None, {"H0": waits, "H1": fails})
    assert caught.value.program == "H1"
    assert isinstance(caught.value.__cause__, KeyError)
    assert isinstance(caught.value, FabricsimError)
    assert ended == ["H0"]


def test_ctrl_c_ends_a_run() -> None:
    def program(ctx: v.Context) -> None:
        ctx.sleep("1 us")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        v.run(None, {"H0": program, "H1": lambda ctx: ctx.recv_info("H0")})


def _generator(ctx: v.Context) -> Iterator[None]:
    yield


async def _coroutine(ctx: v.Context) -> None:
    pass


@pytest.mark.parametrize(
    ("programs", "changes", "message"),
    [
        ({"H9": print}, {}, 'there is no host "H9"'),
        ({"H0": 5}, {}, "5 is not a function"),
        ({"H0": [5]}, {}, "5 is not a function"),
        ({"H0": _generator}, {}, r"programs\['H0'\]: _generator makes a generator: a program is an ordinary"),
        ({"H0": _coroutine}, {}, "_coroutine makes a coroutine"),
        ({}, {}, "give a function for at least one host"),
        ({"H0": print}, {"polling_limit": "soon"}, "polling_limit: .*soon"),
    ],
)
def test_arguments_are_checked(programs: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        v.run(None, programs, **changes)


def test_a_host_with_traffic_has_no_program(small: Any) -> None:
    with pytest.raises(InputError, match=r"host H\(0,0\).0 has a program and traffic of its own"):
        v.run(small, {"H(0,0).0": lambda ctx: None})


def test_peers_are_checked() -> None:
    def program(ctx: v.Context) -> None:
        with pytest.raises(InputError, match="there is no program 'H7': there are H0, H1"):
            ctx.send_info("H7", 1)
        with pytest.raises(InputError, match="duration = -1"):
            ctx.sleep(-1)

    v.run(None, {"H0": program, "H1": lambda ctx: None})


def test_tickets_of_the_example_are_drawn_once() -> None:
    names = runpy.run_path(str(ROOT / "experiments/programs/tickets.py"))
    names["main"]()


def test_a_program_s_objects_end_with_the_run() -> None:
    cq = v.run(None, {"H0": lambda ctx: v.CQ(ctx, 4)}).values["H0"]
    with pytest.raises(v.PyverbsUserError, match="the run of the programs has ended"):
        cq.poll()
    with pytest.raises(InputError, match="the run of the programs has ended"):
        cq.context.sleep("1 us")


def test_an_object_of_one_program_is_not_used_by_another() -> None:
    def owner(ctx: v.Context) -> None:
        ctx.send_info("H0.1", v.CQ(ctx, 4))

    def other(ctx: v.Context) -> None:
        cq = ctx.recv_info("H0.0")
        with pytest.raises(InputError, match=r"an object of the program H0.0 is used outside that program"):
            cq.poll()

    v.run(None, {"H0": [owner, other]})


def test_thousands_of_programs_wait() -> None:
    mesh = FABRIC.replace("single-switch = { hosts = 2 }", "mesh = { dimensions = [32, 32] }")

    def program(ctx: v.Context) -> float:
        for _ in range(3):
            ctx.sleep(100 + len(ctx.host))
        return ctx.now

    hosts = [f"H({x},{y}).0" for x in range(32) for y in range(32)]
    run = v.run(Experiment.from_text(mesh), dict.fromkeys(hosts, program))
    assert run.values == {host: 3 * (100 + len(host)) for host in hosts}


def test_programs_cannot_be_copied() -> None:
    def program(ctx: v.Context) -> list[str]:
        messages = []
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError) as raised:
                attempt(ctx)
            messages.append(str(raised.value))
        return messages

    (messages,) = v.run(None, {"H0": program}).values.values()
    assert len(messages) == 3
    assert all(
        "the program H0 and its run cannot be copied: its state is in Python functions" in text
        for text in messages
    )
