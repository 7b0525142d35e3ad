"""Sessions: a network that is advanced, fed with messages, changed and looked into."""

from __future__ import annotations

import copy
import math
import os
import pickle
import signal
import threading
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import fabricsim as fs

pytestmark = pytest.mark.usefixtures("real")

RING = """
[topology.ring]
switches = 6
hosts_per_switch = 3

[links.all]
rate = "8 Gb/s"
buffer = "512 B"

[host]
mtu = "512 B"

[[traffic]]
sources = ["H(*).0"]
pattern = "tornado"
injection = "saturating"
message = "512 B"

[run]
duration = "2 ms"
allow_deadlock = true
"""

MORE = """
[[traffic]]
name = "get"
pattern = "uniform"
load = 0.1
message = "1 KiB"
response = { message = "64 B" }
"""


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    path = tmp_path / "ring.toml"
    path.write_text(RING)
    return path


def assert_same(one: fs.Result, other: fs.Result) -> None:
    assert one.manifest["fingerprint"] == other.manifest["fingerprint"]
    summaries = [dict(result.manifest["summary"]) for result in (one, other)]
    assert str(summaries[0]) == str(summaries[1])
    assert list(one.frames) == list(other.frames)
    for name, frame in one.frames.items():
        pd.testing.assert_frame_equal(frame, other.frames[name])


@pytest.mark.parametrize(
    "settings",
    [{}, {"run.drain": "empty"}, {"run.steady_state": {"precision": 0.5}}, {"run.partitions": 3}],
    ids=str,
)
def test_a_session_that_is_only_advanced_has_the_results_of_a_run(
    small: Path, settings: dict[str, Any]
) -> None:
    expected = fs.run(small, set=settings)
    with fs.Session(small, set=settings) as session:
        for step in ("7 us", 123.456, "1 ps", 12_000, 0):
            session.advance(step)
            session.snapshot()
            assert session.deadlock() is None
        assert session.advance_to_end() == "ended"
        assert session.advance_to_end() == "ended"
        assert session.is_over
        assert_same(session.result(), expected)


def test_time_is_in_nanoseconds(small: Path) -> None:
    with fs.Session(small) as session:
        assert session.now == 0
        assert session.advance("2 us") == "reached"
        assert session.now == 2000
        session.advance(0.5)
        assert session.now == 2000.5
        session.advance_to("3 us")
        session.advance_to(4000)
        assert session.now == 4000
        assert session.advance_to("1 s") == "ended"
        assert session.now < 200_000
        assert session.advance_to("1 ms") == "reached", "beyond the end"
        assert "at 1 ms" in repr(session)
    assert "ended" in repr(session)


def test_an_early_result_is_interrupted(small: Path) -> None:
    session = fs.Session(small)
    session.advance("50 us")
    result = session.result()
    assert result.status == "interrupted"
    assert result.summary["simulated_s"] == pytest.approx(50e-6)
    assert len(result.flows) > 0
    with pytest.raises(fs.InputError, match="the session has ended: make a new one"):
        session.advance("1 us")


def test_injected_messages_arrive(small: Path) -> None:
    settings = {"traffic.0.load": 0.01}
    found = []
    for partitions in (1, 2, 7):
        with fs.Session(small, set={**settings, "run.partitions": partitions}) as session:
            session.subscribe(most=1_000_000)
            numbers = [
                session.inject("H(0,0).0", "H(2,2).0", "10 KiB"),
                session.inject("H(2,0).0", "H(0,0).0", 100, at="2 us"),
                session.inject("H(1,1).0", "H(0,0).0", 1, at=1500, traffic="uniform"),
            ]
            session.advance("30 us")
            events = session.events()
            assert events.attrs["missed"] == 0
            mine = events[events["message"].isin(numbers)]
            assert mine.groupby("message")["bytes"].sum().loc[numbers].tolist() == [10240, 100, 1]
            assert mine.set_index("message")["created_ns"].loc[numbers[1:]].tolist() == [2000, 1500]
            assert session.events().empty
            session.advance_to_end()
            found.append((events, session.result()))
    for events, result in found[1:]:
        pd.testing.assert_frame_equal(events, found[0][0])
        assert result.manifest["fingerprint"] == found[0][1].manifest["fingerprint"]
    assert found[0][1].manifest["fingerprint"] != fs.run(small, set=settings).manifest["fingerprint"]


def test_events_are_bounded(small: Path) -> None:
    with fs.Session(small) as session:
        session.subscribe(most=10)
        session.advance("20 us")
        events = session.events()
        assert len(events) == 10
        assert events.attrs["missed"] > 100
        assert events["time_ns"].is_monotonic_increasing
        assert set(events["event"]) == {"delivered"}


def test_a_snapshot_adds_up_and_has_the_names_of_tables(small: Path) -> None:
    with fs.Session(small, set={"traffic.0.load": 0.9}) as session:
        session.advance("30 us")
        snapshot = session.snapshot()
        links = fs.run(small, set={"run.duration": "1 us"}).links
    assert snapshot.now == 30_000
    totals, ports = snapshot.totals, snapshot.ports
    assert totals["injected"] == totals["delivered"] + totals["lost"] + totals["in_flight"]
    assert ports["packets"].sum() == totals["in_flight"] > 0
    assert set(links["link"]) <= set(ports["link"])
    between = ports[~ports["link"].str.contains("->H")]
    blocks = between[["used_blocks", "free_blocks", "returning_blocks"]].sum(axis=1)
    assert (blocks == between["capacity_blocks"]).all()
    assert ports["waiting"].sum() <= totals["in_flight"]
    assert list(snapshot.hosts["host"])[:2] == ["H(0,0).0", "H(1,0).0"]
    assert set(snapshot.waits["reason"]) <= {"credits", "output", "turn", "router delay"}
    assert set(snapshot.waits["output"]) <= set(ports["link"])
    notes = snapshot.waits.attrs["columns"]
    assert notes["since_ns"][0] == "ns"
    assert all(text for _, text in notes.values())


def test_a_deadlock_is_found_in_words(ring: Path) -> None:
    expected = fs.run(ring)
    with fs.Session(ring) as session:
        assert session.deadlock() is None
        assert session.advance_to_end() == "ended"
        cycle = session.deadlock()
        assert cycle is not None
        assert len(cycle) == 6
        assert all(" waits for output " in line for line in cycle)
        waits = session.snapshot().waits
        assert (waits["reason"] == "credits").sum() >= 6
        result = session.result()
    assert result.status == "deadlock"
    assert result.manifest["summary"]["deadlock"] == cycle
    assert_same(result, expected)


def test_traffic_of_hosts_stops_and_resumes(small: Path) -> None:
    with fs.Session(small) as session:

        def sent() -> pd.Series[int]:
            return session.snapshot().hosts.set_index("host")["sent"]

        session.advance("10 us")
        session.configure(stop=["H(0,*).0", "H(1,0).0"])
        assert session.snapshot().hosts["sends"].sum() == 5
        session.advance("5 us")
        before = sent()
        session.advance("30 us")
        stopped = sent() == before
        assert set(stopped[stopped].index) == {"H(0,0).0", "H(0,1).0", "H(0,2).0", "H(1,0).0"}
        session.configure(resume="*")
        session.advance("10 us")
        assert (sent() > before).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.advance("10"), r'duration: "10" is not a time: write a number and a unit'),
        (lambda s: s.advance(-1), r"duration = -1: must be a time such as"),
        (lambda s: s.advance(math.nan), r"duration = nan: must be a time"),
        (lambda s: s.advance_to("5 us"), r"time '5 us': must not be before now, 10 µs"),
        (lambda s: s.advance_to("9e9 s"), r"is not a time"),
        (lambda s: s.advance_to("9000000 s"), r"time: a session may reach at most 100 days"),
        (
            lambda s: s.inject("H(0,0).1", "H(0,1).0", 1),
            r'source: no host is named "H\(0,0\).1"; did you mean',
        ),
        (lambda s: s.inject("H(0,0).0", "x", 1), r'destination: no host is named "x"'),
        (lambda s: s.inject("H(0,0).0", "H(0,1).0", 0), r"size = 0: must be a size such as"),
        (lambda s: s.inject("H(0,0).0", "H(0,1).0", "0 B"), r"size 0 B: must be 1 B to"),
        (lambda s: s.inject("H(0,0).0", "H(0,1).0", "1 parsec"), r'size: "1 parsec" is not a data size'),
        (lambda s: s.inject("H(0,0).0", "H(0,1).0", 1, at=5), r"at 5 ns: must not be before now, 10 us"),
        (
            lambda s: s.inject("H(0,0).0", "H(0,1).0", 1, traffic="gett"),
            r'traffic: .*"uniform", "get"; did you mean "get"',
        ),
        (lambda s: s.inject("H(0,0).0", "H(0,1).0", 1, traffic="get"), r'"get" has responses'),
        (lambda s: s.configure(stop="H(9,*).0"), r'stop: no host matches "H\(9,\*\).0"'),
        (lambda s: s.configure(resume=["H(0,0).0", "y"]), r'resume: "y" is neither a host nor a group'),
        (lambda s: s.subscribe(most=-1), r"most = -1: must be 0 or more"),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(
    tmp_path: Path, small: Path, call: Any, message: str
) -> None:
    path = tmp_path / "more.toml"
    path.write_text(small.read_text() + MORE)
    with fs.Session(path) as session:
        session.advance("10 us")
        with pytest.raises(fs.InputError, match=message):
            call(session)
        session.advance_to_end()
        assert session.result().manifest["fingerprint"] == fs.run(path).manifest["fingerprint"]


def test_a_wrong_experiment_is_refused(small: Path) -> None:
    with pytest.raises(fs.InputError, match="load"):
        fs.Session(small, set={"traffic.0.load": -1})
    with pytest.raises(fs.InputError, match="memory"):
        fs.Session(small, memory="1 kB")


def test_a_draining_run_takes_no_messages(small: Path) -> None:
    with fs.Session(small, set={"run.drain": "empty"}) as session:
        session.advance_to_end()
        with pytest.raises(fs.InputError, match="the run drains until it is empty"):
            session.inject("H(0,0).0", "H(0,1).0", 1)


def test_ctrl_c_stops_a_session_that_can_go_on(small: Path) -> None:
    settings = {"run.duration": "400 ms", "traffic.0.load": 0.5}
    with fs.Session(small, set=settings) as session:
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            session.advance_to_end()
        timer.join()
        assert 0 < session.now < 400e6
        snapshot = session.snapshot()
        assert snapshot.ports["packets"].sum() == snapshot.totals["in_flight"]
        assert session.advance("1 us") == "reached"
        assert session.result().status == "interrupted"


FAULT = {"faults.plan": [{"link": "S(0,0)-S(1,0)", "at": "40 us"}]}
CONGESTION = {"congestion_control.algorithm": "infiniband"}
PAUSES: dict[str, Any] = {"switch.flow_control": "pause", "links.all.buffer": "64 KiB"}
ORDERING: dict[str, Any] = {"transport.mode": "ordered"}


def test_a_copy_goes_on_by_itself(small: Path) -> None:
    expected = fs.run(small)
    with fs.Session(small) as session:
        session.advance("30 us")
        with session.fork() as copied:
            assert copied.now == session.now
            copied.configure(stop="H(1,*).0", fail="S(0,0)-S(1,0)")
            copied.inject("H(0,0).0", "H(2,2).0", "64 KiB")
            copied.advance("20 us")
            again = copied.fork()
            copied.advance_to_end()
            changed = copied.result()
        assert session.now == 30_000
        session.advance_to_end()
        assert_same(session.result(), expected)
        again.advance_to_end()
        assert_same(again.result(), changed)
    assert changed.manifest["fingerprint"] != expected.manifest["fingerprint"]


@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize(
    "settings", [{}, CONGESTION, PAUSES, ORDERING], ids=["plain", "cc", "pause", "ordering"]
)
def test_a_copy_with_failures_has_the_results_of_their_run(
    small: Path, settings: dict[str, Any], partitions: int
) -> None:
    settings = {**settings, "run.partitions": partitions}
    with fs.Session(small, set=settings) as session:
        session.advance_to("39 us")
        with session.fork(set=FAULT) as copied:
            copied.advance_to_end()
            result = copied.result()
        session.advance_to_end()
        without = session.result()
    expected = fs.run(small, set={**settings, **FAULT})
    assert_same(result, expected)
    assert result.manifest["overrides"] == expected.manifest["overrides"]
    assert result.manifest["fingerprint"] != without.manifest["fingerprint"]


def test_copies_that_differ_in_the_past_are_refused(small: Path) -> None:
    session = fs.Session(small)
    session.advance_to("50 us")
    for wrong, message in (
        ({"traffic.0.load": 0.2}, "`traffic` differs from that of the run that is copied"),
        (FAULT, "a run with these failures is in another state at 50 us"),
        (
            {"faults.plan": [{"link": "S(7,7)-S(0,0)", "at": "60 us"}]},
            r"faults.plan.0.link: `S\(7,7\)-S\(0,0\)`",
        ),
    ):
        with pytest.raises(fs.InputError, match=message):
            session.fork(set=wrong)
    assert session.fork().now == session.now
    session.close()
    with pytest.raises(fs.InputError, match="the session has ended: make a new one"):
        session.fork()


def test_a_copy_needs_memory(small: Path) -> None:
    session = fs.Session(small, memory="16 GiB")
    session._allowed = fs.memory.Allowance(1 << 40, 1)
    with pytest.raises(fs.InputError, match=r"the run takes about .* of memory, and 1 B are allowed"):
        session.fork()


def test_sessions_are_copied_and_not_pickled(small: Path) -> None:
    session = fs.Session(small)
    session.advance("10 us")
    for copied in (copy.copy(session), copy.deepcopy(session)):
        copied.advance("10 us")
        assert (session.now, copied.now) == (10_000, 20_000)
    with pytest.raises(TypeError, match=r"cannot be pickled: copy it with fork\(\)"):
        pickle.dumps(session)
