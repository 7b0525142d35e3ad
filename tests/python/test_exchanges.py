"""Events of packets, put together as packets and operations, and drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import Command
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

import fabricsim as fs
from fabricsim import plots
from fabricsim.exchanges import read_trace
from fabricsim.plots.sequence import MOST_ARROWS, fits_sequence

Event = tuple[float, str, str, str, str, int]
A, B = "A", "B"


def table(*events: Event, **others: Any) -> pd.DataFrame:
    """Events: time, host, step, packet type with flags (`REQ|SYN`), `A->B` is known from the host, SEQ = number."""
    rows = []
    for time, host, step, what, again, seq in events:
        kind, _, flags = what.partition("|")
        row = {"time_ns": time, "host": host, "peer": B if host == A else A, "step": step, "packet": kind}
        row |= {"flags": flags, "cid": 0, "seq": seq, "cnt": 0, "entry": "s" if kind == "REQ" else ""}
        rows.append(
            row | {"message": 0, "number": seq if kind == "REQ" else 0, "again": int(bool(again))} | others
        )
    return pd.DataFrame(rows)


REORDERED = table(
    (0.0, A, "sent", "REQ|SYN", "", 0),
    (10.0, A, "sent", "REQ|LAST", "", 1),
    (100.0, B, "received", "REQ|LAST", "", 1),
    (150.0, B, "received", "REQ|SYN", "", 0),
    (150.0, B, "delivered", "REQ|SYN", "", 0),
    (150.0, B, "delivered", "REQ|LAST", "", 1),
    (150.0, B, "sent", "ACK|SYN|CON", "", 0),
    (160.0, B, "sent", "ACK|CON", "", 1),
    (250.0, A, "received", "ACK|SYN|CON", "", 0),
    (260.0, A, "lost", "ACK|CON", "", 1),
)


def test_packets_and_operations() -> None:
    trace = read_trace(REORDERED)
    assert [(p.label(), p.sent_ns, p.end_ns, p.lost) for p in trace.packets] == [
        ("REQ0 (SYN)", 0.0, 150.0, False),
        ("REQ1", 10.0, 100.0, False),
        ("ACK0 (CON)", 150.0, 250.0, False),
        ("ACK1 (CON)", 160.0, 260.0, True),
    ]
    assert [(o.packet.number, o.received_ns, o.delivered_ns, o.waited) for o in trace.operations] == [
        (1, 100.0, 150.0, True),
        (0, 150.0, 150.0, False),
    ]
    assert trace.hosts == [A, B]
    assert trace.end_ns == 260.0


def test_text_is_in_order_and_numbered_from_one() -> None:
    lines = read_trace(REORDERED).as_text(1).splitlines()
    assert lines[0] == "A  sends               REQ1 (SYN, CID 0, SEQ 0)"
    assert lines[4] == "B  forwards to memory: REQ1 (SYN, CID 0, SEQ 0)"
    assert lines[-1] == "A  loses               ACK2 (CON, CID 0, SEQ 1)"


def test_copies_are_told_apart_by_again_and_order() -> None:
    trace = read_trace(
        table(
            (0.0, A, "sent", "REQ|SYN", "", 0),
            (10.0, A, "sent", "REQ|SYN", "again", 0),
            (20.0, A, "sent", "REQ|SYN", "again", 0),
            (100.0, B, "received", "REQ|SYN", "again", 0),
            (110.0, B, "lost", "REQ|SYN", "", 0),
        )
    )
    assert [(p.sent_ns, p.end_ns) for p in trace.packets] == [(0.0, 110.0), (10.0, 100.0), (20.0, None)]


def test_a_rejected_copy_leaves_the_one_that_waits() -> None:
    trace = read_trace(
        table(
            (0.0, A, "sent", "REQ", "", 1),
            (10.0, A, "sent", "REQ", "again", 1),
            (100.0, B, "received", "REQ", "", 1),
            (110.0, B, "received", "REQ", "again", 1),
            (111.0, B, "sent", "NACK", "", 1),
            (200.0, B, "delivered", "REQ", "", 1),
        )
    )
    first, second = trace.operations
    assert (first.delivered_ns, first.rejected) == (200.0, False)
    assert (second.delivered_ns, second.rejected) == (None, True)


def test_a_record_that_begins_or_ends_too_late() -> None:
    trace = read_trace(
        table(
            (100.0, B, "received", "REQ", "", 1),
            (100.0, B, "delivered", "REQ", "", 1),
            (101.0, B, "sent", "ACK", "", 1),
        )
    )
    assert [(p.kind, p.sent_ns, p.end_ns) for p in trace.packets] == [
        ("REQ", None, 100.0),
        ("ACK", 101.0, None),
    ]
    assert trace.packets[1].message is None
    assert trace.packets[1].label() == "ACK"


def test_a_part_has_what_is_on_its_way_then() -> None:
    trace = read_trace(REORDERED)
    assert [p.label() for p in trace.part(155.0).packets] == ["ACK0 (CON)", "ACK1 (CON)"]
    assert [p.label() for p in trace.part(0.0, 5.0).packets] == ["REQ0 (SYN)"]
    assert trace.part(hosts=[A]).packets == []


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 40), st.booleans()), min_size=1, max_size=30))
def test_every_packet_is_found_again(packets: list[tuple[int, int, bool]]) -> None:
    """Packets with their times of sending, delays, and whether they are lost, in any order."""
    events: list[Event] = []
    for number, (sent, delay, lost) in enumerate(packets):
        events.append((float(sent), A, "sent", "REQ", "", number))
        events.append((float(sent + delay), B, "lost" if lost else "received", "REQ", "", number))
    trace = read_trace(table(*sorted(events, key=lambda event: event[0])))
    found = {p.number: (p.sent_ns, p.end_ns, p.lost) for p in trace.packets}
    assert found == {n: (float(s), float(s + d), lost) for n, (s, d, lost) in enumerate(packets)}
    assert len(trace.operations) == sum(not lost for _, _, lost in packets)
    begin, end = 10.0, 30.0
    part = {p.number for p in trace.part(begin, end).packets}
    assert part == {n for n, (s, d, _) in enumerate(packets) if s < end and s + d >= begin}


@pytest.fixture
def result(fake: None, small: Path) -> fs.Result:
    return fs.run(small)


def drawn(result: fs.Result, exchanges: pd.DataFrame, **options: Any) -> Axes:
    (axes,) = plots.sequence(replace(result, frames={"exchanges": exchanges}), **options).axes
    return axes


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts if text.get_text()]


def bars(axes: Axes) -> list[tuple[float, float]]:
    """Top and height of each."""
    return [(bar.get_y(), bar.get_height()) for bar in axes.patches if isinstance(bar, Rectangle)]


def test_slopes_are_true_to_time(result: fs.Result) -> None:
    axes = drawn(result, REORDERED)
    lines = [line.get_xydata().tolist() for line in axes.lines]  # type: ignore[union-attr]
    a, b = 0.0, lines[1][0][0]  # the lifelines come first
    assert [[a, 0.0], [b, 150.0]] in lines
    assert [[a, 10.0], [b, 100.0]] in lines
    assert [[b, 150.0], [a, 250.0]] in lines
    ((x, y),) = [line.get_xydata().tolist()[0] for line in axes.lines if line.get_marker() == "x"]  # type: ignore[union-attr]
    assert (b - x) / b == pytest.approx((y - 160.0) / 100.0)
    assert x > 0.0  # it does not come to its receiver
    assert axes.get_ylabel() == "simulated time (ns)"
    top, bottom = axes.get_ylim()
    assert top > bottom  # time runs down


def test_what_waits_is_a_bar(result: fs.Result) -> None:
    axes = drawn(result, REORDERED)
    ((bottom, height),) = bars(axes)
    assert (bottom, height) == (100.0, 50.0)
    assert "REQ0, REQ1" in texts(axes)  # beside target memory, at one time


def test_labels(result: fs.Result) -> None:
    found = texts(drawn(result, REORDERED, first=1))
    assert {"A", "B", "target memory", "REQ1 (SYN, CID 0, SEQ 0)", "ACK2 (CON, CID 0, SEQ 1)"} <= set(found)


def test_a_waiting_packet_without_an_end(result: fs.Result) -> None:
    later = table((150.0, A, "sent", "REQ", "", 2))
    axes = drawn(result, pd.concat([REORDERED.iloc[:3], later], ignore_index=True))
    assert bars(axes) == [(100.0, 50.0)]  # to the end of the record
    assert {" REQ0 (SYN) ", " REQ2 "} <= set(texts(axes))


def many(count: int) -> pd.DataFrame:
    return table(*((10.0 * n, A, "sent", "REQ", "", n) for n in range(count)))


def test_too_much_for_a_chart(result: fs.Result) -> None:
    crowded = replace(result, frames={"exchanges": many(MOST_ARROWS + 1)})
    assert not fits_sequence(crowded)
    with pytest.raises(
        fs.InputError,
        match="201 packets are in this part, and a chart has room for 200: choose a part with --from",
    ):
        plots.sequence(crowded)
    assert len(texts(plots.sequence(crowded, after="1 us", before="1.1 us").axes[0])) > 10
    with pytest.raises(fs.InputError, match="no packet of host 'C' was recorded; there are: A, B"):
        plots.sequence(crowded, hosts=["C"])
    with pytest.raises(
        fs.InputError, match="there is no packet in this part: what was recorded ends at 2000 ns"
    ):
        plots.sequence(crowded, after="1 ms")
    with pytest.raises(fs.InputError, match=r"set measure\.exchanges"):
        plots.sequence(result)


def test_plots_of_a_part(result: fs.Result, tmp_path: Path) -> None:
    run = replace(result, frames={**result.frames, "exchanges": REORDERED})
    names = [path.stem for path in plots.save_plots(run, tmp_path)]
    assert names == ["throughput", "links", "latency", "sequence"]
    assert [path.stem for path in plots.save_plots(run, tmp_path, kinds=["latency"])] == ["latency"]
    part = plots.Part(after="155 ns")
    axes = plots.draw(run, "sequence", part).axes[0]
    assert "REQ0 (SYN, CID 0, SEQ 0)" not in texts(axes)
    with pytest.raises(fs.InputError, match="latency is of a whole run"):
        plots.draw(run, "latency", part)
    with pytest.raises(fs.InputError, match="did you mean sequence"):
        plots.draw(run, "sequenc")


def test_the_same_bytes(result: fs.Result, tmp_path: Path) -> None:
    run = replace(result, frames={"exchanges": REORDERED})
    paths = [plots.save(plots.sequence(run), tmp_path / f"{n}.svg") for n in range(2)]
    assert paths[0].read_bytes() == paths[1].read_bytes()


EXPERIMENT = """
[topology.mesh]
dimensions = [2, 2]
[transport]
mode = "ordered"
[[traffic]]
sources = ["H(0,0).0"]
pattern = { to = "H(1,1).0" }
load = 0.2
message = "4 KiB"
[run]
duration = "20 us"
[measure]
exchanges = 1000
"""


@pytest.mark.usefixtures("real")
def test_command(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(EXPERIMENT)
    assert command("run", file, "--out", "kept").code == 0
    ran = command("plot", "kept", "--kind", "sequence", "--to", "2 us", "--format", "svg")
    assert ran.code == 0
    assert "sequence.svg" in ran.out
    assert command("plot", "kept", "--kind", "transport", "--kind", "completion").code == 0
    ran = command("plot", "kept", "--from", "2 us")
    assert ran.code == 2
    assert "--kind sequence" in ran.err
    ran = command("plot", "kept", "--kind", "sequence", "--from", "2")
    assert (ran.code, "'2' is not a time" in ran.err) == (2, True)


def test_messages_of_two_sources_are_two(result: fs.Result) -> None:
    other = table((5.0, "C", "sent", "REQ|SYN", "", 0), (120.0, B, "received", "REQ|SYN", "", 0)).assign(
        host=["C", B], peer=[B, "C"]
    )
    both = pd.concat([REORDERED, other]).sort_values("time_ns", kind="stable")
    axes = drawn(result, both)
    legend = axes.get_legend()
    assert legend is not None
    names = [text.get_text() for text in legend.get_texts()]
    assert names[2:4] == ["s, message 0 of A", "s, message 0 of C"]
    assert len({line.get_color() for line in axes.lines if line.get_linestyle() == "-"}) >= 3
