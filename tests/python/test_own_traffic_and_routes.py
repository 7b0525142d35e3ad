"""Messages one by one, and forwarding tables from a function."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fabricsim as fs

pytestmark = pytest.mark.usefixtures("real")
NO_TIMES: tuple[Any, ...] = (None, np.nan, True, [3], (), {}, -1, 10**400, pd.NaT, b"3 us")
NO_SIZES: tuple[Any, ...] = (None, np.nan, True, [3], (), {}, 1.5, 10**400, b"1 KiB", pd.NA)
MESH = """
[topology.mesh]
dimensions = [3, 2]
[links.all]
rate = "100 Gb/s"
latency = "10 ns"
buffer = "64 KiB"
[run]
duration = "20 us"
"""


def _experiment(text: str = "") -> fs.Experiment:
    return fs.Experiment.from_text(MESH + text)


def test_messages_of_a_frame_are_sent_at_their_times() -> None:
    frame = pd.DataFrame(
        {
            "at": [100, 5000, 5000],
            "source": ["H(0,0).0", "H(1,0).0", "H(2,1).0"],
            "destination": ["H(2,1).0", "H(0,0).0", "H(0,0).0"],
            "size": [2048, "4 KiB", 100],
        }
    )
    run = fs.run_messages(_experiment(), frame)
    assert run.status == "ok"
    assert run.summary["invariants.injected"] == run.summary["invariants.delivered"]
    flows = run.flows.set_index(["source", "destination"])["accepted_gbps"]
    # Bytes over the 20 us of the measurement.
    assert flows["H(0,0).0", "H(2,1).0"] == pytest.approx(2048 * 8 / 20_000)
    assert flows["H(1,0).0", "H(0,0).0"] == pytest.approx(4096 * 8 / 20_000)
    assert flows["H(2,1).0", "H(0,0).0"] == pytest.approx(100 * 8 / 20_000)


def test_a_generator_beside_traffic_of_its_own(tmp_path: Path) -> None:
    traffic = '[[traffic]]\nname = "other"\npattern = "uniform"\nload = 0.1\nmessage = "1 KiB"\n'

    def messages() -> Iterator[tuple[str, str, str, int]]:
        for n in range(50):
            yield f"{n * 200} ns", "H(0,0).0", "H(2,0).0", 1024

    alone = fs.run(_experiment(traffic))
    run = fs.run_messages(_experiment(traffic), messages(), out=tmp_path / "run")
    more = run.summary["invariants.injected"] - alone.summary["invariants.injected"]
    assert more == 50
    kept = pd.read_csv(tmp_path / "run" / "messages.csv")
    assert len(kept) == 50
    assert fs.load(tmp_path / "run").manifest["messages"] == {"file": "messages.csv", "number": 50}
    again = fs.run_messages(_experiment(traffic), kept)
    assert again.summary["fingerprint"] == run.summary["fingerprint"]


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([(1, "H(0,0).0", "H(9,9).0", 8)], r"message 0 \(1, H\(0,0\)\.0, H\(9,9\)\.0, 8\): "),
        ([(1, "H(0,0).0", "H(1,0).0", 8), (1, "H(0,0).0", "H(1,0).0", -3)], "message 1 "),
        ([(1, None, "H(1,0).0", 8)], "source = None: must be the name of a host"),
        (
            pd.DataFrame({"at": 1, "source": "H(0,0).0", "destination": ["H(1,0).0", np.nan], "size": 8}),
            "message 1 .*destination = nan: must be the name of a host",
        ),
        ([("soon", "H(0,0).0", "H(1,0).0", 8)], "message 0 "),
        ([(1e30, "H(0,0).0", "H(1,0).0", 8)], r"message 0 .*at = 1e\+30: must be below 18,446,744 s"),
        ({"at": [1], "source": ["H(0,0).0"]}, "messages is dict: must be a data frame"),
        *(
            (
                [(at, "H(0,0).0", "H(1,0).0", 10)],
                rf"message 0 \(.*\): at = {re.escape(repr(at))}: must be a time",
            )
            for at in NO_TIMES
        ),
        ([(1e300, "H(0,0).0", "H(1,0).0", 10)], r"message 0 \(1e\+300, "),
        *(
            (
                [(1, "H(0,0).0", "H(1,0).0", size)],
                rf"message 0 \(.*\): size = {re.escape(repr(size))}: must be a size",
            )
            for size in NO_SIZES
        ),
        *(
            (
                [(1, host, "H(1,0).0", 10)],
                rf"message 0 \(.*\): source = {re.escape(repr(host))}: must be the name",
            )
            for host in (7, 1.5, ["H(0,0).0"], b"H(0,0).0", pd.NA)
        ),
        *(
            (
                [(1, "H(0,0).0", "H(1,0).0", 8, entry)],
                rf"message 0 \(.*traffic = {re.escape(repr(entry))}: must be",
            )
            for entry in (7, True, ["x"], b"x")
        ),
        ("abcd", "messages is str"),
        (["abcd"], r"message 0: 'abcd': must be \(at, source"),
        ([(1, "H(0,0).0")], r"must be \(at, source, destination, size\)"),
        (pd.DataFrame({"at": [1], "source": ["H(0,0).0"]}), "destination, size must be among them"),
        *(
            (
                pd.DataFrame(
                    {"at": [1], "source": "H(0,0).0", "destination": "H(1,0).0", "size": 8, name: "x"}
                ),
                text,
            )
            for name, text in (
                ("Traffic", r"no column 'Traffic': allowed are at, .*, traffic; did you mean traffic\?"),
                ("trafic", r"no column 'trafic': .*; did you mean traffic\?"),
                ("comment", "no column 'comment': allowed are at, source, destination, size, traffic$"),
                (3, "no column 3: allowed are"),
            )
        ),
        (
            pd.DataFrame({"at": [1], "Source": "H(0,0).0", "destination": "H(1,0).0", "size": 8}),
            r"no column 'Source': .*; did you mean source\?",
        ),
        (
            pd.DataFrame([[1, 1, "a", "b", 8]], columns=["at", "at", "source", "destination", "size"]),
            "the column 'at' is there twice",
        ),
        (7, "messages is int"),
        ("messages.csv", r"messages is str: must be .*; pandas\.read_csv reads a file"),
    ],
)
def test_a_message_that_is_wrong_is_named(messages: object, text: str) -> None:
    with pytest.raises(fs.InputError, match=text):
        fs.run_messages(_experiment(), messages)


def test_numbers_of_numpy_and_empty_cells_of_traffic_are_right() -> None:
    row = (np.float64(100), "H(0,0).0", "H(1,0).0", np.int64(10))
    run = fs.run_messages(
        _experiment(), [row, *((*row, empty) for empty in (None, np.nan, pd.NA, "messages"))]
    )
    assert run.summary["invariants.delivered"] == 5


def test_an_error_of_a_generator_says_where() -> None:
    def broken(good: int) -> Iterator[tuple[str, str, str, int]]:
        for n in range(good):
            yield f"{n} us", "H(0,0).0", "H(2,0).0", 1024
        raise KeyError("rack 7")

    for good, where in ((0, "before the first message"), (3, "after message 2")):
        with pytest.raises(KeyError, match="rack 7") as raised:
            fs.run_messages(_experiment(), broken(good))
        assert raised.value.__notes__ == [
            f"run_messages: raised by the generator of messages {where}; nothing was run"
        ]


def test_an_error_of_a_routing_function_says_where(tmp_path: Path) -> None:
    def broken(network: fs.Network, switch: str, host: str) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        fs.forwarding_tables(_experiment(), broken, file=tmp_path / "own.fdbs")
    assert raised.value.__notes__ == [
        "forwarding_tables: raised by next_hop at S(0,0) for H(1,0).0; no tables were written"
    ]
    assert not (tmp_path / "own.fdbs").exists()


def test_messages_after_the_end_are_counted() -> None:
    early, late = ("5 us", "H(0,0).0", "H(1,0).0", 8), (1e9, "H(0,0).0", "H(1,0).0", 8)
    run = fs.run_messages(_experiment(), [early, late, late])
    assert run.manifest["summary"]["warnings"] == [
        "2 of 3 messages not sent: after the end of the run at 20 µs"
    ]
    assert fs.run_messages(_experiment(), [early]).manifest["summary"]["warnings"] == []


def test_an_entry_of_the_same_name_is_refused() -> None:
    traffic = '[[traffic]]\nname = "messages"\npattern = "uniform"\nload = 0.1\nmessage = "1 KiB"\n'
    with pytest.raises(fs.InputError, match='has a traffic entry "messages"'):
        fs.run_messages(_experiment(traffic), [])


TRAFFIC = '[[traffic]]\npattern = "uniform"\nload = 0.2\nmessage = "1 KiB"\n'


def _x_first(network: fs.Network, switch: str, host: str) -> str:
    here, there = network.coordinates[switch], network.coordinates[network.switch_of(host)]
    step = [0, 0]
    d = 0 if here[0] != there[0] else 1
    step[d] = 1 if there[d] > here[d] else -1
    return f"S({here[0] + step[0]},{here[1] + step[1]})"


def test_a_function_routes_as_dimension_order_does(tmp_path: Path) -> None:
    experiment = _experiment(TRAFFIC)
    own = fs.forwarding_tables(experiment, _x_first, file=tmp_path / "x.fdbs")
    assert own.export("fdbs") == experiment.export("fdbs")
    assert fs.run(own).summary["fingerprint"] == fs.run(experiment).summary["fingerprint"]


def test_routes_round_a_ring_are_not_free_of_deadlock(tmp_path: Path) -> None:
    ring = fs.Experiment.from_text("[topology.ring]\nswitches = 4\n[run]\nduration = '5 us'\n" + TRAFFIC)

    def round_and_round(network: fs.Network, switch: str, host: str) -> int:
        place = network.switches.index(switch)
        return network.neighbours[switch][network.switches[(place + 1) % 4]][0]

    own = fs.forwarding_tables(ring, round_and_round, file=tmp_path / "ring.fdbs")
    with pytest.raises(fs.InputError, match="deadlock"):
        fs.run(own)


@pytest.mark.parametrize(
    ("hop", "text"),
    [
        ("S(0,00)", "is no neighbour"),
        (99, "99 is no neighbour and no port"),
        (None, "None is no neighbour and no port"),
    ],
)
def test_a_function_that_names_no_neighbour(tmp_path: Path, hop: object, text: str) -> None:
    with pytest.raises(fs.InputError, match=rf"next_hop at S\(0,0\) for H\(1,0\)\.0: .*{text}"):
        fs.forwarding_tables(_experiment(TRAFFIC), lambda *_: hop, file=tmp_path / "x.fdbs")  # type: ignore[arg-type]


def test_what_is_no_function_is_refused(tmp_path: Path) -> None:
    with pytest.raises(fs.InputError, match="next_hop is str: must be a function"):
        fs.forwarding_tables(_experiment(TRAFFIC), "x-first", file=tmp_path / "x.fdbs")  # type: ignore[arg-type]


def test_tables_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(fs.InputError, match="the tables cannot be written"):
        fs.forwarding_tables(_experiment(TRAFFIC), _x_first, file=tmp_path / "none" / "x.fdbs")
