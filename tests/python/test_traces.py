"""Traces of MPI programs: the command `mpi replay`, and `fabricsim.traces`."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable, Sequence
from pathlib import Path

import greenlet
import pytest
from conftest import ROOT
from typer.testing import CliRunner

from fabricsim.cli.app import app
from fabricsim.errors import InputError
from fabricsim.mpi.endpoint import Arrival
from fabricsim.mpi.run import network_of
from fabricsim.programs import ProgramsBlockedError
from fabricsim.traces import FORMATS, Record, Trace, play, write_records

STATED = "loggp:L=1000,o=100,g=10,G=0"
PING = """num_ranks 2
rank 0 {
l1: calc 500
l2: send 8b to 1 tag 0
l2 requires l1
}
rank 1 {
l1: recv 8b from 0 tag 0
}
"""
LOST = "num_ranks 2\nrank 0 {\nrecv 8b from 1 tag 5\n}\nrank 1 {\nsend 8b to 0 tag 6\n}\n"


def _run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["mpi", "replay", *arguments])
    assert result.exit_code == code, result.output
    return result.stdout


def _file(folder: Path, text: str) -> str:
    path = folder / "trace.goal"
    path.write_text(text)
    return str(path)


def test_json_has_the_promised_keys(tmp_path: Path) -> None:
    found = json.loads(_run(_file(tmp_path, PING), "--format", "goal", "--network", STATED, "--json"))
    assert (found["ranks"], found["events"], found["end_ns"]) == (2, 3, 1700)
    assert found["ends_ns"] == [600, 1700]
    assert found["unmatched"] == found["unfinished"] == []
    assert found["network"] == {"loggp": {"L": 1000, "o": 100, "g": 10, "G": 0, "O": 0, "S": 65535}}


def test_json_has_the_parameters_of_the_network_of_ranks(tmp_path: Path) -> None:
    arguments = [_file(tmp_path, PING), "--format", "goal", "--network", "loggp:L=2us,o=1,G=0.5", "--as-run"]
    found = json.loads(_run(*arguments, "--json"))
    assert found["network"] == {"loggp": {"L": 2000, "o": 1, "g": 10, "G": 0.5}}


def test_a_rate_of_flops_is_refused_where_computations_are_times(tmp_path: Path) -> None:
    command = ["mpi", "replay", _file(tmp_path, PING), "--format", "goal", "--flops", "2e9"]
    found = CliRunner().invoke(app, command)
    assert isinstance(found.exception, InputError)
    assert "--flops 2e+09: only with --format ti" in str(found.exception)


def test_a_message_that_ranks_cannot_send_is_named(tmp_path: Path) -> None:
    trace = Trace.read(_file(tmp_path, PING.replace("8b", f"{2**31 + 1}b")), "goal")
    with pytest.raises(InputError, match=r"rank 0, operation 1: 2147483649 B: .* at most 2147483648 B"):
        play(trace, network_of("loggp:"), "loggp")


@pytest.mark.parametrize(
    ("options", "end"), [(["--no-compute"], 1200), (["--compute-scale", "3"], 2700), ([], 1700)]
)
def test_computation_is_scaled_or_removed(tmp_path: Path, options: list[str], end: int) -> None:
    text = _run(_file(tmp_path, PING), "--format", "goal", "--network", STATED, *options)
    assert text == f"2 ranks, 3 operations, end after {end} ns\n"


def test_computation_is_replaced(tmp_path: Path) -> None:
    """The trace has one of 500 ns."""
    text = _run(_file(tmp_path, PING), "--format", "goal", "--network", STATED, "--compute-time", "2us")
    assert text == "2 ranks, 3 operations, end after 3200 ns\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--compute-time", "2us", "--no-compute"], "--no-compute and --compute-time exclude each other"),
        (["--compute-time", "2 ns", "--compute-scale", "2"], "--compute-scale and --compute-time exclude"),
        (["--compute-time", "0.5 ns"], "--compute-time 0.5 ns: must be whole nanoseconds"),
        (["--compute-time", "two"], '--compute-time: "two" is not a time'),
    ],
)
def test_times_of_computations_are_checked(tmp_path: Path, options: list[str], message: str) -> None:
    command = ["mpi", "replay", _file(tmp_path, PING), "--format", "goal", "--network", STATED, *options]
    found = CliRunner().invoke(app, command)
    assert isinstance(found.exception, InputError)
    assert message in str(found.exception)


def test_operations_without_a_match_are_listed_by_rank(tmp_path: Path) -> None:
    trace = _file(tmp_path, LOST)
    lines = _run(trace, "--format", "goal", "--network", STATED, code=3).splitlines()
    assert lines[1:] == [
        "rank 0, operation 0: recv of 8 B from 1 tag 5 has no message, since 0 ns",
        "rank 1, operation 0: send of 8 B to 0 tag 6 has no receive, since 1100 ns",
        "rank 0 did not end: 0 of 1 operations, busy until 1200 ns",
    ]
    found = json.loads(_run(trace, "--format", "goal", "--network", STATED, "--json", code=3))
    assert [(one["rank"], one["kind"], one["peer"], one["tag"]) for one in found["unmatched"]] == [
        (0, "recv", 1, 5),
        (1, "send", 0, 6),
    ]


def test_a_schedule_is_written_as_text_and_binary(tmp_path: Path) -> None:
    trace = _file(tmp_path, PING)
    for name in ("again.goal", "again.bin"):
        _run(trace, "--format", "goal", "--goal", str(tmp_path / name))
        again = Trace.read(tmp_path / name, "goal")
        assert (again.ranks, again.events) == (2, 3)
        assert again.replay(STATED).end_ns == 1700
    with pytest.raises(InputError, match=r"again\.bin: this exists"):
        CliRunner().invoke(
            app,
            ["mpi", "replay", trace, "--format", "goal", "--goal", str(tmp_path / "again.bin")],
            catch_exceptions=False,
        )


@pytest.mark.parametrize(
    ("text", "format", "network", "message"),
    [
        (
            PING,
            "gaol",
            STATED,
            '--format: no format "gaol": expected goal, ti, chakra, dumpi, otf2; did you mean',
        ),
        (PING, "goal", "logp:L=1", "--network logp:L=1: expected loggp:L="),
        (PING, "goal", "loggp:L=x", "--network loggp:L=x: L=x: must be a whole number of ns"),
        (PING[:-3], "goal", STATED, "trace.goal:8: the file ends inside of rank 1"),
        (
            "num_ranks 1000000\n",
            "goal",
            STATED,
            "trace.goal:1: the file ends after 0 ranks: num_ranks is 1000000",
        ),
        (PING, "dumpi", STATED, "expected a file NAME.meta or NAME-0000.bin of a DUMPI trace"),
        (PING, "chakra", STATED, "there is no such file: a Chakra trace is NAME.0.et"),
        ("0 init\n0 hello\n", "ti", STATED, 'trace.goal:2: no verb "hello": expected init'),
    ],
)
def test_bad_input_is_one_message(tmp_path: Path, text: str, format: str, network: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        Trace.read(_file(tmp_path, text), format).replay(network)
    assert message in str(error.value)


def test_options_are_checked(tmp_path: Path) -> None:
    trace = _file(tmp_path, PING)
    with pytest.raises(InputError, match="--compute-scale -1: must be a number from 0"):
        Trace.read(trace, "goal", compute_scale=-1)
    with pytest.raises(InputError, match="--flops 0: must be a number above 0"):
        Trace.read(trace, "goal", flops_per_s=0)


def test_a_million_ranks_in_a_binary_header_cost_nothing(tmp_path: Path) -> None:
    path = tmp_path / "many.bin"
    path.write_bytes((4223).to_bytes(8, "little") + (1_000_000).to_bytes(4, "little") + bytes(40))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match="1000000 ranks need a table of 16000000 bytes: the file has 52"):
        Trace.read(path, "goal")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8000  # KiB


class _Wire:
    """Endpoints of a network without latency, whose ranks take turns: it checks that the player calls them rightly."""

    def __init__(self) -> None:
        self.boxes: dict[tuple[int, int, int, int], list[int]] = {}
        self.log: list[tuple[int, str, int]] = []
        self.finished = False

    def open(self, names: Sequence[str]) -> tuple[_Wire, list[_End]]:
        return self, [_End(self, rank) for rank in range(len(names))]

    def run(self, programs: Sequence[Callable[[], None]]) -> None:
        greenlets = [greenlet.greenlet(program) for program in programs]
        for _ in range(100):
            for one in greenlets:
                if not one.dead:
                    one.switch()
        waits = {str(rank): "" for rank, one in enumerate(greenlets) if not one.dead}
        if waits:
            raise ProgramsBlockedError("blocked", waits)

    def finish(self) -> None:
        self.finished = True


class _End:
    def __init__(self, wire: _Wire, rank: int) -> None:
        self.wire, self.rank, self.time = wire, rank, 0
        self.requests: list[tuple[str, tuple[int, int, int, int]]] = []

    def isend(self, data: memoryview, dest: int, tag: int, context: int, mode: int, call: str) -> int:
        self.wire.log.append((self.rank, "send", len(data)))
        self.wire.boxes.setdefault((self.rank, dest, tag, context), []).append(len(data))
        self.requests.append(("send", (0, 0, 0, 0)))
        return len(self.requests) - 1

    def irecv(self, buffer: memoryview, source: int, tag: int, context: int, call: str) -> int:
        self.wire.log.append((self.rank, "recv", len(buffer)))
        self.requests.append(("recv", (source, self.rank, tag, context)))
        return len(self.requests) - 1

    def test(self, requests: Sequence[int], call: str) -> list[object | None]:
        found: list[object | None] = []
        for request in requests:
            kind, key = self.requests[request]
            if kind == "recv" and self.wire.boxes.get(key):
                self.wire.boxes[key].pop(0)
                kind = "send"
            self.requests[request] = (kind, key)
            # A receive gets its message's source and tag.
            found.append(Arrival(key[0], key[2], 8) if kind == "send" else None)
        return found

    def wait(self, requests: Sequence[int], call: str) -> None:
        greenlet.getcurrent().parent.switch()

    def free(self, request: int) -> None:
        assert self.requests[request][0] == "send"

    def compute(self, picoseconds: int, call: str) -> None:
        self.wire.log.append((self.rank, "calc", picoseconds))
        self.time += picoseconds

    def now(self) -> int:
        return self.time

    def close(self, call: str) -> None:
        self.time += 1000


def test_the_player_starts_operations_in_order_of_their_dependencies(tmp_path: Path) -> None:
    wire = _Wire()
    text = PING.replace("l1: recv 8b from 0 tag 0", "l1: recv 8b from 0 tag 0\nl2: calc 70\nl2 requires l1")
    found = play(Trace.read(_file(tmp_path, text), "goal"), wire, "wire")
    assert wire.log == [(0, "calc", 500_000), (0, "send", 8), (1, "recv", 8), (1, "calc", 70_000)]
    assert wire.finished
    assert found.is_complete
    assert (found.ranks, found.events, found.end_ns, found.ends_ns) == (2, 4, 500, [500, 70])


def test_the_player_starts_what_waits_for_a_start_before_the_end(tmp_path: Path) -> None:
    text = "num_ranks 1\nrank 0 {\nl1: recv 8b from 0 tag 0\nl2: send 8b to 0 tag 0\nl2 irequires l1\n}\n"
    wire = _Wire()
    assert play(Trace.read(_file(tmp_path, text), "goal"), wire, "wire").is_complete
    assert [kind for _, kind, _ in wire.log] == ["recv", "send"]


def test_the_player_lists_operations_that_cannot_end(tmp_path: Path) -> None:
    found = play(Trace.read(_file(tmp_path, LOST), "goal"), _Wire(), "wire")
    assert [(one["rank"], one["kind"], one["peer"], one["tag"]) for one in found.unmatched] == [
        (0, "recv", 1, 5),
        # It has ended, since it is small, and is not received.
        (1, "send", 0, 6),
    ]
    assert found.unfinished == [{"rank": 0, "done": 0, "operations": 1, "end_ns": 0}]


def test_small_messages_without_a_receive_are_listed_on_a_fabric(tmp_path: Path) -> None:
    """The last of each sender, receiver and tag: messages are received in the order in which they are sent."""
    text = (
        "num_ranks 3\nrank 0 {\nsend 8b to 1 tag 6\nsend 8b to 1 tag 5\nsend 9b to 1 tag 5\nsend 7b to 2 tag 5\n}\n"
        "rank 1 {\nrecv 8b from 0 tag 5\n}\nrank 2 {\nrecv 8b from -1 tag -1\n}\n"
    )
    experiment = tmp_path / "three.toml"
    experiment.write_text("topology.single-switch = { hosts = 3 }\n[run]\nduration = '1 s'\n")
    trace = _file(tmp_path, text)
    found = json.loads(
        _run(str(trace), "--format", "goal", "--experiment", str(experiment), "--json", code=3)
    )
    listed = [(one["rank"], one["operation"], one["bytes"], one["tag"]) for one in found["unmatched"]]
    assert listed == [(0, 0, 8, 6), (0, 2, 9, 5)]
    assert found["unfinished"] == []
    loggp = json.loads(
        _run(str(trace), "--format", "goal", "--network", "loggp:L=1,o=1,g=1,G=0", "--json", code=3)
    )
    assert [(one["rank"], one["operation"]) for one in loggp["unmatched"]] == [(0, 0), (0, 2)]


def test_the_player_on_a_loggp_network_of_rank_programs(tmp_path: Path) -> None:
    networks = pytest.importorskip("fabricsim.mpi.networks.loggp", reason="fabricsim.mpi is not there")
    trace = Trace.read(_file(tmp_path, PING), "goal")
    network = networks.LogGPNetwork(networks.LogGP(L=1_000_000, o=100_000, g=10_000, G=0.0))
    found = play(trace, network, STATED)
    assert found.is_complete
    assert found.end_ns >= trace.replay(STATED).end_ns


def test_records_keep_order_overlap_and_time_between(tmp_path: Path) -> None:
    path = tmp_path / "run.goal"
    records = [
        Record(0, "send", 1, 8, 0, 50, 500),  # overlaps the next one
        Record(0, "send", 1, 16, 1, 70, 400),
        Record(0, "recv", 1, 4, 2, 650, 900),
        Record(1, "recv", 0, 8, 0, 0, 500),
    ]
    write_records(reversed(records), 2, path)
    operations, ends, starts = Trace.read(path, "goal").operations(0)
    kinds = [(kind, size) for kind, _, _, size in operations]
    assert kinds == [(3, 50), (1, 8), (3, 20), (1, 16), (3, 150), (2, 4)]
    assert ends == [[1], [4], [3], [], [5], []]
    assert starts == [[], [2], [], [], [], []]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (Record(2, "send", 0, 8, 0, 0, 1), "rank = 2: must be 0 to 1"),
        (Record(0, "send", -1, 8, 0, 0, 1), "peer = -1: must be 0 to 1"),
        (Record(0, "put", 1, 8, 0, 0, 1), "op = 'put': must be"),
        (Record(0, "send", 1, -8, 0, 0, 1), "bytes and tag must be 0 or more"),
        (Record(0, "send", 1, 8, 0, 2, 1), "the end not before the start"),
    ],
)
def test_records_are_checked(tmp_path: Path, record: Record, message: str) -> None:
    with pytest.raises(InputError, match=message):
        write_records([record], 2, tmp_path / "run.goal")


def test_given_traces_of_every_format() -> None:
    folder = Path(os.environ.get("FABRICSIM_REFERENCE", ROOT / "../shared/reference")) / "traces"
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}: set FABRICSIM_REFERENCE")
    given = {
        "goal": ("goal/schedgen_dissemination_16.bin", 16),
        "chakra": ("chakra/all_reduce", 2),
        "dumpi": ("dumpi/testtrace.meta", 4),
    }
    for format, (path, ranks) in given.items():
        found = Trace.read(folder / path, format).replay(STATED)
        assert found.is_complete
        assert found.ranks == ranks
    assert Trace.read(folder / given["goal"][0], "goal").replay(STATED).end_ns == 4800
    assert set(given) | {"ti", "otf2"} == set(FORMATS)
